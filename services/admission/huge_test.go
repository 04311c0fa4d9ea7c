package admission_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
	"example.org/mandate/internal/testkit/cases"
)

// A candidate whose admission could not be recorded is refused: a proposal does
// not make admission write what nobody can read, or nothing at all.
func TestCandidatesTooLargeToRecord(t *testing.T) {
	for name, test := range map[string]struct {
		nodes, values, after, name int
		refused                    bool
	}{
		"as many nodes as there may be": {nodes: 256, values: 1},
		"many values":                   {nodes: 2, values: 400},
		"more values than are read":     {nodes: 6, values: 400, refused: true},
		"more bytes than are read":      {nodes: 200, values: 60, refused: true},
		"values of many nodes":          {nodes: 256, values: 5, refused: true},
		"edges":                         {nodes: 256, values: 1, after: 200, refused: true},
		"a long name":                   {nodes: 2, values: 400, name: 1000, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := cases.NewWorld()
			w.Agent.Limits.Actions = 1000
			w.Change("scan", func(c *events.Capability) { c.Input = events.JSON(`{"type":"object"}`) })
			var nodes []events.PlanNode
			for i := range test.nodes {
				n := cases.Node(fmt.Sprintf("n%d", i), "scan", events.EffectRead)
				n.Arguments = map[string]events.Argument{"w" + strings.Repeat("x", test.name): cases.Literal("[1" + strings.Repeat(",1", test.values-1) + "]")}
				if i > 0 {
					for range test.after {
						n.After = append(n.After, "n0")
					}
				}
				nodes = append(nodes, n)
			}
			p := proposal{spec: cases.Spec(cases.Plan(nodes[0]))}
			_, decision := modeled(t, w, cases.Plan(nodes...), p, func(r *events.IntentRequest) { unmetered(r); r.Limits.Actions = 1000 })
			if test.refused {
				rejection(t, decision.Events, events.TagRejected, events.CodePlanTooLarge, "plan")
			} else {
				cases.Want[*events.RevisionAdmitted](t, decision.Events)
			}
			c := eventstest.Commit(decision.Events...)
			for i := range c.Events {
				for _, b := range events.Bodies(c.Events[i].Data) {
					*b = cases.Seal(*b)
				}
			}
			if _, err := events.Encode(c); errors.Is(err, events.ErrTooLarge) {
				t.Fatal(err)
			}
			if _, err := events.Decode(eventstest.Record(t, c)); err != nil {
				t.Error(err)
			}
		})
	}
}
