package executor_test

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// open is a plan whose second node takes something that the first may lack, or
// return in another type.
func open(path string) *events.IntentRequest {
	b := cases.Read("b", "a")
	b.Arguments = map[string]events.Argument{"from": cases.Output("a", path)}
	return cases.Request(cases.Plan(cases.Read("a"), b))
}

// What the schemas left open is asked of the actual bytes before the dispatch,
// and the answer is recorded.
func TestPendingChecks(t *testing.T) {
	req.Covers(t, "C3-RUN-002.y1")
	for name, test := range map[string]struct {
		path, value string
		want        []string // what is called next; none means that it halts
		pointer     string
	}{
		"it is there and fits":  {path: "/size", value: `{"failed":0,"size":{"n":1}}`, want: []string{"b"}},
		"it is not there":       {path: "/size", value: `{"failed":0}`},
		"it is of another type": {path: "/extra", value: `{"failed":0,"extra":[]}`, pointer: "/from"},
		"it is of the type":     {path: "/extra", value: `{"failed":0,"extra":{}}`, want: []string{"b"}},
		"it is null":            {path: "/extra", value: `{"failed":0,"extra":null}`, pointer: "/from"},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := started(t, open(test.path))
			if len(x.admitted.Pending) != 1 || x.admitted.Pending[0].Node != "b" || x.admitted.Pending[0].Argument != "from" {
				t.Fatalf("pending %+v", x.admitted.Pending)
			}
			d := x.finish(t, "a", done(test.value))
			if got := calls(t, d); !slices.Equal(got, test.want) {
				t.Fatalf("called %v, want %v", got, test.want)
			}
			if test.want != nil {
				dispatched := cases.Want[*events.ActionDispatched](t, d.Events)
				if !slices.Equal(dispatched.Revalidation.Pending, []string{"b.from"}) {
					t.Fatalf("recorded %v", dispatched.Revalidation.Pending)
				}
				return
			}
			if e := halted(t, d.Events, events.HaltPrecheck, events.CodePendingUnmet); e.Diagnostic.Path != "plan.nodes.b.arguments"+test.pointer {
				t.Fatalf("halted with %+v", e.Diagnostic)
			}
			if got := cases.Events[*events.ActionDispatched](x.All); len(got) != 1 {
				t.Fatalf("%d dispatches", len(got))
			}
		})
	}
	t.Run("nothing was open", func(t *testing.T) {
		_, d := started(t, cases.Request(cases.Plan(cases.Read("a"))))
		if got := cases.Want[*events.ActionDispatched](t, d.Events).Revalidation.Pending; got != nil {
			t.Fatalf("recorded %v", got)
		}
	})
}
