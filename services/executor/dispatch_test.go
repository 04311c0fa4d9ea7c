package executor_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/executor"
)

// mixed has two reads that depend on nothing, and two writes after them that
// share nothing.
func mixed() *events.IntentRequest {
	return cases.Request(cases.Plan(cases.Read("a"), cases.Read("b"), cases.Write("m", "mail", "a", "b"), cases.Write("p", "publish", "a", "b")))
}

// Reads of a level are called together, writes one after the other in the
// plan's order, and no level before the one below it ended.
func TestLevels(t *testing.T) {
	req.Covers(t, "C3-RUN-002.g1", "C3-RUN-002.h1", "IK-6.1", "OD-10.1.5", "IK-5.4.10")
	x, d := started(t, mixed())
	if got := calls(t, d); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("called %v", got)
	}
	if first := d.Events[0].EventType(); first != "mandate.executor.revision-accepted.v1" {
		t.Fatalf("first %s", first)
	}
	steps := []struct {
		node string
		next []string
	}{{"b", nil}, {"a", []string{"m"}}, {"m", []string{"p"}}}
	for _, step := range steps {
		if got := calls(t, x.finish(t, step.node, done(good))); !slices.Equal(got, step.next) {
			t.Fatalf("after %s called %v, want %v", step.node, got, step.next)
		}
	}
	last := x.finish(t, "p", done(good))
	e := cases.Want[*events.ExecutionCompleted](t, last.Events)
	want := map[string]events.ActionStatus{"a": "completed", "b": "completed", "m": "completed", "p": "completed"}
	if diff := cmp.Diff(want, statuses(&e.Execution)); diff != "" {
		t.Error(diff)
	}
	if e.Consumed.Actions != 4 || e.Consumed.ArtifactBytes != int64(4*len(good)) || e.Consumed.Attempts != 1 || e.Consumed.ElapsedMillis != 5000 {
		t.Errorf("consumed %+v", e.Consumed)
	}
	if e.Spec.Commitment != x.admitted.Spec.Commitment || e.Revision != 1 || len(e.Results) != 4 || len(e.Evidence) != 4 {
		t.Errorf("handed on %+v", e)
	}
	keys := map[string]bool{}
	for _, dispatched := range cases.Events[*events.ActionDispatched](x.All) {
		keys[dispatched.IdempotencyKey] = true
	}
	if len(keys) != 4 {
		t.Errorf("%d idempotency keys for 4 nodes", len(keys))
	}
}

// A write and a read on one level: the read first.
func TestReadsOfALevelBeforeItsWrites(t *testing.T) {
	x, d := started(t, cases.Request(cases.Plan(cases.Write("a", "publish"), cases.Read("z"))))
	if got := calls(t, d); !slices.Equal(got, []string{"z"}) {
		t.Fatalf("called %v", got)
	}
	if got := calls(t, x.finish(t, "z", done(good))); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("called %v", got)
	}
}

// Each thing that is checked immediately before a dispatch stops it alone.
func TestRevalidation(t *testing.T) {
	gated := func() *events.IntentRequest {
		r := mixed()
		r.Outcome.Requirements = append(r.Outcome.Requirements, cases.NoneFailed("a", "m"))
		return r
	}
	for name, test := range map[string]struct {
		change func(*events.RevisionAdmitted)
		before func(*engine) // immediately before the write would be dispatched
		value  string
		cause  events.HaltCause
		code   events.Code
		covers []string
	}{
		"revoked": {
			before: func(x *engine) { x.view = cases.Revoke(x.view, "mail") }, cause: events.HaltRevoked, code: events.CodeCapabilityRevoked,
			covers: []string{"C3-RUN-005.a1", "C3-RUN-002.g2", "OD-4.4.15", "OD-10.2.9"},
		},
		"lease expired": {
			before: func(x *engine) { x.at = x.admitted.Lease.Expires - cases.Second }, cause: events.HaltRevoked, code: events.CodeLeaseExpired,
			covers: []string{"C3-RUN-005.a4", "C3-RUN-002.g2"},
		},
		"no actions left": {
			change: func(e *events.RevisionAdmitted) { e.Budget.Actions = 2 }, cause: events.HaltBudget, code: events.CodeBudgetExhausted,
			covers: []string{"C3-RUN-005.a2", "C3-RUN-002.k"},
		},
		"no artifact bytes left": {
			change: func(e *events.RevisionAdmitted) { e.Budget.ArtifactBytes = int64(2*len(good)) - 1 }, cause: events.HaltBudget,
			code: events.CodeBudgetExhausted, covers: []string{"C3-RUN-005.a2"},
		},
		"the deadline": {
			change: func(e *events.RevisionAdmitted) { e.Lease.Expires = e.Deadline + cases.Second },
			before: func(x *engine) { x.at = x.admitted.Deadline - cases.Second }, cause: events.HaltBudget, code: events.CodeDeadline, covers: []string{"OD-10.2.14", "C3-RUN-002.k"},
		},
		"the definition is another": {
			change: func(e *events.RevisionAdmitted) { e.Nodes[2].Definition = "sha256:other" }, cause: events.HaltChanged,
			code: events.CodeDependencyChanged, covers: []string{"C3-RUN-005.a3", "C3-RUN-002.g3"},
		},
		"nobody confirmed": {
			change: func(e *events.RevisionAdmitted) { e.Nodes[2].Confirmation = "" }, cause: events.HaltRevoked,
			code: events.CodeConfirmationMissing, covers: []string{"C3-RUN-005.a4"},
		},
		"other arguments were confirmed": {
			change: func(e *events.RevisionAdmitted) { e.Nodes[2].Arguments = cases.Text(events.ClassPlan, `{"word":"M"}`) },
			cause:  events.HaltChanged, code: events.CodeApprovalMismatch, covers: []string{"C3-RUN-005.a4", "OD-4.4.16"},
		},
		"what was confirmed is not at hand": {
			change: func(e *events.RevisionAdmitted) { e.Nodes[2].Arguments = cases.Closed(e.Nodes[2].Arguments) }, cause: events.HaltChanged,
			code: events.CodeApprovalMismatch,
		},
		"an obligation is not met": {
			value: `{"failed":1}`, cause: events.HaltPrecheck, code: events.CodePrecheckUnmet,
			covers: []string{"C3-RUN-005.a5", "C3-RUN-002.y4"},
		},
		"an obligation cannot be judged": {
			change: func(e *events.RevisionAdmitted) { e.Spec = cases.Closed(e.Spec) }, cause: events.HaltPrecheck, code: events.CodePrecheckUnmet,
			covers: []string{"C3-RUN-005.a5"},
		},
		"an obligation that the specification lacks": {
			change: func(e *events.RevisionAdmitted) { e.Nodes[2].Prechecks = []string{"ghost"} }, cause: events.HaltPrecheck, code: events.CodePrecheckUnmet,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			var change []func(*events.RevisionAdmitted)
			if test.change != nil {
				change = append(change, test.change)
			}
			x, _ := started(t, gated(), change...)
			if test.value == "" {
				test.value = good
			}
			x.finish(t, "b", done(good))
			if test.before != nil {
				test.before(x)
			}
			d := x.finish(t, "a", done(test.value))
			if got := calls(t, d); len(got) > 0 {
				t.Fatalf("called %v", got)
			}
			e := halted(t, d.Events, test.cause, test.code)
			if s := statuses(&e.Execution); s["m"] != events.ActionStatusNeverDispatched || s["p"] != events.ActionStatusNeverDispatched {
				t.Errorf("statuses %v", s)
			}
			if later := x.Do(t, cases.Recovered(x.at, x.view)); len(later.Events) > 0 || len(later.Work) > 0 {
				t.Errorf("after the end: %+v", later)
			}
		})
	}
	t.Run("with everything in order it is dispatched", func(t *testing.T) {
		x, _ := started(t, gated())
		x.finish(t, "b", done(good))
		d := x.finish(t, "a", done(good))
		e := cases.Want[*events.ActionDispatched](t, d.Events)
		r := e.Revalidation
		if e.Node != "m" || r.Lease != "lease-1" || r.Epoch != x.view.Epoch || r.Budget.Actions != 10 || r.At != x.at || !slices.Equal(r.Prechecks, []string{"none-failed-a: met"}) {
			t.Fatalf("%+v", e)
		}
	})
	t.Run("an addition to the registry changes nothing", func(t *testing.T) {
		req.Covers(t, "OD-4.4.14")
		x, _ := started(t, gated())
		x.finish(t, "b", done(good))
		x.view = cases.Evolve(x.view, cases.Applied(events.KindCapability, "fresh", cases.Capability(events.EffectRead, events.ConfirmationNone)))
		if got := calls(t, x.finish(t, "a", done(good))); !slices.Equal(got, []string{"m"}) {
			t.Fatalf("called %v", got)
		}
	})
}

func TestTheAgentIsGone(t *testing.T) {
	req.Covers(t, "C3-RUN-005.a3", "C3-RUN-002.g3")
	_, d := started(t, mixed(), func(e *events.RevisionAdmitted) { e.Agent.Digest = "sha256:gone" })
	halted(t, d.Events, events.HaltChanged, events.CodeDependencyChanged)
	if got := calls(t, d); len(got) > 0 {
		t.Fatalf("called %v", got)
	}
}

// With a budget of nothing the first dispatch is refused.
func TestNoActionsAtAll(t *testing.T) {
	x, d := started(t, mixed(), func(e *events.RevisionAdmitted) { e.Budget.Actions = 0 })
	halted(t, d.Events, events.HaltBudget, events.CodeBudgetExhausted)
	if len(calls(t, d)) > 0 || x.State.Dispatches != 0 {
		t.Fatal("something was dispatched")
	}
}

// Nothing is dispatched that admission did not admit.
func TestNothingBeforeAdmission(t *testing.T) {
	req.Covers(t, "C3-RUN-002.w", "OD-4.4.2")
	x := prepared(t, mixed())
	before := []events.Payload{
		&events.RunSealed{}, &events.SpecProposed{}, &events.PlanProposed{Plan: x.admitted.Plan}, &events.ApprovalRequested{}, &events.SpecApproved{},
		&events.RunCancelled{}, &events.RunRejected{}, &events.EpochAdvanced{},
	}
	for _, p := range before {
		if d := x.deliver(t, p); len(d.Events) > 0 || len(d.Work) > 0 {
			t.Errorf("%s: decided %+v", p.EventType(), d)
		}
	}
	for _, in := range []decider.Input{cases.Recovered(x.at, x.view), cases.Observed(x.at, x.view, "action-x", done(good)), cases.Fired(x.at, x.view, "x")} {
		if d := x.Do(t, in); len(d.Events) > 0 || len(d.Work) > 0 {
			t.Errorf("%s: decided %+v", in.Kind, d)
		}
	}
	x.Refuse(t, events.CodeRunUnknown, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 3, &events.LeaseRevoked{})))
	x.Refuse(t, events.CodeRunUnknown, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 3, &events.RunCancelled{Revision: 1})))
	x.start(t)
	x.Refuse(t, events.CodeConflict, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 4, x.admitted)))
}

// Arguments that only a run can know are resolved and checked before the call.
func TestArgumentsOutOfOutputs(t *testing.T) {
	p := cases.Plan(cases.Read("a"), cases.Read("b", "a"))
	p.Nodes[1].Arguments = map[string]events.Argument{"word": cases.Output("a", "/text"), "from": cases.Output("a", "")}
	t.Run("resolved", func(t *testing.T) {
		x, _ := started(t, cases.Request(p))
		e := cases.Want[*events.ActionDispatched](t, x.finish(t, "a", done(good)).Events)
		if got, _ := e.Arguments.Content(); string(got) != `{"from":{"failed":0,"text":"1.2 is out"},"word":"1.2 is out"}` {
			t.Fatalf("arguments %s", got)
		}
	})
	t.Run("not there", func(t *testing.T) {
		// Also where admission did not say that it left this open.
		x, _ := started(t, cases.Request(p), func(e *events.RevisionAdmitted) { e.Pending = nil })
		halted(t, x.finish(t, "a", done(`{"failed":0}`)).Events, events.HaltFailed, events.CodeArgumentsInvalid)
	})
	t.Run("against the schema", func(t *testing.T) {
		q := cases.Plan(cases.Read("a"), cases.Read("b", "a"))
		q.Nodes[1].Arguments = map[string]events.Argument{"from": cases.Output("a", "/size")}
		q.Nodes[0].Capability.Name = "scan"
		x, _ := started(t, cases.Request(q))
		d := x.finish(t, "a", done(`{"failed":0,"size":{"value":1}}`))
		cases.Want[*events.ActionDispatched](t, d.Events)
	})
	t.Run("the plan is another", func(t *testing.T) {
		x, d := started(t, mixed(), func(e *events.RevisionAdmitted) {
			e.Plan = cases.Document(events.ClassPlan, cases.Plan(cases.Node("a", "scan", events.EffectRead)))
		})
		halted(t, d.Events, events.HaltChanged, events.CodeDependencyChanged)
		if len(calls(t, d)) > 0 || !x.State.Over {
			t.Fatal("something was called")
		}
	})
}

// The same action of the same run always has the same identity.
func TestActionIdentities(t *testing.T) {
	req.Covers(t, "OD-10.1.5", "C3-RUN-006.g")
	x, _ := started(t, mixed())
	y, _ := started(t, mixed())
	if x.action("a") != y.action("a") || x.action("a") == x.action("b") || x.action("a") == "" {
		t.Fatalf("%s, %s, %s", x.action("a"), y.action("a"), x.action("b"))
	}
	if got := x.State.OpenActions(); !slices.Equal(got, []string{x.action("a"), x.action("b")}) {
		t.Fatalf("open %v", got)
	}
	// A reader of the chain finds the same ones.
	var again executor.State
	for _, p := range x.All {
		again = executor.Evolve(again, events.Event{Data: p})
	}
	if !slices.Equal(again.OpenActions(), x.State.OpenActions()) {
		t.Fatalf("open %v after reading", again.OpenActions())
	}
}
