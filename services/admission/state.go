package admission

import (
	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// State is what admission remembers of one run. The zero State is a run
// without events.
type State struct {
	Phase    events.Phase
	Sealed   *events.RunSealed
	Pending  *events.ApprovalRequested
	Admitted *events.RevisionAdmitted
	// Uses are the approvals that nodes of the admitted revision wait for, and
	// Asked the nodes that a person was asked about.
	Uses  map[string]*events.ApprovalRequested
	Asked map[string]bool
	// Attempts counts candidates that were taken up.
	Attempts int
	// Over is set once admission ended the run.
	Over  bool
	Heads events.Heads
}

// Core returns the pure core of the service.
func Core() decider.Core[State] {
	return decider.Core[State]{Owner: events.OwnerAdmission, Evolve: Evolve, Decide: Decide}
}

// Evolve returns the state after an event of admission's own chain. It never
// fails: what was recorded happened.
func Evolve(s State, event events.Event) State {
	switch e := event.Data.(type) {
	case *events.RunSealed:
		s.Phase, s.Sealed, s.Heads = events.PhaseSealed, e, e.Heads
	case *events.RunRejected:
		s.Phase, s.Over, s.Heads = events.Phase(e.Tag), true, e.Heads
	case *events.ApprovalRequested:
		if s.Heads = e.Heads; e.Use != "" {
			s.Uses, s.Asked = decider.With(s.Uses, e.Approval, e), decider.With(s.Asked, e.Use, true)
			break
		}
		s.Phase, s.Pending = events.PhaseAwaitingApproval, e
	case *events.UseApproved:
		s.Uses = decider.Without(s.Uses, e.Approval)
	case *events.UseDenied:
		s.Uses, s.Asked = decider.Without(s.Uses, e.Approval), decider.With(s.Asked, e.Node, true)
	case *events.SpecApproved:
		s.Phase, s.Pending = events.PhaseResolving, nil
	case *events.SpecDenied:
		s.Phase, s.Over, s.Pending, s.Heads = events.Phase(e.Tag), true, nil, e.Heads
	case *events.PlanRejected:
		s.Attempts, s.Heads = e.Attempt, e.Heads
		s.Phase = events.PhaseResolving
		if e.Final {
			s.Phase, s.Over = events.Phase(e.Tag), true
		}
	case *events.RevisionAdmitted:
		s.Phase, s.Admitted, s.Heads = events.PhaseAdmitted, e, e.Heads
		s.Attempts++
	case *events.RunCancelled:
		s.Phase, s.Over, s.Pending, s.Heads = events.PhaseCancelled, true, nil, e.Heads
	case *events.RunExpired:
		s.Phase, s.Over, s.Pending, s.Heads = events.Phase(e.Tag), true, nil, e.Heads
	}
	return s
}
