package admission_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/testkit/cases"
)

// sixteen is a plan of sixteen nodes with outputs as arguments, a request that
// wants a condition of every second of them, and rules that look at each use.
func sixteen() (*cases.World, *events.IntentRequest) {
	w := cases.NewWorld()
	w.Agent.Limits.Actions = 64
	w.Policy.Rules = []events.PolicyRule{
		{ID: "no-secrets", Operation: events.OperationExecute, When: `has(arguments.word) && string(arguments.word).contains("secret")`, Decision: events.PolicyDeny},
	}
	nodes := []events.PlanNode{cases.Read("n00")}
	for i := 1; i < 16; i++ {
		n := cases.Read(fmt.Sprintf("n%02d", i), nodes[i-1].ID)
		if i%2 == 1 {
			n.Arguments["count"] = cases.Output(nodes[i-1].ID, "/failed")
		}
		nodes = append(nodes, n)
	}
	r := cases.Request(cases.Plan(nodes...), func(r *events.IntentRequest) {
		r.Limits.Actions = 64
		for i := 0; i < len(nodes); i += 2 {
			r.Outcome.Requirements = append(r.Outcome.Requirements, cases.NoneFailed(nodes[i].ID, nodes[min(i+1, 15)].ID))
		}
	})
	r.Outcome.Requirements = slices.DeleteFunc(r.Outcome.Requirements, func(q events.Requirement) bool { return slices.Contains(q.Before, q.Predicate.Field.Result) })
	return w, r
}

// BenchmarkDecideProposal is the pure decision on a proposal: from the bytes of the
// specification and the plan to the admitted revision.
func BenchmarkDecideProposal(b *testing.B) {
	w, r := sixteen()
	d := sealed(b, w, r)
	in := d.proposed(r, proposal{})
	in.Run = cases.Subject(events.OwnerAdmission)
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		decision, err := d.Core.Decide(d.State, in)
		took = append(took, time.Since(start))
		if err != nil || len(decision.Events) != 2 {
			b.Fatal(err, cases.Types(decision.Events))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[0].Nanoseconds())/1000, "least-µs")
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1000, "p99-µs")
}
