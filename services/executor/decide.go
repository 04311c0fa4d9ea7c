package executor

import (
	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// Decide returns what follows from an input in state s. An error means that
// the input makes no sense in s and nothing happened.
func Decide(s State, in decider.Input) (decider.Decision, error) {
	d := &draft{state: s, in: in}
	switch in.Kind {
	case decider.Delivered:
		for i := range in.Commit.Events {
			if err := d.deliver(in.Commit.Events[i].Data); err != nil {
				return decider.Decision{}, err
			}
		}
	case decider.Observed:
		d.observe()
	case decider.Recovered:
		d.recover()
	case decider.Changed:
		d.revoked()
	case decider.Fired:
	}
	if d.err != nil {
		return decider.Decision{}, d.err
	}
	return d.Decision, nil
}

// draft is a decision in the making: every event is folded at once, so that
// what follows is decided in the state that the event leads to.
type draft struct {
	decider.Decision
	state State
	in    decider.Input
	err   error

	plan  *events.Plan // once it was read
	input any          // of the request, parsed
}

func (d *draft) emit(p events.Payload) {
	d.Events = append(d.Events, p)
	d.state = Evolve(d.state, events.Event{Time: d.in.At, Data: p})
}

func nonsense(code events.Code, what string) error {
	return &decider.Error{Owner: events.OwnerExecutor, Code: code, What: what}
}

func (d *draft) deliver(p events.Payload) error {
	switch e := p.(type) {
	case *events.RevisionAdmitted:
		if d.state.Admitted != nil {
			return nonsense(events.CodeConflict, "a second revision while one is active")
		}
		admitted := *e
		admitted.Heads = decider.Heads(e.Heads, d.in.Commit)
		// What only explains the decision stays with admission.
		admitted.Bounds, admitted.Decision = []events.Bound{}, events.DecisionRecord{Selected: admitted.ID, Algorithm: e.Decision.Algorithm, Disposition: "accepted"}
		d.emit(&events.RevisionAccepted{Admitted: admitted})
		d.advance()
	case *events.RunCancelled:
		if e.Revision == 0 {
			return nil // never admitted: there is nothing to stop
		}
		return d.stop(events.HaltCancelled, events.Diagnostic{
			Code: events.CodeCancelled, Message: "the run was cancelled", Action: "submit the request again if it is still wanted",
		})
	case *events.UseApproved:
		return d.confirmed(e)
	case *events.UseDenied:
		if d.state.Admitted != nil && e.Revision != d.state.Admitted.Revision {
			return nonsense(events.CodeConflict, "a decision about another revision")
		}
		return d.stop(events.HaltDenied, e.Diagnostic)
	case *events.LeaseRevoked:
		return d.stop(events.HaltRevoked, e.Reason)
	}
	return nil
}

// stop prevents every further dispatch. What is in flight is asked to end and
// its outcome is still recorded.
func (d *draft) stop(cause events.HaltCause, why events.Diagnostic) error {
	if d.state.Admitted == nil {
		return nonsense(events.CodeRunUnknown, "stop before a revision")
	}
	if d.state.Over {
		return nonsense(events.CodeRunConcluded, "stop after the end")
	}
	if d.state.Halting == "" {
		d.halt(cause, why)
		for _, a := range d.state.inFlight() {
			d.Work = append(d.Work, decider.StopCall{Key: a.ID})
		}
	}
	d.advance()
	return nil
}

// revoked stops what is in flight with a capability that was revoked
// meanwhile, and everything that would follow. What else is in flight may end.
func (d *draft) revoked() {
	if d.state.Admitted == nil || d.state.Over {
		return
	}
	for _, a := range d.state.inFlight() {
		if reason, revoked := d.in.Registry.Revoked(a.Capability.Name); revoked {
			d.halt(events.HaltRevoked, revocation(a.Capability.Name, reason))
			d.Work = append(d.Work, decider.StopCall{Key: a.ID})
		}
	}
}

// revocation says that a capability was revoked, and why if a reason was given.
func revocation(name, reason string) events.Diagnostic {
	message := "the capability " + name + " was revoked"
	if reason != "" {
		message += ": " + reason
	}
	return diagnostic(events.CodeCapabilityRevoked, message, "use another capability")
}

func (d *draft) halt(cause events.HaltCause, why events.Diagnostic) {
	if d.state.Halting == "" {
		d.emit(&events.ExecutionHalting{Cause: cause, Diagnostic: why})
	}
}

// recover settles what a process left behind that is no more. An absent
// receipt does not mean that nothing happened.
func (d *draft) recover() {
	if d.state.Admitted == nil || d.state.Over {
		return
	}
	for _, a := range d.state.inFlight() {
		if d.in.InFlight[a.ID] {
			continue
		}
		if a.Effect == events.EffectWrite {
			d.emit(&events.ActionUncertain{Action: a.ID, Node: a.Node, Diagnostic: events.Diagnostic{
				Code: events.CodeActionUncertain, Message: "the process ended before the outcome of the write was known",
				Action: "find out at the target whether it happened; it is not repeated",
			}})
			continue
		}
		d.emit(&events.ActionFailed{Action: a.ID, Node: a.Node, Status: StatusLost, Diagnostic: events.Diagnostic{
			Code: events.CodeActionLost, Message: "the process ended before the outcome was known", Action: "nothing to do: a read changes nothing",
		}})
	}
	d.advance()
}
