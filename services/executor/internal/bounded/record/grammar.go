package record

import (
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// shape says which identities and digests an event of a kind and status has, and which numbers it may add.
type shape struct {
	model, tool   bool
	input, output bool
	adds          func(*Delta) // clears the numbers that the event may have
}

// shapeOf returns the shape of an event, or false when there is no such event.
func shapeOf(kind Kind, status Status) (shape, bool) {
	switch kind {
	case RunStarted:
		return shape{input: true, output: true}, status == Started
	case RouteSelected:
		return shape{model: true, input: true}, status == Selected
	case AttemptStarted:
		return shape{model: true, input: true, adds: func(d *Delta) { d.InputBytes, d.InputTokens, d.USDMicrounits = 0, 0, 0 }}, status == Started
	case AttemptFinished:
		finished := shape{model: true, output: true, adds: func(d *Delta) { d.OutputBytes, d.OutputTokens = 0, 0 }}
		if status == DefinitelyNotStarted {
			return shape{model: true}, true
		}
		return finished, status == Succeeded || status == FailedUncertain || stopped(status)
	case ActionAccepted:
		if status == AcceptedFinal {
			return shape{model: true, input: true, output: true}, true
		}
		return shape{model: true, tool: true, input: true}, status == AcceptedTool
	case ToolAuthorized:
		return shape{model: true, tool: true, input: true, adds: func(d *Delta) { d.ArgumentBytes = 0 }}, status == Authorized
	case ToolFinished:
		finished := shape{model: true, tool: true, adds: func(d *Delta) { d.ResultBytes = 0 }}
		finished.output = status == Succeeded
		return finished, status == Succeeded || status == Failed || stopped(status)
	case RunFinished:
		return shape{adds: func(d *Delta) { d.ElapsedMillis = 0 }}, terminal(status)
	}
	return shape{}, false
}

// terminal reports whether a run can end with the status.
func terminal(status Status) bool {
	return status == Completed || status == BudgetExhausted || status == ProviderFailed || status == ToolFailed || stopped(status)
}

// stopped reports whether the status says that a boundary was closed: by cancellation, deadline or policy.
func stopped(status Status) bool {
	return status == Cancelled || status == DeadlineExceeded || status == PolicyRejected
}

// wellFormed reports whether the event has what its kind and status have, and nothing else.
func (e *Event) wellFormed() bool {
	s, known := shapeOf(e.Kind, e.Status)
	if !known || (e.ProviderID != "") != s.model || (e.ModelID != "") != s.model || (e.ToolID != "") != s.tool {
		return false
	}
	for _, id := range []string{e.ProviderID, e.ModelID, e.ToolID} {
		if id != "" && !document.Identifier(id) {
			return false
		}
	}
	if (e.InputDigest != "") != s.input || (e.OutputDigest != "") != s.output ||
		s.input && !wire.IsDigest(e.InputDigest) || s.output && !wire.IsDigest(e.OutputDigest) {
		return false
	}
	rest := e.Delta
	if s.adds != nil {
		s.adds(&rest)
	}
	return rest == Delta{}
}

// follows reports whether right may come directly after left.
func follows(left, right *Event) bool {
	if right.Kind == RunFinished {
		return endsWith(left, right.Status)
	}
	switch left.Kind {
	case RunStarted:
		return right.Kind == RouteSelected
	case RouteSelected:
		return right.Kind == AttemptStarted
	case AttemptStarted:
		return right.Kind == AttemptFinished
	case AttemptFinished:
		return left.Status == Succeeded && right.Kind == ActionAccepted ||
			left.Status == DefinitelyNotStarted && right.Kind == AttemptStarted
	case ActionAccepted:
		return left.Status == AcceptedTool && right.Kind == ToolAuthorized
	case ToolAuthorized:
		return right.Kind == ToolFinished
	case ToolFinished:
		return left.Status == Succeeded && right.Kind == RouteSelected
	case RunFinished:
	}
	return false
}

// endsWith reports whether a run may end with a status directly after an event.
func endsWith(last *Event, status Status) bool {
	switch last.Kind {
	case RouteSelected, AttemptStarted:
		return status == BudgetExhausted
	case ActionAccepted, ToolAuthorized:
		if last.Status == AcceptedFinal {
			return status == Completed
		}
		return status == BudgetExhausted || stopped(status)
	case RunStarted:
		return status != Completed && status != ToolFailed
	case AttemptFinished, ToolFinished:
		return finishedWith(last, status)
	case RunFinished:
	}
	return false
}

// finishedWith reports whether a run may end with a status directly after a provider or a tool finished.
func finishedWith(last *Event, status Status) bool {
	switch {
	case stopped(last.Status):
		return status == last.Status
	case last.Status == FailedUncertain:
		return status == ProviderFailed || status == BudgetExhausted
	case last.Status == Failed:
		return status == ToolFailed || status == BudgetExhausted || status == PolicyRejected
	}
	// After a tool that succeeded too: a run that is cancelled, expired, revoked or without a route at the beginning of its
	// next turn keeps its records.
	return status != Completed && status != ToolFailed
}
