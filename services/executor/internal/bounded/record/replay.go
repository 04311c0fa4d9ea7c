package record

import (
	"math/bits"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// replay walks a Trace as the state machine would, and keeps what can be computed from it again.
type replay struct {
	trace *Trace
	usage Usage
	// route and attempt are the events of the turn that later ones must agree with; action is its accepted tool action.
	route, attempt, action *Event
	retries                uint64
	response               uint64 // bytes of the turn's response
	history                uint64 // bytes of the actions and results that a run retains
	retained               bool
	wrong                  bool
}

// walk replays the Trace and reports whether it is one that the state machine can have written.
func (r *replay) walk() bool {
	t := r.trace
	if len(t.Events) < 2 || !wire.IsDigest(t.RunID) || !wire.IsDigest(t.ProfileDigest) || !wire.IsDigest(t.TaskDigest) {
		return false
	}
	r.usage.MaxConcurrency = 1
	for i := range t.Events {
		e := &t.Events[i]
		if !e.wellFormed() || (i == 0) != (e.Kind == RunStarted) || (i == len(t.Events)-1) != (e.Kind == RunFinished) ||
			i > 0 && !follows(&t.Events[i-1], e) || !r.step(e) {
			return false
		}
	}
	first, last := &t.Events[0], &t.Events[len(t.Events)-1]
	if first.InputDigest != t.ProfileDigest || first.OutputDigest != t.TaskDigest || last.Status != t.Termination.Status {
		return false
	}
	usage := t.Usage
	if !r.retained && usage.RetainedStateBytes != 0 || r.retained && usage.RetainedStateBytes <= r.history {
		return false
	}
	r.usage.RetainedStateBytes = usage.RetainedStateBytes // how long the task is, only Evidence says
	return !r.wrong && usage == r.usage && r.withinCaps() && t.Termination.agrees(&t.Events[len(t.Events)-2])
}

// step applies one event.
func (r *replay) step(e *Event) bool {
	turn := r.usage.Turns
	if e.Kind == RouteSelected {
		turn++
	}
	if e.Turn != turn {
		return false
	}
	r.count(e)
	switch e.Kind {
	case RouteSelected:
		r.usage.Turns = turn
		r.route, r.attempt, r.action, r.retries = e, nil, nil, 0
		return true
	case AttemptStarted:
		if r.attempt != nil {
			r.retries++
			if r.retries > document.Caps().RetriesPerTurn || r.attempt.Delta != e.Delta {
				return false
			}
		}
		r.attempt = e
		r.usage.ProviderAttempts++
		return r.ofRoute(e) && e.InputDigest == r.route.InputDigest
	case AttemptFinished:
		r.response = e.Delta.OutputBytes
		return r.ofRoute(e)
	case ActionAccepted:
		r.action = e
		return r.ofRoute(e)
	case ToolAuthorized:
		r.usage.ToolCalls++
		return r.ofRoute(e) && e.ToolID == r.action.ToolID && e.InputDigest == r.action.InputDigest
	case ToolFinished:
		if e.Status == Succeeded {
			r.retained = true
			r.history = r.sum(r.history, r.sum(r.response, e.Delta.ResultBytes))
		}
		return r.ofRoute(e) && e.ToolID == r.action.ToolID
	case RunStarted, RunFinished:
	}
	return true
}

// ofRoute reports whether the event is about the model of its turn.
func (r *replay) ofRoute(e *Event) bool {
	return r.route != nil && e.ProviderID == r.route.ProviderID && e.ModelID == r.route.ModelID
}

// count adds what the event adds.
func (r *replay) count(e *Event) {
	u, d := &r.usage, &e.Delta
	u.InputBytes = r.sum(u.InputBytes, d.InputBytes)
	u.OutputBytes = r.sum(u.OutputBytes, d.OutputBytes)
	u.InputTokens = r.sum(u.InputTokens, d.InputTokens)
	u.OutputTokens = r.sum(u.OutputTokens, d.OutputTokens)
	u.USDMicrounits = r.sum(u.USDMicrounits, d.USDMicrounits)
	u.ArgumentBytes = r.sum(u.ArgumentBytes, d.ArgumentBytes)
	u.ResultBytes = r.sum(u.ResultBytes, d.ResultBytes)
	u.ElapsedMillis = r.sum(u.ElapsedMillis, d.ElapsedMillis)
}

// sum adds, and notes an overflow.
func (r *replay) sum(a, b uint64) uint64 {
	total, carry := bits.Add64(a, b, 0)
	r.wrong = r.wrong || carry != 0
	return total
}

// withinCaps reports whether no production cap was crossed. Elapsed time has no cap here: a host may return late.
func (r *replay) withinCaps() bool {
	u, caps := &r.usage, document.Caps()
	return u.Turns <= caps.Turns && u.ProviderAttempts <= caps.ProviderAttempts && u.InputBytes <= caps.TotalInputBytes &&
		u.OutputBytes <= caps.TotalOutputBytes && u.InputTokens <= caps.InputTokens && u.OutputTokens <= caps.OutputTokens &&
		u.USDMicrounits <= caps.USDMicrounits && u.ToolCalls <= caps.ToolCalls &&
		r.sum(u.ArgumentBytes, u.ResultBytes) <= caps.TotalToolBytes && u.RetainedStateBytes <= caps.RetainedStateBytes
}

// agrees reports whether the termination is closed, has the code of its status, and can come after the last event.
func (t *Termination) agrees(last *Event) bool {
	if t.Status == Completed {
		return t.Code == "" && t.Message == ""
	}
	d := diagnostic.Diagnostic{Code: t.Code, Message: t.Message}
	if !diagnostic.Closed(d, document.Bounds()) || StatusOf(t.Code) != t.Status {
		return false
	}
	possible := reasons(last)
	if d.Code == diagnostic.CodeCancelled || d.Code == diagnostic.CodeDeadline || d.Code == diagnostic.CodeBound || possible == nil {
		return true
	}
	for _, reason := range possible {
		if *diagnostic.Of(reason) == d {
			return true
		}
	}
	return false
}

// reasons are the failures of provider, tool and authority that can end a run directly after an event.
func reasons(last *Event) []error {
	revoked := diagnostic.Unauthorized(diagnostic.PolicyRevoked)
	switch last.Kind {
	case AttemptFinished, ToolFinished:
		return finishedReasons(last)
	case RunStarted:
		return []error{diagnostic.NoRoute(), revoked, diagnostic.Provider(diagnostic.UsageInvalid)}
	case ActionAccepted, ToolAuthorized:
		return []error{revoked}
	case RouteSelected, AttemptStarted, RunFinished:
	}
	return nil
}

// finishedReasons are the failures that can end a run directly after a provider or a tool finished.
func finishedReasons(last *Event) []error {
	revoked := diagnostic.Unauthorized(diagnostic.PolicyRevoked)
	switch {
	case last.Kind == ToolFinished && last.Status == Succeeded:
		return []error{diagnostic.NoRoute(), revoked, diagnostic.Provider(diagnostic.UsageInvalid)}
	case last.Status == Succeeded:
		return []error{
			diagnostic.Provider(diagnostic.ResponseInvalid), revoked, diagnostic.Unauthorized(diagnostic.UnknownTool),
			diagnostic.Unauthorized(diagnostic.ToolNotAllowed), diagnostic.Unauthorized(diagnostic.CapabilityMissing),
			diagnostic.Unauthorized(diagnostic.ArgumentsMismatch),
		}
	case last.Status == DefinitelyNotStarted:
		return []error{diagnostic.Provider(diagnostic.NotStarted), revoked}
	case last.Status == FailedUncertain:
		return []error{
			diagnostic.Provider(diagnostic.StartUncertain), diagnostic.Provider(diagnostic.ResponseInvalid),
			diagnostic.Provider(diagnostic.UsageInvalid),
		}
	case last.Status == Failed:
		return []error{
			diagnostic.Tool(diagnostic.InvocationFailed), diagnostic.Tool(diagnostic.ResultInvalid),
			diagnostic.Unauthorized(diagnostic.ResultMismatch),
		}
	}
	return []error{revoked}
}
