package simulation

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/registry"
)

var limits = events.Limits{
	Attempts: 2, Revisions: 1, ElapsedMillis: 600_000, CostUnit: "usd", CheckSteps: 100, CheckMemoryBytes: 1 << 20,
	ArtifactBytes: 1 << 20, ContextBytes: 1 << 10, Actions: 12,
}

const objectSchema = `{"type":"object"}`

func newCapability(effect events.Effect, confirmation events.Confirmation) events.Capability {
	return events.Capability{
		Version: 1, Description: "a capability of the simulation", Effect: effect, Confirmation: confirmation,
		Input: events.JSON(objectSchema), Output: events.JSON(`{"type":"object","required":["failed"]}`), ResultType: "sim.report",
		TimeoutMillis: 30_000, OutputBytes: 1 << 16, Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: "sim"}},
	}
}

// newRegistry returns the registry that every schedule runs under.
func newRegistry() registry.View {
	var payloads []events.Payload
	add := func(kind events.Kind, name string, definition any) {
		data := must(json.Marshal(definition))
		data = must(registry.Normalize(kind, data))
		a := events.Applied{Name: name, Version: 1, Digest: registry.DigestOf(kind, name, data), Definition: data}
		switch kind {
		case events.KindAgent:
			payloads = append(payloads, &events.AgentApplied{Applied: a})
		case events.KindPolicy:
			payloads = append(payloads, &events.PolicyApplied{Applied: a})
		case events.KindCapability:
			payloads = append(payloads, &events.CapabilityRegistered{Applied: a})
		case events.KindPackage, events.KindRoutes:
		}
	}
	add(events.KindPolicy, "sim", events.Policy{
		Version: 1, Description: "reads need nobody", StandingApproval: []events.Effect{events.EffectNone, events.EffectRead},
		Operations: []string{"look", "flaky", "write"}, Submitters: []string{"*"}, Approvers: []string{"*"},
		ApprovalSeconds: 60, LeaseSeconds: 300,
	})
	add(events.KindCapability, "look", newCapability(events.EffectRead, events.ConfirmationNone))
	add(events.KindCapability, "flaky", newCapability(events.EffectRead, events.ConfirmationNone))
	add(events.KindCapability, "write", newCapability(events.EffectWrite, events.ConfirmationRequired))
	add(events.KindAgent, "sim", events.Agent{
		Version: 1, Description: "the agent of the simulation",
		Capabilities: []events.CapabilityRef{{Name: "look", Version: 1}, {Name: "flaky", Version: 1}, {Name: "write", Version: 1}},
		Policy:       "sim", EffectBound: []events.Effect{events.EffectRead, events.EffectWrite},
		Input: events.JSON(objectSchema), Output: events.JSON(objectSchema), Limits: limits,
	})
	c := events.Commit{Number: 1}
	for _, p := range payloads {
		c.Events = append(c.Events, events.Event{Data: p})
	}
	return registry.View{}.Evolve(&c)
}

// kinds of requests that schedules draw from.
const (
	kindReads = iota
	kindWrite
	kindUnmet
	kindInvalid
	kindCycle
	kindFound // a write with an argument that a read finds
	kindCount
)

func node(id, name string, effect events.Effect, after ...string) events.PlanNode {
	if after == nil {
		after = []string{}
	}
	return events.PlanNode{
		ID: id, Capability: events.CapabilityRef{Name: name, Version: 1}, Effect: effect, After: after,
		Arguments: map[string]events.Argument{"word": {Literal: events.JSON(fmt.Sprintf("%q", id))}},
	}
}

func newRequest(kind int) *events.IntentRequest {
	l := limits
	first := "look"
	if kind == kindUnmet {
		first = "flaky"
	}
	nodes := []events.PlanNode{node("a", first, events.EffectRead), node("b", "look", events.EffectRead)}
	output := "a"
	deliverables := []events.Deliverable{{ID: "report", Description: "a report", Result: "a"}}
	before := []string{}
	if kind == kindWrite || kind == kindUnmet || kind == kindFound {
		write := node("c", "write", events.EffectWrite, "a", "b")
		if kind == kindFound {
			write.Arguments["word"] = events.Argument{Output: &events.OutputRef{Node: "b", Path: "/passed"}}
		}
		nodes = append(nodes, write)
		deliverables = append(deliverables, events.Deliverable{ID: "done", Description: "the write", Result: "c", DependsOn: []string{"report"}})
		output, before = "c", []string{"c"}
	}
	if kind == kindCycle {
		nodes[0].After, nodes[1].After = []string{"b"}, []string{"a"}
	}
	r := &events.IntentRequest{
		Intent: events.IntentRef{Agent: "sim", Text: "do it"}, Input: events.Value{Type: "sim", Value: events.JSON(`{}`)},
		Context: []events.ContextItem{}, Policy: "sim", Generator: events.Generator{Mode: events.GeneratorExplicit}, Limits: &l,
		Outcome: &events.OutcomeSpec{
			SchemaVersion: 1, ID: "spec", Revision: 1, Objective: "a simulated outcome", Deliverables: deliverables,
			Requirements: []events.Requirement{{
				ID: "none-failed", Deliverable: "report", Description: "nothing failed", Origin: events.OriginExplicit, Importance: events.Must,
				Predicate: events.Predicate{Field: &events.FieldPredicate{Result: "a", Path: "/failed", Op: "eq", Value: events.JSON("0")}},
				Strength:  events.StrengthObserved, Before: before,
			}},
			Provenance: events.Provenance{Origin: events.OriginExplicit}, Partial: []string{"report"},
		},
		Plan: &events.Plan{SchemaVersion: 1, Candidate: events.CandidatePlan, Nodes: nodes, Output: events.OutputBinding{Node: output, Type: "sim.report"}},
	}
	if kind == kindInvalid {
		r.Policy = ""
	}
	return r
}
