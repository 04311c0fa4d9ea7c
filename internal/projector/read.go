package projector

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

// ErrUnknownRun is returned for a run that no commit is about.
var ErrUnknownRun = errors.New("projector: no such run")

// View returns the view of a run.
func (p *Projector) View(ctx context.Context, key Key) (runs.View, error) {
	h, err := p.read(ctx, key)
	return h.run, err
}

// Timeline returns the timeline of a run.
func (p *Projector) Timeline(ctx context.Context, key Key) (timeline.View, error) {
	h, err := p.read(ctx, key)
	return h.timeline, err
}

func (p *Projector) read(ctx context.Context, key Key) (held, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.index[key]; !ok {
		return held{}, fmt.Errorf("%w: %s", ErrUnknownRun, key.Run)
	}
	h, err := p.load(ctx, key)
	if err != nil {
		return held{}, err
	}
	return *h, nil
}

// Changed returns a channel that is closed at the next change of any view.
func (p *Projector) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// Query selects rows. Empty fields select everything.
type Query struct {
	Tenant  string
	Phase   events.Phase
	Outcome events.Tag
	// Before is the run after which a page begins: rows are listed from the
	// newest to the oldest.
	Before string
	// Waiting selects runs that wait for a person.
	Waiting bool
	Limit   int
}

// Rows lists runs from the newest to the oldest, at most Limit, and says
// whether there are more.
func (p *Projector) Rows(q Query) (rows []Row, more bool) {
	p.mu.Lock()
	before, known := p.index[Key{Tenant: q.Tenant, Run: q.Before}]
	for key, row := range p.index {
		if key.Tenant == q.Tenant && (q.Phase == "" || row.Phase == q.Phase) && (q.Outcome == "" || row.Outcome == q.Outcome) &&
			(!q.Waiting || len(row.Waiting) > 0) {
			rows = append(rows, row)
		}
	}
	p.mu.Unlock()
	slices.SortFunc(rows, newestFirst)
	if q.Before != "" {
		// The run itself may have gone on and not be selected any more.
		rows = slices.DeleteFunc(rows, func(r Row) bool { return !known || newestFirst(before, r) >= 0 })
	}
	if q.Limit > 0 && len(rows) > q.Limit {
		return rows[:q.Limit], true
	}
	return rows, false
}

func newestFirst(a, b Row) int {
	return cmp.Or(cmp.Compare(b.Submitted, a.Submitted), cmp.Compare(b.Run, a.Run))
}

// Waiting finds the run that an interaction belongs to.
func (p *Projector) Waiting(tenant, interaction string) (Row, runs.Waiting, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, row := range p.index {
		if key.Tenant != tenant {
			continue
		}
		for _, w := range row.Waiting {
			if w.Interaction == interaction {
				return row, w, true
			}
		}
	}
	return Row{}, runs.Waiting{}, false
}

// Rebuilt is the outcome of a rebuild: digests over all views, in key order,
// before and after.
type Rebuilt struct {
	View   string        `json:"view"`
	Before events.Digest `json:"before"`
	After  events.Digest `json:"after"`
	Views  int           `json:"views"`
}

// Same reports whether the rebuild gave the same bytes.
func (r Rebuilt) Same() bool { return r.Before == r.After }

// Rebuild folds the streams again from their beginning up to where the current
// views stand, compares, and publishes the rebuilt views. Nothing is applied
// meanwhile.
func (p *Projector) Rebuild(ctx context.Context) ([]Rebuilt, error) {
	if err := p.Flush(ctx); err != nil {
		return nil, err
	}
	p.publishing.Lock()
	defer p.publishing.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	before, err := p.published(ctx)
	if err != nil {
		return nil, err
	}
	fresh := map[Key]*held{}
	for _, owner := range followed() {
		for record, err := range p.o.Streams.Read(ctx, owner, 1) {
			if err != nil {
				return nil, fmt.Errorf("rebuild from %s: %w", owner.Stream(), err)
			}
			if record.Sequence > p.cursors[owner] {
				break
			}
			c, err := events.Decode(record)
			if err != nil {
				continue // as at first
			}
			key := Key{c.Subject.Tenant, c.Subject.Run}
			h, ok := fresh[key]
			if !ok {
				h = &held{}
				fresh[key] = h
			}
			h.apply(&c)
		}
	}
	return p.replace(ctx, before, fresh)
}

// published reads every view back as it is in the bucket, unflushed changes
// included.
func (p *Projector) published(ctx context.Context) (map[string][]byte, error) {
	views := map[string][]byte{}
	keys, err := p.o.Streams.ValueKeys(ctx, journal.BucketViews)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if views[key], err = p.o.Streams.Value(ctx, journal.BucketViews, key); err != nil {
			return nil, fmt.Errorf("view %s: %w", key, err)
		}
	}
	for key := range p.dirty {
		if err := encodeInto(views, key, p.held[key]); err != nil {
			return nil, err
		}
	}
	return views, nil
}

func encodeInto(views map[string][]byte, key Key, h *held) error {
	for view, value := range map[string]any{runs.Name: h.run, timeline.Name: h.timeline} {
		data, err := canon.JSON(value)
		if err != nil {
			return err
		}
		views[viewKey(view, key)] = data
	}
	return nil
}

func (p *Projector) replace(ctx context.Context, before map[string][]byte, fresh map[Key]*held) ([]Rebuilt, error) {
	after := map[string][]byte{}
	for key, h := range fresh {
		if err := encodeInto(after, key, h); err != nil {
			return nil, err
		}
	}
	for key := range before {
		if _, ok := after[key]; !ok {
			if err := p.o.Streams.DeleteValue(ctx, journal.BucketViews, key); err != nil {
				return nil, fmt.Errorf("drop view %s: %w", key, err)
			}
		}
	}
	if err := p.put(ctx, after, maps.Clone(p.cursors)); err != nil {
		return nil, err
	}
	p.held, p.lru, p.index, p.dirty = map[Key]*held{}, nil, map[Key]Row{}, map[Key]mark{}
	for key, h := range fresh {
		p.index[key] = rowOf(key, &h.run)
	}
	var rebuilt []Rebuilt
	for _, view := range []string{runs.Name, timeline.Name} {
		b, _ := digestOf(view, before)
		a, n := digestOf(view, after)
		rebuilt = append(rebuilt, Rebuilt{View: view, Before: b, After: a, Views: n})
	}
	return rebuilt, nil
}

// digestOf digests the views of one kind in key order.
func digestOf(view string, views map[string][]byte) (events.Digest, int) {
	var keys []string
	for key := range views {
		if len(key) > len(view) && key[:len(view)+1] == view+"." {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	h := sha256.New()
	for _, key := range keys {
		fmt.Fprintf(h, "%d:%s%d:", len(key), key, len(views[key]))
		h.Write(views[key])
	}
	return events.Digest("sha256:" + hex.EncodeToString(h.Sum(nil))), len(keys)
}
