package reactor

import (
	"container/list"
	"context"
	"sync"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// entry is what is known of one run in this process.
type entry[S any] struct {
	mu sync.Mutex

	// loaded says that state is the fold of the whole chain up to position.
	loaded   bool
	state    S
	position journal.Position
	handled  map[events.Cause]bool
	first    string // ID of the first commit of the run
	scope    string // erasure scope of its bodies
	// calls in flight in this process, by work key, and what to tell when the
	// last of them has ended.
	calls   map[string]context.CancelFunc
	waiting []func(error)

	// guarded by the cache
	users int
	place *list.Element
	run   events.Subject
}

func (e *entry[S]) forget() {
	var zero S
	e.loaded, e.state, e.position, e.handled = false, zero, journal.Position{}, nil
}

// cache keeps the runs that were used last. A run in use, or with calls in
// flight, stays.
type cache[S any] struct {
	mu      sync.Mutex
	most    int
	entries map[events.Subject]*entry[S]
	idle    *list.List // of *entry[S], the longest unused first
}

func newCache[S any](most int) *cache[S] {
	return &cache[S]{most: most, entries: map[events.Subject]*entry[S]{}, idle: list.New()}
}

func (c *cache[S]) acquire(run events.Subject) *entry[S] {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[run]
	if !ok {
		e = &entry[S]{run: run, calls: map[string]context.CancelFunc{}}
		c.entries[run] = e
	}
	if e.users++; e.place != nil {
		c.idle.Remove(e.place)
		e.place = nil
	}
	return e
}

func (c *cache[S]) release(e *entry[S]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.users--; e.users > 0 {
		return
	}
	e.place = c.idle.PushBack(e)
	for c.idle.Len() > c.most {
		oldest := c.idle.Remove(c.idle.Front()).(*entry[S]) //nolint:errcheck,forcetypeassert // only entries are in the list
		oldest.place = nil
		delete(c.entries, oldest.run)
	}
}

// inUse acquires every entry that is in use.
func (c *cache[S]) inUse() []*entry[S] {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*entry[S]
	for _, e := range c.entries {
		if e.users > 0 {
			e.users++
			all = append(all, e)
		}
	}
	return all
}
