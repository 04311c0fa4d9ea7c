package provider

import (
	"context"
	"sync"
)

// Gate counts the invocations in a provider so that closing can end them and
// wait for them. The zero value is an open gate.
type Gate struct {
	mu     sync.Mutex
	closed bool
	next   uint64
	inside map[uint64]context.CancelCauseFunc
	wait   sync.WaitGroup
}

// Enter lets one invocation in. It returns a context that also ends when the
// gate is closed, and the function that must be called at the end; or false
// when the gate is closed.
func (g *Gate) Enter(ctx context.Context) (inside context.Context, leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ctx, nil, false
	}
	if g.inside == nil {
		g.inside = make(map[uint64]context.CancelCauseFunc)
	}
	g.next++
	id := g.next
	inside, cancel := context.WithCancelCause(ctx)
	g.inside[id] = cancel
	g.wait.Add(1)
	return inside, func() {
		g.mu.Lock()
		delete(g.inside, id)
		g.mu.Unlock()
		cancel(nil)
		g.wait.Done()
	}, true
}

// Close refuses new invocations, ends those inside and waits for them.
func (g *Gate) Close() {
	g.mu.Lock()
	g.closed = true
	for _, cancel := range g.inside {
		cancel(ErrClosed)
	}
	g.mu.Unlock()
	g.wait.Wait()
}
