package events

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Protocol is the version of the commit layout that this build writes.
const Protocol = 1

// MaxCommitBytes bounds the body of a commit on the wire.
const MaxCommitBytes = 256 << 10

// MaxInlineBody is the largest body, in bytes of content, that rides inside
// its commit. Larger ones are blobs.
const MaxInlineBody = 32 << 10

// Payload is the data of an event: a pointer to one of the structs of the
// catalogue, or [*Unknown].
type Payload interface {
	// EventType returns the full type name with version, such as
	// "mandate.admission.revision-admitted.v1".
	EventType() string
}

// Event is one event with its CloudEvents 1.0 context attributes.
type Event struct {
	ID      string // ULID, unique
	Source  string // "/mandate/<owner>"
	Subject string // the run
	Time    Time   // when the decision was taken, by the service's clock
	Data    Payload
}

// Type returns the full type name of e.
func (e Event) Type() string {
	if e.Data == nil {
		return ""
	}
	return e.Data.EventType()
}

// Cause names what a commit reacts to. Both fields are empty for a first
// cause, such as a submission.
type Cause struct {
	Commit string // commit ID of the input
	Event  string // event ID within that commit, or the name of a timer or observation
}

// Commit is one decision of one owner about one run: events and the sealed
// bodies that they name, all or nothing.
type Commit struct {
	ID          string // globally unique; derived from the cause for a reaction
	Subject     Subject
	Number      uint64 // dense in the chain of Subject, from 1
	Previous    Digest // digest of the commit Number-1, empty for the first
	Cause       Cause
	Correlation string // ID of the first commit of the run
	Writer      string // which start of which instance wrote it
	Protocol    int
	Traceparent string // W3C trace context, may be empty

	Events []Event
	Sealed []SealedBody

	// Digest is the chain digest, set by encoding and decoding.
	Digest Digest
	// Extra keeps unknown members of the commit body, encoded, for
	// re-encoding.
	Extra Extra
}

// SealedBody is an encrypted body beside its events. Either Ciphertext is set,
// or Chunks name the blobs that hold it, in order.
type SealedBody struct {
	Commitment Digest   `json:"commitment"`
	Scope      string   `json:"scope"`
	Ciphertext []byte   `json:"ciphertext,omitzero"`
	Chunks     []Digest `json:"chunks,omitzero"`
	Extra      Extra    `json:"-"`
}

// Extra holds members that this build does not know, by name, in their
// encoded form, so that reading and writing loses nothing.
type Extra map[string][]byte

// Head is the end of a chain.
type Head struct {
	Number uint64 `json:"number"`
	Digest Digest `json:"digest,omitzero"`
}

// Record is a commit as stored in a stream: one message.
type Record struct {
	Stream   string
	Sequence uint64 // in the stream, from 1
	Stored   Time   // when the stream stored it; never part of a decision
	Subject  string
	Header   map[string]string
	Data     []byte
}

// Header names of a commit.
const (
	HeaderCommit      = "Nats-Msg-Id"
	HeaderTypes       = "mandate-types"
	HeaderNumber      = "mandate-number"
	HeaderPrevious    = "mandate-previous"
	HeaderCause       = "mandate-cause"
	HeaderCauseEvent  = "mandate-cause-event"
	HeaderCorrelation = "mandate-correlation"
	HeaderWriter      = "mandate-writer"
	HeaderSchema      = "mandate-schema"
	HeaderTrace       = "traceparent"
)

// ChainDigest returns the digest that the next commit of the chain carries as
// its previous digest. It covers the subject, the number, the previous digest,
// the identities (commit ID, cause, correlation, writer) and the body bytes. The
// writer is new at every start of a process, so a process that decides again
// what one before it had recorded never takes that record for its own.
func ChainDigest(c *Commit, body []byte) Digest {
	h := sha256.New()
	h.Write([]byte("mandate.commit.v1\x00"))
	var n [8]byte
	field := func(s string) {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	field(c.Subject.String())
	binary.BigEndian.PutUint64(n[:], c.Number)
	h.Write(n[:])
	field(string(c.Previous))
	field(c.ID)
	field(c.Cause.Commit)
	field(c.Cause.Event)
	field(c.Correlation)
	field(c.Writer)
	h.Write(body)
	return Digest("sha256:" + hex.EncodeToString(h.Sum(nil)))
}

// Unknown is the data of an event whose type this build does not know, kept
// in its encoded form.
type Unknown struct {
	Type string
	Raw  []byte // canonical msgpack of the data
}

// EventType implements [Payload].
func (u *Unknown) EventType() string { return u.Type }
