package executor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/executor"
)

// one is a request of a single call, a read or a write.
func one(effect events.Effect) *events.IntentRequest {
	if effect == events.EffectWrite {
		return cases.Request(cases.Plan(cases.Write("w", "publish")))
	}
	return cases.Request(cases.Plan(cases.Node("w", "look", effect)))
}

// What every way to come back means for every effect. Only an explicit "not
// applied" makes a write a failure without an effect.
func TestOutcomes(t *testing.T) {
	failedSafely := capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeActionFailed, Message: "refused"}
	for name, test := range map[string]struct {
		outcome    capability.Outcome
		read, want events.ActionStatus
		covers     []string
	}{
		"completed":                    {done(good), "completed", "completed", []string{"C3-RUN-002.h1"}},
		"failed, no effect":            {failedSafely, "failed", "failed", []string{"IK-9.2", "C3-RUN-002.h2", "C3-RUN-005.h4"}},
		"failed":                       {capability.Outcome{Status: capability.StatusFailed}, "failed", "uncertain", []string{"IK-9.2", "C3-RUN-002.h4"}},
		"uncertain, it says no effect": {capability.Outcome{Status: capability.StatusUncertain, NotApplied: true}, "failed", "uncertain", []string{"IK-9.2"}},
		"uncertain":                    {capability.Outcome{Status: capability.StatusUncertain, Code: events.CodeTimeout, Message: "no answer"}, "failed", "uncertain", []string{"C3-RUN-002.h4", "IK-9.1"}},
		"needs input":                  {capability.Outcome{Status: capability.StatusNeedsInput}, "failed", "failed", []string{"IK-5.5.3"}},
		"needs dependency":             {capability.Outcome{Status: capability.StatusNeedsDependency}, "failed", "failed", []string{"IK-5.5.3"}},
		"needs confirmation":           {capability.Outcome{Status: capability.StatusNeedsConfirmation}, "failed", "failed", []string{"IK-5.5.3"}},
		"something else":               {capability.Outcome{Status: "great_success", NotApplied: true, Value: []byte(good)}, "failed", "uncertain", []string{"IK-5.5.3"}},
		"nothing":                      {capability.Outcome{}, "failed", "uncertain", []string{"IK-5.5.3"}},
	} {
		for effect, want := range map[events.Effect]events.ActionStatus{events.EffectNone: test.read, events.EffectRead: test.read, events.EffectWrite: test.want} {
			t.Run(fmt.Sprintf("%s, %s", name, effect), func(t *testing.T) {
				req.Covers(t, test.covers...)
				r := one(effect)
				if effect == events.EffectNone {
					r = cases.Request(cases.Plan(cases.Node("w", "think", effect)))
				}
				x, _ := started(t, r)
				d := x.finish(t, "w", test.outcome)
				if got := calls(t, d); len(got) > 0 {
					t.Fatalf("it was called again: %v", got)
				}
				if want == events.ActionStatusCompleted {
					e := cases.Want[*events.ExecutionCompleted](t, d.Events)
					if a := e.Actions[0]; a.Status != want || a.Receipt != "exit 0" || a.Diagnostic != nil {
						t.Fatalf("%+v", a)
					}
					return
				}
				cause, code := events.HaltFailed, test.outcome.Code
				if want == events.ActionStatusUncertain {
					cause = events.HaltUncertain
				}
				if code == 0 {
					code = map[events.ActionStatus]events.Code{"failed": events.CodeActionFailed, "uncertain": events.CodeActionUncertain}[want]
				}
				e := halted(t, d.Events, cause, code)
				if a := e.Actions[0]; a.Status != want || a.Attempts != 1 || a.Diagnostic == nil || a.Diagnostic.Code != code {
					t.Fatalf("%+v", a)
				}
				if len(e.Results) > 0 {
					t.Fatalf("a result came of it: %+v", e.Results)
				}
			})
		}
	}
}

// After a failure or an unknown effect nothing else is dispatched.
func TestNothingFollowsAFailure(t *testing.T) {
	for name, o := range map[string]capability.Outcome{
		"failed":  {Status: capability.StatusFailed, NotApplied: true},
		"unknown": {Status: capability.StatusUncertain},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "OD-10.2.5")
			x, _ := started(t, mixed())
			d := x.finish(t, "a", o)
			if got := calls(t, d); len(got) > 0 || x.State.Over {
				t.Fatalf("called %v, over %t", got, x.State.Over)
			}
			cases.Want[*events.ExecutionHalting](t, d.Events)
			// The other read is in flight: its outcome is still recorded.
			d = x.finish(t, "b", done(good))
			e := cases.Want[*events.ExecutionHalted](t, d.Events)
			want := map[string]events.ActionStatus{"a": "failed", "b": "completed", "m": "never_dispatched", "p": "never_dispatched"}
			if diff := cmp.Diff(want, statuses(&e.Execution)); diff != "" {
				t.Fatal(diff)
			}
			if len(e.Results) != 1 || len(e.Evidence) != 1 {
				t.Fatalf("what was observed is lost: %+v", e.Execution)
			}
		})
	}
}

// An outcome that was recorded, or that nobody waits for, changes nothing.
func TestLateAndDuplicateOutcomes(t *testing.T) {
	req.Covers(t, "C3-RUN-006.h", "OD-10.1.5")
	x, _ := started(t, mixed())
	x.finish(t, "a", done(good))
	for name, in := range map[string]decider.Input{
		"twice":           cases.Observed(x.at, x.view, x.action("a"), done(good)),
		"twice otherwise": cases.Observed(x.at, x.view, x.action("a"), capability.Outcome{Status: capability.StatusUncertain}),
		"unknown action":  cases.Observed(x.at, x.view, "action-x", done(good)),
	} {
		if d := x.Do(t, in); len(d.Events) > 0 || len(d.Work) > 0 {
			t.Errorf("%s: %v", name, cases.Types(d.Events))
		}
	}
	x.finish(t, "b", capability.Outcome{Status: capability.StatusFailed, NotApplied: true})
	if d := x.finish(t, "b", done(good)); len(d.Events) > 0 {
		t.Errorf("after the end: %v", cases.Types(d.Events))
	}
	t.Run("of an attempt that was given up", func(t *testing.T) {
		x, _ := started(t, one(events.EffectRead))
		lost := x.action("w")
		x.Do(t, cases.Recovered(x.at, x.view))
		if d := x.Do(t, cases.Observed(x.at, x.view, lost, done(good))); len(d.Events) > 0 || x.action("w") == lost {
			t.Fatalf("%v", cases.Types(d.Events))
		}
	})
}

// A process that comes back does not know what became of the calls of the one
// before: a read is called again as a new action, a write never.
func TestRecovery(t *testing.T) {
	t.Run("read", func(t *testing.T) {
		req.Covers(t, "C3-RUN-004.g", "C3-RUN-004.i", "OD-10.1.6", "OD-5.3.8")
		x, _ := started(t, one(events.EffectRead))
		seen := []string{x.action("w")}
		for attempt := 2; attempt <= executor.MaxAttempts; attempt++ {
			d := x.Do(t, cases.Recovered(x.at, x.view))
			failed := cases.Want[*events.ActionFailed](t, d.Events)
			again := cases.Want[*events.ActionDispatched](t, d.Events)
			if failed.Action != seen[len(seen)-1] || failed.Status != executor.StatusLost || again.Attempt != attempt || slices.Contains(seen, again.Action) {
				t.Fatalf("lost %+v, again %+v", failed, again)
			}
			if !slices.Equal(calls(t, d), []string{"w"}) {
				t.Fatal("it was not called")
			}
			seen = append(seen, again.Action)
		}
		d := x.Do(t, cases.Recovered(x.at, x.view))
		e := halted(t, d.Events, events.HaltFailed, events.CodeActionLost)
		if e.Consumed.Actions != executor.MaxAttempts || e.Actions[0].Attempts != executor.MaxAttempts || len(calls(t, d)) > 0 {
			t.Fatalf("%+v", e)
		}
	})
	t.Run("read, within the budget", func(t *testing.T) {
		req.Covers(t, "C3-RUN-004.i", "OD-5.3.5", "C3-RUN-002.o")
		x, _ := started(t, one(events.EffectRead), func(e *events.RevisionAdmitted) { e.Budget.Actions = 1 })
		d := x.Do(t, cases.Recovered(x.at, x.view))
		halted(t, d.Events, events.HaltBudget, events.CodeBudgetExhausted)
		if got := calls(t, d); len(got) > 0 {
			t.Fatalf("called %v", got)
		}
	})
	t.Run("read, within the deadline", func(t *testing.T) {
		req.Covers(t, "OD-5.3.6")
		x, _ := started(t, one(events.EffectRead))
		d := x.Do(t, cases.Recovered(x.admitted.Deadline, x.view))
		halted(t, d.Events, events.HaltBudget, events.CodeDeadline)
	})
	t.Run("write", func(t *testing.T) {
		req.Covers(t, "C3-RUN-006.f", "C3-RUN-006.g", "OD-10.1.6", "OD-10.1.7", "OD-10.1.12", "OD-10.1.14", "IK-9.1", "OD-10.1.13")
		x, _ := started(t, one(events.EffectWrite))
		action := x.action("w")
		d := x.Do(t, cases.Recovered(x.at, x.view))
		e := halted(t, d.Events, events.HaltUncertain, events.CodeActionUncertain)
		if e.Actions[0].Action != action || e.Actions[0].Status != events.ActionStatusUncertain || len(calls(t, d)) > 0 {
			t.Fatalf("%+v", e.Actions)
		}
		if d := x.Do(t, cases.Observed(x.at, x.view, action, done(good))); len(d.Events) > 0 {
			t.Fatalf("a late receipt changed the end: %v", cases.Types(d.Events))
		}
	})
	t.Run("a call that this process has in hand", func(t *testing.T) {
		x, _ := started(t, one(events.EffectWrite))
		if d := x.Do(t, cases.Recovered(x.at, x.view, x.action("w"))); len(d.Events) > 0 || len(d.Work) > 0 {
			t.Fatalf("%v", cases.Types(d.Events))
		}
		cases.Want[*events.ExecutionCompleted](t, x.finish(t, "w", done(good)).Events)
	})
	t.Run("one of two", func(t *testing.T) {
		x, _ := started(t, mixed())
		lost := x.action("b")
		d := x.Do(t, cases.Recovered(x.at, x.view, x.action("a")))
		if failed := cases.Want[*events.ActionFailed](t, d.Events); failed.Action != lost || !slices.Equal(calls(t, d), []string{"b"}) {
			t.Fatalf("%+v", failed)
		}
	})
	t.Run("nothing in flight", func(t *testing.T) {
		x, _ := started(t, one(events.EffectRead))
		x.finish(t, "w", done(good))
		if d := x.Do(t, cases.Recovered(x.at, x.view)); len(d.Events) > 0 {
			t.Fatalf("%v", cases.Types(d.Events))
		}
	})
}

func TestCancellation(t *testing.T) {
	cancel := &events.RunCancelled{Principal: cases.Person(), Revision: 1}
	t.Run("with calls in flight", func(t *testing.T) {
		req.Covers(t, "C3-RUN-005.i", "C3-RUN-005.j", "C3-RUN-005.l", "C3-RUN-002.j", "OD-4.4.18", "OD-10.1.10")
		x, _ := started(t, mixed())
		x.finish(t, "a", done(good))
		d := x.deliver(t, cancel)
		halting := cases.Want[*events.ExecutionHalting](t, d.Events)
		want := []decider.Work{decider.StopCall{Key: x.action("b")}}
		if halting.Cause != events.HaltCancelled || !slices.Equal(d.Work, want) || len(d.Events) != 1 {
			t.Fatalf("%+v, work %+v", halting, d.Work)
		}
		d = x.finish(t, "b", done(good))
		e := halted(t, d.Events, events.HaltCancelled, events.CodeCancelled)
		if got := calls(t, d); len(got) > 0 || len(e.Results) != 2 || statuses(&e.Execution)["b"] != events.ActionStatusCompleted {
			t.Fatalf("called %v, %+v", got, e.Execution)
		}
		x.Refuse(t, events.CodeRunConcluded, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 4, cancel)))
	})
	t.Run("a write in flight that nobody knows of", func(t *testing.T) {
		req.Covers(t, "C3-RUN-005.k", "C3-RUN-005.j")
		x, _ := started(t, one(events.EffectWrite))
		x.deliver(t, cancel)
		d := x.finish(t, "w", capability.Outcome{Status: capability.StatusUncertain})
		e := halted(t, d.Events, events.HaltCancelled, events.CodeCancelled)
		if statuses(&e.Execution)["w"] != events.ActionStatusUncertain {
			t.Fatalf("%+v", e.Actions)
		}
	})
	t.Run("a write in flight whose receipt comes", func(t *testing.T) {
		req.Covers(t, "C3-RUN-005.j")
		x, _ := started(t, one(events.EffectWrite))
		x.deliver(t, cancel)
		e := halted(t, x.finish(t, "w", done(good)).Events, events.HaltCancelled, events.CodeCancelled)
		if e.Actions[0].Status != events.ActionStatusCompleted || e.Actions[0].Receipt != "exit 0" {
			t.Fatalf("%+v", e.Actions)
		}
	})
	t.Run("a call lost while it was stopped", func(t *testing.T) {
		x, _ := started(t, mixed())
		x.deliver(t, cancel)
		d := x.Do(t, cases.Recovered(x.at, x.view))
		halted(t, d.Events, events.HaltCancelled, events.CodeCancelled)
		if got := calls(t, d); len(got) > 0 {
			t.Fatalf("called %v after the cancellation", got)
		}
	})
	t.Run("the lease is withdrawn", func(t *testing.T) {
		req.Covers(t, "OD-10.2.9", "C3-RUN-002.g2")
		x, _ := started(t, mixed())
		d := x.deliver(t, &events.LeaseRevoked{Lease: "lease-1", Reason: events.Diagnostic{Code: events.CodeCapabilityRevoked, Message: "unsafe"}})
		if len(d.Work) != 2 {
			t.Fatalf("work %+v", d.Work)
		}
		x.finish(t, "a", done(good))
		halted(t, x.finish(t, "b", done(good)).Events, events.HaltRevoked, events.CodeCapabilityRevoked)
	})
	t.Run("a run that was never admitted", func(t *testing.T) {
		x := prepared(t, mixed())
		if d := x.deliver(t, &events.RunCancelled{}); len(d.Events) > 0 {
			t.Fatalf("%v", cases.Types(d.Events))
		}
	})
}

// What a call returned is kept only within schema and budget; that the effect
// took place is kept anyhow.
func TestResults(t *testing.T) {
	t.Run("whole", func(t *testing.T) {
		req.Covers(t, "OD-3.6.7")
		x, _ := started(t, one(events.EffectRead))
		o := done(good)
		o.Raw, o.MediaType = []byte("ok 1.2"), events.MediaText
		o.Evidence = append(o.Evidence, capability.Observation{Kind: "output", Method: "says-so", Content: []byte("fine"), MediaType: events.MediaText})
		d := x.finish(t, "w", o)
		r := cases.Want[*events.ResultRecorded](t, d.Events).Result
		value, _ := r.Value.Content()
		raw, _ := r.Raw.Content()
		if r.Status != events.ResultComplete || !r.Valid || r.Type != "case.report" || string(value) != good || string(raw) != "ok 1.2" || r.Run != cases.Run || r.Action != x.action("w") {
			t.Errorf("%+v", r)
		}
		seen := cases.Events[*events.EvidenceRecorded](d.Events)
		if len(seen) != 2 || !slices.Equal(r.Evidence, []string{seen[0].Evidence.ID, seen[1].Evidence.ID}) || seen[0].Evidence.ID == seen[1].Evidence.ID {
			t.Fatalf("evidence %+v of %v", seen, r.Evidence)
		}
		// How well something is established follows from how it was acquired.
		if seen[0].Evidence.Strength != events.StrengthObserved || seen[1].Evidence.Strength != events.StrengthAsserted || seen[1].Evidence.Observed != 0 {
			t.Errorf("%+v", seen)
		}
	})
	for name, test := range map[string]struct {
		value  string
		budget int64
		status events.ResultStatus
		cause  events.HaltCause
		code   events.Code
		covers []string
	}{
		"against the schema": {`{"text":"all good"}`, 1 << 16, events.ResultFailed, events.HaltFailed, events.CodeOutputInvalid, []string{"IK-5.6.1"}},
		"of another type":    {`"all good"`, 1 << 16, events.ResultFailed, events.HaltFailed, events.CodeOutputInvalid, nil},
		"not JSON":           {`all good`, 1 << 16, events.ResultFailed, events.HaltFailed, events.CodeOutputInvalid, nil},
		"too large":          {good, int64(len(good)) - 1, events.ResultUnavailable, events.HaltBudget, events.CodeBudgetExhausted, []string{"C3-RUN-002.k"}},
		"nothing allowed":    {good, 0, events.ResultUnavailable, events.HaltBudget, events.CodeBudgetExhausted, []string{"C3-RUN-004.b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			x, _ := started(t, one(events.EffectWrite), func(e *events.RevisionAdmitted) { e.Budget.ArtifactBytes = test.budget })
			d := x.finish(t, "w", done(test.value))
			r := cases.Want[*events.ResultRecorded](t, d.Events).Result
			e := halted(t, d.Events, test.cause, test.code)
			if r.Status != test.status || r.Valid || e.Actions[0].Status != events.ActionStatusCompleted || e.Actions[0].Receipt != "exit 0" {
				t.Fatalf("%+v, %+v", r, e.Actions)
			}
			if e.Consumed.ArtifactBytes > test.budget {
				t.Fatalf("%d bytes were kept of %d", e.Consumed.ArtifactBytes, test.budget)
			}
		})
	}
}

// Whatever the order in which calls end, what is handed on is the same, in the
// plan's order.
func TestCompletionOrderDoesNotMatter(t *testing.T) {
	req.Covers(t, "C3-RUN-003.o", "OD-10.1.5")
	ids := []string{"a", "b", "c", "d", "e"}
	var nodes []events.PlanNode
	for _, id := range ids {
		nodes = append(nodes, cases.Read(id))
	}
	r := cases.Request(cases.Plan(append(nodes, cases.Read("z", ids...))...))
	var want string
	rapid.Check(t, func(rt *rapid.T) {
		x, _ := started(t, r)
		for _, id := range rapid.Permutation(ids).Draw(rt, "order") {
			x.at = cases.Start // the clock is not what is compared
			x.finish(t, id, done(fmt.Sprintf(`{"failed":0,"text":"%s"}`, id)))
		}
		e := cases.Want[*events.ExecutionCompleted](t, x.finish(t, "z", done(good)).Events)
		var order []string
		for _, record := range e.Results {
			order = append(order, record.Node)
		}
		if !slices.Equal(order, append(slices.Clone(ids), "z")) {
			rt.Fatalf("results in the order %v", order)
		}
		got := string(cases.JSON(e))
		if want == "" {
			want = got
		}
		if got != want {
			rt.Fatal(cmp.Diff(want, got))
		}
	})
}

// Whatever happens in whatever order: one end, no action called twice, no
// write repeated, and nothing dispatched beyond the budget or after a stop.
func TestEverySequenceIsSafe(t *testing.T) {
	req.Covers(t, "C3-RUN-006.h", "C3-RUN-005.i", "OD-10.1.7")
	rapid.Check(t, func(rt *rapid.T) {
		actions := rapid.Int64Range(0, 8).Draw(rt, "actions")
		x, d := started(t, mixed(), func(e *events.RevisionAdmitted) { e.Budget.Actions = actions })
		called, stopped := map[string]int{}, false
		writes := map[string]int{}
		note := func(d decider.Decision) {
			for _, node := range calls(t, d) {
				called[x.action(node)]++
				if node == "m" || node == "p" {
					writes[node]++
				}
				if stopped || called[x.action(node)] > 1 || writes[node] > 1 {
					rt.Fatalf("%s was called: stopped %t, %v, %v", node, stopped, called, writes)
				}
			}
			stopped = stopped || x.State.Halting != ""
		}
		note(d)
		for range rapid.IntRange(1, 12).Draw(rt, "inputs") {
			node := rapid.SampledFrom([]string{"a", "b", "m", "p"}).Draw(rt, "node")
			switch rapid.IntRange(0, 9).Draw(rt, "input") {
			case 0:
				x.at += cases.Second
				if d, err := x.Decide(cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 9, &events.RunCancelled{Revision: 1}))); err == nil {
					note(d)
				}
			case 1:
				note(x.Do(t, cases.Recovered(x.at, x.view)))
			case 2:
				x.view = cases.Revoke(x.view, rapid.SampledFrom([]string{"look", "mail", "publish"}).Draw(rt, "revoked"))
			default:
				o := rapid.SampledFrom([]capability.Outcome{
					done(good), done(good), done(good), done(good), done(`{}`),
					{Status: capability.StatusUncertain},
					{Status: capability.StatusFailed},
					{Status: capability.StatusFailed, NotApplied: true},
					{Status: "?"},
				}).Draw(rt, "outcome")
				note(x.finish(t, node, o))
			}
		}
		ends := len(cases.Events[*events.ExecutionCompleted](x.All)) + len(cases.Events[*events.ExecutionHalted](x.All))
		if ends > 1 || x.State.Over != (ends == 1) || int64(len(called)) > actions {
			rt.Fatalf("%d ends, over %t, %d calls of %d", ends, x.State.Over, len(called), actions)
		}
		if e, ok := cases.Event[*events.ExecutionCompleted](x.All); ok {
			for _, a := range e.Actions {
				if a.Status != events.ActionStatusCompleted {
					rt.Fatalf("completed with %+v", a)
				}
			}
		}
	})
}

func ExampleDecide() {
	x := &engine{Script: cases.NewScript(executor.Core()), view: cases.NewWorld().View()}
	x.admitted = revision(&testing.T{}, x.view, mixed())
	decision, err := x.Decide(cases.Delivered(cases.Start, x.view, cases.Commit(events.OwnerAdmission, 1, x.admitted)))
	for i, e := range decision.Events {
		fmt.Println(events.ShortType(e.EventType()), i)
	}
	fmt.Println(len(decision.Work), "calls", err)
	// Output:
	// revision-accepted 0
	// action-dispatched 1
	// action-dispatched 2
	// 2 calls <nil>
}
