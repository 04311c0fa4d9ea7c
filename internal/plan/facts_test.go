package plan_test

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// A step whose capability requires a fact waits for the step that provides it,
// whether the plan says so or not.
func TestFactsOrderSteps(t *testing.T) {
	req.Covers(t, "IK-3.6", "IK-6.3", "IK-5.4.4", "IK-5.4.5")
	fact := events.FactType{Type: "case.found", Version: 1}
	w := cases.NewWorld()
	w.Change("scan", func(c *events.Capability) { c.Provides = []events.FactType{fact} })
	w.Change("look", func(c *events.Capability) { c.Requires = []events.FactType{fact} })
	a := against(t, w)
	scan := func(id string, after ...string) events.PlanNode {
		return cases.Node(id, "scan", events.EffectRead, after...)
	}

	checked, found := plan.Check(cases.Plan(cases.Read("a"), scan("z"), cases.Read("b", "a")), a)
	if len(found) > 0 || !slices.Equal(checked.Order, []string{"z", "a", "b"}) {
		t.Fatalf("%v, %v", checked.Order, found)
	}
	want := map[string][]string{"z": {}, "a": {"z"}, "b": {"a", "z"}}
	for id, after := range want {
		if !slices.Equal(checked.After[id], after) {
			t.Errorf("%s after %v, want %v", id, checked.After[id], after)
		}
	}
	if checked.Level["z"] != 0 || checked.Level["a"] != 1 || checked.Level["b"] != 2 {
		t.Errorf("levels %v", checked.Level)
	}
	t.Run("against the plan's own order", func(t *testing.T) {
		_, found := plan.Check(cases.Plan(cases.Read("a"), scan("z", "a")), a)
		if codes := cases.Codes(found); !slices.Equal(codes, []events.Code{events.CodePlanCycle}) {
			t.Errorf("%v", found)
		}
	})
	t.Run("provided by nothing", func(t *testing.T) {
		_, found := plan.Check(cases.Plan(cases.Read("a")), a)
		if len(found) != 1 || found[0].Code != events.CodeFactProviderMissing || found[0].Path != "plan.nodes[0].capability" {
			t.Errorf("%v", found)
		}
	})
	t.Run("another version is another fact", func(t *testing.T) {
		w := cases.NewWorld()
		w.Change("scan", func(c *events.Capability) { c.Provides = []events.FactType{fact, {Type: "case.found", Version: 2}} })
		w.Change("look", func(c *events.Capability) { c.Requires = []events.FactType{{Type: "case.found", Version: 2}} })
		if checked, found := plan.Check(cases.Plan(cases.Read("a"), scan("z")), against(t, w)); len(found) > 0 || checked.Level["a"] != 1 {
			t.Errorf("%v, %v", checked.Level, found)
		}
	})
	t.Run("a condition before a step may rely on it", func(t *testing.T) {
		p := cases.Plan(scan("z"), cases.Read("a"))
		spec := cases.Spec(p)
		spec.Requirements = append(spec.Requirements, cases.NoneFailed("z", "a"))
		if found := plan.Contract(spec, p, a); len(found) > 0 {
			t.Errorf("%v", found)
		}
	})
}
