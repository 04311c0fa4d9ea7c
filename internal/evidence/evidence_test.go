package evidence_test

import (
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/evidence"
)

// What a capability says of itself is only asserted, and what it cannot have
// seen it cannot tell.
func TestWhatCanBeEstablished(t *testing.T) {
	for method, want := range map[string]events.Strength{
		"process-exit": events.StrengthObserved, "adapter:go-test-json": events.StrengthObserved, "said-so": events.StrengthAsserted,
		"": events.StrengthAsserted, "attested": events.StrengthAsserted,
	} {
		if got := evidence.StrengthOf(method); got != want {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
	process := events.ProviderBinding{Process: &events.ProcessBinding{Output: "json"}}
	files := events.ProviderBinding{Process: &events.ProcessBinding{Output: "json", Observes: []string{"*"}}}
	report := events.ProviderBinding{Process: &events.ProcessBinding{Output: "go-test-json"}}
	tool := events.ProviderBinding{MCP: &events.MCPBinding{}}
	for _, test := range []struct {
		binding events.ProviderBinding
		time    string
		want    bool
	}{
		{process, "observed", true},
		{process, "source_modified", false},
		{files, "source_modified", true},
		{files, "published", false},
		{report, "published", true},
		{tool, "observed", true},
		{tool, "source_modified", false},
		{tool, "tomorrow", false},
	} {
		if got := evidence.CanTell(test.binding, test.time); got != test.want {
			t.Errorf("%+v tells %s: %t", test.binding, test.time, got)
		}
	}
	for strength, want := range map[events.Strength]bool{events.StrengthAsserted: true, events.StrengthObserved: true, events.StrengthAttested: false} {
		if got := evidence.CanReach(tool, strength); got != want {
			t.Errorf("reaches %s: %t", strength, got)
		}
	}
	if evidence.CanReach(events.ProviderBinding{}, events.StrengthObserved) {
		t.Error("nothing observes")
	}
}
