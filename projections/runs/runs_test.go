package runs_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/projections/runs"
)

// history is what five services and the gateway say about one run, each in
// its order.
func history() map[events.Owner][]*events.Commit {
	said := map[events.Owner][]events.Payload{
		events.OwnerRequest: {&events.Submitted{Agent: "a", Principal: cases.Person()}, &events.ApprovalDecided{}},
		events.OwnerAdmission: {
			&events.RunSealed{Epoch: 3, Ceiling: cases.Limits()},
			&events.ApprovalRequested{Approval: "approval-1", Items: []events.ApprovalItem{{Capability: events.CapabilityRef{Name: "w", Version: 2}}}},
			&events.SpecApproved{Approver: events.Approver{Policy: "p"}},
			&events.RevisionAdmitted{Revision: 1, Bounds: []events.Bound{{}}},
		},
		events.OwnerInterpreter: {&events.SpecProposed{}},
		events.OwnerExecutor: {
			&events.RevisionAccepted{},
			&events.ActionDispatched{Action: "x", Node: "n", Attempt: 1, Effect: events.EffectRead},
			&events.ActionFailed{Action: "x", Node: "n"},
			&events.ActionDispatched{Action: "y", Node: "n", Attempt: 2, Effect: events.EffectRead},
			&events.ActionCompleted{Action: "y", Node: "n", Receipt: "done"},
			&events.ActionDispatched{Action: "z", Node: "m", Attempt: 1, Effect: events.EffectWrite},
			&events.ActionUncertain{Action: "z", Node: "m"},
		},
		events.OwnerEvaluator: {
			&events.RequirementEvaluated{Evaluation: events.Evaluation{Requirement: "r", Verdict: events.VerdictMet}},
			&events.RunConcluded{Tag: events.TagIndeterminate, Completion: events.CompletionPartial},
		},
		events.OwnerPresenter: {&events.DocumentPresented{}},
	}
	commits := map[events.Owner][]*events.Commit{}
	for owner, payloads := range said {
		for i, p := range payloads {
			commits[owner] = append(commits[owner], cases.Commit(owner, uint64(i+1), p))
		}
	}
	return commits
}

// inOrder folds one owner after the other.
func inOrder() (v runs.View) {
	all := history()
	for _, owner := range events.Owners() {
		for _, c := range all[owner] {
			v = runs.Apply(v, c)
		}
	}
	return v
}

// However the streams interleave, and whatever comes twice, the view is the
// same.
func TestInterleavingsGiveTheSameView(t *testing.T) {
	want := inOrder()
	rapid.Check(t, func(t *rapid.T) {
		all, v := history(), runs.View{}
		for next := map[events.Owner]int{}; ; {
			var owners []events.Owner
			for _, owner := range events.Owners() {
				if next[owner] < len(all[owner]) {
					owners = append(owners, owner)
				}
			}
			if len(owners) == 0 {
				break
			}
			owner := rapid.SampledFrom(owners).Draw(t, "owner")
			n := next[owner]
			if n > 0 && rapid.Bool().Draw(t, "again") {
				n = rapid.IntRange(0, n-1).Draw(t, "earlier")
			} else {
				next[owner]++
			}
			v = runs.Apply(v, all[owner][n])
		}
		if diff := cmp.Diff(want, v); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestView(t *testing.T) {
	v := inOrder()
	if v.Phase != events.Phase(events.TagIndeterminate) || v.Outcome != events.TagIndeterminate || !v.Document || v.Epoch != 3 || v.Revision != 1 {
		t.Errorf("%+v", v)
	}
	if len(v.Waiting) != 0 || v.Approver == nil || v.Approver.Policy != "p" {
		t.Errorf("waiting %v, approver %v", v.Waiting, v.Approver)
	}
	var got []string
	for _, a := range v.Actions {
		got = append(got, fmt.Sprintf("%s %s %d %s", a.Node, a.Action, a.Attempt, a.Status))
	}
	if diff := cmp.Diff([]string{"n y 2 completed", "m z 1 uncertain"}, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

// A view before the end is not changed by what comes after: readers hold it.
func TestApplyChangesNoOlderView(t *testing.T) {
	all := history()
	var v runs.View
	for _, owner := range []events.Owner{events.OwnerRequest, events.OwnerAdmission, events.OwnerExecutor, events.OwnerEvaluator} {
		for _, c := range all[owner] {
			before, text := v, fmt.Sprintf("%+v", v)
			v = runs.Apply(v, c)
			if now := fmt.Sprintf("%+v", before); now != text {
				t.Fatalf("%T changed an older view:\n%s\n%s", c.Events[0].Data, text, now)
			}
		}
	}
}
