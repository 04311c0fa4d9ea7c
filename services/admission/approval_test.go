package admission_test

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/admission"
)

// A write waits for a person, who is shown exactly what would run.
func TestWritesWaitForAPerson(t *testing.T) {
	req.Covers(t, "C3-RUN-002.y3", "IK-5.4.6", "IK-7.3")
	d, decision := proposedTo(t, cases.NewWorld(), cases.Request(writePlan()))
	a := cases.Want[*events.ApprovalRequested](t, decision.Events)
	if len(decision.Events) != 1 || len(a.Items) != 1 || d.State.Phase != events.PhaseAwaitingApproval {
		t.Fatalf("decided %v, phase %s", cases.Types(decision.Events), d.State.Phase)
	}
	item := a.Items[0]
	arguments, _ := item.Arguments.Content()
	if item.Node != "w" || item.Capability.Name != "publish" || item.Effect != events.EffectWrite || string(arguments) != `{"word":"w"}` {
		t.Errorf("item %+v with %s", item, arguments)
	}
	if a.Digest == "" || a.Expires != cases.Start+61*cases.Second || !slices.Equal(a.Approvers, []string{"ann", "bob"}) {
		t.Errorf("asked %+v", a)
	}
	want := decider.SetTimer{Name: admission.TimerApproval, At: a.Expires}
	if len(decision.Work) != 1 || decision.Work[0] != decider.Work(want) {
		t.Errorf("work %+v", decision.Work)
	}
}

func TestApproval(t *testing.T) {
	req.Covers(t, "C3-RUN-002.d1")
	d, a := pending(t)
	given := answer(a, events.DecisionApprove)
	given.Principal.ID = "bob"
	decision := d.Do(t, d.asked(cases.Start+10*cases.Second, given))
	approved, admitted := cases.Want[*events.SpecApproved](t, decision.Events), cases.Want[*events.RevisionAdmitted](t, decision.Events)
	if approved.Approver.Principal == nil || approved.Approver.Principal.ID != "bob" || approved.Digest != a.Digest || approved.Formalization != a.Formalization {
		t.Errorf("approved %+v", approved)
	}
	write := admitted.Nodes[1]
	confirmed, _ := write.Arguments.Content()
	if write.Confirmation != a.Approval || string(confirmed) != `{"word":"w"}` || admitted.Nodes[0].Confirmation != "" {
		t.Errorf("nodes %+v", admitted.Nodes)
	}
	// The run acts in the submitter's name, whoever approved.
	if admitted.Principal != cases.Person() || admitted.Formalization != a.Formalization || d.State.Pending != nil {
		t.Errorf("admitted %+v", admitted)
	}
	if want := (decider.ClearTimer{Name: admission.TimerApproval}); len(decision.Work) != 1 || decision.Work[0] != decider.Work(want) {
		t.Errorf("work %+v", decision.Work)
	}
	t.Run("replayed", func(t *testing.T) {
		d.Refuse(t, events.CodeInteractionUnknown, d.asked(cases.Start+11*cases.Second, given))
	})
}

// Everything about an approval that is not exactly right leaves the run
// waiting.
func TestApprovalsThatDoNotCount(t *testing.T) {
	another := func() *events.ApprovalRequested {
		p := writePlan()
		p.Nodes[1].Arguments["word"] = cases.Literal(`"more"`)
		_, decision := proposedTo(t, cases.NewWorld(), cases.Request(p))
		a, _ := cases.Event[*events.ApprovalRequested](decision.Events)
		return a
	}()
	for name, test := range map[string]struct {
		change func(*events.ApprovalDecided)
		code   events.Code
		covers []string
	}{
		"no digest":               {func(e *events.ApprovalDecided) { e.Digest = "" }, events.CodeApprovalMismatch, nil},
		"digest of other content": {func(e *events.ApprovalDecided) { e.Digest = another.Digest }, events.CodeApprovalMismatch, []string{"OD-4.4.20"}},
		"another approval":        {func(e *events.ApprovalDecided) { e.Approval = "approval-old" }, events.CodeInteractionUnknown, []string{"C3-RUN-001.q", "C3-RUN-005.b"}},
		"another principal":       {func(e *events.ApprovalDecided) { e.Principal.ID = "mallory" }, events.CodePrincipalDenied, []string{"OD-4.4.13"}},
		"no principal":            {func(e *events.ApprovalDecided) { e.Principal.ID = "" }, events.CodePrincipalDenied, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			for _, decision := range []events.Decision{events.DecisionApprove, events.DecisionDeny} {
				d, a := pending(t)
				given := answer(a, decision)
				test.change(given)
				d.Refuse(t, test.code, d.asked(cases.Start+10*cases.Second, given))
				if d.State.Pending == nil || d.State.Over {
					t.Fatalf("the run does not wait any more after %s", decision)
				}
			}
		})
	}
	t.Run("anybody, where the policy says so, but nobody without a name", func(t *testing.T) {
		w := cases.NewWorld()
		w.Policy.Approvers = []string{"*"}
		d, decision := proposedTo(t, w, cases.Request(writePlan()))
		given := answer(cases.Want[*events.ApprovalRequested](t, decision.Events), events.DecisionApprove)
		given.Principal.ID = ""
		d.Refuse(t, events.CodePrincipalDenied, d.asked(cases.Start, given))
		given.Principal.ID = "zoe"
		cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.asked(cases.Start, given)).Events)
	})
}

// Every part of what a person saw changes the digest that binds it.
func TestApprovalDigestBindsEverything(t *testing.T) {
	seen := map[events.Digest]string{}
	for name, change := range map[string]func(*cases.World, *events.IntentRequest){
		"plain": func(*cases.World, *events.IntentRequest) {},
		"arguments": func(_ *cases.World, r *events.IntentRequest) {
			r.Plan.Nodes[1].Arguments["word"] = cases.Literal(`"W"`)
		},
		"another node": func(_ *cases.World, r *events.IntentRequest) {
			r.Plan.Nodes[0].Arguments["word"] = cases.Literal(`"x"`)
		},
		"the definition": func(w *cases.World, _ *events.IntentRequest) {
			w.Change("publish", func(c *events.Capability) { c.OutputBytes++ })
		},
		"the policy":         func(w *cases.World, _ *events.IntentRequest) { w.Policy.LeaseSeconds++ },
		"the specification":  func(_ *cases.World, r *events.IntentRequest) { r.Outcome.Objective += "!" },
		"another capability": func(_ *cases.World, r *events.IntentRequest) { r.Plan.Nodes[1].Capability.Name = "mail" },
	} {
		w, r := cases.NewWorld(), cases.Request(writePlan())
		change(w, r)
		_, decision := proposedTo(t, w, r)
		a := cases.Want[*events.ApprovalRequested](t, decision.Events)
		if other, taken := seen[a.Digest]; taken {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[a.Digest] = name
	}
}

func TestDenial(t *testing.T) {
	req.Covers(t, "C3-RUN-002.d2", "C3-RUN-005.h1")
	d, a := pending(t)
	no := answer(a, events.DecisionDeny)
	no.Reason = "not today"
	decision := d.Do(t, d.asked(cases.Start+10*cases.Second, no))
	denied := cases.Want[*events.SpecDenied](t, decision.Events)
	if denied.Diagnostic.Message != "a person denied the approval: not today" {
		t.Errorf("whoever asked reads %q", denied.Diagnostic.Message)
	}
	if len(decision.Events) != 1 || denied.Tag != events.TagRejected || denied.Diagnostic.Code != events.CodeApprovalDenied || *denied.Principal != cases.Person() {
		t.Fatalf("%+v", denied)
	}
	d.Refuse(t, events.CodeRunConcluded, d.asked(cases.Start+11*cases.Second, answer(a, events.DecisionApprove)))
	if decision := d.Do(t, cases.Fired(a.Expires, d.view, admission.TimerApproval)); len(decision.Events) > 0 {
		t.Fatalf("a late timer decided %v", cases.Types(decision.Events))
	}
}

// Silence is never an approval.
func TestNobodyDecides(t *testing.T) {
	req.Covers(t, "C3-RUN-002.d2", "C3-RUN-005.h2", "OD-8.16")
	overdue := func(t *testing.T, list []events.Payload) {
		t.Helper()
		denied := cases.Want[*events.SpecDenied](t, list)
		if len(list) != 1 || denied.Tag != events.TagUnresolved || denied.Diagnostic.Code != events.CodeApprovalExpired || denied.Principal != nil {
			t.Fatalf("%+v", denied)
		}
	}
	t.Run("the timer fires", func(t *testing.T) {
		d, a := pending(t)
		overdue(t, d.Do(t, cases.Fired(a.Expires, d.view, admission.TimerApproval)).Events)
		if again := d.Do(t, cases.Fired(a.Expires, d.view, admission.TimerApproval)); len(again.Events) > 0 {
			t.Fatal("it ended twice")
		}
	})
	t.Run("an approval comes at that moment", func(t *testing.T) {
		d, a := pending(t)
		overdue(t, d.Do(t, d.asked(a.Expires, answer(a, events.DecisionApprove))).Events)
	})
	t.Run("a moment earlier it counts", func(t *testing.T) {
		d, a := pending(t)
		cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.asked(a.Expires-1, answer(a, events.DecisionApprove))).Events)
	})
	t.Run("the timer fires early", func(t *testing.T) {
		d, a := pending(t)
		decision := d.Do(t, cases.Fired(a.Expires-1, d.view, admission.TimerApproval))
		if len(decision.Events) > 0 || len(decision.Work) != 1 || decision.Work[0] != decider.Work(decider.SetTimer{Name: admission.TimerApproval, At: a.Expires}) {
			t.Fatalf("%+v", decision)
		}
	})
	t.Run("after a restart it is set again", func(t *testing.T) {
		d, a := pending(t)
		decision := d.Do(t, cases.Recovered(cases.Start, d.view))
		if len(decision.Events) > 0 || len(decision.Work) != 1 || decision.Work[0] != decider.Work(decider.SetTimer{Name: admission.TimerApproval, At: a.Expires}) {
			t.Fatalf("%+v", decision)
		}
	})
	t.Run("the run's own time is over first", func(t *testing.T) {
		r := cases.Request(writePlan(), func(r *events.IntentRequest) { r.Limits.ElapsedMillis = 5000 })
		d, decision := proposedTo(t, cases.NewWorld(), r)
		a := cases.Want[*events.ApprovalRequested](t, decision.Events)
		if a.Expires != d.State.Sealed.Deadline {
			t.Fatalf("it expires at %s, after the run at %s", a.Expires, d.State.Sealed.Deadline)
		}
		expired := cases.Want[*events.RunExpired](t, d.Do(t, cases.Fired(a.Expires, d.view, admission.TimerApproval)).Events)
		if expired.Tag != events.TagInconclusive || expired.Phase != events.PhaseAwaitingApproval {
			t.Fatalf("%+v", expired)
		}
	})
}

// What was approved is checked again against what is registered at that
// moment.
func TestApprovalIsCheckedAgainstToday(t *testing.T) {
	req.Covers(t, "C3-RUN-006.l", "OD-4.4.15", "C3-RUN-005.b")
	d, a := pending(t)
	d.view = cases.Revoke(d.view, "publish")
	decision := d.Do(t, d.asked(cases.Start+10*cases.Second, answer(a, events.DecisionApprove)))
	rejection(t, decision.Events, events.TagRejected, events.CodeCapabilityRevoked, "plan.nodes[1].capability")
	if len(decision.Work) != 1 || !d.State.Over {
		t.Fatalf("work %+v", decision.Work)
	}
}

// A standing policy never covers a write, whatever it says; the submitter's
// own exact request covers one that asks for no more than that.
func TestWhoApproves(t *testing.T) {
	wide := func(w *cases.World) { w.Policy.StandingApproval = nil }
	for name, test := range map[string]struct {
		world    func(*cases.World)
		plan     *events.Plan
		material bool
		asks     bool
		policy   bool
	}{
		"reads":                         {plan: readPlan(), policy: true},
		"no effect":                     {plan: cases.Plan(cases.Node("a", "think", events.EffectNone)), policy: true},
		"no effect, and no standing":    {world: wide, plan: cases.Plan(cases.Node("a", "think", events.EffectNone)), policy: true},
		"reads that nobody allowed":     {world: wide, plan: readPlan(), asks: true},
		"reads, ambiguous":              {plan: readPlan(), material: true, asks: true},
		"a write":                       {plan: writePlan(), asks: true},
		"an explicit write":             {plan: cases.Plan(cases.Write("w", "note")), policy: false},
		"an explicit write, ambiguous":  {plan: cases.Plan(cases.Write("w", "note")), material: true, asks: true},
		"an explicit write and another": {plan: cases.Plan(cases.Write("v", "note"), cases.Write("w", "publish")), asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			if test.material {
				req.Covers(t, "OD-10.2.4")
			}
			w := cases.NewWorld()
			if test.world != nil {
				test.world(w)
			}
			r := cases.Request(test.plan, func(r *events.IntentRequest) {
				if test.material {
					r.Outcome.Alternatives = []events.Alternative{{Statement: "another ledger", Consequence: "it is published elsewhere", Material: true}}
				}
			})
			_, decision := proposedTo(t, w, r)
			if _, asks := cases.Event[*events.ApprovalRequested](decision.Events); asks != test.asks {
				t.Fatalf("decided %v", cases.Types(decision.Events))
			}
			if test.asks {
				return
			}
			by := cases.Want[*events.SpecApproved](t, decision.Events).Approver
			if (by.Policy != "") != test.policy || (by.Principal != nil) == test.policy {
				t.Fatalf("approved by %+v", by)
			}
		})
	}
	t.Run("a policy that would cover writes is not valid", func(t *testing.T) {
		w := cases.NewWorld()
		w.Policy.StandingApproval = append(w.Policy.StandingApproval, events.EffectWrite)
		d := newDesk(w.View())
		if r := cases.Want[*events.RunRejected](t, d.Do(t, d.submitted(cases.Request(writePlan()))).Events); r.Tag != events.TagRejected {
			t.Fatalf("%+v", r)
		}
	})
}

// Cancellation is possible as long as the run is not over, and only then.
func TestCancel(t *testing.T) {
	cancel := &events.CancelRequested{Principal: cases.Person(), Reason: "changed my mind"}
	for name, test := range map[string]struct {
		desk     func(t *testing.T) *desk
		phase    events.Phase
		revision int
		work     int
	}{
		"sealed":            {func(t *testing.T) *desk { t.Helper(); return sealed(t, cases.NewWorld(), cases.Request(readPlan())) }, events.PhaseSealed, 0, 0},
		"awaiting approval": {func(t *testing.T) *desk { t.Helper(); d, _ := pending(t); return d }, events.PhaseAwaitingApproval, 0, 1},
		"resolving": {func(t *testing.T) *desk {
			t.Helper()
			d := sealed(t, cases.NewWorld(), cases.Request(readPlan()))
			d.State = admission.Evolve(d.State, events.Event{Data: &events.PlanRejected{Attempt: 1}})
			return d
		}, events.PhaseResolving, 0, 0},
		"admitted": {func(t *testing.T) *desk {
			t.Helper()
			d, _ := proposedTo(t, cases.NewWorld(), cases.Request(readPlan()))
			return d
		}, events.PhaseAdmitted, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "C3-RUN-002.j")
			d := test.desk(t)
			decision := d.Do(t, d.asked(cases.Start+20*cases.Second, cancel))
			e := cases.Want[*events.RunCancelled](t, decision.Events)
			if len(decision.Events) != 1 || e.Phase != test.phase || e.Revision != test.revision || e.Principal != cases.Person() || e.Reason != cancel.Reason {
				t.Fatalf("%+v", e)
			}
			if len(decision.Work) != test.work || e.Request.Commitment != d.State.Sealed.Request.Commitment {
				t.Fatalf("work %+v", decision.Work)
			}
			if hasSpec := test.phase == events.PhaseAwaitingApproval || test.phase == events.PhaseAdmitted; hasSpec == e.Spec.IsZero() {
				t.Fatalf("specification %+v", e.Spec)
			}
			t.Run("twice", func(t *testing.T) { d.Refuse(t, events.CodeRunConcluded, d.asked(cases.Start+21*cases.Second, cancel)) })
			t.Run("nothing is admitted after it", func(t *testing.T) {
				req.Covers(t, "C3-RUN-005.i")
				d.Refuse(t, events.CodeRunConcluded, d.proposed(cases.Request(readPlan()), proposal{}))
			})
		})
	}
	t.Run("before sealing", func(t *testing.T) {
		d := newDesk(cases.NewWorld().View())
		d.Refuse(t, events.CodeRunUnknown, d.asked(cases.Start, cancel))
	})
	t.Run("after a rejection", func(t *testing.T) {
		d, _ := proposedTo(t, cases.NewWorld(), cases.Request(cases.Plan(cases.Read("a", "a"))))
		d.Refuse(t, events.CodeRunConcluded, d.asked(cases.Start, cancel))
	})
	t.Run("a cancelled approval is worth nothing", func(t *testing.T) {
		d, a := pending(t)
		d.Do(t, d.asked(cases.Start, cancel))
		d.Refuse(t, events.CodeRunConcluded, d.asked(cases.Start, answer(a, events.DecisionApprove)))
	})
}
