// Package registries follows the registry stream and gives the view of every
// tenant.
package registries

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/registry"
)

// Registries holds the registry views of all tenants. It is safe for
// concurrent use.
type Registries struct {
	reader journal.Reader

	mu      sync.Mutex
	views   map[string]registry.View
	at      uint64 // sequence of the last record folded
	target  uint64 // sequence at the start
	ready   bool
	changed chan struct{}
	failed  error
}

// New returns registries without views; Run fills them.
func New(reader journal.Reader) *Registries {
	return &Registries{reader: reader, views: map[string]registry.View{}, changed: make(chan struct{})}
}

// Run follows the registry stream until ctx ends.
func (r *Registries) Run(ctx context.Context) error {
	last, err := r.reader.Last(ctx, events.OwnerRegistry)
	if err != nil {
		return r.fail(fmt.Errorf("end of the registry: %w", err))
	}
	r.mu.Lock()
	r.target = last
	r.ready = last == 0
	r.mu.Unlock()
	r.announce()
	for record, err := range r.reader.Follow(ctx, events.OwnerRegistry, 1) {
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return r.fail(fmt.Errorf("follow the registry: %w", err))
		}
		if err := r.fold(record); err != nil {
			return r.fail(err)
		}
	}
	return nil
}

func (r *Registries) fail(err error) error {
	r.mu.Lock()
	r.failed = err
	r.mu.Unlock()
	r.announce()
	return err
}

func (r *Registries) announce() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *Registries) fold(record events.Record) error {
	c, err := events.Decode(record)
	if err != nil {
		return fmt.Errorf("registry %d: %w", record.Sequence, err)
	}
	r.mu.Lock()
	view := r.views[c.Subject.Tenant]
	if c.Number != view.Epoch+1 {
		r.mu.Unlock()
		return fmt.Errorf("registry %d: %w: epoch %d after %d", record.Sequence, journal.ErrCorrupt, c.Number, view.Epoch)
	}
	r.views[c.Subject.Tenant] = view.Evolve(&c)
	r.at = record.Sequence
	r.ready = r.ready || r.at >= r.target
	r.mu.Unlock()
	r.announce()
	return nil
}

// ErrBehind is returned when a view does not reach an epoch before ctx ends.
var ErrBehind = errors.New("registries: not there yet")

// View returns the registry of a tenant at an epoch or a later one, waiting
// for it.
func (r *Registries) View(ctx context.Context, tenant string, epoch uint64) (registry.View, error) {
	for {
		r.mu.Lock()
		view, ready, failed, changed := r.views[tenant], r.ready, r.failed, r.changed
		r.mu.Unlock()
		if failed != nil {
			return registry.View{}, failed
		}
		if ready && view.Epoch >= epoch {
			return view, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return registry.View{}, fmt.Errorf("%w: epoch %d of %s: %w", ErrBehind, epoch, tenant, context.Cause(ctx))
		}
	}
}

// Changed returns a channel that is closed when a view changes, and the
// sequence of the last change.
func (r *Registries) Changed() (<-chan struct{}, uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed, r.at
}
