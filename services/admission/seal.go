package admission

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/registry"
)

// maxDiagnostics bounds the diagnostics of one event; the rest is counted.
const maxDiagnostics = 16

// seal takes a request as it is, for good, or rejects it before anything is
// generated or called.
func seal(s State, in decider.Input, e *events.Submitted) (decider.Decision, error) {
	if s.Sealed != nil || s.Over {
		return decider.Decision{}, nonsense(events.CodeRunConcluded, "submitted twice")
	}
	content, ok := e.Request.Content()
	if !ok {
		return rejected(in, e, events.TagRejected, []events.Diagnostic{{
			Code: events.CodeContentUnavailable, Message: "the content of the request cannot be read",
			Action: "submit the request again",
		}}), nil
	}
	request, found := decodeRequest(content)
	if len(found) > 0 {
		return rejected(in, e, events.TagRejected, found), nil
	}
	agent, authorization, found := checkRequest(request, in, e)
	if len(found) > 0 {
		return refused(in, e, authorization, found), nil
	}
	if found := checkProfile(request, agent); len(found) > 0 {
		return rejected(in, e, events.TagUnsupported, found), nil
	}
	ceiling := ceilingOf(request, agent, e)
	if ceiling.ElapsedMillis == 0 {
		return rejected(in, e, events.TagInconclusive, []events.Diagnostic{{
			Code: events.CodeBudgetExhausted, Path: "limits.elapsed_millis",
			Message: "the run has no time at all", Action: "allow some elapsed time",
		}}), nil
	}
	bound := append([]events.Effect{events.EffectIntent}, agent.Definition.EffectBound...)
	routes := agent.Routes
	if routes == nil {
		routes = []string{}
	}
	return decider.Decision{Events: []events.Payload{&events.RunSealed{
		Request: e.Request, Nonce: e.Nonce, Principal: e.Principal,
		Agent:  events.AgentBinding{Name: agent.Name, Digest: agent.Digest},
		Policy: events.AgentBinding{Name: agent.PolicyName, Digest: agent.PolicyDigest},
		Epoch:  in.Registry.Epoch, EffectBound: bound, Routes: routes,
		Ceiling: ceiling, Allotments: budget.Allot(ceiling),
		SealedAt: in.At, Deadline: in.At.Add(time.Duration(ceiling.ElapsedMillis) * time.Millisecond),
		Thread: e.Thread, Parent: e.Parent, Heads: decider.Heads(nil, in.Commit),
		Decision: events.DecisionRecord{
			Inputs: []string{string(e.Request.Commitment)}, Selected: agent.Name,
			Algorithm: "admission.seal@2", Disposition: "sealed",
		},
		Roles: e.Roles, Authorization: authorization,
	}}}, nil
}

func rejected(in decider.Input, e *events.Submitted, tag events.Tag, found []events.Diagnostic) decider.Decision {
	shown := found[:min(len(found), maxDiagnostics)]
	return decider.Decision{Events: []events.Payload{&events.RunRejected{
		Tag: tag, Phase: events.PhaseNew, Diagnostics: shown, Omitted: len(found) - len(shown),
		Request: e.Request, Heads: decider.Heads(nil, in.Commit),
	}}}
}

// refused rejects a request; authorization is the decision of the policy on who
// submitted it, which is recorded where it is what refused.
func refused(in decider.Input, e *events.Submitted, authorization *events.PolicyDecision, found []events.Diagnostic) decider.Decision {
	d := rejected(in, e, events.TagRejected, found)
	if r, ok := d.Events[0].(*events.RunRejected); ok && authorization != nil && authorization.Verdict != events.PolicyAllow {
		r.Authorization = authorization
	}
	return d
}

// decodeRequest reads a request document strictly: unknown members, other
// types, and everything outside the limits are refused.
func decodeRequest(content []byte) (*events.IntentRequest, []events.Diagnostic) {
	if err := jsonvalue.Scan(content, jsonvalue.DefaultLimits); err != nil {
		return nil, []events.Diagnostic{{Code: events.CodeRequestMalformed, Message: err.Error(), Action: "correct the document"}}
	}
	if names := budget.MissingIn(content); len(names) > 0 {
		return nil, []events.Diagnostic{{
			Code: events.CodeLimitMissing, Path: "limits." + names[0], Message: "not given: " + strings.Join(names, ", "),
			Action: "give every limit; zero means none",
		}}
	}
	var request events.IntentRequest
	if err := json.Unmarshal(content, &request, json.RejectUnknownMembers(true)); err != nil {
		return nil, []events.Diagnostic{{Code: events.CodeRequestMalformed, Message: err.Error(), Action: "correct the field"}}
	}
	return &request, nil
}

// checkRequest checks that the request is complete, and that its principal may
// submit it to its agent.
func checkRequest(r *events.IntentRequest, in decider.Input, e *events.Submitted) (*registry.Agent, *events.PolicyDecision, []events.Diagnostic) {
	var found []events.Diagnostic
	add := func(code events.Code, path, message, action string) {
		found = append(found, events.Diagnostic{Code: code, Path: path, Message: message, Action: action})
	}
	need := func(missing bool, path string) {
		if missing {
			add(events.CodeRequestIncomplete, path, "this part of the request is missing", "add it")
		}
	}
	need(r.Intent.Agent == "", "intent.agent")
	need(r.Authority.ID == "", "authority")
	need(r.Input.Type == "", "input.type")
	need(r.Input.Value == nil, "input.value")
	need(r.Context == nil, "context")
	need(r.Policy == "", "policy")
	need(r.Generator.Mode == "", "generator.mode")
	need(r.Nonce == "", "nonce")
	need(r.Limits == nil, "limits")
	if r.Nonce != e.Nonce || e.Nonce != in.Run.Run || r.Authority != e.Principal || r.Intent.Agent != e.Agent || r.Thread != e.Thread || r.Parent != e.Parent {
		add(events.CodeNonceInvalid, "nonce", "the request names another run, principal, agent or thread than it was submitted for", "let the host set nonce and authority")
	}
	if r.Limits != nil {
		if err := budget.Check(*r.Limits); err != nil {
			add(events.CodeLimitMissing, "limits", err.Error(), "give every limit; zero means none")
		}
	}
	if r.Parent != "" && e.Granted == nil {
		// A nested run draws on its parent's remainder. Without a reservation
		// there nothing would.
		add(events.CodeBudgetExceeded, "parent", "the parent run set nothing aside for this one", "submit the request without a parent")
	}
	agent, ok := in.Registry.Agent(r.Intent.Agent)
	if !ok {
		add(events.CodeAgentUnknown, "intent.agent", "no such agent is registered, or it does not compile", "apply it and its policy: mandate apply -f FILE")
		return nil, nil, found
	}
	if r.Policy != "" && r.Policy != agent.PolicyName {
		add(events.CodePolicyMissing, "policy", "the agent runs under another policy", "write policy: "+agent.PolicyName)
	}
	input := asPrincipal(in.Run, agent.Name, e.Principal, e.Roles)
	if r.Limits != nil {
		input.Budget = ceilingOf(r, agent, e)
	}
	decision, authorization := authorize(agent, in, events.OperationSubmit, &input)
	if !decision.Allowed() {
		found = append(found, decision.Diagnostic("authority"))
	}
	if r.Input.Value != nil {
		for _, problem := range agent.Input.Validate(r.Input.Value) {
			add(events.CodeInputInvalid, "input.value"+problem.Pointer, "does not follow the agent's input schema ("+problem.Keyword+")", "correct the input")
		}
	}
	return agent, authorization, found
}

// ceilingOf is what a run may use at most: what the request, the agent and, for
// a nested run, the parent all allow.
func ceilingOf(r *events.IntentRequest, agent *registry.Agent, e *events.Submitted) events.Limits {
	ceiling := budget.Meet(*r.Limits, agent.Definition.Limits)
	if e.Granted != nil {
		ceiling = budget.Meet(ceiling, *e.Granted)
	}
	return ceiling
}

// checkProfile reports what this deployment cannot do at all.
func checkProfile(r *events.IntentRequest, agent *registry.Agent) []events.Diagnostic {
	switch {
	case r.Generator.Mode == events.GeneratorExplicit && (r.Outcome == nil || r.Plan == nil):
		return []events.Diagnostic{{
			Code: events.CodeModelRequired, Path: "generator.mode", Message: "an explicit request needs both outcome and plan",
			Action: "write outcome and plan, or use a model",
		}}
	case r.Generator.Mode == events.GeneratorModel && len(agent.Routes) == 0:
		return []events.Diagnostic{{
			Code: events.CodeModelRequired, Path: "generator.routes", Message: "the agent has no model route",
			Action: "write outcome and plan with generator mode explicit, or give the agent routes",
		}}
	case r.Generator.Mode != events.GeneratorExplicit && r.Generator.Mode != events.GeneratorModel:
		return []events.Diagnostic{{
			Code: events.CodeRequestIncomplete, Path: "generator.mode", Message: fmt.Sprintf("the generator mode %.40q is not known", r.Generator.Mode),
			Action: "write explicit or model",
		}}
	case r.Plan != nil && r.Plan.Candidate != events.CandidatePlan:
		return []events.Diagnostic{{
			Code: events.CodeCandidateKind, Path: "plan.candidate", Message: "no checker for this kind of candidate is registered",
			Action: "write candidate: plan",
		}}
	}
	return nil
}
