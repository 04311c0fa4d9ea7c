// Package sealing encrypts the bodies of commits under the data key of their
// erasure scope, and opens them again.
//
// Data keys live wrapped in a bucket beside the streams, never in a stream.
// Erasing a scope destroys its key: every copy of its bodies becomes
// unreadable, while chains still verify.
package sealing

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// KeyBytes is the length of wrapping and data keys.
const KeyBytes = 32

// ErrErased is returned for a scope whose key was destroyed.
var ErrErased = errors.New("sealing: the scope was erased")

// erased is stored in place of a key, so that the scope never gets a new one.
var erased = []byte("erased")

// Scope names the erasure scope of a run: its thread, or itself without one.
func Scope(tenant, run, thread string) string {
	if thread != "" {
		return tenant + ".thread-" + thread
	}
	return tenant + ".run-" + run
}

// Keyring holds the data keys of scopes. It is safe for concurrent use.
type Keyring struct {
	values journal.Values
	wrap   cipher.AEAD

	mu    sync.Mutex
	known map[string]kept
	order []string
}

// kept is a data key in memory, for a while: a scope that another process
// erases is unreadable here too when its key has gone stale.
type kept struct {
	key   []byte
	until time.Time
}

// keysKept bounds the data keys held in memory, keyLife how long each is.
const (
	keysKept = 4096
	keyLife  = 2 * time.Minute
)

// NewKeyring returns a keyring over the key bucket. wrapping is [KeyBytes]
// long.
func NewKeyring(values journal.Values, wrapping []byte) (*Keyring, error) {
	if len(wrapping) != KeyBytes {
		return nil, fmt.Errorf("sealing: the wrapping key has %d bytes, not %d", len(wrapping), KeyBytes)
	}
	wrap, err := gcm(wrapping)
	if err != nil {
		return nil, err
	}
	return &Keyring{values: values, wrap: wrap, known: map[string]kept{}}, nil
}

func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("sealing: %w", err)
	}
	return aead, nil
}

// Create returns the data key of scope, making one if it has none.
func (k *Keyring) Create(ctx context.Context, scope string) ([]byte, error) {
	if key, ok := k.cached(scope); ok {
		return key, nil
	}
	key := make([]byte, KeyBytes)
	nonce := make([]byte, k.wrap.NonceSize())
	rand.Read(key)
	rand.Read(nonce)
	wrapped := k.wrap.Seal(nonce, nonce, key, []byte(scope))
	err := k.values.CreateValue(ctx, journal.BucketKeys, scope, wrapped)
	if errors.Is(err, journal.ErrExists) {
		return k.Key(ctx, scope)
	}
	if err != nil {
		return nil, fmt.Errorf("create key of %s: %w", scope, err)
	}
	k.keep(scope, key)
	return key, nil
}

// Key returns the data key of scope, [journal.ErrNotFound] if it never had
// one, or [ErrErased].
func (k *Keyring) Key(ctx context.Context, scope string) ([]byte, error) {
	if key, ok := k.cached(scope); ok {
		return key, nil
	}
	wrapped, err := k.values.Value(ctx, journal.BucketKeys, scope)
	if err != nil {
		return nil, fmt.Errorf("key of %s: %w", scope, err)
	}
	if string(wrapped) == string(erased) {
		return nil, fmt.Errorf("%w: %s", ErrErased, scope)
	}
	n := k.wrap.NonceSize()
	if len(wrapped) < n {
		return nil, fmt.Errorf("key of %s: %w", scope, journal.ErrCorrupt)
	}
	key, err := k.wrap.Open(nil, wrapped[:n], wrapped[n:], []byte(scope))
	if err != nil {
		return nil, fmt.Errorf("unwrap key of %s: the wrapping key is another one or the key is damaged: %w", scope, err)
	}
	k.keep(scope, key)
	return key, nil
}

// checkScope has a data key that opens nothing; it shows which wrapping key is
// in use. No tenant's scope has such a name.
const checkScope = "wrapping-check"

// Check reports whether the wrapping key is the one that the data keys are
// wrapped with. The first check of a bucket binds it to the wrapping key, if
// that opens what is there.
func (k *Keyring) Check(ctx context.Context) error {
	_, err := k.Key(ctx, checkScope)
	if !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	scopes, err := k.values.ValueKeys(ctx, journal.BucketKeys)
	if err != nil {
		return fmt.Errorf("check wrapping key: %w", err)
	}
	for _, scope := range scopes {
		_, err := k.Key(ctx, scope)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrErased) && !errors.Is(err, journal.ErrNotFound) {
			return err
		}
	}
	_, err = k.Create(ctx, checkScope)
	return err
}

// Erase destroys the key of scope. Its bodies cannot be read any more, by
// anybody.
func (k *Keyring) Erase(ctx context.Context, scope string) error {
	if err := k.values.DeleteValue(ctx, journal.BucketKeys, scope); err != nil && !errors.Is(err, journal.ErrNotFound) {
		return fmt.Errorf("erase %s: %w", scope, err)
	}
	if err := k.values.PutValue(ctx, journal.BucketKeys, scope, erased); err != nil {
		return fmt.Errorf("erase %s: %w", scope, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, scope)
	return nil
}

func (k *Keyring) cached(scope string) ([]byte, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	have, ok := k.known[scope]
	if !ok || time.Now().After(have.until) {
		return nil, false
	}
	return have.key, true
}

func (k *Keyring) keep(scope string, key []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.known[scope]; !ok {
		k.order = append(k.order, scope)
	}
	k.known[scope] = kept{key, time.Now().Add(keyLife)}
	for len(k.order) > keysKept {
		delete(k.known, k.order[0])
		k.order = k.order[1:]
	}
}

// subkey derives the key for one use from a data key.
func subkey(key []byte, use string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("mandate.subkey.v1\x00" + use))
	return mac.Sum(nil)
}

// SaltKey is the key that salts of a scope derive from.
func SaltKey(key []byte) []byte { return subkey(key, "salt") }

// commitmentNonce derives the nonce from what is encrypted: the same content
// of a scope gives the same bytes, and no nonce is ever used for two contents.
func commitmentNonce(key []byte, commitment events.Digest, size int) []byte {
	mac := hmac.New(sha256.New, subkey(key, "nonce"))
	mac.Write([]byte(commitment))
	return mac.Sum(nil)[:size]
}
