package sealing

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
)

// ErrDamaged is returned for a sealed body that its key does not open, or that
// is not the one its commitment names.
var ErrDamaged = errors.New("sealing: damaged body")

// inlineTotal bounds what the inline bodies of one commit add up to; further
// ones become blobs.
const inlineTotal = 128 << 10

// Keys finds data keys. [Keyring] is one.
type Keys interface {
	Create(ctx context.Context, scope string) ([]byte, error)
	Key(ctx context.Context, scope string) ([]byte, error)
}

// Sealer seals and opens commits. It is safe for concurrent use.
type Sealer struct {
	keys  Keys
	blobs journal.Blobs
	cache *cache
}

// New returns a sealer over keys and blobs.
func New(keys Keys, blobs journal.Blobs) *Sealer {
	return &Sealer{keys: keys, blobs: blobs, cache: newCache()}
}

// Seal sets the commitments of every body that the events of c name, and puts
// the bodies whose content is at hand beside the events. Large ones are put
// into blobs first, so the commit names nothing that is not there.
func (s *Sealer) Seal(ctx context.Context, c *events.Commit, scope string) error {
	key, err := s.keys.Create(ctx, scope)
	if err != nil {
		return err
	}
	saltKey := SaltKey(key)
	seen := map[events.Digest]bool{}
	total := 0
	for i := range c.Events {
		for _, body := range events.Bodies(c.Events[i].Data) {
			content, open := body.Content()
			if !open {
				continue // passed on by name only: its content is not readable here
			}
			if seen[body.Commitment] {
				continue
			}
			if known, ok := s.cache.get(scope, body.Commitment); ok && total+len(known.sealed.Ciphertext) <= inlineTotal {
				seen[body.Commitment] = true
				total += len(known.sealed.Ciphertext)
				c.Sealed = append(c.Sealed, known.sealed)
				continue
			}
			committed, salt := body.Committed(saltKey)
			if body.Commitment != "" && events.Commitment(salt, content) != body.Commitment {
				return fmt.Errorf("seal commit %s: %w: %s is of another scope than %s", c.ID, ErrDamaged, body.Commitment, scope)
			}
			*body = committed
			if seen[committed.Commitment] {
				continue
			}
			seen[committed.Commitment] = true
			sealed, err := s.seal(ctx, key, scope, committed.Commitment, salt, content, total)
			if err != nil {
				return fmt.Errorf("seal commit %s: %w", c.ID, err)
			}
			total += len(sealed.Ciphertext)
			c.Sealed = append(c.Sealed, sealed)
		}
	}
	return nil
}

func (s *Sealer) seal(ctx context.Context, key []byte, scope string, commitment events.Digest, salt, content []byte, total int) (events.SealedBody, error) {
	aead, err := gcm(subkey(key, "encrypt"))
	if err != nil {
		return events.SealedBody{}, err
	}
	plain := make([]byte, 0, len(salt)+len(content))
	plain = append(append(plain, salt...), content...)
	ciphertext := aead.Seal(nil, commitmentNonce(key, commitment, aead.NonceSize()), plain, []byte(scope+"\x00"+string(commitment)))
	sealed := events.SealedBody{Commitment: commitment, Scope: scope}
	if len(content) <= events.MaxInlineBody && total+len(ciphertext) <= inlineTotal {
		sealed.Ciphertext = ciphertext
		s.cache.put(&cached{key: cacheKey{scope, commitment}, sealed: sealed, salt: salt, content: content})
		return sealed, nil
	}
	for len(ciphertext) > 0 {
		chunk := ciphertext[:min(len(ciphertext), journal.MaxBlobBytes)]
		ciphertext = ciphertext[len(chunk):]
		digest := canon.Sum("blob", chunk)
		if err := s.blobs.PutBlob(ctx, digest, chunk); err != nil {
			return events.SealedBody{}, err
		}
		sealed.Chunks = append(sealed.Chunks, digest)
	}
	return sealed, nil
}

// Open gives the events of c the contents of their bodies. A body whose key
// does not exist or was destroyed stays closed; that is no error. Damage is.
func (s *Sealer) Open(ctx context.Context, c *events.Commit) error {
	opened := map[events.Digest][2][]byte{}
	for _, sealed := range c.Sealed {
		salt, content, err := s.open(ctx, sealed)
		if errors.Is(err, ErrErased) || errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open commit %s: %w", c.ID, err)
		}
		opened[sealed.Commitment] = [2][]byte{salt, content}
	}
	for i := range c.Events {
		for _, body := range events.Bodies(c.Events[i].Data) {
			parts, ok := opened[body.Commitment]
			if !ok {
				continue
			}
			open, ok := body.WithContent(parts[0], parts[1])
			if !ok {
				return fmt.Errorf("open commit %s: %w: %s", c.ID, ErrDamaged, body.Commitment)
			}
			*body = open
		}
	}
	return nil
}

func (s *Sealer) open(ctx context.Context, sealed events.SealedBody) (salt, content []byte, err error) {
	key, err := s.keys.Key(ctx, sealed.Scope)
	if errors.Is(err, ErrErased) {
		s.cache.forget(sealed.Scope)
	}
	if err != nil {
		return nil, nil, err
	}
	inline := len(sealed.Chunks) == 0
	if known, ok := s.cache.get(sealed.Scope, sealed.Commitment); ok && inline && bytes.Equal(known.sealed.Ciphertext, sealed.Ciphertext) {
		return known.salt, known.content, nil
	}
	ciphertext := sealed.Ciphertext
	for _, digest := range sealed.Chunks {
		chunk, err := s.blobs.Blob(ctx, digest)
		if errors.Is(err, journal.ErrNotFound) {
			// It was put before the commit that names it, so it was lost.
			return nil, nil, fmt.Errorf("%w: %s: blob %s is missing", ErrDamaged, sealed.Commitment, digest)
		}
		if err != nil {
			return nil, nil, err
		}
		ciphertext = append(ciphertext, chunk...)
	}
	salt, content, err = OpenBody(key, sealed, ciphertext)
	if err == nil && inline && events.Commitment(salt, content) == sealed.Commitment {
		s.cache.put(&cached{key: cacheKey{sealed.Scope, sealed.Commitment}, sealed: sealed, salt: salt, content: content})
	}
	return salt, content, err
}

// OpenBody decrypts one body with the data key of its scope.
func OpenBody(key []byte, sealed events.SealedBody, ciphertext []byte) (salt, content []byte, err error) {
	aead, err := gcm(subkey(key, "encrypt"))
	if err != nil {
		return nil, nil, err
	}
	plain, err := aead.Open(nil, commitmentNonce(key, sealed.Commitment, aead.NonceSize()), ciphertext, []byte(sealed.Scope+"\x00"+string(sealed.Commitment)))
	if err != nil || len(plain) < events.SaltBytes {
		return nil, nil, fmt.Errorf("%w: %s", ErrDamaged, sealed.Commitment)
	}
	return plain[:events.SaltBytes:events.SaltBytes], plain[events.SaltBytes:], nil
}
