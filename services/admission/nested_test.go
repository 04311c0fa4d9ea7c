package admission_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// nested is a request that names a parent, submitted with a grant.
func nested(granted *events.Limits) (*events.IntentRequest, func(*events.Submitted)) {
	r := cases.Request(readPlan(), func(r *events.IntentRequest) { r.Parent = "01JYYYYYYYYYYYYYYYYYYYYYYY" })
	return r, func(s *events.Submitted) { s.Granted = granted }
}

// A nested run has at most what its parent set aside for it, however much it
// asks for, and without that it has nothing.
func TestNestedRunsStayWithinTheGrant(t *testing.T) {
	req.Covers(t, "C3-RUN-004.f", "OD-3.6.12c", "OD-4.2.15")
	view := cases.NewWorld().View()
	rapid.Check(t, func(t *rapid.T) {
		granted := events.Limits{CostUnit: "usd"}
		for _, r := range budget.Resources() {
			*r.Field(&granted) = rapid.Int64Range(0, 20).Draw(t, r.Name)
		}
		granted.ElapsedMillis = 1 + granted.ElapsedMillis
		request, with := nested(&granted)
		d := newDesk(view)
		decision, err := d.Decide(d.submitted(request, with))
		if err != nil {
			t.Fatal(err)
		}
		sealed, one := cases.Event[*events.RunSealed](decision.Events)
		if !one {
			t.Fatalf("decided %v", cases.Types(decision.Events))
		}
		for _, r := range budget.Resources() {
			if want := min(*r.Field(request.Limits), *r.Field(&granted)); *r.Field(&sealed.Ceiling) != want {
				t.Fatalf("%s is %d, want %d", r.Name, *r.Field(&sealed.Ceiling), want)
			}
		}
		if sealed.Deadline != cases.Start+events.Time(granted.ElapsedMillis)*cases.Second/1000 {
			t.Fatalf("deadline %v", sealed.Deadline)
		}
	})
	t.Run("without a grant", func(t *testing.T) {
		request, with := nested(nil)
		d := newDesk(view)
		rejected := cases.Want[*events.RunRejected](t, d.Do(t, d.submitted(request, with)).Events)
		if !slices.Contains(cases.Codes(rejected.Diagnostics), events.CodeBudgetExceeded) || rejected.Diagnostics[0].Path != "parent" {
			t.Fatalf("%v", rejected.Diagnostics)
		}
	})
	t.Run("a grant of actions stops the plan", func(t *testing.T) {
		granted := cases.Limits()
		granted.Actions = 1
		request, with := nested(&granted)
		d := newDesk(view)
		cases.Want[*events.RunSealed](t, d.Do(t, d.submitted(request, with)).Events)
		decision := d.Do(t, d.proposed(request, proposal{}))
		rejection(t, decision.Events, events.TagRejected, events.CodeBudgetExceeded, "plan.nodes")
	})
}
