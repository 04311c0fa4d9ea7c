package admission

import (
	"maps"
	"slices"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// TimerApproval is the wake-up for a request for approval that nobody decided.
const TimerApproval = "approval"

// Decide returns what follows from an input in state s.
//
// A refusal of what was asked is an event, because it is an outcome of the
// run. An error means that the input makes no sense in s and nothing happened.
func Decide(s State, in decider.Input) (decider.Decision, error) {
	switch in.Kind {
	case decider.Delivered:
		for i := range in.Commit.Events {
			switch e := in.Commit.Events[i].Data.(type) {
			case *events.Submitted:
				return seal(s, in, e)
			case *events.CancelRequested:
				return cancel(s, in, e)
			case *events.ApprovalDecided:
				return decideApproval(s, in, e)
			case *events.SpecProposed:
				return propose(s, in, e)
			case *events.ConfirmationNeeded:
				return askUse(s, in, e)
			case *events.Steered, *events.ChoiceAnswered, *events.ReconciliationRequested:
				return decider.Decision{}, nonsense(events.CodeOutputUnsupported, "nothing in this run takes "+events.ShortType(in.Commit.Events[i].Type()))
			}
		}
		return decider.Decision{}, nil
	case decider.Fired:
		switch {
		case in.Timer == TimerApproval:
			return approvalOverdue(s, in), nil
		case strings.HasPrefix(in.Timer, timerUse):
			return useFired(s, in), nil
		}
	case decider.Recovered:
		return decider.Decision{Work: s.timers()}, nil
	case decider.Observed, decider.Changed:
	}
	return decider.Decision{}, nil
}

// timers are the wake-ups that the run waits for, in a fixed order.
func (s State) timers() []decider.Work {
	if s.Over {
		return nil
	}
	var work []decider.Work
	if s.Pending != nil {
		work = append(work, decider.SetTimer{Name: TimerApproval, At: s.Pending.Expires})
	}
	for _, id := range slices.Sorted(maps.Keys(s.Uses)) {
		work = append(work, decider.SetTimer{Name: timerUse + s.Uses[id].Use, At: s.Uses[id].Expires})
	}
	return work
}

func nonsense(code events.Code, what string) error {
	return &decider.Error{Owner: events.OwnerAdmission, Code: code, What: what}
}

func cancel(s State, in decider.Input, e *events.CancelRequested) (decider.Decision, error) {
	switch {
	case s.Sealed == nil:
		return decider.Decision{}, nonsense(events.CodeRunUnknown, "cancel before sealing")
	case s.Over:
		return decider.Decision{}, nonsense(events.CodeRunConcluded, "cancel after the end")
	}
	cancelled := &events.RunCancelled{
		Principal: e.Principal, Reason: e.Reason, Phase: s.Phase,
		Request: s.Sealed.Request, Consumed: consumed(s, in), Heads: decider.Heads(s.Heads, in.Commit),
	}
	if s.Admitted != nil {
		cancelled.Revision = s.Admitted.Revision
		cancelled.Spec = s.Admitted.Spec
	} else if s.Pending != nil {
		cancelled.Spec = s.Pending.Spec
	}
	d := decider.Decision{Events: []events.Payload{cancelled}}
	for _, w := range s.timers() {
		if timer, ok := w.(decider.SetTimer); ok {
			d.Work = append(d.Work, decider.ClearTimer{Name: timer.Name})
		}
	}
	return d, nil
}

// approvalOverdue ends a run whose approval did not come in time. Silence is
// never an approval.
func approvalOverdue(s State, in decider.Input) decider.Decision {
	if s.Over || s.Pending == nil {
		return decider.Decision{}
	}
	if in.At < s.Pending.Expires {
		// An early or replaced wake-up: ask for another.
		return decider.Decision{Work: []decider.Work{decider.SetTimer{Name: TimerApproval, At: s.Pending.Expires}}}
	}
	if in.At >= s.Sealed.Deadline {
		return expire(s, in, s.Pending.Spec)
	}
	return decider.Decision{Events: []events.Payload{&events.SpecDenied{
		Formalization: s.Pending.Formalization, Approval: s.Pending.Approval, Tag: events.TagUnresolved,
		Diagnostic: events.Diagnostic{
			Code: events.CodeApprovalExpired, Message: "nobody decided on the approval in time",
			Action: "submit the request again and decide before it expires",
		},
		Request: s.Sealed.Request, Spec: s.Pending.Spec, Consumed: consumed(s, in), Heads: decider.Heads(s.Heads, in.Commit),
	}}}
}

// expire ends a run whose time is used up before it was admitted.
func expire(s State, in decider.Input, spec events.Body) decider.Decision {
	return decider.Decision{Events: []events.Payload{&events.RunExpired{
		Phase: s.Phase, Tag: events.TagInconclusive,
		Diagnostic: events.Diagnostic{
			Code: events.CodeDeadline, Message: "the time for the run was used up",
			Action: "submit the request again with a larger elapsed_millis",
		},
		Request: s.Sealed.Request, Spec: spec, Consumed: consumed(s, in), Heads: decider.Heads(s.Heads, in.Commit),
	}}}
}

// consumed is what the run used up to now, as far as admission knows.
func consumed(s State, in decider.Input) events.Limits {
	used := events.Limits{Attempts: int64(s.Attempts), CostUnit: s.Sealed.Ceiling.CostUnit}
	used.ElapsedMillis = in.At.Sub(s.Sealed.SealedAt).Milliseconds()
	if s.Admitted != nil {
		used.Revisions = int64(s.Admitted.Revision)
	}
	return used
}
