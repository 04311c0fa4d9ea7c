package provider

import (
	"errors"
	"sync"
)

// ErrOutputTooLarge is what a sink answers when its limit is exceeded.
var ErrOutputTooLarge = errors.New("provider: output exceeds its limit")

// ErrLate is what a sealed sink answers.
var ErrLate = errors.New("provider: output after the end of the invocation")

// Sink collects the output of an invocation up to a limit. The runtime owns
// it: what writes to it cannot raise the limit. A chunk that does not fit is
// refused whole, before any of it is kept, and so is everything after it.
type Sink struct {
	mu       sync.Mutex
	limit    int64
	data     []byte
	exceeded bool
	sealed   bool
	onExceed func()
}

// NewSink returns a sink for at most limit bytes; zero or less allows none.
// The function exceeded, if any, is called once when the limit is exceeded.
func NewSink(limit int64, exceeded func()) *Sink {
	return &Sink{limit: max(limit, 0), onExceed: exceeded}
}

// Write implements io.Writer.
func (s *Sink) Write(chunk []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.exceeded:
		return 0, ErrOutputTooLarge
	case s.sealed:
		return 0, ErrLate
	case int64(len(chunk)) > s.limit-int64(len(s.data)):
		s.exceeded = true
		if s.onExceed != nil {
			s.onExceed()
		}
		return 0, ErrOutputTooLarge
	}
	s.data = append(s.data, chunk...)
	return len(chunk), nil
}

// Seal refuses whatever comes later and returns what was collected, and
// whether it is all there was. The caller owns the bytes.
func (s *Sink) Seal() (data []byte, whole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	return s.data, !s.exceeded
}
