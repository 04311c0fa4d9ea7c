package executor

import (
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/authority"
	"example.org/mandate/internal/decider"
)

// MaxAttempts bounds how often one node is dispatched.
const MaxAttempts = authority.ActionAttempts

// State is what the executor remembers of one run. The zero State is a run
// without events. Evolve copies what it changes, so states can be kept.
type State struct {
	Admitted *events.RevisionAdmitted
	// Actions by node: the latest dispatch of it.
	Actions  map[string]Action
	Results  map[string]events.ResultRecord
	Evidence []events.EvidenceRecord
	// Asked are the nodes for which a person's decision was asked, and
	// Confirmed those that a person approved.
	Asked     map[string]bool
	Confirmed map[string]*events.ConfirmationReceived
	// Spent of the executor's own allotment.
	Dispatches    int64
	ArtifactBytes int64
	// Halting is set once no further action may be dispatched.
	Halting    events.HaltCause
	Diagnostic events.Diagnostic
	// Over is set once execution ended.
	Over bool
}

// Action is one dispatch of a node.
type Action struct {
	ID         string
	Node       string
	Capability events.CapabilityRef
	Effect     events.Effect
	Attempt    int
	Settled    bool
	Status     events.ActionStatus
	Retry      bool // failed in a way that allows another attempt
	Receipt    string
	Diagnostic *events.Diagnostic
}

// Core returns the pure core of the service.
func Core() decider.Core[State] {
	return decider.Core[State]{Owner: events.OwnerExecutor, Evolve: Evolve, Decide: Decide}
}

// StatusLost is the status of a failed read whose outcome was lost.
const StatusLost = "lost"

// Evolve returns the state after an event of the executor's own chain. It
// never fails: what was recorded happened.
func Evolve(s State, event events.Event) State {
	switch e := event.Data.(type) {
	case *events.RevisionAccepted:
		s.Admitted = &e.Admitted
	case *events.ConfirmationNeeded:
		s.Asked = decider.With(s.Asked, e.Node, true)
	case *events.ConfirmationReceived:
		s.Confirmed = decider.With(s.Confirmed, e.Node, e)
	case *events.ActionDispatched:
		s.Dispatches++
		s = s.with(Action{
			ID: e.Action, Node: e.Node, Capability: e.Capability, Effect: e.Effect, Attempt: e.Attempt,
		})
	case *events.ActionCompleted:
		s = s.settle(e.Node, e.Action, func(a *Action) { a.Status, a.Receipt = events.ActionStatusCompleted, e.Receipt })
	case *events.ActionFailed:
		s = s.settle(e.Node, e.Action, func(a *Action) {
			a.Status, a.Diagnostic, a.Retry = events.ActionStatusFailed, &e.Diagnostic, e.Status == StatusLost
		})
	case *events.ActionUncertain:
		s = s.settle(e.Node, e.Action, func(a *Action) { a.Status, a.Diagnostic = events.ActionStatusUncertain, &e.Diagnostic })
	case *events.ResultRecorded:
		s.Results = decider.With(s.Results, e.Result.Node, e.Result)
		s.ArtifactBytes += e.Result.Value.Size + e.Result.Raw.Size
	case *events.EvidenceRecorded:
		s.Evidence = append(slices.Clip(s.Evidence), e.Evidence)
	case *events.ExecutionHalting:
		s.Halting, s.Diagnostic = e.Cause, e.Diagnostic
	case *events.ExecutionCompleted, *events.ExecutionHalted:
		s.Over = true
	}
	return s
}

func (s State) with(a Action) State {
	s.Actions = decider.With(s.Actions, a.Node, a)
	return s
}

func (s State) settle(node, id string, change func(*Action)) State {
	a, ok := s.Actions[node]
	if !ok || a.ID != id {
		return s
	}
	a.Settled = true
	change(&a)
	return s.with(a)
}

// inFlight lists the actions without a receipt, in plan order.
func (s State) inFlight() []Action {
	var open []Action
	if s.Admitted == nil {
		return nil
	}
	for i := range s.Admitted.Nodes {
		if a, ok := s.Actions[s.Admitted.Nodes[i].ID]; ok && !a.Settled {
			open = append(open, a)
		}
	}
	return open
}

// OpenActions lists the IDs of the actions without a receipt, in plan order.
func (s State) OpenActions() []string {
	var ids []string
	for _, a := range s.inFlight() {
		ids = append(ids, a.ID)
	}
	return ids
}
