package docs

import (
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/cli/manifest"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/testkit/cases"
)

// The example of an agent can be applied as it stands, and its request has the form of one.
func TestAgentExampleCompiles(t *testing.T) {
	view := registry.View{}
	var kinds []string
	for _, block := range indented(files(t, ".md")["docs/agents.md"]) {
		if !strings.HasPrefix(block, "apiVersion:") || strings.Contains(block, "…") {
			continue
		}
		documents, err := manifest.Parse("docs/agents.md", []byte(block))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents {
			kinds = append(kinds, d.Kind)
			if d.Kind == manifest.KindIntentRequest {
				continue
			}
			kind := events.Kind(d.Kind)
			if found := view.Check(kind, d.Name, d.Spec); len(found) > 0 {
				t.Errorf("%s %s: %v", d.Kind, d.Name, found)
			}
			data, err := registry.Normalize(kind, d.Spec)
			if err != nil {
				t.Fatal(err)
			}
			view = cases.Evolve(view, applied(kind, events.Applied{Name: d.Name, Version: 1, Digest: registry.DigestOf(kind, d.Name, data), Definition: data}))
		}
	}
	want := []string{"Policy", "Capability", "Capability", "Agent", manifest.KindIntentRequest}
	if !slices.Equal(kinds, want) {
		t.Errorf("examples of %v, want %v", kinds, want)
	}
	if _, ok := view.Agent("payouts"); !ok {
		t.Error("the agent does not compile")
	}
}

func applied(kind events.Kind, a events.Applied) events.Payload {
	return map[events.Kind]events.Payload{
		events.KindPolicy:     &events.PolicyApplied{Applied: a},
		events.KindCapability: &events.CapabilityRegistered{Applied: a},
		events.KindAgent:      &events.AgentApplied{Applied: a},
	}[kind]
}
