package projector

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
	"example.org/mandate/projections/runs"
)

func viewKey(view string, key Key) string { return view + "." + key.Tenant + "." + key.Run }

func (p *Projector) flushLoop(ctx context.Context) {
	ticker := time.NewTicker(p.o.Flush)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := p.flush(ctx, p.due); err != nil && ctx.Err() == nil {
				p.o.Logger.WarnContext(ctx, "views not published", "err", err)
			}
		}
	}
}

// mark is when a view changed after it was published, and how far the streams
// had been read before.
type mark struct {
	at        time.Time
	positions map[events.Owner]uint64
}

// calm is how long the views of a run under way may be older in the bucket
// than here. A run is published at once when it waits for a person and when it
// is over: few steps of it are, and every one costs two writes.
const calm = time.Second

func (p *Projector) due(key Key, m mark) bool {
	v := &p.held[key].run
	age := p.o.Clock().Sub(m.at) // below zero after the clock was set back
	return v.Document || len(v.Waiting) > 0 || age >= calm || age < 0
}

// Flush publishes every changed view, then the positions they include.
func (p *Projector) Flush(ctx context.Context) error {
	return p.flush(ctx, func(Key, mark) bool { return true })
}

// flush publishes the changed views that are due. The cursor stays before the
// changes that are not.
func (p *Projector) flush(ctx context.Context, due func(Key, mark) bool) error {
	p.publishing.Lock()
	defer p.publishing.Unlock()
	p.mu.Lock()
	batch := map[string][]byte{}
	flushed := map[Key]mark{}
	positions := maps.Clone(p.cursors)
	for key, m := range p.dirty {
		if !due(key, m) {
			for owner := range positions {
				positions[owner] = min(positions[owner], m.positions[owner])
			}
			continue
		}
		if err := encodeInto(batch, key, p.held[key]); err != nil {
			p.mu.Unlock()
			return err
		}
		flushed[key] = m
	}
	for key := range flushed {
		delete(p.dirty, key)
	}
	p.mu.Unlock()
	if len(flushed) == 0 {
		return nil
	}
	err := p.put(ctx, batch, positions)
	if err != nil {
		p.mu.Lock()
		maps.Copy(p.dirty, flushed)
		p.mu.Unlock()
	}
	return err
}

// putters is how many views are published at the same time.
const putters = 8

func (p *Projector) put(ctx context.Context, batch map[string][]byte, positions map[events.Owner]uint64) error {
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
	cursors, err := canon.JSON(cursor{events.At(p.o.Clock()), positions})
	if err != nil {
		return err
	}
	if err := p.o.Streams.PutValue(ctx, journal.BucketSnapshots, cursorPrefix+p.o.Process, cursors); err != nil {
		return fmt.Errorf("publish cursor: %w", err)
	}
	return nil
}

// cursor is how far a process had read when it published.
type cursor struct {
	At        events.Time             `json:"at"`
	Positions map[events.Owner]uint64 `json:"positions"`
}

// cursorPrefix begins the names of cursors.
const cursorPrefix = "projector.cursor."

// cursorLife is how long the cursor of a process counts after the newest one.
// A process that is behind by more publishes nothing that matters.
const cursorLife = time.Hour

// restore loads the index from what was published, and the positions that
// every process that may have published it had reached. Without a cursor
// everything is folded from the streams; folding a commit again changes
// nothing.
func (p *Projector) restore(ctx context.Context) error {
	positions, err := p.reached(ctx)
	if err != nil || positions == nil {
		return err
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
	p.cursors = positions
	return nil
}

// reached returns the least positions of the cursors that count, nil if there
// are none, and removes the others.
func (p *Projector) reached(ctx context.Context) (map[events.Owner]uint64, error) {
	names, err := p.o.Streams.ValueKeys(ctx, journal.BucketSnapshots)
	if err != nil {
		return nil, err
	}
	all := map[string]cursor{}
	var newest events.Time
	for _, name := range names {
		if !strings.HasPrefix(name, cursorPrefix) {
			continue
		}
		data, err := p.o.Streams.Value(ctx, journal.BucketSnapshots, name)
		if errors.Is(err, journal.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var c cursor
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("cursor: %w", err)
		}
		all[name] = c
		newest = max(newest, c.At)
	}
	var least map[events.Owner]uint64
	for name, c := range all {
		if newest.Sub(c.At) > cursorLife {
			if err := p.o.Streams.DeleteValue(ctx, journal.BucketSnapshots, name); err != nil {
				return nil, err
			}
			continue
		}
		if least == nil {
			least = maps.Clone(c.Positions)
			continue
		}
		for _, owner := range followed() {
			least[owner] = min(least[owner], c.Positions[owner])
		}
	}
	return least, nil
}
