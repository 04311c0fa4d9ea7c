package reactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/registry"
)

// Streams is what a service needs of the journal.
type Streams interface {
	journal.Appender
	journal.Loader
	journal.Timers
}

// Sealer seals and opens the bodies of commits.
type Sealer interface {
	Opener
	Seal(ctx context.Context, c *events.Commit, scope string) error
}

// Registries gives the registry of a tenant, at least at an epoch.
type Registries interface {
	View(ctx context.Context, tenant string, epoch uint64) (registry.View, error)
}

// Caller invokes capabilities. It never fails: everything is an outcome.
type Caller interface {
	Invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome
}

// Options of a service.
type Options struct {
	Streams    Streams
	Sealer     Sealer
	Registries Registries
	// Caller is needed only by a core that calls capabilities.
	Caller Caller
	// Writer names this start of this instance in its commits: no two starts
	// may share it.
	Writer string
	Clock  func() time.Time
	// Spawn runs a call in the background. Nil means a goroutine.
	Spawn func(func())
	// Pause waits between tries to record an outcome and reports false if ctx
	// ended first. Nil means to wait.
	Pause func(ctx context.Context, d time.Duration) bool
	// CachedRuns bounds how many idle runs are kept in memory; 0 means 1024.
	CachedRuns int
	Logger     *slog.Logger
}

func (o *Options) validate() error {
	var missing []error
	for name, absent := range map[string]bool{
		"streams": o.Streams == nil, "sealer": o.Sealer == nil, "registries": o.Registries == nil,
		"writer": o.Writer == "", "clock": o.Clock == nil, "logger": o.Logger == nil,
	} {
		if absent {
			missing = append(missing, fmt.Errorf("reactor: option %s is missing", name))
		}
	}
	if o.CachedRuns == 0 {
		o.CachedRuns = 1024
	}
	if o.Spawn == nil {
		o.Spawn = func(f func()) { go f() }
	}
	if o.Pause == nil {
		o.Pause = pause
	}
	return errors.Join(missing...)
}

// Service runs one core.
type Service[S any] struct {
	core  decider.Core[S]
	o     Options
	cache *cache[S]
	// calls ends every call in flight when the service is closed.
	calls  context.Context //nolint:containedctx // the life of calls is that of the service, not of the delivery that started them
	cancel context.CancelFunc
	active sync.WaitGroup
}

// New returns a service for core.
func New[S any](core decider.Core[S], o Options) (*Service[S], error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o.Logger = o.Logger.With("service", string(core.Owner))
	s := &Service[S]{core: core, o: o, cache: newCache[S](o.CachedRuns)}
	s.calls, s.cancel = context.WithCancel(context.Background()) //nolint:forbidigo // ended by Close
	return s, nil
}

// Close waits until the calls in flight have ended and their outcomes are
// recorded. When ctx ends first, the calls are interrupted; they stay without
// a receipt and are settled by whoever takes the runs over.
func (s *Service[S]) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() { s.active.Wait(); close(done) }()
	select {
	case <-done:
		s.cancel()
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	select {
	case <-done:
		return nil
	case <-time.After(interruptGrace):
		return fmt.Errorf("close %s: calls do not end: %w", s.core.Owner, context.Cause(ctx))
	}
}

// interruptGrace is how long interrupted calls have to return.
const interruptGrace = 10 * time.Second

// Owner is the owner whose chain the service writes.
func (s *Service[S]) Owner() events.Owner { return s.core.Owner }

// maxConflicts bounds how often one input is decided again because the chain
// moved on. The chain has one writer, so more than one conflict is rare.
const maxConflicts = 16

// Deliver handles a commit of another owner, without waiting for the work that
// follows from it. decided is called as soon as the decision is recorded;
// settled once no call of the run is in flight any more, with the first error.
// Handling a commit again changes nothing.
func (s *Service[S]) Deliver(ctx context.Context, c *events.Commit, decided func(), settled func(error)) {
	in := decider.Input{Kind: decider.Delivered, Run: c.Subject.With(s.core.Owner), Commit: c}
	s.input(ctx, in, events.Cause{Commit: c.ID, Event: lastEvent(c)}, decided, settled)
}

// Fire handles a timer that fired about a run, as Deliver does a commit.
func (s *Service[S]) Fire(ctx context.Context, run events.Subject, name string, decided func(), settled func(error)) {
	in := decider.Input{Kind: decider.Fired, Run: run.With(s.core.Owner), Timer: name}
	s.input(ctx, in, events.Cause{Event: "timer:" + name}, decided, settled)
}

// Reconsider lets the core look at every run with calls in flight in this
// process, after the registry of its tenant changed.
func (s *Service[S]) Reconsider(ctx context.Context) {
	for _, e := range s.cache.inUse() {
		s.reconsider(ctx, e)
		s.cache.release(e)
	}
}

func (s *Service[S]) reconsider(ctx context.Context, e *entry[S]) {
	e.mu.Lock()
	busy := len(e.calls) > 0
	e.mu.Unlock()
	if !busy {
		return
	}
	view, err := s.o.Registries.View(ctx, e.run.Tenant, 0)
	if err == nil {
		in := decider.Input{Kind: decider.Changed, Run: e.run}
		err = s.guarded(ctx, e, in, events.Cause{Event: "registry:" + strconv.FormatUint(view.Epoch, 10)}, func() {})
	}
	if err != nil {
		s.o.Logger.WarnContext(ctx, "run not reconsidered after the registry changed", "run", e.run.Run, "err", err)
	}
}

func lastEvent(c *events.Commit) string {
	if len(c.Events) == 0 {
		return ""
	}
	return c.Events[len(c.Events)-1].ID
}

func (s *Service[S]) input(ctx context.Context, in decider.Input, cause events.Cause, decided func(), settled func(error)) {
	e := s.cache.acquire(in.Run)
	defer s.cache.release(e)
	err := s.guarded(ctx, e, in, cause, func() {
		if settled != nil && len(e.calls) > 0 {
			// Also an input that changed nothing waits for the calls in flight:
			// to the broker it may be the one that started them.
			e.waiting = append(e.waiting, settled)
			settled = nil
		}
	})
	if err == nil && decided != nil {
		decided()
	}
	if settled != nil {
		settled(err)
	}
}

// guarded handles an input under the lock of its run. A panic of the core is an
// error that trying again cannot help; what is in memory of the run is then
// read anew. handled is called after success, still under the lock.
func (s *Service[S]) guarded(ctx context.Context, e *entry[S], in decider.Input, cause events.Cause, handled func()) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer func() {
		if value := recover(); value != nil {
			e.forget()
			err = &panicError{value: value, stack: string(debug.Stack())}
			s.o.Logger.ErrorContext(ctx, "core panicked", "run", in.Run.Run, "kind", string(in.Kind), "err", err)
		}
	}()
	if err := s.handle(ctx, e, in, cause); err != nil {
		return err
	}
	handled()
	return nil
}

// panicError is what a core panicked with.
type panicError struct {
	value any
	stack string
}

// Error implements the error interface.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }
