package bounded

import (
	"errors"
	"sync"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
)

// ErrSinkClosed is what pushing gives outside of the one call that a sink was made for.
var ErrSinkClosed = errors.New("bounded: the sink is closed")

// guard says whether a run may go on: not cancelled, in time, and under the policy it was admitted under.
type guard struct {
	cancellation *Cancellation
	clock        *clock
	epoch        uint64
	limit        uint64
}

// clock keeps elapsed time from going back.
type clock struct{ latest uint64 }

func (c *clock) note(elapsed uint64) uint64 {
	c.latest = max(c.latest, elapsed)
	return c.latest
}

// check is the order of checks: cancellation, deadline, epoch. Elapsed time at the limit is expired. Whoever cancels while
// the host is observed is heard too.
func (g *guard) check(observe Probe) error {
	if g.cancellation.Cancelled() {
		return diagnostic.Cancelled()
	}
	elapsed, epoch := observe()
	if g.cancellation.Cancelled() {
		return diagnostic.Cancelled()
	}
	if g.clock.note(elapsed) >= g.limit {
		return diagnostic.Deadline()
	}
	if epoch != g.epoch {
		return diagnostic.Unauthorized(diagnostic.PolicyRevoked)
	}
	return nil
}

// sink takes bytes one chunk at a time and never holds more than it may. The zero value is closed.
type sink struct {
	mu     sync.Mutex
	open   bool
	guard  guard
	probe  Probe
	bytes  []byte
	chunks uint64
	limits sinkLimits
	// boundary and rejection are the first refusal; every later push gets it again.
	boundary, rejection error
}

// sinkLimits bound a sink. A chunk count of zero is no bound.
type sinkLimits struct {
	bytes, chunks uint64
	// tooLong is the refusal of a byte too many.
	tooLong error
}

// push appends a chunk, or refuses it whole.
func (s *sink) push(chunk []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.open:
		return ErrSinkClosed
	case s.boundary != nil:
		return s.boundary
	case s.rejection != nil:
		return s.rejection
	}
	if s.boundary = s.guard.check(s.probe); s.boundary != nil {
		return s.boundary
	}
	s.chunks++
	if s.limits.chunks != 0 && s.chunks > s.limits.chunks {
		s.rejection = diagnostic.Bound(document.FieldStreamChunks, s.limits.chunks)
		return s.rejection
	}
	if uint64(len(chunk)) > s.limits.bytes-uint64(len(s.bytes)) {
		s.rejection = s.limits.tooLong
		return s.rejection
	}
	s.bytes = append(s.bytes, chunk...)
	return nil
}

// close refuses every later push.
func (s *sink) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
}

// ProviderSink takes the response of one provider attempt. Only a run makes one that is open.
type ProviderSink struct{ sink }

// Push adds a chunk of the response. After an error nothing more is taken.
func (s *ProviderSink) Push(chunk []byte) error { return s.push(chunk) }

// ToolSink takes the result of one tool invocation. Only a run makes one that is open.
type ToolSink struct{ sink }

// Push adds a chunk of the result. After an error nothing more is taken.
func (s *ToolSink) Push(chunk []byte) error { return s.push(chunk) }
