// Package projector folds the streams into views, keeps them, and publishes
// them to the view bucket. Everything it holds can be dropped and rebuilt from
// the streams to the same bytes.
package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

// Streams is what the projector needs of the journal.
type Streams interface {
	journal.Loader
	journal.Reader
	journal.Values
}

// Options of a projector.
type Options struct {
	Streams Streams
	// Process names this process: several may publish to one bucket, each with
	// a cursor of its own.
	Process string
	Clock   func() time.Time
	// Flush is how often changed views are published; 0 means 200 ms.
	Flush time.Duration
	// Kept bounds the runs whose views are kept in memory; 0 means 2048.
	Kept   int
	Logger *slog.Logger
}

// Projector holds the views. It is safe for concurrent use.
type Projector struct {
	o Options

	publishing sync.Mutex // one publishes at a time; taken before mu

	mu      sync.Mutex
	held    map[Key]*held
	lru     []Key // the longest unused first; may name runs more than once
	index   map[Key]Row
	dirty   map[Key]mark
	cursors map[events.Owner]uint64
	changed chan struct{} // closed and replaced when something changed
	caught  chan struct{} // closed when the streams were read to their end once
}

// Key names a run.
type Key struct{ Tenant, Run string }

// Row is what lists need of a run, always in memory.
type Row struct {
	Key
	Agent      string
	Principal  string
	Phase      events.Phase
	Outcome    events.Tag
	Completion events.Completion
	Submitted  events.Time
	Concluded  events.Time
	Waiting    []runs.Waiting
	Document   bool

	commits uint64 // how many were folded
}

type held struct {
	run      runs.View
	timeline timeline.View
}

func (h *held) apply(c *events.Commit) {
	h.run, h.timeline = runs.Apply(h.run, c), timeline.Apply(h.timeline, c)
}

// New returns a projector without views; Run fills it.
func New(o Options) *Projector {
	if o.Flush == 0 {
		o.Flush = 200 * time.Millisecond
	}
	if o.Kept == 0 {
		o.Kept = 2048
	}
	return &Projector{
		o: o, held: map[Key]*held{}, index: map[Key]Row{}, dirty: map[Key]mark{},
		cursors: map[events.Owner]uint64{}, changed: make(chan struct{}), caught: make(chan struct{}),
	}
}

// Run loads the published views, follows the streams and publishes changes,
// until ctx ends.
func (p *Projector) Run(ctx context.Context) error {
	if err := p.restore(ctx); err != nil {
		return fmt.Errorf("restore views: %w", err)
	}
	ends := map[events.Owner]uint64{}
	for _, owner := range followed() {
		last, err := p.o.Streams.Last(ctx, owner)
		if err != nil {
			return fmt.Errorf("end of %s: %w", owner.Stream(), err)
		}
		ends[owner] = last
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var readers sync.WaitGroup
	for _, owner := range followed() {
		readers.Go(func() {
			if err := p.follow(ctx, owner); err != nil {
				cancel(err)
			}
		})
	}
	readers.Go(func() { ; p.awaitEnds(ctx, ends) })
	p.flushLoop(ctx)
	readers.Wait()
	flushContext, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	if err := p.Flush(flushContext); err != nil {
		p.o.Logger.WarnContext(ctx, "views not published at the end", "err", err)
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// followed lists the owners whose streams are about runs.
func followed() []events.Owner {
	return slices.DeleteFunc(events.Owners(), func(o events.Owner) bool { return o == events.OwnerRegistry })
}

// Ready is closed once the streams were read to where they ended at the start.
func (p *Projector) Ready() <-chan struct{} { return p.caught }

func (p *Projector) awaitEnds(ctx context.Context, ends map[events.Owner]uint64) {
	for {
		p.mu.Lock()
		behind := false
		for owner, end := range ends {
			behind = behind || p.cursors[owner] < end
		}
		changed := p.changed
		p.mu.Unlock()
		if !behind {
			close(p.caught)
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (p *Projector) follow(ctx context.Context, owner events.Owner) error {
	p.mu.Lock()
	from := p.cursors[owner] + 1
	p.mu.Unlock()
	for record, err := range p.o.Streams.Follow(ctx, owner, from) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("follow %s: %w", owner.Stream(), err)
		}
		if err := p.apply(ctx, record); err != nil {
			return fmt.Errorf("apply %s %d: %w", owner.Stream(), record.Sequence, err)
		}
	}
	return nil
}

func (p *Projector) apply(ctx context.Context, record events.Record) error {
	c, err := events.Decode(record)
	if err != nil {
		return p.skip(ctx, record, err)
	}
	subject := c.Subject
	key := Key{subject.Tenant, subject.Run}
	p.mu.Lock()
	defer p.mu.Unlock()
	h, err := p.load(ctx, key)
	if err != nil {
		return err
	}
	if c.Number > h.run.Positions[subject.Owner]+1 {
		if h, err = p.refold(ctx, key, h); err != nil {
			return err
		}
	}
	h.apply(&c)
	p.index[key] = rowOf(key, &h.run)
	if _, ok := p.dirty[key]; !ok {
		p.dirty[key] = mark{p.o.Clock(), maps.Clone(p.cursors)}
	}
	p.evict()
	p.advance(subject.Owner, record.Sequence)
	return nil
}

// skip passes over a record that is no commit. Services park it and nothing
// acts on it; a view of it would be a guess.
func (p *Projector) skip(ctx context.Context, record events.Record, why error) error {
	p.o.Logger.ErrorContext(ctx, "record is no commit", "stream", record.Stream, "sequence", record.Sequence, "err", why)
	p.mu.Lock()
	defer p.mu.Unlock()
	if owner := ownerOf(record.Stream); owner != "" {
		p.advance(owner, record.Sequence)
	}
	return nil
}

func ownerOf(stream string) events.Owner {
	for _, owner := range followed() {
		if owner.Stream() == stream {
			return owner
		}
	}
	return ""
}

// advance notes how far a stream was read. The caller holds the lock.
func (p *Projector) advance(owner events.Owner, sequence uint64) {
	p.cursors[owner] = sequence
	close(p.changed)
	p.changed = make(chan struct{})
}

func rowOf(key Key, v *runs.View) Row {
	return Row{
		Key: key, Agent: v.Agent, Principal: v.Principal.ID, Phase: v.Phase, Outcome: v.Outcome, Completion: v.Completion,
		Submitted: v.Submitted, Concluded: v.Concluded, Waiting: v.Waiting, Document: v.Document,
		commits: folded(v),
	}
}

// folded is how many commits a view is a fold of.
func folded(v *runs.View) (n uint64) {
	for _, position := range v.Positions {
		n += position
	}
	return n
}

// load returns the views of a run, from memory or from the bucket. The caller
// holds the lock.
func (p *Projector) load(ctx context.Context, key Key) (*held, error) {
	if h, ok := p.held[key]; ok {
		return h, nil
	}
	h := &held{}
	if row, known := p.index[key]; known {
		if err := p.fetch(ctx, viewKey(runs.Name, key), &h.run); err != nil {
			return nil, err
		}
		if err := p.fetch(ctx, viewKey(timeline.Name, key), &h.timeline); err != nil {
			return nil, err
		}
		if folded(&h.run) < row.commits || !maps.Equal(h.run.Positions, h.timeline.Positions) {
			var err error
			if h, err = p.refold(ctx, key, h); err != nil {
				return nil, err
			}
		}
	}
	p.held[key] = h
	p.lru = append(p.lru, key)
	return h, nil
}

// refold folds the chains of a run again: another process that is behind has
// published older views of it. The caller holds the lock.
func (p *Projector) refold(ctx context.Context, key Key, was *held) (*held, error) {
	h := &held{}
	for _, owner := range followed() {
		records, err := p.o.Streams.Load(ctx, events.Subject{Owner: owner, Tenant: key.Tenant, Run: key.Run}, 0)
		if errors.Is(err, journal.ErrCorrupt) {
			p.o.Logger.ErrorContext(ctx, "chain is damaged", "owner", owner, "run", key.Run, "err", err)
			return was, nil
		}
		if err != nil {
			return nil, fmt.Errorf("fold run %s again: %w", key.Run, err)
		}
		for i := range records {
			c, err := events.Decode(records[i])
			if err != nil {
				p.o.Logger.ErrorContext(ctx, "record is no commit", "stream", records[i].Stream, "sequence", records[i].Sequence, "err", err)
				return was, nil
			}
			h.apply(&c)
		}
	}
	p.held[key] = h
	return h, nil
}

func (p *Projector) fetch(ctx context.Context, key string, into any) error {
	data, err := p.o.Streams.Value(ctx, journal.BucketViews, key)
	if err != nil {
		return fmt.Errorf("view %s: %w", key, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("view %s: %w", key, err)
	}
	return nil
}

// evict forgets published views of the longest unused runs. The caller holds
// the lock.
func (p *Projector) evict() {
	for over := len(p.held) - p.o.Kept; over > 0 && len(p.lru) > 0; {
		key := p.lru[0]
		p.lru = p.lru[1:]
		if _, ok := p.dirty[key]; ok {
			p.lru = append(p.lru, key)
			if over--; over == 0 {
				return
			}
			continue
		}
		delete(p.held, key)
		over--
	}
}
