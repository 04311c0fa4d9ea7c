package timeline_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/projections/timeline"
)

// history is more than a timeline holds: n commits of each of two owners.
func history(n int) map[events.Owner][]*events.Commit {
	all := map[events.Owner][]*events.Commit{}
	for i := range n {
		number := uint64(i + 1)
		for _, c := range []*events.Commit{
			cases.Commit(events.OwnerExecutor, number, &events.ActionCompleted{Node: "n", Receipt: "done"}, &events.ActionFailed{Node: "m"}),
			cases.Commit(events.OwnerEvaluator, number, &events.RequirementEvaluated{}),
		} {
			for j := range c.Events {
				c.Events[j].Time = events.Time(1000 * (i + 1))
			}
			all[c.Subject.Owner] = append(all[c.Subject.Owner], c)
		}
	}
	return all
}

// However two streams interleave, the timeline is the same, in time, and
// bounded with its total.
func TestInterleavingsGiveTheSameTimeline(t *testing.T) {
	const n = timeline.MaxEntries/3 + 10
	all := history(n)
	fold := func(owners []events.Owner) (v timeline.View) {
		next := map[events.Owner]int{}
		for _, owner := range owners {
			v = timeline.Apply(v, all[owner][next[owner]])
			v = timeline.Apply(v, all[owner][max(next[owner]-1, 0)]) // again
			next[owner]++
		}
		return v
	}
	order := append(slices.Repeat([]events.Owner{events.OwnerExecutor}, n), slices.Repeat([]events.Owner{events.OwnerEvaluator}, n)...)
	want := fold(order)
	if want.Total != 3*n || len(want.Entries) != timeline.MaxEntries {
		t.Fatalf("%d entries of %d", len(want.Entries), want.Total)
	}
	if !slices.IsSortedFunc(want.Entries, func(a, b timeline.Entry) int { return int(a.At - b.At) }) || want.Entries[0].Summary != "n: done" {
		t.Errorf("not in time: %+v", want.Entries[:3])
	}
	rapid.Check(t, func(t *rapid.T) {
		got := fold(rapid.Permutation(order).Draw(t, "order"))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// Whoever looks at a run reads why a person decided as they did.
func TestReasonsAreShown(t *testing.T) {
	for want, payload := range map[string]events.Payload{
		"ann: deny: not today":            &events.ApprovalDecided{Principal: cases.Person(), Decision: events.DecisionDeny, Reason: "not today"},
		"ann: approve":                    &events.ApprovalDecided{Principal: cases.Person(), Decision: events.DecisionApprove},
		"1 use waits for a person: large": &events.ApprovalRequested{Items: make([]events.ApprovalItem, 1), Reason: "large"},
		"2 uses wait for a person: large": &events.ApprovalRequested{Items: make([]events.ApprovalItem, 2), Reason: "large"},
	} {
		v := timeline.Apply(timeline.View{}, cases.Commit(events.OwnerRequest, 1, payload))
		if len(v.Entries) != 1 || v.Entries[0].Summary != want {
			t.Errorf("%+v, want %q", v.Entries, want)
		}
	}
}
