package interpreter

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/plan"
)

// Decide returns what follows from an input in state s. An error means that
// the input makes no sense in s and nothing happened.
func Decide(s State, in decider.Input) (decider.Decision, error) {
	if in.Kind != decider.Delivered {
		return decider.Decision{}, nil
	}
	for i := range in.Commit.Events {
		if sealed, ok := in.Commit.Events[i].Data.(*events.RunSealed); ok {
			return formalize(s, in, sealed)
		}
	}
	return decider.Decision{}, nil
}

func formalize(s State, in decider.Input, sealed *events.RunSealed) (decider.Decision, error) {
	if s.Formalization != "" || s.Failed {
		return decider.Decision{}, &decider.Error{Owner: events.OwnerInterpreter, Code: events.CodeRunConcluded, What: "sealed twice"}
	}
	if in.At >= sealed.Deadline {
		return failed(in, sealed, events.TagInconclusive, events.Diagnostic{
			Code: events.CodeDeadline, Message: "the time for the run was used up",
			Action: "submit the request again with a larger elapsed_millis",
		}), nil
	}
	content, ok := sealed.Request.Content()
	if !ok {
		return failed(in, sealed, events.TagUnresolved, events.Diagnostic{
			Code: events.CodeContentUnavailable, Message: "the content of the request cannot be read", Action: "submit the request again",
		}), nil
	}
	var request events.IntentRequest
	if err := jsonvalue.Scan(content, jsonvalue.DefaultLimits); err == nil {
		err = json.Unmarshal(content, &request, json.RejectUnknownMembers(true))
		ok = err == nil
	}
	if !ok || request.Outcome == nil || request.Plan == nil {
		return failed(in, sealed, events.TagUnresolved, events.Diagnostic{
			Code: events.CodeModelRequired, Message: "the request carries no specification and plan, and no model may be asked",
			Action: "write outcome and plan in the request",
		}), nil
	}
	return proposeExplicit(in, sealed, &request)
}

func failed(in decider.Input, sealed *events.RunSealed, tag events.Tag, d events.Diagnostic) decider.Decision {
	return decider.Decision{Events: []events.Payload{&events.InterpretationFailed{
		Tag: tag, Phase: events.PhaseFormalizing, Diagnostics: []events.Diagnostic{d}, Request: sealed.Request,
		Consumed: events.Limits{CostUnit: sealed.Ceiling.CostUnit, ElapsedMillis: in.At.Sub(sealed.SealedAt).Milliseconds()},
		Heads:    decider.Heads(sealed.Heads, in.Commit),
	}}}
}

// proposeExplicit passes on the specification and plan that the person wrote,
// unchanged. No model is asked.
func proposeExplicit(in decider.Input, sealed *events.RunSealed, request *events.IntentRequest) (decider.Decision, error) {
	specBody, err := events.NewDocument(events.ClassPlan, request.Outcome)
	if err != nil {
		return decider.Decision{}, fmt.Errorf("interpreter: %w", err)
	}
	planBody, err := events.NewDocument(events.ClassPlan, request.Plan)
	if err != nil {
		return decider.Decision{}, fmt.Errorf("interpreter: %w", err)
	}
	attempt := 1
	formalization := canon.ID("formalization", in.Run.Tenant, in.Run.Run, strconv.Itoa(attempt))
	var context int64
	inclusions := []string{"request: explicit structured input", "input: typed value"}
	for _, item := range request.Context {
		context += int64(len(item.Content))
		inclusions = append(inclusions, "context "+item.Label+": given by the caller, as data")
	}
	var selected []events.CapabilityRef
	for i := range request.Plan.Nodes {
		if ref := request.Plan.Nodes[i].Capability; !slices.Contains(selected, ref) {
			selected = append(selected, ref)
		}
	}
	return decider.Decision{Events: []events.Payload{
		&events.ContextBuilt{Inclusions: inclusions, Bytes: context},
		&events.CapabilitiesSelected{Selected: selected, Mode: events.GeneratorExplicit},
		&events.SpecProposed{
			Formalization: formalization, Spec: specBody, Request: sealed.Request.Commitment,
			Origin: events.OriginExplicit, Heads: decider.Heads(sealed.Heads, in.Commit),
			Decision: events.DecisionRecord{
				Inputs: []string{string(sealed.Request.Commitment)}, Selected: "explicit structured input",
				Alternatives: []events.Rejected{{Option: "model", Reason: "the request carries a specification and a plan"}},
				Algorithm:    "interpreter.explicit@1", Disposition: "proposed",
			},
		},
		&events.PlanProposed{
			Formalization: formalization, Plan: planBody, Attempt: attempt,
			Origin: events.OriginExplicit, Sources: plan.Sources(request.Plan, events.OriginExplicit),
		},
	}}, nil
}
