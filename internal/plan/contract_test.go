package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

func field(node, path, op, value string) events.Predicate {
	return events.Predicate{Field: &events.FieldPredicate{Result: node, Path: path, Op: op, Value: events.JSON(value)}}
}

// A required condition that nothing in the plan can meet is refused before
// anything runs; one that something might meet is not.
func TestContract(t *testing.T) {
	newer := func(time string) events.Predicate {
		return events.Predicate{Newer: &events.NewerPredicate{Left: events.TimeRef{Result: "a", Time: "observed"}, Right: events.TimeRef{Result: "b", Time: time}}}
	}
	input := func(pointer string) events.Predicate {
		return events.Predicate{Contains: &events.ContainsPredicate{Result: "a", Path: "/text", Text: events.Operand{Input: pointer}}}
	}
	observes := func(c *events.Capability) {
		c.Provider = events.ProviderBinding{Process: &events.ProcessBinding{Command: []string{"true"}, Output: "json", Observes: []string{"*.go"}}}
	}
	tests := func(c *events.Capability) {
		c.Provider = events.ProviderBinding{Process: &events.ProcessBinding{Command: []string{"true"}, Output: "go-test-json"}}
	}
	for name, test := range map[string]struct {
		predicate events.Predicate
		world     func(*events.Capability)
		change    func(*events.Requirement)
		path      string // of the refusal; none if it is admissible
		covers    []string
	}{
		"a field that is there":                {predicate: field("a", "/failed", "eq", "0")},
		"a field that may be there":            {predicate: field("a", "/text", "eq", `"x"`)},
		"a field of another kind":              {predicate: field("a", "/failed", "eq", `"none"`), path: ".predicate", covers: []string{"C3-RUN-002.y2", "C3-RUN-003.x"}},
		"a field of another kind, less":        {predicate: field("a", "/failed", "lt", `"none"`), path: ".predicate"},
		"a field of another kind, not":         {predicate: field("a", "/failed", "ne", `"none"`), path: ".predicate"},
		"a part of a number":                   {predicate: field("a", "/failed/x", "eq", "0"), path: ".predicate"},
		"a fraction of an integer":             {predicate: field("a", "/failed", "eq", "0.5"), path: ".predicate"},
		"a field that a closed output lacks":   {predicate: field("a", "/ghost", "eq", "0"), world: closed, path: ".predicate"},
		"below what the schema allows":         {predicate: field("a", "/failed", "lt", "0"), world: closed, path: ".predicate"},
		"at the end of what it allows":         {predicate: field("a", "/failed", "le", "0"), world: closed},
		"above what the schema allows":         {predicate: field("a", "/failed", "gt", "9"), world: closed, path: ".predicate"},
		"at the upper end":                     {predicate: field("a", "/failed", "ge", "9"), world: closed},
		"anything but the only value":          {predicate: field("a", "/kind", "ne", `"report"`), world: closed, path: ".predicate"},
		"null is never different":              {predicate: field("a", "/failed", "ne", "null"), path: ".predicate"},
		"true is never below true":             {predicate: field("a", "/good", "lt", "true"), world: closed, path: ".predicate"},
		"a truth":                              {predicate: field("a", "/good", "eq", "true"), world: closed},
		"a text in a number":                   {predicate: events.Predicate{Contains: &events.ContainsPredicate{Result: "a", Path: "/failed", Text: events.Operand{Literal: events.JSON(`"x"`)}}}, path: ".predicate"},
		"a text of the input":                  {predicate: input("/path")},
		"a text that the input lacks":          {predicate: input("/ghost"), path: ".predicate"},
		"the producer":                         {predicate: events.Predicate{Producer: &events.ProducerPredicate{Result: "a", Capability: events.CapabilityRef{Name: "look", Version: 1}}}},
		"another producer":                     {predicate: events.Predicate{Producer: &events.ProducerPredicate{Result: "a", Capability: events.CapabilityRef{Name: "look", Version: 2}}}, path: ".predicate"},
		"a field exists":                       {predicate: events.Predicate{Exists: &events.ExistsPredicate{Result: "a", Path: "/text"}}},
		"a field cannot exist":                 {predicate: events.Predicate{Exists: &events.ExistsPredicate{Result: "a", Path: "/ghost"}}, world: closed, path: ".predicate"},
		"a unit":                               {predicate: events.Predicate{Unit: &events.UnitPredicate{Result: "a", Path: "/size", Unit: "kB"}}},
		"a unit of a number":                   {predicate: events.Predicate{Unit: &events.UnitPredicate{Result: "a", Path: "/failed", Unit: "kB"}}, path: ".predicate"},
		"when it was observed":                 {predicate: newer("observed")},
		"a time that nothing tells":            {predicate: newer("source_modified"), path: ".predicate", covers: []string{"C3-RUN-002.y5"}},
		"a time that observed files tell":      {predicate: newer("source_modified"), world: observes},
		"a publication that files do not tell": {predicate: newer("published"), world: observes, path: ".predicate", covers: []string{"C3-RUN-002.y5"}},
		"a publication that a report tells":    {predicate: newer("published"), world: tests},
		"stronger than anything observed":      {predicate: field("a", "/failed", "eq", "0"), change: func(r *events.Requirement) { r.Strength = events.StrengthAttested }, path: ".strength", covers: []string{"C3-RUN-002.y5"}},
		"only preferred":                       {predicate: field("a", "/failed", "eq", `"none"`), change: func(r *events.Requirement) { r.Importance = events.Prefer }},
		"preferred, and something waits for it": {
			predicate: field("a", "/failed", "eq", `"none"`), path: ".predicate",
			change: func(r *events.Requirement) { r.Importance, r.Before = events.Prefer, []string{"b"} },
		},
		"before what follows":        {predicate: field("a", "/failed", "eq", "0"), change: func(r *events.Requirement) { r.Before = []string{"b"} }},
		"before itself":              {predicate: field("a", "/failed", "eq", "0"), change: func(r *events.Requirement) { r.Before = []string{"a"} }, path: ".before", covers: []string{"C3-RUN-002.y4"}},
		"before what it comes after": {predicate: field("b", "/failed", "eq", "0"), change: func(r *events.Requirement) { r.Before = []string{"a"} }, path: ".before", covers: []string{"C3-RUN-002.y4"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, append(test.covers, "C3-RUN-002.y2")...)
			w := cases.NewWorld()
			if test.world != nil {
				w.Change("look", test.world)
			}
			p := cases.Plan(cases.Read("a"), cases.Read("b", "a"))
			spec := cases.Spec(p)
			spec.Requirements = []events.Requirement{cases.Must("r", "a", test.predicate)}
			if test.change != nil {
				test.change(&spec.Requirements[0])
			}
			found := plan.Contract(spec, p, against(t, w))
			if test.path == "" && len(found) > 0 {
				t.Fatalf("refused: %v", found)
			}
			if test.path != "" && (len(found) != 1 || found[0].Code != events.CodePlanCoverage || found[0].Path != "outcome.requirements[0]"+test.path || found[0].Action == "") {
				t.Fatalf("found %v, want one at %s", found, test.path)
			}
		})
	}
}

// closed gives a capability an output that says exactly what it can be.
func closed(c *events.Capability) {
	c.Output = events.JSON(`{"type":"object","additionalProperties":false,"required":["failed"],"properties":{
		"failed":{"type":"integer","minimum":0,"maximum":9},"kind":{"const":"report"},"good":{"type":"boolean"}}}`)
}

// A plan in which every node follows every node of the level before has more
// ways through it than can be tried.
func TestContractOfManyWays(t *testing.T) {
	var nodes []events.PlanNode
	var last []string
	for level := range 24 {
		var these []string
		for i := range 4 {
			n := cases.Read(fmt.Sprintf("n%02d-%d", level, i), last...)
			nodes, these = append(nodes, n), append(these, n.ID)
		}
		last = these
	}
	p := cases.Plan(nodes...)
	spec := cases.Spec(p)
	spec.Requirements = []events.Requirement{cases.NoneFailed(nodes[0].ID, last...)}
	if found := plan.Contract(spec, p, against(t, cases.NewWorld())); len(found) > 0 {
		t.Fatal(found)
	}
	spec.Requirements[0].Before = []string{nodes[1].ID}
	if found := plan.Contract(spec, p, against(t, cases.NewWorld())); len(found) != 1 {
		t.Fatal(found)
	}
}

func TestSubjects(t *testing.T) {
	for want, p := range map[string]events.Predicate{
		"[a]":   field("a", "", "eq", "0"),
		"[a b]": {Newer: &events.NewerPredicate{Left: events.TimeRef{Result: "a"}, Right: events.TimeRef{Result: "b"}}},
		"[c]":   {Newer: &events.NewerPredicate{Left: events.TimeRef{Result: "c"}, Right: events.TimeRef{Result: "c"}}},
		"[]":    {},
	} {
		if got := fmt.Sprint(slices.Clip(plan.Subjects(p))); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
