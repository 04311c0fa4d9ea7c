package provider_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// named returns the binding of a function.
func named(function string) events.ProviderBinding {
	return events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: function}}
}

// functions returns a provider of Go functions.
func functions(t *testing.T, all map[string]builtin.Function) provider.Provider {
	t.Helper()
	builder := builtin.NewBuilder()
	for name, function := range all {
		if err := builder.Register(name, function); err != nil {
			t.Fatal(err)
		}
	}
	return builder.Build()
}

// open returns a set that is closed with the test.
func open(t *testing.T, options provider.Options) *provider.Set {
	t.Helper()
	set, err := provider.NewSet(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return set
}

// The set itself keeps the contract of what is in it.
func TestSetContract(t *testing.T) {
	all := map[string]builtin.Function{
		"echo": builtin.Echo,
		"fail": func(context.Context, capability.Invocation) ([]byte, error) { return nil, errors.New("failed") },
		"hang": func(ctx context.Context, _ capability.Invocation) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"flood": func(context.Context, capability.Invocation) ([]byte, error) {
			return []byte(`"` + strings.Repeat("x", 1<<20) + `"`), nil
		},
		"garbage": func(context.Context, capability.Invocation) ([]byte, error) { return []byte("nothing"), nil },
	}
	providertest.Run(t, providertest.Subject{
		New: func(t *testing.T) provider.Provider {
			t.Helper()
			set, err := provider.NewSet(provider.Options{Builtin: provider.Slot{Provider: functions(t, all), Concurrency: 2}})
			if err != nil {
				t.Fatal(err)
			}
			return set
		},
		Echo: named("echo"),
		EchoValue: func(message string) string {
			value, err := provider.TextValue(message)
			if err != nil {
				t.Error(err)
			}
			return strings.Replace(string(value), `{"text":`, `{"message":`, 1)
		},
		Fail: named("fail"), Hang: named("hang"), Flood: named("flood"), Garbage: named("garbage"), Missing: named("missing"),
		Foreign: events.ProviderBinding{Process: &events.ProcessBinding{Command: []string{"true"}, Output: "text"}},
	})
}

func TestSetRefuses(t *testing.T) {
	set := open(t, provider.Options{Builtin: provider.Slot{Provider: functions(t, map[string]builtin.Function{"noop": builtin.Noop})}})
	both := named("noop")
	both.Process = &events.ProcessBinding{Command: []string{"true"}, Output: "text"}
	tests := map[string]struct {
		binding events.ProviderBinding
		effect  events.Effect
		want    events.Code
	}{
		"two bindings":   {both, events.EffectRead, events.CodeProviderMissing},
		"no binding":     {events.ProviderBinding{}, events.EffectRead, events.CodeProviderMissing},
		"no provider":    {events.ProviderBinding{MCP: &events.MCPBinding{Tool: "t"}}, events.EffectRead, events.CodeProviderMissing},
		"unknown effect": {named("noop"), "delete", events.CodeProviderFailed},
		"intent effect":  {named("noop"), events.EffectIntent, events.CodeProviderFailed},
		"no effect":      {named("noop"), "", events.CodeProviderFailed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := set.Invoke(t.Context(), providertest.Invocation(test.binding, test.effect))
			if got.Status != capability.StatusFailed || !got.NotApplied || got.Code != test.want || got.Started == 0 || got.Finished < got.Started {
				t.Errorf("outcome = %+v", got)
			}
		})
	}
}

// reporter answers every invocation with one outcome.
type reporter struct{ outcome capability.Outcome }

// Invoke implements provider.Provider.
func (r reporter) Invoke(context.Context, capability.Invocation) capability.Outcome { return r.outcome }

// Close implements provider.Provider.
func (r reporter) Close() error { return nil }

// Whatever a provider reports outside the closed set is a failure.
func TestSetClosesTheSet(t *testing.T) {
	req.Covers(t, "IK-5.5.3")
	value := []byte(`{"b":1,"a":2}`)
	tests := map[string]struct {
		reported capability.Outcome
		effect   events.Effect
		want     capability.Outcome
	}{
		"canonical": {
			capability.Outcome{Status: capability.StatusCompleted, Value: value},
			events.EffectWrite,
			capability.Outcome{Status: capability.StatusCompleted, Value: []byte(`{"a":2,"b":1}`)},
		},
		"unknown status of a read": {
			capability.Outcome{Status: "approved", Value: value},
			events.EffectRead,
			capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeProviderFailed, Message: "the provider reported an unknown status"},
		},
		"unknown status of a write": {
			capability.Outcome{Status: "", Value: value},
			events.EffectWrite,
			capability.Outcome{Status: capability.StatusUncertain, Code: events.CodeProviderFailed, Message: "the provider reported an unknown status"},
		},
		"completed with nothing": {
			capability.Outcome{Status: capability.StatusCompleted, Receipt: "r"},
			events.EffectWrite,
			capability.Outcome{Status: capability.StatusUncertain, Code: events.CodeOutputInvalid, Message: "the provider completed without a valid value", Receipt: "r"},
		},
		"completed too deep": {
			capability.Outcome{Status: capability.StatusCompleted, Value: []byte(strings.Repeat("[", 17) + strings.Repeat("]", 17))},
			events.EffectNone,
			capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeOutputInvalid, Message: "the provider completed without a valid value"},
		},
		"failed with a value": {
			capability.Outcome{Status: capability.StatusFailed, Value: value, Code: events.CodeActionFailed},
			events.EffectWrite,
			capability.Outcome{Status: capability.StatusFailed, Code: events.CodeActionFailed},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			set := open(t, provider.Options{Builtin: provider.Slot{Provider: reporter{test.reported}}})
			got := set.Invoke(t.Context(), providertest.Invocation(named("any"), test.effect))
			got.Started, got.Finished = 0, 0
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("outcome differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSetConcurrency(t *testing.T) {
	var running, most atomic.Int32
	release := make(chan struct{})
	set := open(t, provider.Options{Builtin: provider.Slot{Concurrency: 3, Provider: functions(t, map[string]builtin.Function{
		"wait": func(ctx context.Context, _ capability.Invocation) ([]byte, error) {
			now := running.Add(1)
			defer running.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				continue
			}
			select {
			case <-release:
			case <-ctx.Done():
			}
			return []byte("{}"), ctx.Err()
		},
	})}})
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if got := set.Invoke(t.Context(), providertest.Invocation(named("wait"), events.EffectRead)); got.Status != capability.StatusCompleted {
				t.Errorf("outcome = %+v", got)
			}
		})
	}
	for deadline := time.Now().Add(10 * time.Second); running.Load() < 3 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	// The limit is reached: one more only waits, and certainly does nothing.
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if got := set.Invoke(ctx, providertest.Invocation(named("wait"), events.EffectWrite)); got.Status != capability.StatusFailed || !got.NotApplied || got.Code != events.CodeTimeout {
		t.Errorf("outcome = %+v", got)
	}
	close(release)
	all.Wait()
	if got := most.Load(); got != 3 {
		t.Errorf("%d at once, want 3", got)
	}
}

// An invocation without a deadline has the ceiling.
func TestSetCeiling(t *testing.T) {
	set := open(t, provider.Options{Ceiling: 30 * time.Millisecond, Builtin: provider.Slot{Provider: functions(t, map[string]builtin.Function{
		"hang": func(ctx context.Context, _ capability.Invocation) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	})}})
	if got := set.Invoke(t.Context(), providertest.Invocation(named("hang"), events.EffectWrite)); got.Status != capability.StatusUncertain || got.Code != events.CodeTimeout {
		t.Errorf("outcome = %+v", got)
	}
}

func TestNewSet(t *testing.T) {
	for name, options := range map[string]provider.Options{
		"negative concurrency": {MCP: provider.Slot{Concurrency: -1}}, "negative ceiling": {Ceiling: -1},
	} {
		if set, err := provider.NewSet(options); err == nil {
			t.Errorf("%s: NewSet = %v, want an error", name, set)
		}
	}
}
