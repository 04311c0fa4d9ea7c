package cases

import (
	"maps"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/registry"
)

// World is what is registered: one agent, its policy, and its capabilities by
// name, all at version 1. A test changes it before it asks for a view.
type World struct {
	Epoch        uint64
	Capabilities map[string]events.Capability
	Policy       events.Policy
	Agent        events.Agent
	Routes       *events.Routes
}

// Limits are generous limits in every resource.
func Limits() events.Limits {
	return events.Limits{
		Attempts: 3, Revisions: 2, ElapsedMillis: 600_000, InputTokens: 1000, OutputTokens: 1000, CostMicros: 1000,
		CostUnit: "usd", CheckSteps: 100, CheckMemoryBytes: 1 << 20, ArtifactBytes: 1 << 20, ContextBytes: 1 << 10, Actions: 12,
	}
}

// The schemas of the capabilities.
const (
	inputSchema = `{"type":"object","additionalProperties":false,"properties":{` +
		`"word":{"type":"string"},"count":{"type":"integer"},"from":{"type":"object"}}}`
	outputSchema = `{"type":"object","required":["failed"],"properties":{` +
		`"failed":{"type":"integer"},"text":{"type":"string"},"size":{"type":"object"}}}`
)

// Capability returns a sound capability.
func Capability(effect events.Effect, confirmation events.Confirmation) events.Capability {
	return events.Capability{
		Version: 1, Description: "does what a case needs", Effect: effect, Confirmation: confirmation,
		Input: events.JSON(inputSchema), Output: events.JSON(outputSchema), ResultType: "case.report",
		TimeoutMillis: 30_000, OutputBytes: 1 << 16, Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: "case"}},
	}
}

// NewWorld returns a world with these capabilities: look and scan (reads),
// think (no effect), note (a write that the submitter's own request confirms),
// publish and mail (writes that a person confirms; they share nothing).
func NewWorld() *World {
	w := &World{Epoch: 1, Capabilities: map[string]events.Capability{
		"look":  Capability(events.EffectRead, events.ConfirmationNone),
		"scan":  Capability(events.EffectRead, events.ConfirmationNone),
		"think": Capability(events.EffectNone, events.ConfirmationNone),
	}}
	for name, mode := range map[string]events.Confirmation{
		"note": events.ConfirmationExplicit, "publish": events.ConfirmationRequired, "mail": events.ConfirmationRequired,
	} {
		c := Capability(events.EffectWrite, mode)
		c.Interferes = []string{name}
		w.Capabilities[name] = c
	}
	names := slices.Sorted(maps.Keys(w.Capabilities))
	w.Policy = events.Policy{
		Version: 1, Description: "reads need nobody", StandingApproval: []events.Effect{events.EffectNone, events.EffectRead},
		Operations: names, Submitters: []string{"ann"}, Approvers: []string{"ann", "bob"}, ApprovalSeconds: 60, LeaseSeconds: 300,
	}
	w.Agent = events.Agent{
		Version: 1, Description: "the agent of the cases", Policy: Policy,
		EffectBound: []events.Effect{events.EffectNone, events.EffectRead, events.EffectWrite},
		Input:       events.JSON(`{"type":"object"}`), Output: events.JSON(`{"type":"object"}`), Limits: Limits(),
	}
	for _, name := range names {
		w.Agent.Capabilities = append(w.Agent.Capabilities, events.CapabilityRef{Name: name, Version: 1})
	}
	return w
}

// Change changes a capability.
func (w *World) Change(name string, change func(*events.Capability)) {
	c := w.Capabilities[name]
	change(&c)
	w.Capabilities[name] = c
}

// View returns the registry with everything applied in one commit.
func (w *World) View() registry.View {
	payloads := []events.Payload{Applied(events.KindPolicy, Policy, w.Policy)}
	for _, name := range slices.Sorted(maps.Keys(w.Capabilities)) {
		payloads = append(payloads, Applied(events.KindCapability, name, w.Capabilities[name]))
	}
	if w.Routes != nil {
		payloads = append(payloads, Applied(events.KindRoutes, "ladder", w.Routes))
	}
	payloads = append(payloads, Applied(events.KindAgent, Agent, w.Agent))
	return Evolve(registry.View{Epoch: w.Epoch - 1}, payloads...)
}

// Evolve returns the view after one more registry commit.
func Evolve(v registry.View, payloads ...events.Payload) registry.View {
	return v.Evolve(Commit(events.OwnerRegistry, v.Epoch+1, payloads...))
}

// Revoke returns the view after a capability was revoked.
func Revoke(v registry.View, name string) registry.View {
	return Evolve(v, &events.CapabilityRevoked{Name: name, Reason: "unsafe", Principal: Person()})
}

// Applied is the event by which a resource is applied.
func Applied(kind events.Kind, name string, definition any) events.Payload {
	data := must(registry.Normalize(kind, JSON(definition)))
	a := events.Applied{Name: name, Version: 1, Digest: registry.DigestOf(kind, name, data), Definition: data, Principal: Person()}
	switch kind {
	case events.KindAgent:
		return &events.AgentApplied{Applied: a}
	case events.KindPolicy:
		return &events.PolicyApplied{Applied: a}
	case events.KindCapability:
		return &events.CapabilityRegistered{Applied: a}
	case events.KindRoutes:
		return &events.RoutesApplied{Applied: a}
	case events.KindPackage:
		return &events.PackageApplied{Applied: a}
	}
	return nil
}

// Node is a node of a plan that calls a capability with its own ID as a word.
func Node(id, name string, effect events.Effect, after ...string) events.PlanNode {
	if after == nil {
		after = []string{}
	}
	return events.PlanNode{
		ID: id, Capability: events.CapabilityRef{Name: name, Version: 1}, Effect: effect, After: after,
		Arguments: map[string]events.Argument{"word": Literal(`"` + id + `"`)},
	}
}

// Read is a node that reads.
func Read(id string, after ...string) events.PlanNode {
	return Node(id, "look", events.EffectRead, after...)
}

// Write is a node that writes with a capability.
func Write(id, name string, after ...string) events.PlanNode {
	return Node(id, name, events.EffectWrite, after...)
}

// Literal is an argument that is a literal.
func Literal(value string) events.Argument { return events.Argument{Literal: events.JSON(value)} }

// Input is an argument out of the request's input.
func Input(pointer string) events.Argument { return events.Argument{Input: &pointer} }

// Output is an argument out of another node's output.
func Output(node, path string) events.Argument {
	return events.Argument{Output: &events.OutputRef{Node: node, Path: path}}
}

// Plan is a plan whose output is that of its last node.
func Plan(nodes ...events.PlanNode) *events.Plan {
	p := &events.Plan{SchemaVersion: 1, Candidate: events.CandidatePlan, Nodes: nodes}
	if len(nodes) > 0 {
		p.Output = events.OutputBinding{Node: nodes[len(nodes)-1].ID, Type: "case.report"}
	}
	return p
}

// Spec is a specification that wants the result of every node, without
// conditions.
func Spec(p *events.Plan) *events.OutcomeSpec {
	s := &events.OutcomeSpec{
		SchemaVersion: 1, ID: "spec", Revision: 1, Objective: "what the case wants",
		Provenance: events.Provenance{Origin: events.OriginExplicit}, Requirements: []events.Requirement{},
	}
	for _, n := range p.Nodes {
		s.Deliverables = append(s.Deliverables, events.Deliverable{ID: "d-" + n.ID, Description: "the result of " + n.ID, Result: n.ID})
	}
	return s
}

// NoneFailed is the requirement that a node reports no failure, observed.
func NoneFailed(node string, before ...string) events.Requirement {
	return Must("none-failed-"+node, node, events.Predicate{
		Field: &events.FieldPredicate{Result: node, Path: "/failed", Op: "eq", Value: events.JSON("0")},
	}, before...)
}

// Must is a requirement on the deliverable of a node.
func Must(id, node string, p events.Predicate, before ...string) events.Requirement {
	return events.Requirement{
		ID: id, Deliverable: "d-" + node, Description: "a condition", Origin: events.OriginExplicit, Importance: events.Must,
		Predicate: p, Strength: events.StrengthObserved, Before: before,
	}
}

// Request is a complete explicit request with a plan and the specification
// that [Spec] gives for it.
func Request(p *events.Plan, change ...func(*events.IntentRequest)) *events.IntentRequest {
	limits := Limits()
	r := &events.IntentRequest{
		Intent: events.IntentRef{Agent: Agent, Text: "do it"}, Authority: Person(),
		Input: events.Value{Type: "case.input", Value: events.JSON(`{"path":"a.txt","count":2}`)}, Context: []events.ContextItem{},
		Policy: Policy, Generator: events.Generator{Mode: events.GeneratorExplicit}, Nonce: Run, Limits: &limits, Plan: p,
	}
	if p != nil {
		r.Outcome = Spec(p)
	}
	for _, f := range change {
		f(r)
	}
	return r
}

// Submission is the submission of a request document.
func Submission(r *events.IntentRequest) *events.Submitted {
	return &events.Submitted{
		Request: Document(events.ClassRequest, r), Nonce: r.Nonce, Principal: r.Authority, Agent: r.Intent.Agent,
		Thread: r.Thread, Parent: r.Parent, Epoch: 1, HasSpec: r.Outcome != nil, HasPlan: r.Plan != nil,
	}
}
