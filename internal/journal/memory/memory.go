package memory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// ErrCrashed is returned by every call between a crash and [Journal.Restart].
var ErrCrashed = errors.New("memory: crashed")

// errClosed is returned by calls after Close.
var errClosed = errors.New("memory: closed")

// Options configure a journal. The zero value is a journal without faults on
// the real clock.
type Options struct {
	// Faults are what goes wrong, and how often.
	Faults Faults
	// Simulated leaves time to the caller: timers fire only in FireTimers,
	// and a retried delivery may come again at once, whatever its delay.
	Simulated bool
	// Now gives the time of storing. By default it is the real clock, and in
	// a simulation a count of nanoseconds that grows by one per record.
	Now func() time.Time
}

// Journal implements [journal.Journal]. It is safe for concurrent use.
type Journal struct {
	mu        sync.Mutex
	options   Options
	random    *rand.Rand
	streams   map[events.Owner]*stream
	consumers map[consumerKey]*consumer
	order     []*consumer // in order of creation
	delayed   []delayedAppend
	timers    timers
	blobs     map[events.Digest][]byte
	values    map[journal.Bucket]map[string][]byte
	parked    []journal.Parked
	ticks     int64

	operations int
	crashAt    int // crash at this operation; 0 is never
	crashed    bool
	closed     bool
	life       int           // counts restarts; deliveries of an earlier life are dead
	wake       chan struct{} // closed at the next change, when somebody waits
	stop       chan struct{}
	running    sync.WaitGroup
}

var _ journal.Journal = (*Journal)(nil)

// stream is the log of one owner.
type stream struct {
	records []entry
	chains  map[events.Subject][]int // indexes of records, in order
	ids     map[string]int           // commit IDs, unique in a stream
}

type entry struct {
	record  events.Record
	subject events.Subject
	head    events.Head
}

// New returns an empty journal.
func New(options Options) *Journal {
	return &Journal{
		options: options,
		// A fixed second word keeps schedules of neighboring seeds apart.
		random:    rand.New(rand.NewPCG(options.Faults.Seed, 0x9e3779b97f4a7c15)),
		crashAt:   options.Faults.CrashAfter,
		streams:   make(map[events.Owner]*stream),
		consumers: make(map[consumerKey]*consumer),
		blobs:     make(map[events.Digest][]byte),
		values:    make(map[journal.Bucket]map[string][]byte),
		stop:      make(chan struct{}),
	}
}

// Append implements [journal.Appender]. An append has two operations, one
// before and one after storing, so that a crash can fall on either side.
func (j *Journal) Append(ctx context.Context, commit *events.Commit, data []byte, after journal.Position) (journal.Position, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return after, err
	}
	if err := journal.Check(commit, data, after); err != nil {
		return after, err
	}
	if err := ctx.Err(); err != nil {
		return after, fmt.Errorf("%w: %w", journal.ErrUnknownOutcome, err)
	}
	j.landDelayed()
	hide, err := j.disturbAppend(commit, data, after)
	if err != nil {
		return after, err
	}
	position, err := j.store(commit, data, after)
	if err != nil {
		return after, err
	}
	if err := j.step(); err != nil {
		return after, err
	}
	if hide {
		return after, fmt.Errorf("%w: acknowledgment lost", journal.ErrUnknownOutcome)
	}
	return position, nil
}

// store appends a commit whose place is still free.
func (j *Journal) store(commit *events.Commit, data []byte, after journal.Position) (journal.Position, error) {
	owner := commit.Subject.Owner
	s := j.streams[owner]
	if s == nil {
		s = &stream{chains: make(map[events.Subject][]int), ids: make(map[string]int)}
		j.streams[owner] = s
	}
	head := events.Head{Number: commit.Number, Digest: events.ChainDigest(commit, data)}
	if i, ok := s.ids[commit.ID]; ok {
		stored := &s.records[i]
		if stored.head != head {
			return after, fmt.Errorf("%w: commit %.80q is stored with other content", journal.ErrConflict, commit.ID)
		}
		return journal.Position{Sequence: stored.record.Sequence, Head: head}, nil
	}
	chain := s.chains[commit.Subject]
	var end journal.Position
	if n := len(chain); n > 0 {
		last := &s.records[chain[n-1]]
		end = journal.Position{Sequence: last.record.Sequence, Head: last.head}
	}
	if end != after {
		return after, fmt.Errorf("%w: %s is at %d, not %d", journal.ErrConflict, commit.Subject, end.Number, after.Number)
	}
	record := events.Record{
		Stream: owner.Stream(), Sequence: uint64(len(s.records)) + 1, Stored: events.At(j.now()),
		Subject: commit.Subject.String(), Header: journal.Header(commit), Data: bytes.Clone(data),
	}
	s.ids[commit.ID] = len(s.records)
	s.chains[commit.Subject] = append(chain, len(s.records))
	s.records = append(s.records, entry{record: record, subject: commit.Subject, head: head})
	j.changed()
	return journal.Position{Sequence: record.Sequence, Head: head}, nil
}

// Load implements [journal.Loader].
func (j *Journal) Load(_ context.Context, subject events.Subject, after uint64) ([]events.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return nil, err
	}
	s := j.streams[subject.Owner]
	if s == nil {
		return nil, nil
	}
	chain := s.chains[subject]
	if after >= uint64(len(chain)) {
		return nil, nil
	}
	records := make([]events.Record, 0, uint64(len(chain))-after)
	for _, i := range chain[after:] {
		records = append(records, s.records[i].record)
	}
	return records, nil
}

// Read implements [journal.Reader].
func (j *Journal) Read(ctx context.Context, owner events.Owner, from uint64) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		last, err := j.Last(ctx, owner)
		if err != nil {
			yield(events.Record{}, err)
			return
		}
		for sequence := max(from, 1); sequence <= last; sequence++ {
			j.mu.Lock()
			record, err := j.streams[owner].records[sequence-1].record, j.usable()
			j.mu.Unlock()
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(events.Record{}, err)
				return
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}

// Follow implements [journal.Reader].
func (j *Journal) Follow(ctx context.Context, owner events.Owner, from uint64) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		for next := max(from, 1); ; {
			j.mu.Lock()
			err, wake := j.usable(), j.wakeLocked()
			var fresh []entry
			if s := j.streams[owner]; s != nil && next <= uint64(len(s.records)) {
				fresh = slices.Clone(s.records[next-1:])
			}
			j.mu.Unlock()
			if err != nil {
				yield(events.Record{}, err)
				return
			}
			for i := range fresh {
				if ctx.Err() != nil || !yield(fresh[i].record, nil) {
					return
				}
				next++
			}
			if len(fresh) > 0 {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case <-j.stop:
				return
			case <-wake:
			}
		}
	}
}

// Last implements [journal.Reader].
func (j *Journal) Last(_ context.Context, owner events.Owner) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return 0, err
	}
	if s := j.streams[owner]; s != nil {
		return uint64(len(s.records)), nil
	}
	return 0, nil
}

// Close implements [journal.Journal].
func (j *Journal) Close() error {
	j.mu.Lock()
	if !j.closed {
		j.closed = true
		close(j.stop)
		j.disarm()
		j.changed()
	}
	j.mu.Unlock()
	j.running.Wait()
	return nil
}

// step counts an operation and crashes when its turn has come.
func (j *Journal) step() error {
	if err := j.usable(); err != nil {
		return err
	}
	j.operations++
	if j.crashAt > 0 && j.operations >= j.crashAt {
		j.crash()
		return ErrCrashed
	}
	return nil
}

func (j *Journal) usable() error {
	switch {
	case j.crashed:
		return ErrCrashed
	case j.closed:
		return errClosed
	}
	return nil
}

func (j *Journal) now() time.Time {
	if j.options.Now != nil {
		return j.options.Now()
	}
	if j.options.Simulated {
		j.ticks++
		return time.Unix(0, j.ticks)
	}
	return time.Now()
}

// changed wakes whoever waits.
func (j *Journal) changed() {
	if j.wake != nil {
		close(j.wake)
		j.wake = nil
	}
}

// wakeLocked returns a channel that is closed at the next change.
func (j *Journal) wakeLocked() <-chan struct{} {
	if j.wake == nil {
		j.wake = make(chan struct{})
	}
	return j.wake
}
