package executor_test

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// late is an engine whose write waits for a person once its argument is known:
// the text that the read found.
func late(tb testing.TB) (*engine, *events.ConfirmationNeeded) {
	tb.Helper()
	write := cases.Write("w", "publish", "a")
	write.Arguments = map[string]events.Argument{"word": cases.Output("a", "/text")}
	x, d := started(tb, cases.Request(cases.Plan(cases.Read("a"), write)), func(e *events.RevisionAdmitted) {
		e.Nodes[1].Confirmation, e.Nodes[1].Arguments, e.Nodes[1].Confirm = "", events.Body{}, events.ConfirmAtDispatch
		e.Nodes[1].Sources = []events.ArgumentSource{{Argument: "word", Kind: events.SourceOutput, From: "a/text", Authority: true}}
	})
	if got := calls(tb, d); !slices.Equal(got, []string{"a"}) {
		tb.Fatalf("called %v", got)
	}
	decision := x.finish(tb, "a", done(good))
	if len(decision.Work) > 0 {
		tb.Fatalf("work %+v", decision.Work)
	}
	return x, cases.Want[*events.ConfirmationNeeded](tb, decision.Events)
}

// use is a person's approval of what waits.
func use(e *events.ConfirmationNeeded) *events.UseApproved {
	return &events.UseApproved{
		Approval: "approval-7", Digest: "sha256:7", Revision: e.Revision, Node: e.Node, Arguments: cases.Seal(e.Arguments), Principal: cases.Person(),
		Lease: events.Lease{ID: "lease-1", Expires: cases.Start + 400*cases.Second},
	}
}

// A use that needs a person waits until its exact arguments are decided on, is
// dispatched with exactly these, and only once.
func TestUseWaitsForAPerson(t *testing.T) {
	req.Covers(t, "OD-4.4.2", "IK-7.3", "C3-RUN-006.l")
	x, needed := late(t)
	content, _ := needed.Arguments.Content()
	if needed.Node != "w" || needed.Revision != 1 || needed.Effect != events.EffectWrite || string(content) != `{"word":"1.2 is out"}` {
		t.Fatalf("%+v with %s", needed, content)
	}
	if again := x.Do(t, cases.Recovered(x.at, x.view)); len(again.Events) > 0 || len(again.Work) > 0 {
		t.Fatalf("asked again: %v", cases.Types(again.Events))
	}
	x.at = cases.Start + 350*cases.Second // after the lease that the revision was admitted with
	d := x.deliver(t, use(needed))
	received := cases.Want[*events.ConfirmationReceived](t, d.Events)
	dispatched := cases.Want[*events.ActionDispatched](t, d.Events)
	if got := calls(t, d); !slices.Equal(got, []string{"w"}) || dispatched.Approval != "approval-7" || received.Head.Number != 3 {
		t.Fatalf("called %v, %+v, %+v", got, dispatched, received)
	}
	x.Refuse(t, events.CodeInteractionUnknown, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 4, use(needed))))
	e := cases.Want[*events.ExecutionCompleted](t, x.finish(t, "w", done(good)).Events)
	if head := e.Heads[events.OwnerAdmission]; head.Number != 3 {
		t.Errorf("the end does not name the approval: %+v", head)
	}
}

func TestUsesThatDoNotHappen(t *testing.T) {
	t.Run("denied", func(t *testing.T) {
		x, needed := late(t)
		d := x.deliver(t, &events.UseDenied{Approval: "approval-7", Revision: 1, Node: needed.Node, Diagnostic: events.Diagnostic{Code: events.CodeApprovalDenied, Message: "no"}})
		halted(t, d.Events, events.HaltDenied, events.CodeApprovalDenied)
		x.Refuse(t, events.CodeRunConcluded, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 4, use(needed))))
	})
	t.Run("denied for another revision", func(t *testing.T) {
		x, needed := late(t)
		x.Refuse(t, events.CodeConflict, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 4, &events.UseDenied{Revision: 2, Node: needed.Node})))
	})
	t.Run("approved with other arguments", func(t *testing.T) {
		req.Covers(t, "OD-9.3.4")
		x, needed := late(t)
		given := use(needed)
		given.Arguments = cases.Text(events.ClassPlan, `{"word":"other"}`)
		halted(t, x.deliver(t, given).Events, events.HaltChanged, events.CodeApprovalMismatch)
	})
	t.Run("approved with arguments that cannot be read", func(t *testing.T) {
		x, needed := late(t)
		given := use(needed)
		given.Arguments = cases.Closed(given.Arguments)
		halted(t, x.deliver(t, given).Events, events.HaltChanged, events.CodeApprovalMismatch)
	})
	t.Run("approved for another revision or node", func(t *testing.T) {
		x, needed := late(t)
		given := use(needed)
		given.Revision = 2
		x.Refuse(t, events.CodeConflict, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 4, given)))
		given = use(needed)
		given.Node = "a"
		x.Refuse(t, events.CodeInteractionUnknown, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 4, given)))
	})
	t.Run("cancelled while it waits", func(t *testing.T) {
		x, _ := late(t)
		halted(t, x.deliver(t, &events.RunCancelled{Revision: 1}).Events, events.HaltCancelled, events.CodeCancelled)
	})
	t.Run("revoked while it waits", func(t *testing.T) {
		req.Covers(t, "OD-4.4.15")
		x, needed := late(t)
		x.view = cases.Revoke(x.view, "publish")
		halted(t, x.deliver(t, use(needed)).Events, events.HaltRevoked, events.CodeCapabilityRevoked)
	})
}

// Who acts looks again: a write whose values are not the principal's own, and
// that nobody confirmed, does not happen even if it was admitted.
func TestUnconfirmedValuesAreNotDispatched(t *testing.T) {
	req.Covers(t, "OD-4.4.2", "OD-5.2.8")
	for name, sources := range map[string][]events.ArgumentSource{
		"made up":         {{Argument: "word", Kind: events.SourceModel, Authority: true}},
		"partly accepted": {{Argument: "word", Kind: events.SourceWords, Authority: true, Accepted: true}, {Argument: "count", Kind: events.SourceOutput, Authority: true}},
	} {
		t.Run(name, func(t *testing.T) {
			_, d := started(t, cases.Request(cases.Plan(cases.Write("w", "note"))), func(e *events.RevisionAdmitted) { e.Nodes[0].Sources = sources })
			halted(t, d.Events, events.HaltRevoked, events.CodeConfirmationMissing)
		})
	}
	t.Run("other bytes than were admitted", func(t *testing.T) {
		_, d := started(t, cases.Request(cases.Plan(cases.Write("w", "note"))), func(e *events.RevisionAdmitted) {
			e.Nodes[0].Arguments = cases.Text(events.ClassPlan, `{"word":"other"}`)
		})
		halted(t, d.Events, events.HaltChanged, events.CodeApprovalMismatch)
	})
}

// A revocation stops what is in flight with the capability, and everything
// behind it; what else is in flight ends by itself and is kept.
func TestRevocationReachesWhatIsInFlight(t *testing.T) {
	req.Covers(t, "OD-10.2.9", "OD-7.2.12", "OD-4.4.15")
	plan := cases.Plan(cases.Read("a"), cases.Node("b", "scan", events.EffectRead), cases.Write("w", "publish", "a", "b"))
	x, _ := started(t, cases.Request(plan))
	if d := x.Do(t, cases.Changed(x.at, x.view)); len(d.Events) > 0 || len(d.Work) > 0 {
		t.Fatalf("a change that revokes nothing decided %v", cases.Types(d.Events))
	}
	x.view = cases.Revoke(x.view, "publish")
	if d := x.Do(t, cases.Changed(x.at, x.view)); len(d.Events) > 0 || len(d.Work) > 0 {
		t.Fatalf("nothing with it is in flight, and %v", cases.Types(d.Events))
	}
	x.view = cases.Revoke(x.view, "scan")
	d := x.Do(t, cases.Changed(x.at, x.view))
	halting := cases.Want[*events.ExecutionHalting](t, d.Events)
	if halting.Cause != events.HaltRevoked || halting.Diagnostic.Code != events.CodeCapabilityRevoked || len(d.Events) != 1 {
		t.Fatalf("%+v", halting)
	}
	if !slices.Equal(d.Work, []decider.Work{decider.StopCall{Key: x.action("b")}}) {
		t.Fatalf("work %+v", d.Work)
	}
	if got := calls(t, x.finish(t, "a", done(good))); len(got) > 0 {
		t.Fatalf("called %v", got)
	}
	e := halted(t, x.finish(t, "b", done(good)).Events, events.HaltRevoked, events.CodeCapabilityRevoked)
	if len(e.Results) != 2 || statuses(&e.Execution)["w"] != events.ActionStatusNeverDispatched {
		t.Errorf("%+v", statuses(&e.Execution))
	}
	if again := x.Do(t, cases.Changed(x.at, x.view)); len(again.Events) > 0 || len(again.Work) > 0 {
		t.Errorf("after the end: %v", cases.Types(again.Events))
	}
}

// A recorded revision that is read again after its lease leaves nothing that
// can be used.
func TestReplayAfterExpiryGrantsNothing(t *testing.T) {
	req.Covers(t, "C3-RUN-006.m")
	x := prepared(t, mixed())
	x.at = x.admitted.Lease.Expires
	d := x.start(t)
	halted(t, d.Events, events.HaltRevoked, events.CodeLeaseExpired)
	if got := calls(t, d); len(got) > 0 {
		t.Fatalf("called %v", got)
	}
}

// A revocation without a reason leaves no hole in the message.
func TestRevocationWithoutAReason(t *testing.T) {
	x, _ := started(t, cases.Request(cases.Plan(cases.Node("b", "scan", events.EffectRead))))
	x.view = cases.Evolve(x.view, &events.CapabilityRevoked{Name: "scan", Principal: cases.Person()})
	d := x.Do(t, cases.Changed(x.at, x.view))
	if got := cases.Want[*events.ExecutionHalting](t, d.Events).Diagnostic.Message; got != "the capability scan was revoked" {
		t.Errorf("it says %q", got)
	}
}
