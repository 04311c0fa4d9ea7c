package bounded

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// ask gets an action from the provider. The only attempt that is made again is one that definitely did not start and
// left nothing behind.
func (r *run) ask(chosen *route) (*document.Action, error) {
	for retries := uint64(0); ; retries++ {
		before := r.mark()
		sink, remaining, err := r.admitAttempt(chosen)
		if err != nil {
			r.rollback(before)
			return nil, err
		}
		r.attempts = append(r.attempts, record.Attempt{Reserved: chosen.cost})
		r.crossed = true
		attempt := r.host.AttemptProvider(ProviderCall{
			ProviderID: chosen.model.ProviderID, ModelID: chosen.model.ModelID, Request: bytes.Clone(chosen.request), RemainingMillis: remaining,
		}, sink)
		sink.close()
		finished, failure := r.judge(chosen, attempt, &sink.sink)
		r.push(r.event(chosen, finished))
		if finished.Status == record.DefinitelyNotStarted && retries < r.limits.RetriesPerTurn {
			continue
		}
		if failure != nil {
			return nil, failure
		}
		chosen.usage = attempt.usage
		return r.read(sink.bytes)
	}
}

// admitAttempt prepares an attempt up to the point where only the call is left.
func (r *run) admitAttempt(chosen *route) (*ProviderSink, uint64, error) {
	if err := r.boundary(); err != nil {
		return nil, 0, err
	}
	usage := &r.trace.Usage
	left := r.limits.TotalOutputBytes - usage.OutputBytes
	if left == 0 {
		return nil, 0, diagnostic.Bound(document.FieldTotalOutputBytes, r.limits.TotalOutputBytes)
	}
	limits := sinkLimits{
		bytes: r.limits.ProviderResponseBytes, chunks: r.limits.StreamChunks,
		tooLong: diagnostic.Bound(document.FieldProviderResponseBytes, r.limits.ProviderResponseBytes),
	}
	if left < limits.bytes {
		limits.bytes, limits.tooLong = left, diagnostic.Bound(document.FieldTotalOutputBytes, r.limits.TotalOutputBytes)
	}
	if err := r.builder.take(copies(limits.bytes) + attemptOverhead); err != nil {
		return nil, 0, err
	}
	started := r.event(chosen, record.Event{
		Kind: record.AttemptStarted, InputDigest: chosen.digest, Status: record.Started,
		Delta: record.Delta{InputBytes: uint64(len(chosen.request)), InputTokens: chosen.tokens, USDMicrounits: chosen.cost},
	})
	attempts, err := r.affords(&started)
	if err != nil {
		return nil, 0, err
	}
	if err := r.roomForAttempt(chosen, started); err != nil {
		return nil, 0, err
	}
	sink := &ProviderSink{sink{open: true, guard: r.guard, probe: r.host.Probe(), limits: limits}}
	r.push(started)
	usage.ProviderAttempts = attempts
	remaining, err := r.remaining()
	return sink, remaining, err
}

// affords refuses an attempt that some budget has no place for, and returns how many attempts there are with it.
func (r *run) affords(started *record.Event) (attempts uint64, err error) {
	u, d, l := &r.trace.Usage, &started.Delta, r.limits
	attempts, err = total{document.FieldProviderAttempts, u.ProviderAttempts, l.ProviderAttempts}.plus(1)
	if err != nil {
		return 0, err
	}
	for _, next := range []struct {
		total
		more uint64
	}{
		{total{document.FieldTotalInputBytes, u.InputBytes, l.TotalInputBytes}, d.InputBytes},
		{total{document.FieldInputTokens, u.InputTokens, l.InputTokens}, d.InputTokens},
		{total{document.FieldUSDMicrounits, u.USDMicrounits, l.USDMicrounits}, d.USDMicrounits},
	} {
		if _, err := next.plus(next.more); err != nil {
			return 0, err
		}
	}
	return attempts, nil
}

// roomForAttempt refuses an attempt after which the records of some ending would not fit.
func (r *run) roomForAttempt(chosen *route, started record.Event) error {
	digest := chosen.digest // as long as every digest
	finished := r.event(chosen, record.Event{
		Kind: record.AttemptFinished, OutputDigest: digest, Status: record.FailedUncertain,
		Delta: record.Delta{OutputBytes: r.limits.ProviderResponseBytes, OutputTokens: r.limits.OutputTokens},
	})
	longer := finished
	longer.Status = record.DeadlineExceeded
	final := r.event(chosen, record.Event{Kind: record.ActionAccepted, InputDigest: digest, OutputDigest: digest, Status: record.AcceptedFinal})
	return r.room(
		record.Ending{Events: []record.Event{started, longer}},
		record.Ending{Events: []record.Event{started, finished, final}, Completed: true},
	)
}

// judge says how an attempt ended, and with which failure.
func (r *run) judge(chosen *route, attempt Attempt, s *sink) (record.Event, error) {
	usage := attempt.usage
	valid := usage.input <= chosen.tokens && usage.output <= chosen.output && usage.microunits <= chosen.cost
	e := record.Event{
		Kind: record.AttemptFinished, OutputDigest: wire.Digest(wire.DomainProviderResponse, s.bytes), Status: record.FailedUncertain,
		Delta: record.Delta{OutputBytes: uint64(len(s.bytes))},
	}
	if valid {
		e.Delta.OutputTokens = usage.output
	}
	boundary := s.boundary
	if boundary == nil {
		boundary = r.boundary()
	}
	untouched := s.chunks == 0 && usage.input == 0 && usage.output == 0 && usage.microunits == 0
	switch {
	case boundary != nil:
		e.Status = record.StatusOf(diagnostic.Of(boundary).Code)
		return e, boundary
	case attempt.disposition == notStarted && untouched:
		e.Status, e.OutputDigest = record.DefinitelyNotStarted, ""
		return e, diagnostic.Provider(diagnostic.NotStarted)
	case !valid:
		return e, diagnostic.Provider(diagnostic.UsageInvalid)
	case attempt.disposition != succeeded:
		return e, diagnostic.Provider(diagnostic.StartUncertain)
	case s.rejection != nil:
		return e, s.rejection
	case !utf8.Valid(s.bytes):
		return e, diagnostic.Provider(diagnostic.ResponseInvalid)
	}
	e.Status = record.Succeeded
	return e, nil
}

// read reads the action of a response.
func (r *run) read(response []byte) (*document.Action, error) {
	action, err := document.ParseAction(response, r.limits.ProviderResponseBytes)
	if err != nil {
		if d := diagnostic.Of(err); d != nil && d.Code == diagnostic.CodeBound && strings.HasPrefix(d.Message, document.FieldJSONDepth) {
			return nil, err
		}
		return nil, diagnostic.Provider(diagnostic.ResponseInvalid)
	}
	return action, r.builder.take(action.Quoted)
}
