package mandate_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"

	"example.org/mandate"
	"example.org/mandate/events"
	"example.org/mandate/internal/req"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println("goroutines are left:", err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

type question struct {
	Word string `json:"word"`
}

type answer struct {
	Length int `json:"length"`
}

const lengthSchema = `{"type":"object","required":["length"],"properties":{"length":{"type":"integer"}}}`

// start returns an engine with an agent that measures words and may forget
// them, if somebody approves.
func start(t *testing.T, forgotten *int) *mandate.Engine {
	t.Helper()
	engine, err := mandate.Start(t.Context(), mandate.Options{
		DataDir: t.TempDir(),
		Functions: map[string]mandate.Function{
			"length": func(_ context.Context, call mandate.Call) ([]byte, error) {
				if string(call.Arguments) == `{"word":""}` {
					return []byte(`{"length":"none"}`), nil // breaks its schema
				}
				return []byte(`{"length":5}`), nil
			},
			"forget": func(context.Context, mandate.Call) ([]byte, error) {
				*forgotten++
				return []byte(`{"length":0}`), nil
			},
			"refuse": func(context.Context, mandate.Call) ([]byte, error) {
				return nil, &mandate.NotAppliedError{Reason: "not today"}
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	capability := func(effect events.Effect, confirmation events.Confirmation, function string) events.Capability {
		return events.Capability{
			Version: 1, Description: function, Effect: effect, Confirmation: confirmation, Input: events.JSON(`{"type":"object"}`),
			Output: events.JSON(lengthSchema), ResultType: "word.length", TimeoutMillis: 5000, OutputBytes: 1000,
			Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: function}},
		}
	}
	apply := func(kind events.Kind, name string, value any) {
		t.Helper()
		if err := engine.Apply(t.Context(), kind, name, value); err != nil {
			t.Fatal(err)
		}
	}
	apply(events.KindPolicy, "words", events.Policy{
		Version: 1, Description: "reading needs nobody", StandingApproval: []events.Effect{events.EffectNone, events.EffectRead},
		Operations: []string{"length", "forget", "refuse"}, Submitters: []string{"*"}, Approvers: []string{"*"}, ApprovalSeconds: 60, LeaseSeconds: 60,
	})
	apply(events.KindCapability, "length", capability(events.EffectRead, events.ConfirmationNone, "length"))
	apply(events.KindCapability, "forget", capability(events.EffectWrite, events.ConfirmationRequired, "forget"))
	apply(events.KindCapability, "refuse", capability(events.EffectWrite, events.ConfirmationRequired, "refuse"))
	apply(events.KindAgent, "words", events.Agent{
		Version: 1, Description: "measures words", Policy: "words", EffectBound: []events.Effect{events.EffectRead, events.EffectWrite},
		Capabilities: []events.CapabilityRef{{Name: "length", Version: 1}, {Name: "forget", Version: 1}, {Name: "refuse", Version: 1}},
		Input:        events.JSON(`{"type":"object"}`), Output: events.JSON(lengthSchema), Limits: limits(),
	})
	return engine
}

func limits() events.Limits {
	return events.Limits{
		Attempts: 1, Revisions: 1, ElapsedMillis: 30_000, CostUnit: "usd", CheckSteps: 10, CheckMemoryBytes: 1000, ArtifactBytes: 10_000, Actions: 3,
	}
}

func request(capability string, effect events.Effect, word string) mandate.Request[question] {
	path := "/word"
	return mandate.Request[question]{
		Agent: "words", Intent: "how long is it?", Input: question{Word: word}, Policy: "words", Limits: limits(),
		Outcome: &events.OutcomeSpec{
			SchemaVersion: 1, ID: "length", Revision: 1, Objective: "the length of a word",
			Deliverables: []events.Deliverable{{ID: "length", Description: "the length", Result: "measure"}},
			Requirements: []events.Requirement{}, Provenance: events.Provenance{Origin: events.OriginExplicit},
		},
		Plan: &events.Plan{
			SchemaVersion: 1, Candidate: events.CandidatePlan, Output: events.OutputBinding{Node: "measure", Type: "word.length"},
			Nodes: []events.PlanNode{{
				ID: "measure", Capability: events.CapabilityRef{Name: capability, Version: 1}, Effect: effect, After: []string{},
				Arguments: map[string]events.Argument{"word": {Input: &path}},
			}},
		},
	}
}

func TestRun(t *testing.T) {
	req.Covers(t, "C3-RUN-001.b", "C3-RUN-001.c", "C3-RUN-001.d", "C3-RUN-001.o")
	forgotten := 0
	engine := start(t, &forgotten)
	approve := func(decision events.Decision) func(context.Context, mandate.Approval) (events.Decision, error) {
		return func(_ context.Context, a mandate.Approval) (events.Decision, error) {
			if a.Digest == "" || len(a.Capabilities) != 1 || a.Expires.IsZero() {
				t.Errorf("an approval does not say what it is about: %+v", a)
			}
			return decision, nil
		}
	}
	for name, c := range map[string]struct {
		request mandate.Request[question]
		decide  events.Decision
		tag     events.Tag
		value   int
		writes  int
	}{
		"a read completes with a typed value":         {request("length", events.EffectRead, "seven"), "", events.TagCompleted, 5, 0},
		"output outside the schema is no value":       {request("length", events.EffectRead, ""), "", events.TagFailed, 0, 0},
		"a write that is approved":                    {request("forget", events.EffectWrite, "seven"), events.DecisionApprove, events.TagCompleted, 0, 1},
		"a write that is denied":                      {request("forget", events.EffectWrite, "seven"), events.DecisionDeny, events.TagRejected, 0, 0},
		"a write that says that nothing was applied":  {request("refuse", events.EffectWrite, "seven"), events.DecisionApprove, events.TagFailed, 0, 0},
		"an operation that does not exist is refused": {request("invent", events.EffectRead, "seven"), "", events.TagRejected, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			before := forgotten
			c.request.Approve = approve(c.decide)
			outcome, err := mandate.Run[question, answer](t.Context(), engine, c.request)
			if err != nil {
				t.Fatal(err)
			}
			value, ok := outcome.Value()
			if outcome.Tag != c.tag || ok != (c.tag == events.TagCompleted) || value.Length != c.value {
				t.Errorf("outcome %s %+v %v, want %s %d (%v)", outcome.Tag, value, ok, c.tag, c.value, outcome.Diagnostic)
			}
			if (outcome.Diagnostic == nil) != (c.tag == events.TagCompleted) {
				t.Errorf("diagnostic %v with outcome %s", outcome.Diagnostic, outcome.Tag)
			}
			if forgotten-before != c.writes {
				t.Errorf("%d writes, want %d", forgotten-before, c.writes)
			}
			again := c.request
			again.Nonce = outcome.Run
			joined, err := mandate.Run[question, answer](t.Context(), engine, again)
			if err != nil || joined.Tag != outcome.Tag || forgotten-before != c.writes {
				t.Errorf("the same request again: %s %v, %d writes", joined.Tag, err, forgotten-before)
			}
		})
	}
}

func TestHandlesAreRefused(t *testing.T) {
	req.Covers(t, "C3-RUN-001.u", "C3-RUN-001.e")
	forgotten := 0
	engine := start(t, &forgotten)
	type connection struct {
		Name string
		Dial func()
	}
	if _, err := mandate.Run[connection, answer](t.Context(), engine, mandate.Request[connection]{Agent: "words"}); !errors.Is(err, mandate.ErrHandle) {
		t.Errorf("an input with a function: %v, want %v", err, mandate.ErrHandle)
	}
	if _, err := mandate.Run[question, chan int](t.Context(), engine, mandate.Request[question]{Agent: "words"}); !errors.Is(err, mandate.ErrHandle) {
		t.Errorf("an output that is a channel: %v, want %v", err, mandate.ErrHandle)
	}
}
