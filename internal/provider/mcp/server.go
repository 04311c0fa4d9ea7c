package mcp

import (
	"context"
	"sync"
	"time"
)

// Bounds of the time between two starts of a server that died.
const (
	firstBackOff = 100 * time.Millisecond
	maxBackOff   = 30 * time.Second
)

// server is one definition of a server and what runs of it.
type server struct {
	launch       launch
	startTimeout time.Duration
	now          func() time.Time

	// turn is held by the one call that looks for a connection. It is a channel
	// so that waiting for it can end.
	turn chan struct{}

	mu        sync.Mutex
	current   *connection
	failures  int // in a row, without a call that was answered
	notBefore time.Time
}

// newServer returns a server that is not started.
func newServer(l launch, startTimeout time.Duration, now func() time.Time) *server {
	return &server{launch: l, startTimeout: startTimeout, now: now, turn: make(chan struct{}, 1)}
}

// acquire returns a connection for one call that may return outputBytes. It
// starts the server if it does not run, not before its time.
func (s *server) acquire(ctx context.Context, outputBytes int64) (*connection, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c, dead := s.use(outputBytes)
	if dead != nil {
		dead.close()
	}
	if c != nil {
		return c, nil
	}
	return s.start(ctx, outputBytes)
}

// use begins a call on the current connection if it is alive; else it returns
// what is left of it.
func (s *server) use(outputBytes int64) (c, dead *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.current == nil:
		return nil, nil
	case s.current.alive():
		s.current.begin(outputBytes)
		return s.current, nil
	}
	dead, s.current = s.current, nil
	s.failed()
	return nil, dead
}

// start waits for the back-off, starts the server and begins a call on it.
func (s *server) start(ctx context.Context, outputBytes int64) (*connection, error) {
	s.mu.Lock()
	wait := s.notBefore.Sub(s.now())
	s.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	limited, stop := context.WithTimeout(ctx, s.startTimeout)
	defer stop()
	started, err := connect(limited, s.launch)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil {
			s.failed()
		}
		return nil, err
	}
	s.current = started
	started.begin(outputBytes)
	return started, nil
}

// failed counts a death and sets when the server may start again. The caller
// holds mu.
func (s *server) failed() {
	wait := min(firstBackOff<<min(s.failures, 16), maxBackOff)
	s.failures++
	s.notBefore = s.now().Add(wait)
}

// release ends a call on c. An answered call clears the failures. A server
// that leaves a call unanswered is not trusted with another: it is ended as
// soon as nobody waits for it.
func (s *server) release(c *connection, outputBytes int64, answered bool) {
	end := c.finish(outputBytes, !answered)
	s.mu.Lock()
	if answered {
		s.failures = 0
	}
	end = end && s.current == c
	if end {
		s.current = nil
		s.failed()
	}
	s.mu.Unlock()
	if end {
		c.close()
	}
}

// close ends the server. No call is under way any more.
func (s *server) close() {
	s.mu.Lock()
	c := s.current
	s.current = nil
	s.mu.Unlock()
	if c != nil {
		c.close()
	}
}
