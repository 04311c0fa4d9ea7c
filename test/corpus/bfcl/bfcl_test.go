package bfcl_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/schema"
	"example.org/mandate/internal/testkit/cases"
)

// The part of the corpus that is here is always run, and all of it where it is
// at hand.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("MANDATE_DATA")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	t.Run("part", func(t *testing.T) {
		c, ok := open(t, "testdata")
		if !ok || len(c.rows) == 0 {
			t.Fatal("the part of the corpus is not here")
		}
		every(t, c)
	})
	t.Run("whole", func(t *testing.T) {
		c, ok := open(t, filepath.Join(folder, "bfcl"))
		if !ok {
			t.Skip("SKIPPED: the corpus is not here (set MANDATE_DATA); only the part in testdata was run")
		}
		every(t, c)
	})
}

// every runs all tests on a corpus. They share its registries.
func every(t *testing.T, c corpus) {
	t.Helper()
	v := views{}
	for name, run := range map[string]func(*testing.T, corpus, views){
		"ground truth": groundTruth, "parallel calls have one order": parallel, "withheld tools": withheldTools,
		"mutated calls": mutatedCalls, "fabricated calls": fabricatedCalls,
	} {
		t.Run(name, func(t *testing.T) { run(t, c, v) })
	}
}

// wrong lists the expected calls that do not follow their own tool's schema:
// mistakes of the corpus, where no value of an argument that it accepts does.
func wrong(t *testing.T, view registry.View, calls []call) (names []string) {
	t.Helper()
	agent, _ := view.Agent(cases.Agent)
	for _, c := range calls {
		used, ok := agent.Capability(events.CapabilityRef{Name: c.Name, Version: 1})
		if !ok {
			names = append(names, c.Name)
			continue
		}
		data, err := json.Marshal(c.arguments())
		if err != nil {
			t.Fatal(err)
		}
		if problems := used.Input.Validate(data); len(problems) > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// Every call of the ground truth type-checks in a plan and is dispatched, in
// order.
func groundTruth(t *testing.T, c corpus, v views) {
	t.Helper()
	req.Covers(t, "C3-RUN-003.q", "C3-RUN-003.f", "C3-RUN-002.y1")
	var calls, turns int
	var mistakes []string
	for _, r := range c.rows {
		for i, expected := range r.steps() {
			tools := c.tools(t, r, i)
			view := v.of(t, tools)
			if len(expected) == 0 {
				continue
			}
			if names := wrong(t, view, expected); len(names) > 0 {
				mistakes = append(mistakes, r.ID+": "+strings.Join(names, ", "))
				continue
			}
			turns++
			decision, admitted := decided(t, view, sequence(t, expected, effectsOf(tools)))
			if admitted == nil {
				t.Fatalf("%s, turn %d: decided %v with %+v", r.ID, i, cases.Types(decision), decision[0])
			}
			var want []string
			for _, one := range expected {
				want = append(want, one.Name)
			}
			if got := dispatched(t, view, admitted); !slices.Equal(got, want) {
				t.Fatalf("%s, turn %d: dispatched %v, want %v", r.ID, i, got, want)
			}
			calls += len(expected)
		}
	}
	t.Logf("%d calls in %d turns; mistakes of the corpus: %q", calls, turns, mistakes)
	if calls < 20 || len(mistakes)*100 > turns {
		t.Fatalf("%d calls, %d mistakes", calls, len(mistakes))
	}
}

// Independent calls are one level in one order, however they are listed.
func parallel(t *testing.T, c corpus, v views) {
	t.Helper()
	req.Covers(t, "C3-RUN-003.o", "IK-5.4.10", "IK-5.4.11")
	plans := 0
	for _, r := range c.rows {
		if !strings.Contains(r.Category, "parallel") {
			continue
		}
		view := v.of(t, r.Tools)
		if len(wrong(t, view, r.Expected)) > 0 {
			continue
		}
		plans++
		agent, _ := view.Agent(cases.Agent)
		against := plan.Against{Agent: agent, View: view, Bound: agent.Definition.EffectBound, Operations: agent.Policy.Operations, Input: map[string]any{}}
		p := independent(t, r.Expected, effectsOf(r.Tools))
		first, found := plan.Check(p, against)
		if len(found) > 0 {
			t.Fatalf("%s: %v", r.ID, found)
		}
		for _, n := range p.Nodes {
			if first.Level[n.ID] != 0 {
				t.Fatalf("%s: %s is on level %d", r.ID, n.ID, first.Level[n.ID])
			}
		}
		shuffle := rand.New(rand.NewPCG(1, uint64(plans)))
		for range 100 {
			shuffle.Shuffle(len(p.Nodes), func(i, j int) { p.Nodes[i], p.Nodes[j] = p.Nodes[j], p.Nodes[i] })
			again, found := plan.Check(p, against)
			if len(found) > 0 || !reflect.DeepEqual(first, again) {
				t.Fatalf("%s: another list gives another plan: %v %s", r.ID, found, cmp.Diff(first, again))
			}
		}
		_, admitted := decided(t, view, p)
		if admitted == nil {
			t.Fatalf("%s is not admitted", r.ID)
		}
		for i, id := range first.Order {
			if admitted.Nodes[i].ID != id {
				t.Fatalf("%s: admitted in another order", r.ID)
			}
		}
	}
	if plans < 2 {
		t.Fatalf("%d plans", plans)
	}
}

// refused fails unless a plan is refused for a reason, with nothing admitted.
func refused(t *testing.T, id string, view registry.View, p *events.Plan, codes ...events.Code) {
	t.Helper()
	decision, admitted := decided(t, view, p)
	rejected, one := cases.Event[*events.PlanRejected](decision)
	if admitted != nil || !one || len(decision) != 1 || !rejected.Final {
		t.Fatalf("%s: decided %v", id, cases.Types(decision))
	}
	for _, d := range rejected.Diagnostics {
		if !slices.Contains(codes, d.Code) {
			t.Fatalf("%s: refused for %v, want %v", id, d, codes)
		}
	}
}

// A call of a tool that is withheld is a call of nothing, until its turn.
func withheldTools(t *testing.T, c corpus, v views) {
	t.Helper()
	req.Covers(t, "C3-RUN-003.f")
	before, after := 0, 0
	for _, r := range c.rows {
		_, later := r.withheld(t)
		for i, expected := range r.steps() {
			for _, one := range expected {
				from, named := later[one.Name]
				if !named || i < from {
					continue
				}
				full := c.tools(t, r, from)
				if len(wrong(t, v.of(t, full), []call{one})) > 0 {
					continue
				}
				effects := effectsOf(full)
				refused(t, r.ID, v.of(t, c.tools(t, r, from-1)), sequence(t, []call{one}, effects), events.CodeCapabilityUnknown)
				before++
				if _, admitted := decided(t, v.of(t, full), sequence(t, []call{one}, effects)); admitted == nil {
					t.Fatalf("%s: %s is not admitted in its turn", r.ID, one.Name)
				}
				after++
			}
		}
	}
	if before == 0 || before != after {
		t.Fatalf("%d refused and %d admitted", before, after)
	}
}

// A call that is wrong in one argument is never admitted: one that is missing,
// of another type, or too many. Nothing else of the plan is dispatched either.
func mutatedCalls(t *testing.T, c corpus, v views) {
	t.Helper()
	req.Covers(t, "C3-RUN-003.q", "IK-5.4.2")
	counts := map[string]int{}
	for _, r := range c.rows {
		for i, expected := range r.steps() {
			tools := c.tools(t, r, i)
			view := v.of(t, tools)
			if len(expected) == 0 || len(wrong(t, view, expected)) > 0 {
				continue
			}
			for kind, p := range mutated(t, view, expected[len(expected)-1], sequence(t, expected, effectsOf(tools))) {
				counts[kind]++
				refused(t, r.ID+" "+kind, view, p, events.CodePlanType)
			}
		}
	}
	t.Logf("%v", counts)
	for _, kind := range []string{"missing", "type", "extra"} {
		if counts[kind] == 0 {
			t.Errorf("no call was mutated: %s", kind)
		}
	}
}

// mutated returns copies of a plan whose last call is wrong in one thing.
func mutated(t *testing.T, view registry.View, c call, p *events.Plan) map[string]*events.Plan {
	t.Helper()
	agent, _ := view.Agent(cases.Agent)
	used, _ := agent.Capability(events.CapabilityRef{Name: c.Name, Version: 1})
	change := func(f func(map[string]events.Argument)) *events.Plan {
		copied := *p
		copied.Nodes = slices.Clone(p.Nodes)
		last := &copied.Nodes[len(copied.Nodes)-1]
		last.Arguments = maps.Clone(last.Arguments)
		f(last.Arguments)
		return &copied
	}
	plans := map[string]*events.Plan{"extra": change(func(a map[string]events.Argument) { a["not_there"] = cases.Literal(`1`) })}
	if required := used.Input.Required(); len(required) > 0 {
		plans["missing"] = change(func(a map[string]events.Argument) { delete(a, required[0]) })
	}
	for _, name := range slices.Sorted(maps.Keys(p.Nodes[len(p.Nodes)-1].Arguments)) {
		if value, ok := wrongType(used.Input.Member(name)); ok {
			plans["type"] = change(func(a map[string]events.Argument) { a[name] = cases.Literal(value) })
			break
		}
	}
	return plans
}

// wrongType returns a value that a schema does not allow.
func wrongType(wanted *schema.Schema) (string, bool) {
	for _, value := range []string{`{"no":"such"}`, `["no such"]`, `"no such"`, `12345`, `true`} {
		if len(wanted.Validate([]byte(value))) > 0 {
			return value, true
		}
	}
	return "", false
}

// Where no tool is of use, a call that somebody makes up is refused: of the
// nearest tool with arguments that it does not take, and of a tool that there
// is not. Where nothing is called, there is no plan.
func fabricatedCalls(t *testing.T, c corpus, v views) {
	t.Helper()
	req.Covers(t, "C3-RUN-003.f", "C3-RUN-003.u")
	fabricated := 0
	for _, r := range c.rows {
		if !strings.Contains(r.Category, "irrelevance") || len(r.Tools) == 0 {
			continue
		}
		view := v.of(t, r.Tools)
		refused(t, r.ID, view, cases.Plan(), events.CodePlanTooLarge, events.CodeSpecInvalid)
		ghost := call{Name: r.Tools[0].Name + "_please", Arguments: map[string]any{}}
		refused(t, r.ID, view, sequence(t, []call{ghost}, nil), events.CodeCapabilityUnknown)
		agent, _ := view.Agent(cases.Agent)
		nearest, _ := agent.Capability(events.CapabilityRef{Name: r.Tools[0].Name, Version: 1})
		names := append(nearest.Input.Required(), "anything")
		made := call{Name: r.Tools[0].Name, Arguments: map[string]any{names[0]: map[string]any{"no": "such"}}}
		if len(nearest.Input.Validate([]byte(`{"`+names[0]+`":{"no":"such"}}`))) == 0 {
			continue // it takes anything there
		}
		refused(t, r.ID, view, sequence(t, []call{made}, nil), events.CodePlanType)
		fabricated++
	}
	if fabricated == 0 {
		t.Fatal("nothing was made up")
	}
}
