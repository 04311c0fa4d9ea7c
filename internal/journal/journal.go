// Package journal is the port to the append-only streams, and to the stores
// that surround them: timers, blobs, snapshots, keys and parked messages.
//
// Two adapters implement it, package memory (with fault scheduling) and
// package jetstream; package journaltest holds the one contract suite that
// both pass.
package journal

import (
	"context"
	"errors"
	"iter"
	"time"

	"example.org/mandate/events"
)

// Errors of the port. Adapters wrap them.
var (
	// ErrConflict: the chain is not at the expected position; another commit
	// is there and the commit that was offered is not stored and never will
	// be. The caller reloads and decides again.
	ErrConflict = errors.New("journal: chain moved on")

	// ErrCorrupt: a gap, a broken chain, or a record in a stream it does not
	// belong to. Reading stops there; nothing is skipped.
	ErrCorrupt = errors.New("journal: gap or broken chain")

	// ErrUnknownOutcome: the commit may or may not be stored. Asking again
	// with the same commit is safe.
	ErrUnknownOutcome = errors.New("journal: outcome of append unknown")

	// ErrRefused: the commit can never be stored as it is (size, permission,
	// wrong stream).
	ErrRefused = errors.New("journal: commit refused")

	// ErrNotFound: there is no such blob, key or snapshot.
	ErrNotFound = errors.New("journal: not found")

	// ErrExists: Create found the key taken.
	ErrExists = errors.New("journal: key exists")
)

// Position is where a chain ends as its writer knows it. The zero Position is
// an empty chain.
type Position struct {
	Sequence uint64 // stream sequence of the last commit
	events.Head
}

// Appender writes chains.
type Appender interface {
	// Append stores commit, encoded as data, directly after position after.
	// commit.Number and commit.Previous already follow after. It returns the
	// new position, [ErrConflict], [ErrUnknownOutcome] when ctx ended first,
	// or [ErrRefused]. Appending again what is stored already, with the same
	// ID and bytes, succeeds. A stored commit with the same ID and other bytes
	// is a conflict.
	Append(ctx context.Context, commit *events.Commit, data []byte, after Position) (Position, error)
}

// Loader reads single chains, at the leader.
type Loader interface {
	// Load returns the records of a chain with a number greater than after,
	// in order, none if there are none. It checks numbers and chain digests
	// within what it returns.
	Load(ctx context.Context, subject events.Subject, after uint64) ([]events.Record, error)
}

// Reader reads whole streams from any sequence, for projections, exports and
// checks.
type Reader interface {
	// Read yields the records of owner's stream from sequence from (1 is the
	// first) to the end as it was when Read began, in order. It checks that
	// sequences are dense and yields [ErrCorrupt] once and stops otherwise.
	Read(ctx context.Context, owner events.Owner, from uint64) iter.Seq2[events.Record, error]

	// Follow is Read without an end: it waits for new records until ctx ends.
	Follow(ctx context.Context, owner events.Owner, from uint64) iter.Seq2[events.Record, error]

	// Last returns the sequence of the last record of owner's stream, 0 if it
	// is empty.
	Last(ctx context.Context, owner events.Owner) (uint64, error)
}

// Source is what a consumer consumes: an owner's stream, or the timers that
// fired for an owner.
type Source struct {
	Owner  events.Owner
	Timers bool // the fired timers of Owner instead of its commits
}

// Consumer delivers records to one reader (a service), each at least once,
// per run in stream order, until acknowledged.
type Consumer interface {
	// Consume delivers the records of source to reader until ctx ends; then
	// the channel is closed. A record of a run is delivered only after the one
	// before it of the same run was released or acknowledged. Records that
	// were not acknowledged are delivered again, to whoever consumes next for
	// the same reader, in order.
	Consume(ctx context.Context, reader string, source Source) (<-chan Delivery, error)
}

// Delivery is one record handed to a reader. Its methods may be called from
// any goroutine, each once.
type Delivery interface {
	// Record is the record delivered. For a fired timer, Subject is the
	// timer's run, Data is empty and Timer names it.
	Record() events.Record
	// Timer is the name of the timer that fired, "" for a commit.
	Timer() string
	// Run is the run that the record belongs to.
	Run() events.Subject
	// Release lets the next record of the same run be delivered while this
	// one is still in hand. The adapter keeps telling the broker that this one
	// is in progress until it is acknowledged.
	Release()
	// Ack settles the delivery: it will not come again. It returns after the
	// broker confirmed it, or the context of Consume ended.
	Ack()
	// Pass settles a delivery that nothing followed from, without waiting for
	// the broker: it may come again.
	Pass()
	// Retry gives the delivery back, to be delivered again after delay before
	// any later record of the run.
	Retry(delay time.Duration)
}

// Timer is a durable wake-up for one owner about one run.
type Timer struct {
	Run  events.Subject // whose wake-up, about which run
	Name string         // a token, unique per owner and run: scheduling again replaces
	At   time.Time
}

// Timers schedules wake-ups. A wake-up is only a hint: whoever gets it checks
// its state.
type Timers interface {
	Schedule(ctx context.Context, timer Timer) error
	// CancelTimer removes a timer that has not fired; one that is not there is
	// no error.
	CancelTimer(ctx context.Context, run events.Subject, name string) error
}

// Blobs keeps immutable bytes under the digest of these bytes
// (canon.Sum("blob", data)).
type Blobs interface {
	// PutBlob stores data; storing it again is no error. It is at most
	// MaxBlobBytes.
	PutBlob(ctx context.Context, digest events.Digest, data []byte) error
	// Blob returns the bytes, or [ErrNotFound]. It checks the digest.
	Blob(ctx context.Context, digest events.Digest) ([]byte, error)
}

// MaxBlobBytes bounds one blob; larger content is put in several.
const MaxBlobBytes = 192 << 10

// Bucket is a key-value store beside the streams.
type Bucket string

// The buckets.
const (
	BucketKeys      Bucket = "mandate_keys"      // wrapped data keys
	BucketSnapshots Bucket = "mandate_snapshots" // folded state with positions
	BucketViews     Bucket = "mandate_views"     // projections, for readers
)

// Values is access to the buckets. Keys are tokens joined by dots.
type Values interface {
	Value(ctx context.Context, bucket Bucket, key string) ([]byte, error) // or ErrNotFound; read at the leader
	PutValue(ctx context.Context, bucket Bucket, key string, value []byte) error
	// CreateValue stores value if key has none, else returns [ErrExists].
	CreateValue(ctx context.Context, bucket Bucket, key string, value []byte) error
	// DeleteValue removes a key and its history.
	DeleteValue(ctx context.Context, bucket Bucket, key string) error
	// ValueKeys yields the keys of a bucket in no particular order.
	ValueKeys(ctx context.Context, bucket Bucket) ([]string, error)
}

// Parked is a delivery that a reader could not handle.
type Parked struct {
	Reader   string      `json:"reader"`
	Stream   string      `json:"stream"`
	Sequence uint64      `json:"sequence"`
	Subject  string      `json:"subject"`
	Commit   string      `json:"commit"`
	Timer    string      `json:"timer,omitzero"`
	Reason   string      `json:"reason"`
	At       events.Time `json:"at"`
	ID       string      `json:"id,omitzero"` // set by the journal
}

// Parking keeps poison deliveries for people, with the reason.
type Parking interface {
	Park(ctx context.Context, parked Parked) error
	ParkedMessages(ctx context.Context) ([]Parked, error)
	// Redeliver gives a delivery to its reader again, and with it perhaps
	// others that came later: handling one again changes nothing. The parked
	// message stays, as what happened.
	Redeliver(ctx context.Context, parked Parked) error
}

// Journal is everything above.
type Journal interface {
	Appender
	Loader
	Reader
	Consumer
	Timers
	Blobs
	Values
	Parking
	// Close stops consumers and releases what the journal holds.
	Close() error
}
