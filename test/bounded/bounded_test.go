// Package bounded runs the capability agent.bounded through a whole engine.
package bounded

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"sigs.k8s.io/yaml"

	"example.org/mandate"
	"example.org/mandate/events"
	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/bounded"
)

// arguments are the arguments of the capability.
type arguments struct {
	Profile string            `json:"profile"`
	Task    string            `json:"task"`
	Budgets map[string]uint64 `json:"budgets,omitzero"`
}

// result is the value of the capability.
type result struct {
	Status   string `json:"status"`
	Code     string `json:"code"`
	Reason   string `json:"reason"`
	Message  string `json:"untrusted_final_message"`
	Evidence string `json:"evidence"`
}

const resultSchema = `{"type":"object","required":["status","trace_digest","evidence","evidence_digest","receipt","receipt_digest"]}`

func limits() events.Limits {
	return events.Limits{
		Attempts: 1, Revisions: 1, ElapsedMillis: 60_000, CostUnit: "usd", CheckSteps: 10, CheckMemoryBytes: 1_000_000, ArtifactBytes: 1_000_000, Actions: 1,
	}
}

// start returns an engine in which the capability is reached through a function.
func start(t *testing.T, function string, functions map[string]mandate.Function) *mandate.Engine {
	t.Helper()
	engine, err := mandate.Start(t.Context(), mandate.Options{DataDir: t.TempDir(), Functions: functions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, resource := range []struct {
		kind  events.Kind
		name  string
		value any
	}{
		{events.KindPolicy, "bounded", events.Policy{
			Version: 1, Description: "reading needs nobody", StandingApproval: []events.Effect{events.EffectNone, events.EffectRead},
			Operations: []string{"agent.bounded"}, Submitters: []string{"*"}, Approvers: []string{"*"}, ApprovalSeconds: 60, LeaseSeconds: 60,
		}},
		{events.KindCapability, "agent.bounded", events.Capability{
			Version: 1, Description: "run a task under a bounded profile", Effect: events.EffectRead, Confirmation: events.ConfirmationNone,
			Input: events.JSON(`{"type":"object"}`), Output: events.JSON(resultSchema), ResultType: "agent.bounded",
			TimeoutMillis: 30_000, OutputBytes: 1 << 20, Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: function}},
		}},
		{events.KindAgent, "bounded", events.Agent{
			Version: 1, Description: "runs bounded tasks", Policy: "bounded", EffectBound: []events.Effect{events.EffectRead},
			Capabilities: []events.CapabilityRef{{Name: "agent.bounded", Version: 1}}, Input: events.JSON(`{"type":"object"}`),
			Output: events.JSON(resultSchema), Limits: limits(),
		}},
	} {
		if err := engine.Apply(t.Context(), resource.kind, resource.name, resource.value); err != nil {
			t.Fatal(err)
		}
	}
	return engine
}

// run submits a request with a plan of one action.
func run(t *testing.T, engine *mandate.Engine, a arguments) mandate.Outcome[result] {
	t.Helper()
	plan := events.PlanNode{
		ID: "run", Capability: events.CapabilityRef{Name: "agent.bounded", Version: 1}, Effect: events.EffectRead, After: []string{},
		Arguments: map[string]events.Argument{"profile": {Input: new("/profile")}, "task": {Input: new("/task")}},
	}
	if a.Budgets != nil {
		plan.Arguments["budgets"] = events.Argument{Input: new("/budgets")}
	}
	outcome, err := mandate.Run[arguments, result](t.Context(), engine, mandate.Request[arguments]{
		Agent: "bounded", Intent: "run the task", Input: a, Policy: "bounded", Limits: limits(),
		Outcome: &events.OutcomeSpec{
			SchemaVersion: 1, ID: "run", Revision: 1, Objective: "the records of a bounded run",
			Deliverables: []events.Deliverable{{ID: "records", Description: "the records", Result: "run"}},
			Requirements: []events.Requirement{}, Provenance: events.Provenance{Origin: events.OriginExplicit},
		},
		Plan: &events.Plan{
			SchemaVersion: 1, Candidate: events.CandidatePlan, Output: events.OutputBinding{Node: "run", Type: "agent.bounded"}, Nodes: []events.PlanNode{plan},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func known(t *testing.T, name string) string {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "services", "executor", "internal", "bounded", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestFixtureInAnEngine gives the known Evidence as the value of a recorded action.
func TestFixtureInAnEngine(t *testing.T) {
	engine := start(t, "agent.bounded.fixture", nil)
	input := arguments{Profile: known(t, "profile"), Task: known(t, "task")}
	outcome := run(t, engine, input)
	if value, ok := outcome.Value(); !ok || value.Status != "completed" || value.Message != "done" || value.Evidence != known(t, "evidence") {
		t.Errorf("outcome %s %v %+v", outcome.Tag, outcome.Diagnostic, value)
	}
	// What the caller has left ends the run earlier, with its records; nothing left refuses it.
	input.Budgets = map[string]uint64{"provider_attempts": 1}
	outcome = run(t, engine, input)
	if value, ok := outcome.Value(); !ok || value.Status != "budget_exhausted" || value.Reason != "provider_attempts exceeds 1" || value.Evidence == "" {
		t.Errorf("outcome %s %v %+v", outcome.Tag, outcome.Diagnostic, value)
	}
	input.Budgets = map[string]uint64{"provider_attempts": 0}
	if outcome = run(t, engine, input); outcome.Tag != events.TagFailed {
		t.Errorf("outcome %s %v", outcome.Tag, outcome.Diagnostic)
	}
}

// TestOwnHostInAnEngine has a program that registers the function with its own host, which breaks down the first time.
func TestOwnHostInAnEngine(t *testing.T) {
	calls := 0
	engine := start(t, "agent.bounded", map[string]mandate.Function{
		"agent.bounded": func(ctx context.Context, call mandate.Call) ([]byte, error) {
			calls++
			host := broken{Host: bounded.NewFixture(), at: map[bool]int{true: 2}[calls == 1]}
			return bounded.Invoke(ctx, bounded.Invocation{Host: &host, Arguments: call.Arguments, OutputBytes: 1 << 20})
		},
	})
	input := arguments{Profile: known(t, "profile"), Task: known(t, "task")}
	if outcome := run(t, engine, input); outcome.Tag != events.TagFailed || calls != 1 {
		t.Errorf("outcome %s %v after %d calls", outcome.Tag, outcome.Diagnostic, calls)
	}
	outcome := run(t, engine, input)
	if value, ok := outcome.Value(); !ok || value.Evidence != known(t, "evidence") || calls != 2 {
		t.Errorf("outcome %s %v after %d calls", outcome.Tag, outcome.Diagnostic, calls)
	}
}

// broken is a host whose attempt of a number breaks down.
type broken struct {
	bounded.Host
	at, attempts int
}

func (b *broken) AttemptProvider(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
	if b.attempts++; b.attempts == b.at {
		var none []byte
		_ = none[b.at]
	}
	return b.Host.AttemptProvider(call, sink)
}

// TestNoHostInAnEngine is refused.
func TestNoHostInAnEngine(t *testing.T) {
	outcome := run(t, start(t, "agent.bounded", nil), arguments{Profile: known(t, "profile"), Task: known(t, "task")})
	if outcome.Tag != events.TagFailed || outcome.Diagnostic == nil {
		t.Errorf("outcome %s %v", outcome.Tag, outcome.Diagnostic)
	}
}

// TestDocumentedCapability applies the capability as docs/bounded.md has it, and runs it.
func TestDocumentedCapability(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "bounded.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "    apiVersion: mandate/v1\n")
	block, _, ended := strings.Cut(block, "\n\n")
	if !found || !ended {
		t.Fatal("docs/bounded.md has no capability")
	}
	var document struct {
		Kind     events.Kind
		Metadata struct{ Name string }
		Spec     events.Capability
	}
	converted, err := yaml.YAMLToJSONStrict([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(converted, &document, json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if document.Kind != events.KindCapability || document.Metadata.Name != "agent.bounded" {
		t.Fatalf("%s %s", document.Kind, document.Metadata.Name)
	}
	engine := start(t, "agent.bounded", nil)
	if err := engine.Apply(t.Context(), document.Kind, document.Metadata.Name, document.Spec); err != nil {
		t.Fatal(err)
	}
	outcome := run(t, engine, arguments{Profile: known(t, "profile"), Task: known(t, "task")})
	if value, ok := outcome.Value(); !ok || value.Evidence != known(t, "evidence") {
		t.Errorf("outcome %s %v", outcome.Tag, outcome.Diagnostic)
	}
}
