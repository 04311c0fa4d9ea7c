package stage

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/registry"
)

// The names of what [View] registers beside the capabilities.
const (
	Agent  = "agent"
	Policy = "policy"
	Routes = "routes"
)

// Limits are those of every agent and request: many actions, and no model that
// costs anything, since the test is the model.
var Limits = events.Limits{
	Attempts: 8, Revisions: 4, ElapsedMillis: 3_600_000, CostUnit: "usd", CheckSteps: 1000, CheckMemoryBytes: 64 << 20,
	ArtifactBytes: 64 << 20, ContextBytes: 1 << 20, Actions: 200,
}

// Result is the semantic type of every result.
const Result = "tool.result"

// View registers capabilities, and one agent that has them all, whose reads
// need nobody.
func View(capabilities map[string]events.Capability) (registry.View, error) {
	c := events.Commit{Number: 1}
	add := func(kind events.Kind, name string, definition any) error {
		data, err := json.Marshal(definition)
		if err == nil {
			data, err = registry.Normalize(kind, data)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", kind, name, err)
		}
		a := events.Applied{Name: name, Version: 1, Digest: registry.DigestOf(kind, name, data), Definition: data}
		var p events.Payload
		switch kind {
		case events.KindAgent:
			p = &events.AgentApplied{Applied: a}
		case events.KindPolicy:
			p = &events.PolicyApplied{Applied: a}
		case events.KindCapability:
			p = &events.CapabilityRegistered{Applied: a}
		case events.KindRoutes:
			p = &events.RoutesApplied{Applied: a}
		case events.KindPackage:
		}
		c.Events = append(c.Events, events.Event{Data: p})
		return nil
	}
	var operations []string
	var refs []events.CapabilityRef
	for name, definition := range capabilities {
		operations, refs = append(operations, name), append(refs, events.CapabilityRef{Name: name, Version: 1})
		if err := add(events.KindCapability, name, definition); err != nil {
			return registry.View{}, err
		}
	}
	object := events.JSON(`{"type":"object"}`)
	for _, resource := range []struct {
		kind       events.Kind
		name       string
		definition any
	}{
		{events.KindPolicy, Policy, events.Policy{
			Version: 1, Description: "reads need nobody", StandingApproval: []events.Effect{events.EffectNone, events.EffectRead},
			Operations: operations, Submitters: []string{"*"}, Approvers: []string{"*"}, ApprovalSeconds: 60, LeaseSeconds: 3000,
		}},
		{events.KindRoutes, Routes, events.Routes{Version: 1, Ladder: []string{"scripted"}}},
		{events.KindAgent, Agent, events.Agent{
			Version: 1, Description: "an agent with every tool", Capabilities: refs, Policy: Policy, Routes: Routes,
			EffectBound: []events.Effect{events.EffectNone, events.EffectRead, events.EffectWrite}, Input: object, Output: object, Limits: Limits,
		}},
	} {
		if err := add(resource.kind, resource.name, resource.definition); err != nil {
			return registry.View{}, err
		}
	}
	view := registry.View{}.Evolve(&c)
	if _, ok := view.Agent(Agent); !ok {
		definition, _, _, _ := view.Definition(events.KindAgent, Agent)
		return view, fmt.Errorf("the agent does not compile: %v", view.Check(events.KindAgent, Agent, definition))
	}
	return view, nil
}

// Capability is a capability with the schema of its arguments, closed.
func Capability(effect events.Effect, confirmation events.Confirmation, input events.JSON) events.Capability {
	return events.Capability{
		Version: 1, Description: "a tool", Effect: effect, Confirmation: confirmation, Input: input,
		Output:     events.JSON(`{"type":"object","properties":{"text":{"type":"string"},"values":{"type":"object"}},"required":["text"]}`),
		ResultType: Result, TimeoutMillis: 30_000, OutputBytes: 1 << 20, Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: "tool"}},
	}
}

// Request asks in the user's words; a model proposes.
func Request(text string) *events.IntentRequest {
	limits := Limits
	return &events.IntentRequest{
		Intent: events.IntentRef{Agent: Agent, Text: text}, Authority: User, Input: events.Value{Type: "none", Value: events.JSON(`{}`)},
		Context: []events.ContextItem{}, Policy: Policy, Generator: events.Generator{Mode: events.GeneratorModel, Routes: Routes}, Limits: &limits,
	}
}

// Spec wants the result of every node of a plan.
func Spec(p *events.Plan) *events.OutcomeSpec {
	s := &events.OutcomeSpec{
		SchemaVersion: 1, ID: "spec", Revision: 1, Objective: "what was asked for", Requirements: []events.Requirement{},
		Provenance: events.Provenance{Origin: events.OriginInferred},
	}
	for i := range p.Nodes {
		s.Deliverables = append(s.Deliverables, events.Deliverable{ID: "d" + p.Nodes[i].ID, Description: "a result", Result: p.Nodes[i].ID})
	}
	return s
}
