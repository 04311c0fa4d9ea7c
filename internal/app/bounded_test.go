package app

import (
	"context"
	"testing"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
)

// TestBoundedCapabilityIsWired finds the functions of the bounded profile in every engine, and lets a program replace the
// one that needs a host.
func TestBoundedCapabilityIsWired(t *testing.T) {
	invoke := func(functions map[string]Function, name string) capability.Outcome {
		p, err := Functions(functions)
		if err != nil {
			t.Fatal(err)
		}
		arguments, err := json.Marshal(map[string]string{"profile": "", "task": ""})
		if err != nil {
			t.Fatal(err)
		}
		return p.Invoke(t.Context(), capability.Invocation{
			Effect: events.EffectRead, Arguments: arguments, OutputBytes: 1 << 20,
			Provider: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: name}},
		})
	}
	if got := invoke(nil, "agent.bounded"); got.Code != events.CodeProviderMissing || !got.NotApplied {
		t.Errorf("without a host: %+v", got)
	}
	if got := invoke(nil, "agent.bounded.fixture"); got.Code != events.CodeArgumentsInvalid || got.Message != "SPX-G204: Agent Runtime profile is not canonical semaprax.agent-runtime-profile.v1 JSON" {
		t.Errorf("the fixture: %+v", got)
	}
	own := map[string]Function{"agent.bounded": func(context.Context, Call) ([]byte, error) { return []byte(`{"status":"mine"}`), nil }}
	if got := invoke(own, "agent.bounded"); string(got.Value) != `{"status":"mine"}` {
		t.Errorf("a program's own: %+v", got)
	}
}
