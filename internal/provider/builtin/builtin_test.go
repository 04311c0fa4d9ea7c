package builtin_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/builtin"
	"example.org/mandate/internal/provider/providertest"
	"example.org/mandate/internal/req"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// register returns a provider of the given functions.
func register(t *testing.T, functions map[string]builtin.Function) *builtin.Provider {
	t.Helper()
	builder := builtin.NewBuilder()
	for name, function := range functions {
		if err := builder.Register(name, function); err != nil {
			t.Fatal(err)
		}
	}
	return builder.Build()
}

// named returns the binding of a function.
func named(function string) events.ProviderBinding {
	return events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: function}}
}

func TestContract(t *testing.T) {
	functions := map[string]builtin.Function{
		"echo": builtin.Echo,
		"fail": func(context.Context, capability.Invocation) ([]byte, error) {
			return nil, errors.New("sentinel-5d1f failed")
		},
		"hang": func(ctx context.Context, _ capability.Invocation) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"flood": func(context.Context, capability.Invocation) ([]byte, error) {
			return []byte(`"` + strings.Repeat("x", 1<<20) + `"`), nil
		},
		"garbage": func(context.Context, capability.Invocation) ([]byte, error) { return []byte(`{"a":`), nil },
	}
	providertest.Run(t, providertest.Subject{
		New: func(t *testing.T) provider.Provider {
			t.Helper()
			return register(t, functions)
		},
		Echo: named("echo"),
		EchoValue: func(message string) string {
			value, err := provider.TextValue(message)
			if err != nil {
				t.Error(err)
			}
			return strings.Replace(string(value), `{"text":`, `{"message":`, 1)
		},
		Fail: named("fail"), Hang: named("hang"), Flood: named("flood"), Garbage: named("garbage"),
		Missing: named("missing"),
		Foreign: events.ProviderBinding{Process: &events.ProcessBinding{Command: []string{"true"}, Output: "text"}},
	})
}

func TestOutcomeOfError(t *testing.T) {
	tests := map[string]struct {
		err    error
		effect events.Effect
		want   capability.Outcome
	}{
		"proven": {
			&builtin.Error{NotApplied: true, Message: "the account is closed"}, events.EffectWrite,
			capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeActionFailed, Message: "the account is closed"},
		},
		"unproven": {
			&builtin.Error{Message: "refused"}, events.EffectWrite,
			capability.Outcome{Status: capability.StatusFailed, Code: events.CodeActionFailed, Message: "refused"},
		},
		"needs input": {
			&builtin.Error{Status: capability.StatusNeedsInput, Message: "which one"}, events.EffectWrite,
			capability.Outcome{Status: capability.StatusNeedsInput, Code: events.CodeArgumentsInvalid, Message: "which one"},
		},
		"own code": {
			&builtin.Error{Status: capability.StatusNeedsDependency, Code: events.CodeFactProviderMissing, Message: "no fact"}, events.EffectRead,
			capability.Outcome{Status: capability.StatusNeedsDependency, Code: events.CodeFactProviderMissing, Message: "no fact"},
		},
		"claims completion": {
			&builtin.Error{Status: capability.StatusCompleted}, events.EffectWrite,
			capability.Outcome{Status: capability.StatusUncertain, Code: events.CodeProviderFailed, Message: "the function returned an error that says it completed"},
		},
		"unknown status": {
			&builtin.Error{Status: "approved"}, events.EffectRead,
			capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeProviderFailed, Message: "the function reported an unknown status"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := register(t, map[string]builtin.Function{
				"f": func(context.Context, capability.Invocation) ([]byte, error) { return nil, test.err },
			})
			got := p.Invoke(t.Context(), providertest.Invocation(named("f"), test.effect))
			got.Started, got.Finished = 0, 0
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcome differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPanicIsContained(t *testing.T) {
	p := register(t, map[string]builtin.Function{
		"f": func(context.Context, capability.Invocation) ([]byte, error) {
			var none []byte
			return none[1:2], nil
		},
	})
	got := p.Invoke(t.Context(), providertest.Invocation(named("f"), events.EffectWrite))
	if got.Status != capability.StatusUncertain || got.Code != events.CodeProviderFailed {
		t.Errorf("outcome = %+v", got)
	}
}

// A function cannot reach the arguments of others.
func TestArgumentsAreACopy(t *testing.T) {
	req.Covers(t, "IK-5.5.2")
	p := register(t, map[string]builtin.Function{
		"f": func(_ context.Context, invocation capability.Invocation) ([]byte, error) {
			clear(invocation.Arguments)
			return []byte("{}"), nil
		},
	})
	invocation := providertest.Invocation(named("f"), events.EffectRead)
	before := string(invocation.Arguments)
	if got := p.Invoke(t.Context(), invocation); got.Status != capability.StatusCompleted || string(invocation.Arguments) != before {
		t.Errorf("outcome %s, arguments %q", got.Status, invocation.Arguments)
	}
}

func TestRegister(t *testing.T) {
	builder := builtin.NewBuilder()
	if err := builder.Register("noop", builtin.Noop); err != nil {
		t.Fatal(err)
	}
	for name, function := range map[string]builtin.Function{"noop": builtin.Noop, "": builtin.Noop, "nil": nil} {
		if err := builder.Register(name, function); !errors.Is(err, builtin.ErrName) {
			t.Errorf("Register(%q) = %v, want %v", name, err, builtin.ErrName)
		}
	}
	early := builder.Build()
	if err := builder.Register("late", builtin.Noop); err != nil {
		t.Fatal(err)
	}
	if got := early.Invoke(t.Context(), providertest.Invocation(named("late"), events.EffectRead)); got.Code != events.CodeProviderMissing {
		t.Errorf("a provider changed after it was built: %+v", got)
	}
}
