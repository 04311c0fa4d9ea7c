package bounded_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	capabilitybounded "example.org/mandate/internal/provider/bounded"
	"example.org/mandate/internal/provider/builtin"
	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/bounded"
)

// fixture returns a known document.
func fixture(t *testing.T, name string) string {
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

// set is the way from the executor to the function.
func set(t *testing.T, o capabilitybounded.Options) *provider.Set {
	t.Helper()
	b := builtin.NewBuilder()
	if err := b.Register(capabilitybounded.Name, capabilitybounded.Function(o)); err != nil {
		t.Fatal(err)
	}
	s, err := provider.NewSet(provider.Options{Builtin: provider.Slot{Provider: b.Build()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// invocation is a call with arguments beside the profile and the task.
func invocation(t *testing.T, budgets map[string]uint64) capability.Invocation {
	t.Helper()
	arguments := map[string]any{"profile": fixture(t, "profile"), "task": fixture(t, "task")}
	if budgets != nil {
		arguments["budgets"] = budgets
	}
	data, err := json.Marshal(arguments, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return capability.Invocation{
		Run: "run", Action: "action", Name: capabilitybounded.Name, Version: 1, Effect: events.EffectRead, Arguments: data,
		OutputBytes: 1 << 20, Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: capabilitybounded.Name}},
	}
}

type value struct {
	Status         string `json:"status"`
	Code           string `json:"code"`
	Reason         string `json:"reason"`
	Message        string `json:"untrusted_final_message"`
	TraceDigest    string `json:"trace_digest"`
	Evidence       string `json:"evidence"`
	EvidenceDigest string `json:"evidence_digest"`
	Receipt        string `json:"receipt"`
	ReceiptDigest  string `json:"receipt_digest"`
}

func read(t *testing.T, outcome capability.Outcome) value {
	t.Helper()
	if outcome.Status != capability.StatusCompleted {
		t.Fatalf("outcome %s %v %s", outcome.Status, outcome.Code, outcome.Message)
	}
	var v value
	if err := json.Unmarshal(outcome.Value, &v, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCapability gives the known answers through the provider port.
func TestCapability(t *testing.T) {
	got := read(t, set(t, capabilitybounded.Options{Host: capabilitybounded.Fixture}).Invoke(t.Context(), invocation(t, nil)))
	if got.Status != "completed" || got.Message != "done" || got.Evidence != fixture(t, "evidence") || got.Receipt != fixture(t, "accounting_receipt.derived") ||
		got.EvidenceDigest != "sha256:17af6073806bf8a71e160c060b9ac6b6f43154a1c0583d441c90508b959d23e4" {
		t.Errorf("%+v", got)
	}
}

// TestCapabilityRefuses refuses before anything is asked, with a code of the engine and a fixed text.
func TestCapabilityRefuses(t *testing.T) {
	with := func(change func(*capability.Invocation)) capability.Invocation {
		i := invocation(t, nil)
		change(&i)
		return i
	}
	budget := func(name string) capability.Invocation { return invocation(t, map[string]uint64{name: 0}) }
	for name, test := range map[string]struct {
		host       func() (bounded.Host, error)
		invocation capability.Invocation
		code       events.Code
	}{
		"no host":       {nil, invocation(t, nil), events.CodeProviderMissing},
		"host fails":    {func() (bounded.Host, error) { return nil, os.ErrNotExist }, invocation(t, nil), events.CodeProviderFailed},
		"a write":       {capabilitybounded.Fixture, with(func(i *capability.Invocation) { i.Effect = events.EffectWrite }), events.CodeEffectOutsideBound},
		"no arguments":  {capabilitybounded.Fixture, with(func(i *capability.Invocation) { i.Arguments = []byte("{}") }), events.CodeArgumentsInvalid},
		"more":          {capabilitybounded.Fixture, with(func(i *capability.Invocation) { i.Arguments = []byte(`{"more":1}`) }), events.CodeArgumentsInvalid},
		"no output":     {capabilitybounded.Fixture, with(func(i *capability.Invocation) { i.OutputBytes = 0 }), events.CodeBudgetExhausted},
		"little output": {capabilitybounded.Fixture, with(func(i *capability.Invocation) { i.OutputBytes = 60000 }), events.CodeBudgetExhausted},
		"time":          {capabilitybounded.Fixture, budget("elapsed_ms"), events.CodeBudgetExhausted},
		"attempts":      {capabilitybounded.Fixture, budget("provider_attempts"), events.CodeBudgetExhausted},
		"input tokens":  {capabilitybounded.Fixture, budget("reported_model_input_tokens"), events.CodeBudgetExhausted},
		"output tokens": {capabilitybounded.Fixture, budget("reported_model_output_tokens"), events.CodeBudgetExhausted},
		"money":         {capabilitybounded.Fixture, budget("usd_microunits"), events.CodeBudgetExhausted},
		"tool calls":    {capabilitybounded.Fixture, budget("tool_calls"), events.CodeBudgetExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			got := set(t, capabilitybounded.Options{Host: test.host}).Invoke(t.Context(), test.invocation)
			if got.Status != capability.StatusFailed || !got.NotApplied || got.Code != test.code {
				t.Errorf("outcome %s %v %s", got.Status, got.Code, got.Message)
			}
		})
	}
}

// counting is a fixture that counts, and breaks where it is told.
type counting struct {
	bounded.Host
	attempts, tools *int
	broken          func(attempt int)
}

func (c counting) AttemptProvider(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
	*c.attempts++
	if c.broken != nil {
		c.broken(*c.attempts)
	}
	return c.Host.AttemptProvider(call, sink)
}

func (c counting) InvokeTool(call bounded.ToolCall, sink *bounded.ToolSink) bool {
	*c.tools++
	return c.Host.InvokeTool(call, sink)
}

// TestOuterBudgetsLower ends a run by what the caller has left, with its records.
func TestOuterBudgetsLower(t *testing.T) {
	attempts, tools := 0, 0
	s := set(t, capabilitybounded.Options{Host: func() (bounded.Host, error) {
		return counting{bounded.NewFixture(), &attempts, &tools, nil}, nil
	}})
	got := read(t, s.Invoke(t.Context(), invocation(t, map[string]uint64{"provider_attempts": 1})))
	if got.Status != "budget_exhausted" || got.Code != "SPX-G208" || got.Reason != "provider_attempts exceeds 1" || attempts != 1 || got.Evidence == "" {
		t.Errorf("%+v after %d attempts", got, attempts)
	}
	// The time that is left is the context's.
	now := time.Now()
	clock := func() time.Time { return now }
	s = set(t, capabilitybounded.Options{Host: capabilitybounded.Fixture, Now: clock})
	for left, want := range map[time.Duration]capability.Status{999 * time.Microsecond: capability.StatusFailed, time.Hour: capability.StatusCompleted} {
		ctx, stop := context.WithDeadline(t.Context(), now.Add(left))
		got := s.Invoke(ctx, invocation(t, nil))
		stop()
		if got.Status != want {
			t.Errorf("%s left: %s %v %s", left, got.Status, got.Code, got.Message)
		}
	}
}

// TestCrashEndsByTheOuterRules has a run that breaks down after its first attempt. The action has failed, and the next
// invocation is a new run that asks everything anew: there is nothing to go on from.
func TestCrashEndsByTheOuterRules(t *testing.T) {
	req.Covers(t, "BNAR-1.22")
	attempts, tools := 0, 0
	crash := true
	s := set(t, capabilitybounded.Options{Host: func() (bounded.Host, error) {
		return counting{bounded.NewFixture(), &attempts, &tools, func(attempt int) {
			if crash && attempt == 2 {
				var none []byte
				_ = none[attempt]
			}
		}}, nil
	}})
	got := s.Invoke(t.Context(), invocation(t, nil))
	if got.Status != capability.StatusFailed || got.Code != events.CodeProviderFailed || attempts != 2 || tools != 1 {
		t.Errorf("outcome %s %v %s after %d attempts and %d tool calls", got.Status, got.Code, got.Message, attempts, tools)
	}
	crash, attempts, tools = false, 0, 0
	again := read(t, s.Invoke(t.Context(), invocation(t, nil)))
	if again.Evidence != fixture(t, "evidence") || attempts != 2 || tools != 1 {
		t.Errorf("%s after %d attempts and %d tool calls", again.Status, attempts, tools)
	}
}

// TestCancelledOutside ends the run when the invocation ends.
func TestCancelledOutside(t *testing.T) {
	attempts, tools := 0, 0
	ctx, cancel := context.WithCancel(t.Context())
	s := set(t, capabilitybounded.Options{Host: func() (bounded.Host, error) {
		return counting{bounded.NewFixture(), &attempts, &tools, func(int) { cancel() }}, nil
	}})
	got := s.Invoke(ctx, invocation(t, nil))
	// What the host had begun may be over before the cancellation is heard, so the run is cancelled now or a little later.
	if got.Status == capability.StatusCompleted {
		if v := read(t, got); v.Status != "cancelled" && v.Status != "completed" {
			t.Errorf("%+v", v)
		}
	}
	if got := s.Invoke(ctx, invocation(t, nil)); got.Status != capability.StatusFailed || got.Code != events.CodeCancelled {
		t.Errorf("outcome %s %v %s", got.Status, got.Code, got.Message)
	}
}

// TestNoPrivateTextInMessages has a sentinel in everything that a caller gives.
func TestNoPrivateTextInMessages(t *testing.T) {
	i := invocation(t, nil)
	for _, old := range []string{"fixture.agent", "Return one bounded answer.", "read"} {
		i.Arguments = []byte(strings.Replace(string(i.Arguments), old, "sentinel 5d1f", 1))
		if got := set(t, capabilitybounded.Options{Host: capabilitybounded.Fixture}).Invoke(t.Context(), i); strings.Contains(got.Message, "sentinel") {
			t.Errorf("message %q", got.Message)
		}
	}
}
