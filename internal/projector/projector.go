// Package projector folds the streams into views, keeps them, and publishes
// them to the view bucket. Everything it holds can be dropped and rebuilt from
// the streams to the same bytes.
package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

// Streams is what the projector needs of the journal.
type Streams interface {
	journal.Reader
	journal.Values
}

// Options of a projector.
type Options struct {
	Streams Streams
	// Flush is how often changed views are published; 0 means 200 ms.
	Flush time.Duration
	// Kept bounds the runs whose views are kept in memory; 0 means 8192.
	Kept   int
	Logger *slog.Logger
}

// Projector holds the views. It is safe for concurrent use.
type Projector struct {
	o Options

	mu      sync.Mutex
	held    map[Key]*held
	lru     []Key // the longest unused first; may name runs more than once
	index   map[Key]Row
	dirty   map[Key]bool
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
}

type held struct {
	run      runs.View
	timeline timeline.View
}

// cursorKey is where the positions up to which views were published are kept.
const cursorKey = "projector.cursor"

// New returns a projector without views; Run fills it.
func New(o Options) *Projector {
	if o.Flush == 0 {
		o.Flush = 200 * time.Millisecond
	}
	if o.Kept == 0 {
		o.Kept = 8192
	}
	return &Projector{
		o: o, held: map[Key]*held{}, index: map[Key]Row{}, dirty: map[Key]bool{},
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
		return err
	}
	key := Key{c.Subject.Tenant, c.Subject.Run}
	p.mu.Lock()
	defer p.mu.Unlock()
	h, err := p.load(ctx, key)
	if err != nil {
		return err
	}
	h.run = runs.Apply(h.run, &c)
	h.timeline = timeline.Apply(h.timeline, &c)
	p.index[key] = rowOf(key, &h.run)
	p.dirty[key] = true
	p.cursors[c.Subject.Owner] = record.Sequence
	p.evict()
	close(p.changed)
	p.changed = make(chan struct{})
	return nil
}

func rowOf(key Key, v *runs.View) Row {
	return Row{
		Key: key, Agent: v.Agent, Principal: v.Principal.ID, Phase: v.Phase, Outcome: v.Outcome, Completion: v.Completion,
		Submitted: v.Submitted, Concluded: v.Concluded, Waiting: v.Waiting, Document: v.Document,
	}
}

// load returns the views of a run, from memory or from the bucket. The caller
// holds the lock.
func (p *Projector) load(ctx context.Context, key Key) (*held, error) {
	if h, ok := p.held[key]; ok {
		return h, nil
	}
	h := &held{}
	if _, known := p.index[key]; known {
		if err := p.fetch(ctx, viewKey(runs.Name, key), &h.run); err != nil {
			return nil, err
		}
		if err := p.fetch(ctx, viewKey(timeline.Name, key), &h.timeline); err != nil {
			return nil, err
		}
	}
	p.held[key] = h
	p.lru = append(p.lru, key)
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
		if p.dirty[key] {
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

func viewKey(view string, key Key) string { return view + "." + key.Tenant + "." + key.Run }

func (p *Projector) flushLoop(ctx context.Context) {
	ticker := time.NewTicker(p.o.Flush)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := p.Flush(ctx); err != nil && ctx.Err() == nil {
				p.o.Logger.WarnContext(ctx, "views not published", "err", err)
			}
		}
	}
}

// Flush publishes every changed view, then the positions they include.
func (p *Projector) Flush(ctx context.Context) error {
	p.mu.Lock()
	if len(p.dirty) == 0 {
		p.mu.Unlock()
		return nil
	}
	batch := make(map[string][]byte, 2*len(p.dirty))
	flushed := make([]Key, 0, len(p.dirty))
	for key := range p.dirty {
		flushed = append(flushed, key)
		h := p.held[key]
		for view, value := range map[string]any{runs.Name: h.run, timeline.Name: h.timeline} {
			data, err := canon.JSON(value)
			if err != nil {
				p.mu.Unlock()
				return err
			}
			batch[viewKey(view, key)] = data
		}
	}
	cursors, err := canon.JSON(p.cursors)
	p.dirty = map[Key]bool{}
	p.mu.Unlock()
	if err == nil {
		err = p.put(ctx, batch, cursors)
	}
	if err != nil {
		p.mu.Lock()
		for _, key := range flushed {
			p.dirty[key] = true
		}
		p.mu.Unlock()
	}
	return err
}

// putters is how many views are published at the same time.
const putters = 8

func (p *Projector) put(ctx context.Context, batch map[string][]byte, cursors []byte) error {
	type value struct {
		key  string
		data []byte
	}
	work := make(chan value)
	errs := make(chan error, putters)
	for range putters {
		go func() {
			var first error
			for v := range work {
				if first == nil {
					first = p.o.Streams.PutValue(ctx, journal.BucketViews, v.key, v.data)
				}
			}
			errs <- first
		}()
	}
	for key, data := range batch {
		work <- value{key, data}
	}
	close(work)
	var all []error
	for range putters {
		all = append(all, <-errs)
	}
	if err := errors.Join(all...); err != nil {
		return fmt.Errorf("publish views: %w", err)
	}
	if err := p.o.Streams.PutValue(ctx, journal.BucketSnapshots, cursorKey, cursors); err != nil {
		return fmt.Errorf("publish cursor: %w", err)
	}
	return nil
}

// restore loads the index and the positions from what was published. Without
// a cursor everything is folded from the streams.
func (p *Projector) restore(ctx context.Context) error {
	data, err := p.o.Streams.Value(ctx, journal.BucketSnapshots, cursorKey)
	if errors.Is(err, journal.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	cursors := map[events.Owner]uint64{}
	if err := json.Unmarshal(data, &cursors); err != nil {
		return fmt.Errorf("cursor: %w", err)
	}
	keys, err := p.o.Streams.ValueKeys(ctx, journal.BucketViews)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range keys {
		parts := strings.Split(name, ".")
		if len(parts) != 3 || parts[0] != runs.Name {
			continue
		}
		var v runs.View
		if err := p.fetch(ctx, name, &v); err != nil {
			return err
		}
		key := Key{parts[1], parts[2]}
		p.index[key] = rowOf(key, &v)
	}
	p.cursors = cursors
	return nil
}
