package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"example.org/mandate/events/canon"
)

// Digest is the digest of a document or a commit.
type Digest = canon.Digest

// Class says how private a body is. It is public.
type Class string

// The classes of bodies.
const (
	ClassRequest  Class = "request"  // what a person asked
	ClassPlan     Class = "plan"     // specifications, plans, arguments
	ClassResult   Class = "result"   // what a capability returned
	ClassModel    Class = "model"    // what was sent to and received from a model
	ClassDocument Class = "document" // what is shown
)

// Media types of bodies.
const (
	MediaJSON = "application/json"
	MediaText = "text/plain; charset=utf-8"
	MediaRaw  = "application/octet-stream"
)

// Body names private content from within an event. What is encoded is the
// salted commitment, the size and the kind; the content itself is in memory
// only, where the commit was opened with a key or where the body was made.
//
// The commitment is the digest of salt and content. The salt is derived from
// the content under the key of the body's erasure scope: within a scope equal
// contents have equal commitments, outside it a reader can neither recognize
// nor confirm a guess, and once the key is destroyed nobody can.
type Body struct {
	Commitment Digest `json:"commitment,omitzero"`
	Size       int64  `json:"size,omitzero"`
	MediaType  string `json:"media_type,omitzero"`
	Class      Class  `json:"class,omitzero"`

	content []byte
	open    bool
}

// NewBody returns a body with content in memory and no commitment yet: the
// commitment is set when the commit that names it is sealed. The body keeps
// content; the caller must not change it.
func NewBody(class Class, mediaType string, content []byte) Body {
	return Body{Size: int64(len(content)), MediaType: mediaType, Class: class, content: content, open: true}
}

// NewDocument returns a body holding the canonical JSON of v.
func NewDocument(class Class, v any) (Body, error) {
	data, err := canon.JSON(v)
	if err != nil {
		return Body{}, err
	}
	return NewBody(class, MediaJSON, data), nil
}

// IsZero reports whether the body names nothing.
func (b Body) IsZero() bool { return b.Commitment == "" && !b.open }

// Content returns the bytes and whether they are at hand. They are not where
// the commit was read without the key, or the key was destroyed. The caller
// must not change them.
func (b Body) Content() ([]byte, bool) { return b.content, b.open }

// WithContent returns b with content at hand, if the salt and content
// reproduce b's commitment; else b unchanged and false.
func (b Body) WithContent(salt, content []byte) (Body, bool) {
	if b.Commitment == "" || Commitment(salt, content) != b.Commitment || b.Size != int64(len(content)) {
		return b, false
	}
	b.content, b.open = content, true
	return b, true
}

// Committed returns b with its commitment set under the key of its scope, and
// the salt. A body that has a commitment keeps it.
func (b Body) Committed(key []byte) (committed Body, salt []byte) {
	salt = Salt(key, b.content)
	if b.Commitment == "" {
		b.Commitment = Commitment(salt, b.content)
	}
	return b, salt
}

// SaltBytes is the length of a salt.
const SaltBytes = 16

// Salt derives the salt of content under the key of an erasure scope.
func Salt(key, content []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("mandate.salt.v1\x00"))
	mac.Write(content)
	return mac.Sum(nil)[:SaltBytes]
}

// Commitment returns the commitment of content under salt.
func Commitment(salt, content []byte) Digest {
	h := sha256.New()
	h.Write([]byte("mandate.body.v1\x00"))
	h.Write(salt)
	h.Write(content)
	return Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}
