// Package canon gives documents one byte form and one digest.
//
// The byte form is canonical JSON (RFC 8785), so that a reader in any language
// can recompute a digest. A digest always names the kind of document it is
// over (its domain), so that bytes of one kind can never pass for another.
package canon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Digest is "sha256:" and 64 lowercase hexadecimal digits; empty means none.
type Digest string

const prefix = "sha256:"

// ErrDigest is returned for a string that is not a digest.
var ErrDigest = errors.New("canon: not a sha256 digest")

// ParseDigest checks that s is a digest in the one accepted form.
func ParseDigest(s string) (Digest, error) {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || len(digits) != 2*sha256.Size || strings.ToLower(digits) != digits {
		return "", fmt.Errorf("%w: %.80q", ErrDigest, s)
	}
	if _, err := hex.DecodeString(digits); err != nil {
		return "", fmt.Errorf("%w: %.80q", ErrDigest, s)
	}
	return Digest(s), nil
}

// Hex returns the hexadecimal digits of d, "" for an empty digest.
func (d Digest) Hex() string { return strings.TrimPrefix(string(d), prefix) }

// Sum returns the digest of data under domain: the SHA-256 of
// "mandate." domain ".v1", a zero byte, and data.
func Sum(domain string, data []byte) Digest {
	h := sha256.New()
	h.Write([]byte("mandate." + domain + ".v1\x00"))
	h.Write(data)
	return Digest(prefix + hex.EncodeToString(h.Sum(nil)))
}

// Parts returns the digest under domain of a sequence of strings, each written
// with its length first, so that no two different sequences share bytes.
func Parts(domain string, parts ...string) Digest {
	var b []byte
	for _, p := range parts {
		n := len(p)
		b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		b = append(b, p...)
	}
	return Sum(domain, b)
}

// ID derives a stable identifier from parts: kind, "-", and 26 hexadecimal
// digits. The same parts always give the same identifier, so a decision that
// is taken again after a crash names the same things.
func ID(kind string, parts ...string) string {
	return kind + "-" + Parts("id."+kind, parts...).Hex()[:26]
}

// JSON returns the canonical JSON of v (RFC 8785).
func JSON(v any) ([]byte, error) {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("canon: encode %T: %w", v, err)
	}
	return Canonicalize(data)
}

// Canonicalize returns the canonical form (RFC 8785) of one JSON value.
// Duplicate names and invalid UTF-8 are errors.
func Canonicalize(data []byte) ([]byte, error) {
	value := jsontext.Value(append([]byte(nil), data...))
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canon: %w", err)
	}
	return value, nil
}

// Document returns the canonical JSON of v and its digest under domain.
func Document(domain string, v any) ([]byte, Digest, error) {
	data, err := JSON(v)
	if err != nil {
		return nil, "", err
	}
	return data, Sum(domain, data), nil
}
