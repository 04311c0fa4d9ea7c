package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// bound is a plan whose second node takes an output of the first.
func bound(argument, path string) *events.Plan {
	b := cases.Read("b", "a")
	b.Arguments = map[string]events.Argument{argument: cases.Output("a", path)}
	return cases.Plan(cases.Read("a"), b)
}

// An output that fits is nothing to speak of, one that may not fit is recorded
// with the revision, and one that cannot fit is refused.
func TestOutputsAreTyped(t *testing.T) {
	req.Covers(t, "C3-RUN-002.y1", "C3-RUN-003.q")
	for name, test := range map[string]struct {
		plan *events.Plan
		want []events.PendingCheck
	}{
		"certain":             {bound("count", "/failed"), nil},
		"it may not be there": {bound("word", "/text"), []events.PendingCheck{{Node: "b", Argument: "word"}}},
		"it may be anything":  {bound("word", "/more"), []events.PendingCheck{{Node: "b", Argument: "word"}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, d := proposedTo(t, cases.NewWorld(), cases.Request(test.plan))
			admitted := cases.Want[*events.RevisionAdmitted](t, d.Events)
			if diff := cmp.Diff(test.want, admitted.Pending, cmpopts.IgnoreFields(events.PendingCheck{}, "Reason")); diff != "" {
				t.Fatal(diff)
			}
			for _, check := range admitted.Pending {
				if check.Reason == "" {
					t.Errorf("%+v has no reason", check)
				}
			}
		})
	}
	t.Run("impossible", func(t *testing.T) {
		_, d := proposedTo(t, cases.NewWorld(), cases.Request(bound("word", "/failed")))
		e := rejection(t, d.Events, events.TagRejected, events.CodePlanType, "plan.nodes[1].arguments.word")
		if want := "no value that the output allows follows type"; e.Diagnostics[0].Message != want {
			t.Fatalf("%q", e.Diagnostics[0].Message)
		}
	})
	t.Run("impossible together", func(t *testing.T) {
		w := cases.NewWorld()
		w.Change("look", func(c *events.Capability) {
			c.Input = events.JSON(`{"type":"object","additionalProperties":false,"properties":{"word":{"type":"string"},"count":{"type":"integer"}},` +
				`"not":{"required":["word","count"]}}`)
		})
		p := bound("count", "/failed")
		p.Nodes[1].Arguments["word"] = cases.Literal(`"x"`)
		_, d := proposedTo(t, w, cases.Request(p))
		rejection(t, d.Events, events.TagRejected, events.CodePlanType, "plan.nodes[1].arguments")
	})
}

// A product that nothing can check is answered as unsupported, also where it
// comes from a model after sealing, and never becomes a revision.
func TestCodeIsUnsupported(t *testing.T) {
	req.Covers(t, "C3-RUN-003.a", "C3-RUN-002.f3")
	code := readPlan()
	code.Candidate = "code"
	_, decision := modeled(t, cases.NewWorld(), code, proposal{}, nil)
	rejection(t, decision.Events, events.TagUnsupported, events.CodeCandidateKind, "plan.candidate")
}

// What each node may do by itself is refused where it cannot add up to what is
// wanted.
func TestContractIsChecked(t *testing.T) {
	req.Covers(t, "C3-RUN-002.y2", "C3-RUN-003.x")
	r := cases.Request(readPlan(), func(r *events.IntentRequest) {
		wrong := cases.NoneFailed("b")
		wrong.Predicate.Field.Value = events.JSON(`"none"`)
		r.Outcome.Requirements = []events.Requirement{cases.NoneFailed("a"), wrong}
	})
	_, d := proposedTo(t, cases.NewWorld(), r)
	rejection(t, d.Events, events.TagRejected, events.CodePlanCoverage, "outcome.requirements[1].predicate")
}
