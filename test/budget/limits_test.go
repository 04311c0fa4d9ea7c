package budget_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.org/mandate"
	"example.org/mandate/events"
	"example.org/mandate/internal/req"
)

// engine has an agent of which "read" returns a short value, "long" a value of
// more than a hundred bytes, and "slow" and "patient" end only when stopped.
func engine(t *testing.T) *mandate.Engine {
	t.Helper()
	e, err := mandate.Start(t.Context(), mandate.Options{DataDir: t.TempDir(), Functions: map[string]mandate.Function{
		"read": func(context.Context, mandate.Call) ([]byte, error) { return []byte(`{"n":1}`), nil },
		"long": func(context.Context, mandate.Call) ([]byte, error) {
			return fmt.Appendf(nil, `{"n":1,"text":%q}`, strings.Repeat("x", 100)), nil
		},
		"slow": func(ctx context.Context, _ mandate.Call) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	policy := events.Policy{
		Version: 1, Description: "reading needs nobody", StandingApproval: []events.Effect{events.EffectRead}, Operations: []string{"read", "long", "slow", "small", "patient"},
		Submitters: []string{"*"}, Approvers: []string{"*"}, ApprovalSeconds: 60, LeaseSeconds: 60,
	}
	agent := events.Agent{
		Version: 1, Description: "reads", Policy: "limits", EffectBound: []events.Effect{events.EffectRead},
		Input: events.JSON(`{"type":"object"}`), Output: events.JSON(`{"type":"object"}`), Limits: plenty(),
	}
	apply := func(kind events.Kind, name string, value any) {
		if err := e.Apply(t.Context(), kind, name, value); err != nil {
			t.Fatal(err)
		}
	}
	apply(events.KindPolicy, "limits", policy)
	for name, c := range map[string]struct {
		function string
		timeout  int64
		output   int64
	}{"read": {"read", 5000, 1000}, "long": {"long", 5000, 1000}, "small": {"long", 5000, 99}, "slow": {"slow", 50, 1000}, "patient": {"slow", 60_000, 1000}} {
		apply(events.KindCapability, name, events.Capability{
			Version: 1, Description: name, Effect: events.EffectRead, Confirmation: events.ConfirmationNone, Input: events.JSON(`{"type":"object"}`),
			Output: events.JSON(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`), ResultType: "limits.result",
			TimeoutMillis: c.timeout, OutputBytes: c.output, Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: c.function}},
		})
		agent.Capabilities = append(agent.Capabilities, events.CapabilityRef{Name: name, Version: 1})
	}
	apply(events.KindAgent, "limits", agent)
	return e
}

func plenty() events.Limits {
	return events.Limits{
		Attempts: 1, Revisions: 1, ElapsedMillis: 20_000, CostUnit: "usd", CheckSteps: 10, CheckMemoryBytes: 10_000, ArtifactBytes: 10_000, Actions: 5,
	}
}

// calls is a request that calls capabilities one after the other, and wants
// each result to have a number.
func calls(names ...string) mandate.Request[struct{}] {
	r := mandate.Request[struct{}]{
		Agent: "limits", Intent: "read", Policy: "limits", Limits: plenty(),
		Outcome: &events.OutcomeSpec{
			SchemaVersion: 1, ID: "limits", Revision: 1, Objective: "what was read", Provenance: events.Provenance{Origin: events.OriginExplicit},
		},
		Plan: &events.Plan{SchemaVersion: 1, Candidate: events.CandidatePlan},
	}
	after := []string{}
	for i, name := range names {
		id := fmt.Sprintf("n%d", i)
		r.Plan.Nodes = append(r.Plan.Nodes, events.PlanNode{
			ID: id, Capability: events.CapabilityRef{Name: name, Version: 1}, Effect: events.EffectRead, After: after, Arguments: map[string]events.Argument{},
		})
		r.Outcome.Deliverables = append(r.Outcome.Deliverables, events.Deliverable{ID: id, Description: "a result", Result: id})
		r.Outcome.Requirements = append(r.Outcome.Requirements, events.Requirement{
			ID: "r-" + id, Deliverable: id, Description: "it has a number", Origin: events.OriginExplicit, Importance: events.Must, Strength: events.StrengthObserved,
			Predicate: events.Predicate{Field: &events.FieldPredicate{Result: id, Path: "/n", Op: "eq", Value: events.JSON("1")}},
		})
		r.Plan.Output = events.OutputBinding{Node: id, Type: "limits.result"}
		after = []string{id}
	}
	return r
}

// Each limit stops a real run where it says so, and one more of it lets the
// same run complete.
func TestEveryLimitStopsARun(t *testing.T) {
	engine := engine(t)
	for name, test := range map[string]struct {
		calls   []string
		enough  func(*events.Limits) // if nil, no limit of a request is enough
		tooFew  func(*events.Limits)
		tag     events.Tag
		code    events.Code
		actions int64 // that were still dispatched
		covers  []string
	}{
		"attempts": {
			calls: []string{"read"}, tooFew: func(l *events.Limits) { l.Attempts = 0 }, enough: func(l *events.Limits) { l.Attempts = 1 },
			tag: events.TagUnresolved, code: events.CodeBudgetExhausted, covers: []string{"C3-RUN-004.b"},
		},
		"revisions": {
			calls: []string{"read"}, tooFew: func(l *events.Limits) { l.Revisions = 0 }, enough: func(l *events.Limits) { l.Revisions = 1 },
			tag: events.TagUnresolved, code: events.CodeBudgetExhausted, covers: []string{"C3-RUN-004.b", "C3-RUN-003.y"},
		},
		"actions": {
			calls: []string{"read", "read"}, tooFew: func(l *events.Limits) { l.Actions = 1 }, enough: func(l *events.Limits) { l.Actions = 2 },
			tag: events.TagRejected, code: events.CodeBudgetExceeded, covers: []string{"OD-3.6.12d"},
		},
		"no actions": {
			calls: []string{"read"}, tooFew: func(l *events.Limits) { l.Actions = 0 }, enough: func(l *events.Limits) { l.Actions = 1 },
			tag: events.TagRejected, code: events.CodeBudgetExceeded, covers: []string{"C3-RUN-004.b"},
		},
		// A function's value is kept as it is and as canonical JSON: 14 bytes.
		"artifact bytes": {
			calls: []string{"read", "read"}, tooFew: func(l *events.Limits) { l.ArtifactBytes = 27 }, enough: func(l *events.Limits) { l.ArtifactBytes = 28 },
			tag: events.TagInconclusive, code: events.CodeBudgetExhausted, actions: 2,
		},
		"no artifact bytes": {
			calls: []string{"read"}, tooFew: func(l *events.Limits) { l.ArtifactBytes = 0 }, enough: func(l *events.Limits) { l.ArtifactBytes = 14 },
			tag: events.TagInconclusive, code: events.CodeBudgetExhausted, actions: 1, covers: []string{"C3-RUN-004.b"},
		},
		"check steps": {
			calls: []string{"read", "read"}, tooFew: func(l *events.Limits) { l.CheckSteps = 1 }, enough: func(l *events.Limits) { l.CheckSteps = 2 },
			tag: events.TagInconclusive, code: events.CodeBudgetExhausted, actions: 2,
		},
		"check memory": {
			calls: []string{"read", "read"}, tooFew: func(l *events.Limits) { l.CheckMemoryBytes = 13 }, enough: func(l *events.Limits) { l.CheckMemoryBytes = 14 },
			tag: events.TagInconclusive, code: events.CodeBudgetExhausted, actions: 2,
		},
		"no time": {
			calls: []string{"read"}, tooFew: func(l *events.Limits) { l.ElapsedMillis = 0 }, enough: func(l *events.Limits) { l.ElapsedMillis = 20_000 },
			tag: events.TagInconclusive, code: events.CodeBudgetExhausted, covers: []string{"C3-RUN-004.b"},
		},
		"output bytes": {calls: []string{"small"}, tag: events.TagFailed, code: events.CodeOutputTooLarge, actions: 1},
		"timeout":      {calls: []string{"slow"}, tag: events.TagFailed, code: events.CodeTimeout, actions: 1},
		"elapsed time": {
			calls: []string{"patient"}, tooFew: func(l *events.Limits) { l.ElapsedMillis = 3000 }, tag: events.TagFailed, code: events.CodeTimeout, actions: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := calls(test.calls...)
			if test.tooFew != nil {
				test.tooFew(&r.Limits)
			}
			out, err := mandate.Run[struct{}, map[string]any](ctx, engine, r)
			if err != nil {
				t.Fatal(err)
			}
			if out.Tag != test.tag || out.Diagnostic == nil || out.Diagnostic.Code != test.code || out.Receipt.Consumed.Actions != test.actions {
				t.Fatalf("ended %s with %+v after %d actions", out.Tag, out.Diagnostic, out.Receipt.Consumed.Actions)
			}
			if test.enough == nil {
				return
			}
			r = calls(test.calls...)
			test.enough(&r.Limits)
			if out, err = mandate.Run[struct{}, map[string]any](ctx, engine, r); err != nil || out.Tag != events.TagCompleted {
				t.Fatalf("with enough: ended %s with %+v, %v", out.Tag, out.Diagnostic, err)
			}
		})
	}
}
