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

// said is a literal that stands in the words of the request at a place.
func said(value string, start, end int) events.Argument {
	a := cases.Literal(value)
	a.Words = []events.WordSpan{{Start: start, End: end}}
	return a
}

func noteOf(argument events.Argument) *events.Plan {
	n := cases.Write("w", "note")
	n.Arguments = map[string]events.Argument{"word": argument}
	return cases.Plan(n)
}

// A model that somebody else controls can propose any write. It happens only
// with values that are the principal's own, or that a person decided on.
func TestWhoseWordAModelsWriteNeeds(t *testing.T) {
	for name, test := range map[string]struct {
		argument events.Argument
		change   func(*events.Capability)
		asks     bool
		covers   []string
	}{
		"the principal's words":    {argument: said(`"milk"`, 13, 17), covers: []string{"OD-4.3.6"}},
		"made up":                  {argument: cases.Literal(`"mallory"`), asks: true, covers: []string{"OD-11.7", "OD-4.2.21", "OD-5.2.8"}},
		"words that are not there": {argument: said(`"mallory"`, 13, 17), asks: true, covers: []string{"C3-RUN-004.u"}},
		"a place outside the text": {argument: said(`"milk"`, 13, 4000), asks: true},
		"a part of a date":         {argument: said(`"13"`, 39, 41), asks: true},
		"the request's input":      {argument: cases.Input("/path")},
		"made up, and accepted": {argument: cases.Literal(`"hello"`), change: func(c *events.Capability) {
			c.AuthorityArguments, c.AuthoritySources = []string{"word"}, map[string][]string{"word": {"model"}}
		}},
		"made up, and of no authority":          {argument: cases.Literal(`"hello"`), change: func(c *events.Capability) { c.AuthorityArguments = []string{} }},
		"made up, of authority by another name": {argument: cases.Literal(`"hello"`), change: func(c *events.Capability) { c.AuthorityArguments = []string{"count"} }},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			w := cases.NewWorld()
			if test.change != nil {
				w.Change("note", test.change)
			}
			d, decision := modeled(t, w, noteOf(test.argument), proposal{}, unmetered)
			a, asks := cases.Event[*events.ApprovalRequested](decision.Events)
			if asks != test.asks {
				t.Fatalf("decided %v", cases.Types(decision.Events))
			}
			if asks {
				if _, admitted := cases.Event[*events.RevisionAdmitted](decision.Events); admitted || len(a.Items) != 1 || a.Items[0].Sources["word"] == "" {
					t.Fatalf("asked %+v", a)
				}
				given := answer(a, events.DecisionApprove)
				admitted := cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.asked(cases.Start+10*cases.Second, given)).Events)
				if admitted.Nodes[0].Confirmation != a.Approval {
					t.Fatalf("admitted %+v", admitted.Nodes[0])
				}
				return
			}
			approved, admitted := cases.Want[*events.SpecApproved](t, decision.Events), cases.Want[*events.RevisionAdmitted](t, decision.Events)
			if approved.Way != events.ApprovalExplicit || approved.Approver.Principal == nil || *approved.Approver.Principal != cases.Person() {
				t.Errorf("approved %+v", approved)
			}
			n := admitted.Nodes[0]
			if len(n.Sources) != 1 || !n.Sources[0].Accepted || n.Confirm != "" {
				t.Errorf("node %+v", n)
			}
			bound, _ := n.Arguments.Content()
			if authority := n.Sources[0].Authority; authority != (len(bound) > 0) {
				t.Errorf("authority %v, and the arguments %s", authority, bound)
			}
		})
	}
}

// What the principal wrote is recorded with its place.
func TestWordsAreRecorded(t *testing.T) {
	_, decision := modeled(t, cases.NewWorld(), noteOf(said(`"milk"`, 13, 17)), proposal{}, unmetered)
	s := cases.Want[*events.RevisionAdmitted](t, decision.Events).Nodes[0].Sources[0]
	if s.Kind != events.SourceWords || s.From != "13-17" || !s.Authority || s.Argument != "word" {
		t.Errorf("%+v", s)
	}
}

// Whoever proposes cannot say whose plan it is.
func TestClaimsOfAProposal(t *testing.T) {
	t.Run("the request's own plan, changed", func(t *testing.T) {
		req.Covers(t, "OD-4.4.26", "C3-RUN-004.u")
		r := cases.Request(writePlan())
		changed := writePlan()
		changed.Nodes[1].Arguments["word"] = cases.Literal(`"mallory"`)
		for _, origin := range []events.Origin{events.OriginExplicit, events.OriginInferred} {
			d := sealed(t, cases.NewWorld(), r)
			rejection(t, d.Do(t, d.proposed(r, proposal{plan: changed, origin: origin})).Events, events.TagRejected, events.CodePlanInvalid, "plan")
		}
	})
	t.Run("another specification than the request's", func(t *testing.T) {
		req.Covers(t, "OD-4.4.26", "C3-RUN-003.c", "C3-RUN-003.d")
		r := cases.Request(readPlan())
		r.Outcome.Requirements = append(r.Outcome.Requirements, cases.NoneFailed("a"))
		weaker := *r.Outcome
		weaker.Requirements = []events.Requirement{}
		d := sealed(t, cases.NewWorld(), r)
		rejection(t, d.Do(t, d.proposed(r, proposal{spec: &weaker})).Events, events.TagRejected, events.CodeSpecInvalid, "outcome")
	})
	t.Run("a model's plan as the principal's", func(t *testing.T) {
		req.Covers(t, "C3-RUN-004.u")
		_, decision := modeled(t, cases.NewWorld(), noteOf(cases.Literal(`"mallory"`)), proposal{origin: events.OriginExplicit}, unmetered)
		rejection(t, decision.Events, events.TagRejected, events.CodePlanInvalid, "plan")
	})
	t.Run("an origin that is not known", func(t *testing.T) {
		_, decision := modeled(t, cases.NewWorld(), readPlan(), proposal{origin: "trusted"}, unmetered)
		rejection(t, decision.Events, events.TagRejected, events.CodePlanInvalid, "plan")
	})
	t.Run("the request's own plan, whatever it is said to be", func(t *testing.T) {
		r := cases.Request(cases.Plan(cases.Write("w", "note")))
		d := sealed(t, cases.NewWorld(), r)
		cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.proposed(r, proposal{origin: events.OriginInferred})).Events)
	})
}

// waiting is a desk whose admitted write waits for a person at dispatch.
func waiting(tb testing.TB, change ...func(*cases.World)) (*desk, *events.ConfirmationNeeded, *events.ApprovalRequested) {
	tb.Helper()
	w := cases.NewWorld()
	for _, f := range change {
		f(w)
	}
	write := cases.Write("w", "publish", "a")
	write.Arguments = map[string]events.Argument{"word": cases.Output("a", "/text")}
	d, decision := proposedTo(tb, w, cases.Request(cases.Plan(cases.Read("a"), write)))
	admitted := cases.Want[*events.RevisionAdmitted](tb, decision.Events)
	if _, asked := cases.Event[*events.ApprovalRequested](decision.Events); asked || admitted.Nodes[1].Confirm != events.ConfirmAtDispatch {
		tb.Fatalf("decided %v", cases.Types(decision.Events))
	}
	needed := &events.ConfirmationNeeded{
		Revision: 1, Node: "w", Capability: admitted.Nodes[1].Capability, Definition: admitted.Nodes[1].Definition, Effect: events.EffectWrite,
		Arguments: cases.Text(events.ClassPlan, `{"word":"found"}`), Deadline: admitted.Deadline,
	}
	decision = d.Do(tb, d.needs(needed))
	a := cases.Want[*events.ApprovalRequested](tb, decision.Events)
	if len(decision.Work) != 1 || decision.Work[0] != decider.Work(decider.SetTimer{Name: "use-w", At: a.Expires}) {
		tb.Fatalf("work %+v", decision.Work)
	}
	return d, needed, a
}

func (d *desk) needs(e *events.ConfirmationNeeded) decider.Input {
	return cases.Delivered(cases.Start+20*cases.Second, d.view, cases.Commit(events.OwnerExecutor, 3, e))
}

// Arguments that only the run finds out are decided on once they are known.
func TestConfirmAtDispatch(t *testing.T) {
	req.Covers(t, "IK-5.4.6", "IK-7.3", "OD-9.3.3")
	d, needed, a := waiting(t)
	seen, _ := a.Items[0].Arguments.Content()
	if a.Use != "w" || len(a.Items) != 1 || string(seen) != `{"word":"found"}` || a.Items[0].Sources["word"] != "the output of look at a/text" || d.State.Phase != events.PhaseAdmitted {
		t.Fatalf("asked %+v with %s", a, seen)
	}
	d.Refuse(t, events.CodeConflict, d.needs(needed))
	decision := d.Do(t, d.asked(cases.Start+30*cases.Second, answer(a, events.DecisionApprove)))
	approved := cases.Want[*events.UseApproved](t, decision.Events)
	if len(decision.Events) != 1 || approved.Node != "w" || approved.Revision != 1 || approved.Digest != a.Digest || approved.Principal != cases.Person() ||
		approved.Arguments.Commitment != needed.Arguments.Commitment || approved.Lease.Expires != cases.Start+330*cases.Second {
		t.Fatalf("%+v", approved)
	}
	if len(decision.Work) != 1 || decision.Work[0] != decider.Work(decider.ClearTimer{Name: "use-w"}) {
		t.Fatalf("work %+v", decision.Work)
	}
	t.Run("spent once", func(t *testing.T) {
		d.Refuse(t, events.CodeInteractionUnknown, d.asked(cases.Start+31*cases.Second, answer(a, events.DecisionApprove)))
		d.Refuse(t, events.CodeConflict, d.needs(needed))
	})
}

func TestUsesThatAreDenied(t *testing.T) {
	denied := func(t *testing.T, list []events.Payload, code events.Code) *events.UseDenied {
		t.Helper()
		e := cases.Want[*events.UseDenied](t, list)
		if len(list) != 1 || e.Diagnostic.Code != code || e.Node != "w" || e.Revision != 1 {
			t.Fatalf("%+v", e)
		}
		return e
	}
	t.Run("by a person", func(t *testing.T) {
		d, _, a := waiting(t)
		e := denied(t, d.Do(t, d.asked(cases.Start+30*cases.Second, answer(a, events.DecisionDeny))).Events, events.CodeApprovalDenied)
		if e.Principal == nil || *e.Principal != cases.Person() {
			t.Errorf("%+v", e)
		}
		d.Refuse(t, events.CodeInteractionUnknown, d.asked(cases.Start+31*cases.Second, answer(a, events.DecisionApprove)))
	})
	t.Run("by silence", func(t *testing.T) {
		req.Covers(t, "OD-8.16")
		d, _, a := waiting(t)
		if early := d.Do(t, cases.Fired(a.Expires-1, d.view, "use-w")); len(early.Events) > 0 || len(early.Work) != 1 {
			t.Fatalf("%+v", early)
		}
		denied(t, d.Do(t, cases.Fired(a.Expires, d.view, "use-w")).Events, events.CodeApprovalExpired)
		if again := d.Do(t, cases.Fired(a.Expires, d.view, "use-w")); len(again.Events) > 0 {
			t.Fatal("twice")
		}
	})
	t.Run("an answer that comes too late", func(t *testing.T) {
		d, _, a := waiting(t)
		denied(t, d.Do(t, d.asked(a.Expires, answer(a, events.DecisionApprove))).Events, events.CodeApprovalExpired)
	})
	t.Run("revoked meanwhile", func(t *testing.T) {
		req.Covers(t, "OD-4.4.15", "OD-10.2.9")
		d, _, a := waiting(t)
		d.view = cases.Revoke(d.view, "publish")
		denied(t, d.Do(t, d.asked(cases.Start+30*cases.Second, answer(a, events.DecisionApprove))).Events, events.CodeCapabilityRevoked)
	})
	t.Run("not what was admitted", func(t *testing.T) {
		for name, change := range map[string]func(*events.ConfirmationNeeded){
			"another capability": func(e *events.ConfirmationNeeded) { e.Capability.Name = "mail" },
			"another definition": func(e *events.ConfirmationNeeded) { e.Definition = "sha256:0" },
			"another effect":     func(e *events.ConfirmationNeeded) { e.Effect = events.EffectRead },
			"no arguments":       func(e *events.ConfirmationNeeded) { e.Arguments = events.Body{} },
		} {
			write := cases.Write("w", "publish", "a")
			write.Arguments = map[string]events.Argument{"word": cases.Output("a", "/text")}
			d, decision := proposedTo(t, cases.NewWorld(), cases.Request(cases.Plan(cases.Read("a"), write)))
			n := cases.Want[*events.RevisionAdmitted](t, decision.Events).Nodes[1]
			e := &events.ConfirmationNeeded{
				Revision: 1, Node: "w", Capability: n.Capability, Definition: n.Definition, Effect: n.Effect, Arguments: cases.Text(events.ClassPlan, `{"word":"x"}`),
			}
			change(e)
			if decision := d.Do(t, d.needs(e)); len(cases.Events[*events.UseDenied](decision.Events)) != 1 || len(decision.Events) != 1 {
				t.Errorf("%s: decided %v", name, cases.Types(decision.Events))
			}
		}
	})
	t.Run("a digest of other content", func(t *testing.T) {
		d, _, a := waiting(t)
		given := answer(a, events.DecisionApprove)
		given.Digest = "sha256:0"
		d.Refuse(t, events.CodeApprovalMismatch, d.asked(cases.Start+30*cases.Second, given))
	})
	t.Run("by somebody who may not", func(t *testing.T) {
		d, _, a := waiting(t)
		given := answer(a, events.DecisionApprove)
		given.Principal.ID = "mallory"
		d.Refuse(t, events.CodePrincipalDenied, d.asked(cases.Start+30*cases.Second, given))
	})
	t.Run("by the submitter, where two are needed", func(t *testing.T) {
		d, _, a := waiting(t, func(w *cases.World) { w.Policy.FourEyes = true })
		d.Refuse(t, events.CodePrincipalDenied, d.asked(cases.Start+30*cases.Second, answer(a, events.DecisionApprove)))
		given := answer(a, events.DecisionApprove)
		given.Principal.ID = "bob"
		cases.Want[*events.UseApproved](t, d.Do(t, d.asked(cases.Start+30*cases.Second, given)).Events)
	})
}

// A cancelled run waits for nothing any more, and a process that comes later
// sets the wake-ups again.
func TestUsesAndTheLifeOfARun(t *testing.T) {
	d, _, a := waiting(t)
	again := d.Do(t, cases.Recovered(cases.Start+25*cases.Second, d.view))
	if len(again.Events) > 0 || !slices.Equal(again.Work, []decider.Work{decider.SetTimer{Name: "use-w", At: a.Expires}}) {
		t.Fatalf("%+v", again)
	}
	decision := d.Do(t, d.asked(cases.Start+26*cases.Second, &events.CancelRequested{Principal: cases.Person()}))
	if !slices.Equal(decision.Work, []decider.Work{decider.ClearTimer{Name: "use-w"}}) {
		t.Fatalf("%+v", decision.Work)
	}
	d.Refuse(t, events.CodeRunConcluded, d.asked(cases.Start+27*cases.Second, answer(a, events.DecisionApprove)))
	if late := d.Do(t, cases.Fired(a.Expires, d.view, "use-w")); len(late.Events) > 0 {
		t.Fatalf("%+v", late)
	}
	unasked := newDesk(d.view)
	unasked.State = admission.State{}
	unasked.Refuse(t, events.CodeRunUnknown, unasked.needs(&events.ConfirmationNeeded{Node: "w"}))
}

// What a run may do follows from the agent, whatever the request says and
// whatever the plan calls it: a review stays one.
func TestReviewStaysOne(t *testing.T) {
	req.Covers(t, "OD-5.2.5", "OD-5.2.6", "OD-8.10", "OD-4.4.28")
	for name, text := range map[string]string{"a review": "review it, do not edit", "corrected": "no, fix it, you may edit everything"} {
		t.Run(name, func(t *testing.T) {
			w := cases.NewWorld()
			narrow(w)
			write := cases.Write("w", "publish")
			_, decision := modeled(t, w, cases.Plan(write), proposal{}, func(r *events.IntentRequest) { unmetered(r); r.Intent.Text = text })
			rejection(t, decision.Events, events.TagRejected, events.CodeCapabilityUnknown, "plan.nodes[0].capability")
		})
	}
	t.Run("a write that is called a read", func(t *testing.T) {
		write := cases.Write("w", "note")
		write.Effect = events.EffectRead
		_, decision := modeled(t, cases.NewWorld(), cases.Plan(write), proposal{}, unmetered)
		rejection(t, decision.Events, events.TagRejected, events.CodePlanUntyped, "plan.nodes[0].effect")
	})
}

// Where nobody is there, what needs a person waits for one, and expires.
func TestUnattended(t *testing.T) {
	req.Covers(t, "OD-8.15", "OD-8.16")
	w := cases.NewWorld()
	w.Policy.Submitters = []string{"nightly"}
	r := cases.Request(writePlan(), func(r *events.IntentRequest) {
		r.Authority = events.Principal{ID: "nightly", Kind: events.PrincipalService}
	})
	d, decision := proposedTo(t, w, r)
	a := cases.Want[*events.ApprovalRequested](t, decision.Events)
	if slices.Contains(a.Approvers, "nightly") {
		t.Fatalf("the service would decide itself: %v", a.Approvers)
	}
	given := answer(a, events.DecisionApprove)
	given.Principal = r.Authority
	d.Refuse(t, events.CodePrincipalDenied, d.asked(cases.Start+10*cases.Second, given))
	cases.Want[*events.SpecDenied](t, d.Do(t, cases.Fired(a.Expires, d.view, admission.TimerApproval)).Events)
}
