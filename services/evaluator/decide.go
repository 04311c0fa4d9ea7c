package evaluator

import (
	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/outcome"
)

// Decide returns what follows from an input in state s. An error means that
// the input makes no sense in s and nothing happened.
func Decide(s State, in decider.Input) (decider.Decision, error) {
	if in.Kind != decider.Delivered {
		return decider.Decision{}, nil
	}
	for i := range in.Commit.Events {
		payloads := conclude(in, in.Commit.Events[i].Data)
		if payloads == nil {
			continue
		}
		if s.Concluded {
			return decider.Decision{}, &decider.Error{Owner: events.OwnerEvaluator, Code: events.CodeRunConcluded, What: "the run is concluded"}
		}
		return decider.Decision{Events: payloads}, nil
	}
	return decider.Decision{}, nil
}

// conclude returns the events that end the run, nil for an event that does not
// end it.
func conclude(in decider.Input, p events.Payload) []events.Payload {
	switch e := p.(type) {
	case *events.ExecutionCompleted:
		return executed(in, &e.Execution, "", nil)
	case *events.ExecutionHalted:
		return executed(in, &e.Execution, e.Cause, &e.Diagnostic)
	case *events.RunRejected:
		return unexecuted(in, ending{tag: e.Tag, phase: e.Phase, diagnostic: first(e.Diagnostics), request: e.Request, spec: e.Spec, consumed: e.Consumed, heads: e.Heads})
	case *events.SpecDenied:
		return unexecuted(in, ending{tag: e.Tag, phase: events.PhaseAwaitingApproval, diagnostic: &e.Diagnostic, request: e.Request, spec: e.Spec, consumed: e.Consumed, heads: e.Heads})
	case *events.PlanRejected:
		if e.Final {
			return unexecuted(in, ending{tag: e.Tag, phase: events.PhaseAwaitingApproval, diagnostic: first(e.Diagnostics), request: e.Request, spec: e.Spec, consumed: e.Consumed, heads: e.Heads})
		}
	case *events.RunExpired:
		return unexecuted(in, ending{tag: e.Tag, phase: e.Phase, diagnostic: &e.Diagnostic, request: e.Request, spec: e.Spec, consumed: e.Consumed, heads: e.Heads})
	case *events.RunCancelled:
		if e.Revision == 0 { // else the executor ends it first
			return unexecuted(in, ending{
				tag: events.TagCancelled, phase: e.Phase, request: e.Request, spec: e.Spec, consumed: e.Consumed, heads: e.Heads,
				diagnostic: &events.Diagnostic{Code: events.CodeCancelled, Message: "the run was cancelled", Action: "submit the request again if it is still wanted"},
			})
		}
	case *events.InterpretationFailed:
		return unexecuted(in, ending{tag: e.Tag, phase: e.Phase, diagnostic: first(e.Diagnostics), request: e.Request, consumed: e.Consumed, heads: e.Heads})
	}
	return nil
}

func first(d []events.Diagnostic) *events.Diagnostic {
	if len(d) == 0 {
		return &events.Diagnostic{Code: events.CodeInternal, Message: "the run was refused without a reason", Action: "report this"}
	}
	return &d[0]
}

// ending is how a run ended that never executed anything.
type ending struct {
	tag        events.Tag
	phase      events.Phase
	diagnostic *events.Diagnostic
	request    events.Body
	spec       events.Body
	consumed   events.Limits
	heads      events.Heads
}

func unexecuted(in decider.Input, e ending) []events.Payload {
	concluded := &events.RunConcluded{
		Tag: e.tag, Request: e.request, Spec: e.spec,
		Receipt: events.Receipt{
			Phase: e.phase, Diagnostic: e.diagnostic, Consumed: e.consumed, Heads: decider.Heads(e.heads, in.Commit),
		},
		Decision: events.DecisionRecord{
			Inputs: []string{in.Commit.ID}, Selected: string(e.tag), Algorithm: "evaluator.conclude@1", Disposition: "nothing was executed",
		},
	}
	var spec events.OutcomeSpec
	if read(e.spec, &spec) {
		concluded.Deliverables = outcome.Deliverables(&spec, nil, nil, e.tag == events.TagCancelled)
	}
	switch e.tag {
	case events.TagCancelled:
		concluded.Completion = events.CompletionCancelled
	case events.TagUnresolved, events.TagInconclusive, events.TagUnsupported:
		concluded.Completion = events.CompletionBlocked
	case events.TagRejected, events.TagFailed, events.TagCompleted, events.TagIndeterminate:
		concluded.Completion = events.CompletionFailed
	}
	return []events.Payload{concluded}
}

func read(b events.Body, into any) bool {
	content, ok := b.Content()
	return ok && json.Unmarshal(content, into) == nil
}
