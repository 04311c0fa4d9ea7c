package reactor

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/journal"
)

// handle decides on one input, records the decision and starts its work. The
// caller holds the lock of the entry.
func (s *Service[S]) handle(ctx context.Context, e *entry[S], in decider.Input, cause events.Cause) error {
	s.remember(e, in.Commit)
	for range maxConflicts {
		if err := s.prepare(ctx, e, in); err != nil {
			return err
		}
		if e.handled[cause] && in.Kind == decider.Delivered {
			// Again: only what it had started may be missing.
			return s.settle(ctx, e, in.Run)
		}
		err := s.decide(ctx, e, in, cause)
		var unstarted *startError
		switch {
		case errors.As(err, &unstarted):
			return err // recorded: what was not started is found missing next time
		case errors.Is(err, journal.ErrConflict), errors.Is(err, errNotLoaded):
			if err := s.load(ctx, e, in.Run); err != nil {
				return err
			}
			if err := s.recoverRun(ctx, e, in.Run); err != nil && !errors.Is(err, journal.ErrConflict) {
				return err
			}
		case err != nil:
			e.forget()
			return err
		default:
			return nil
		}
	}
	return fmt.Errorf("run %s: %w after %d tries", in.Run, journal.ErrConflict, maxConflicts)
}

// errNotLoaded says that a decision on an assumed empty chain led to nothing,
// so the chain has to be read before that can be believed.
var errNotLoaded = errors.New("reactor: chain not read")

// errClosed says that a call was interrupted because the service closes.
var errClosed = errors.New("reactor: service closed")

// remember keeps the identities that every commit of the run carries.
func (s *Service[S]) remember(e *entry[S], c *events.Commit) {
	if c == nil {
		return
	}
	if e.first == "" {
		if e.first = c.Correlation; e.first == "" {
			e.first = c.ID
		}
	}
	if e.scope == "" && len(c.Sealed) > 0 {
		e.scope = c.Sealed[0].Scope
	}
}

// prepare loads the run unless it is in memory. A run that is not in memory is
// assumed to be new when a commit arrives, because nearly always it is: if the
// assumption is wrong the append conflicts, or the core finds no sense in the
// input, and then the chain is read. So the hot path reads nothing.
func (s *Service[S]) prepare(ctx context.Context, e *entry[S], in decider.Input) error {
	if e.loaded || in.Kind == decider.Delivered {
		return nil
	}
	if err := s.load(ctx, e, in.Run); err != nil {
		return err
	}
	return s.settle(ctx, e, in.Run)
}

// settle recovers a run, and reads its chain again as long as another process
// goes on with it: what is in memory here is then too old to recover from.
func (s *Service[S]) settle(ctx context.Context, e *entry[S], run events.Subject) error {
	var err error
	for range maxConflicts {
		if err = s.recoverRun(ctx, e, run); !errors.Is(err, journal.ErrConflict) {
			return err
		}
		if err := s.load(ctx, e, run); err != nil {
			return err
		}
	}
	return fmt.Errorf("recover run %s after %d tries: %w", run, maxConflicts, err)
}

// load folds the whole chain of the run.
func (s *Service[S]) load(ctx context.Context, e *entry[S], run events.Subject) error {
	e.forget()
	chain, end, err := LoadChain(ctx, s.o.Streams, s.o.Sealer, run)
	if err != nil {
		return err
	}
	e.handled = map[events.Cause]bool{}
	for i := range chain {
		s.fold(e, &chain[i], end.Sequence)
	}
	e.loaded = true
	return nil
}

func (s *Service[S]) fold(e *entry[S], c *events.Commit, sequence uint64) {
	s.remember(e, c)
	for i := range c.Events {
		e.state = s.core.Evolve(e.state, c.Events[i])
	}
	if e.handled == nil {
		e.handled = map[events.Cause]bool{}
	}
	e.handled[c.Cause] = true
	e.position = journal.Position{Sequence: sequence, Head: c.Head()}
}

// recoverRun settles what was recorded as started and is not in hand here:
// left behind by a process that is no more, or recorded without an answer.
func (s *Service[S]) recoverRun(ctx context.Context, e *entry[S], run events.Subject) error {
	if !e.loaded || e.position.Number == 0 {
		return nil
	}
	in := decider.Input{Kind: decider.Recovered, Run: run, InFlight: make(map[string]bool, len(e.calls))}
	for key := range e.calls {
		in.InFlight[key] = true
	}
	return s.decide(ctx, e, in, events.Cause{Event: "recovered:" + strconv.FormatUint(e.position.Number, 10)})
}

// decide asks the core, appends what it decided, and starts the work.
func (s *Service[S]) decide(ctx context.Context, e *entry[S], in decider.Input, cause events.Cause) error {
	view, err := s.o.Registries.View(ctx, in.Run.Tenant, neededEpoch(in.Commit))
	if err != nil {
		return fmt.Errorf("registry of %s: %w", in.Run.Tenant, err)
	}
	in.Registry, in.At = view, events.At(s.o.Clock())
	decision, err := s.core.Decide(e.state, in)
	if _, ok := errors.AsType[*decider.Error](err); ok {
		if !e.loaded {
			return errNotLoaded
		}
		s.o.Logger.InfoContext(ctx, "input refused", "run", in.Run.Run, "kind", string(in.Kind), "cause", cause.Commit, "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("decide %s: %w", in.Run, err)
	}
	if len(decision.Events) == 0 {
		if !e.loaded && len(decision.Work) > 0 {
			return errNotLoaded
		}
		return s.start(ctx, e, in.Run, decision.Work)
	}
	if err := s.append(ctx, e, in, cause, decision.Events); err != nil {
		return err
	}
	return s.start(ctx, e, in.Run, decision.Work)
}

// neededEpoch is the registry epoch that a commit was decided under.
func neededEpoch(c *events.Commit) uint64 {
	var epoch uint64
	if c == nil {
		return 0
	}
	for i := range c.Events {
		switch e := c.Events[i].Data.(type) {
		case *events.Submitted:
			epoch = max(epoch, e.Epoch)
		case *events.RunSealed:
			epoch = max(epoch, e.Epoch)
		case *events.RevisionAdmitted:
			epoch = max(epoch, e.Lease.Epoch)
		case *events.ExecutionCompleted:
			epoch = max(epoch, e.Epoch)
		case *events.ExecutionHalted:
			epoch = max(epoch, e.Epoch)
		}
	}
	return epoch
}

// append records one decision as one commit.
func (s *Service[S]) append(ctx context.Context, e *entry[S], in decider.Input, cause events.Cause, payloads []events.Payload) error {
	c := Assemble(Draft{
		Subject: in.Run, After: e.position.Head, Cause: cause, Correlation: e.first, Writer: s.o.Writer, At: in.At, Payloads: payloads,
	})
	if in.Commit != nil {
		c.Traceparent = in.Commit.Traceparent
	}
	scope := e.scope
	if scope == "" {
		scope = in.Run.Tenant + ".run-" + in.Run.Run
	}
	if err := s.o.Sealer.Seal(ctx, &c, scope); err != nil {
		return err
	}
	data, err := events.Encode(&c)
	if err != nil {
		return err
	}
	position, err := s.o.Streams.Append(ctx, &c, data, e.position)
	for attempt := 0; errors.Is(err, journal.ErrUnknownOutcome) && attempt < appendTries && s.o.Pause(ctx, backoff(attempt)); attempt++ {
		position, err = s.o.Streams.Append(ctx, &c, data, e.position)
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", in.Run, err)
	}
	if e.position.Number == 0 {
		e.loaded = true // the empty chain was real: the append expected it
	}
	s.fold(e, &c, position.Sequence)
	return nil
}

// start begins the work that follows from a recorded decision.
func (s *Service[S]) start(ctx context.Context, e *entry[S], run events.Subject, work []decider.Work) error {
	var first error
	for _, w := range work {
		var err error
		switch w := w.(type) {
		case decider.CallCapability:
			s.call(e, run, w)
		case decider.StopCall:
			if stop, ok := e.calls[w.Key]; ok {
				stop()
			}
		case decider.SetTimer:
			err = s.o.Streams.Schedule(ctx, journal.Timer{Run: run, Name: w.Name, At: w.At.Std()})
		case decider.ClearTimer:
			// A wake-up too many is harmless: its owner looks at the state.
			if clearErr := s.o.Streams.CancelTimer(ctx, run, w.Name); clearErr != nil {
				s.o.Logger.WarnContext(ctx, "timer not cleared", "run", run.Run, "timer", w.Name, "err", clearErr)
			}
		}
		if err != nil && first == nil {
			first = &startError{fmt.Errorf("work of %s: %w", run, err)}
		}
	}
	return first
}

// startError says that work of a recorded decision was not started.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// call invokes a capability in the background and feeds its outcome back in.
func (s *Service[S]) call(e *entry[S], run events.Subject, w decider.CallCapability) {
	ctx, stop := context.WithDeadline(s.calls, w.Deadline.Std())
	e.calls[w.Key] = stop
	cause := events.Cause{Commit: string(e.position.Digest), Event: "observed:" + w.Key}
	s.cache.acquire(run) // keeps the entry while the call is in flight
	s.active.Add(1)
	s.o.Spawn(func() {
		defer s.active.Done()
		defer s.cache.release(e)
		defer stop()
		outcome := s.invoke(ctx, w)
		in := decider.Input{Kind: decider.Observed, Run: run, Work: w.Key, Outcome: outcome}
		err := errClosed
		if s.calls.Err() == nil || outcome.Status == capability.StatusCompleted {
			err = s.observed(e, in, cause)
		}
		// Else it was interrupted by the end of this process, not by the
		// capability: whoever takes the run over finds it without a receipt.
		s.ended(e, w.Key, err)
	})
}

func (s *Service[S]) invoke(ctx context.Context, w decider.CallCapability) capability.Outcome {
	if s.o.Caller == nil {
		return capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeProviderMissing, Message: "this service calls no capabilities"}
	}
	return s.o.Caller.Invoke(ctx, w.Invocation)
}

// ended takes a call out of the calls in flight. After the last one, or after
// one whose outcome is not recorded, the inputs that wait are settled.
func (s *Service[S]) ended(e *entry[S], key string, err error) {
	e.mu.Lock()
	delete(e.calls, key)
	var waiting []func(error)
	if len(e.calls) == 0 || err != nil {
		waiting, e.waiting = e.waiting, nil
	}
	e.mu.Unlock()
	for _, settled := range waiting {
		settled(err)
	}
}

// observed records the outcome of a call. It is tried for as long as the
// streams may come back: the outcome exists only here.
func (s *Service[S]) observed(e *entry[S], in decider.Input, cause events.Cause) error {
	ctx := context.WithoutCancel(s.calls)
	var err error
	for attempt := range observeTries {
		err = s.guarded(ctx, e, in, cause, func() {})
		if err == nil || permanent(err) {
			return err
		}
		s.o.Logger.WarnContext(ctx, "outcome not recorded yet", "run", in.Run.Run, "attempt", attempt, "err", err)
		if !s.o.Pause(s.calls, backoff(attempt)) {
			break
		}
	}
	return err
}
