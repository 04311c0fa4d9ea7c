package admission_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

func rule(id string, operation events.PolicyOperation, when string, decision events.PolicyVerdict) events.PolicyRule {
	return events.PolicyRule{ID: id, Operation: operation, When: when, Decision: decision, Reason: "because of " + id}
}

// ruled is a world whose policy has rules besides its lists.
func ruled(rules ...events.PolicyRule) *cases.World {
	w := cases.NewWorld()
	w.Policy.Rules = rules
	return w
}

func digestOf(tb testing.TB, view registry.View) events.Digest {
	tb.Helper()
	_, _, digest, ok := view.Definition(events.KindPolicy, cases.Policy)
	if !ok {
		tb.Fatal("there is no policy")
	}
	return digest
}

// Who may submit follows from lists and rules over principal, roles, tenant
// and limits; the decision is recorded either way.
func TestSubmitIsDecidedByThePolicy(t *testing.T) {
	for name, test := range map[string]struct {
		world *cases.World
		roles []string
		rule  string
		code  events.Code
	}{
		"by name":                 {world: ruled(), rule: policy.RuleSubmitters},
		"by role":                 {world: onlyRules(rule("clerks", "submit", `"clerk" in principal.roles && tenant == "default"`, "allow")), roles: []string{"clerk"}, rule: "clerks"},
		"without the role":        {world: onlyRules(rule("clerks", "submit", `"clerk" in principal.roles`, "allow")), roles: []string{"reader"}, code: events.CodePrincipalDenied},
		"named, but denied":       {world: ruled(rule("frozen", "submit", "true", "deny")), rule: "frozen", code: events.CodePolicyDenied},
		"more than it may ask":    {world: ruled(rule("small", "submit", "budget.actions > 10", "deny")), rule: "small", code: events.CodePolicyDenied},
		"a condition that breaks": {world: ruled(rule("broken", "submit", "1 / (budget.actions - budget.actions) == 1", "deny")), rule: "broken", code: events.CodePolicyFailed},
		"nothing allows":          {world: onlyRules(), code: events.CodePrincipalDenied},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "C3-RUN-005.h1")
			d := newDesk(test.world.View())
			decision := d.Do(t, d.submitted(cases.Request(readPlan()), func(s *events.Submitted) { s.Roles = test.roles }))
			if test.code != 0 {
				rejected := cases.Want[*events.RunRejected](t, decision.Events)
				a := rejected.Authorization
				if rejected.Tag != events.TagRejected || rejected.Diagnostics[0].Code != test.code || a == nil || a.Rule != test.rule || a.Verdict != events.PolicyDeny || a.Digest != digestOf(t, d.view) {
					t.Fatalf("rejected %+v with %+v", rejected, a)
				}
				return
			}
			sealed := cases.Want[*events.RunSealed](t, decision.Events)
			a := sealed.Authorization
			if a == nil || a.Rule != test.rule || a.Verdict != events.PolicyAllow || a.Policy != cases.Policy || a.Digest != digestOf(t, d.view) || a.Operation != events.OperationSubmit || !slices.Equal(sealed.Roles, test.roles) {
				t.Fatalf("sealed with %+v and roles %v", a, sealed.Roles)
			}
		})
	}
}

// onlyRules is a world whose policy has rules and no lists.
func onlyRules(rules ...events.PolicyRule) *cases.World {
	w := ruled(rules...)
	w.Policy.Submitters, w.Policy.Approvers, w.Policy.Operations = nil, nil, nil
	return w
}

// An agent without its policy means refuse, whoever put it into the registry.
func TestNoPolicyRefuses(t *testing.T) {
	w := cases.NewWorld()
	var payloads []events.Payload
	for _, name := range w.Policy.Operations {
		payloads = append(payloads, cases.Applied(events.KindCapability, name, w.Capabilities[name]))
	}
	view := cases.Evolve(registry.View{}, append(payloads, cases.Applied(events.KindAgent, cases.Agent, w.Agent))...)
	d := newDesk(view)
	rejected := cases.Want[*events.RunRejected](t, d.Do(t, d.submitted(cases.Request(readPlan()))).Events)
	if rejected.Diagnostics[0].Code != events.CodeAgentUnknown || !d.State.Over {
		t.Fatalf("%+v", rejected)
	}
	// With the policy, and nothing else changed, it runs.
	d = newDesk(cases.Evolve(view, cases.Applied(events.KindPolicy, cases.Policy, w.Policy)))
	cases.Want[*events.RunSealed](t, d.Do(t, d.submitted(cases.Request(readPlan()))).Events)
}

// What may execute follows from the capability, its effect and the exact
// arguments, with where they come from.
func TestExecuteIsDecidedByThePolicy(t *testing.T) {
	inside := cases.Plan(cases.Read("a"), cases.Read("b", "a"))
	inside.Nodes[1].Arguments["from"] = cases.Output("a", "/size")
	for name, test := range map[string]struct {
		world  *cases.World
		plan   *events.Plan
		rule   string
		code   events.Code
		tag    events.Tag
		covers []string
	}{
		"listed": {world: ruled(), plan: readPlan(), rule: policy.RuleOperations, covers: []string{"IK-5.4.3"}},
		"by rule": {
			world: withoutOperations(rule("reads", "execute", `capability.effect == "read" && agent == "clerk"`, "allow")), plan: readPlan(), rule: "reads", covers: []string{"C3-RUN-001.j"},
		},
		"outside every rule": {
			world: withoutOperations(rule("scans", "execute", `capability.name == "scan"`, "allow")), plan: readPlan(), code: events.CodeOperationNotAllowed, tag: events.TagRejected,
			covers: []string{"C3-RUN-001.j", "IK-2.6"},
		},
		"no rule and no list": {world: withoutOperations(), plan: readPlan(), code: events.CodeOperationNotAllowed, tag: events.TagRejected, covers: []string{"C3-RUN-001.j"}},
		"these arguments": {
			world: ruled(rule("not-b", "execute", `arguments.word == "b"`, "deny")), plan: readPlan(), rule: "not-b", code: events.CodePolicyDenied, tag: events.TagRejected, covers: []string{"IK-2.6"},
		},
		"an argument that a run will show": {
			world: ruled(rule("not-big", "execute", `has(arguments.from) && arguments.from == {}`, "deny")), plan: inside, rule: "not-big", code: events.CodePolicyFailed, tag: events.TagRejected,
		},
		"a question": {
			world: ruled(rule("which", "execute", `arguments.word == "a"`, "clarify")), plan: readPlan(), rule: "which", code: events.CodePolicyClarification, tag: events.TagUnresolved,
		},
		"a question and a refusal": {
			world: ruled(rule("which", "execute", `arguments.word == "a"`, "clarify"), rule("no", "execute", `arguments.word == "b"`, "deny")), plan: readPlan(),
			rule: "no", code: events.CodePolicyClarification, tag: events.TagRejected,
		},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, append(test.covers, "IK-5.4.3")...)
			d, decision := proposedTo(t, test.world, cases.Request(test.plan))
			if test.code == 0 {
				admitted := cases.Want[*events.RevisionAdmitted](t, decision.Events)
				for _, n := range admitted.Nodes {
					if a := n.Authorization; a == nil || a.Rule != test.rule || a.Verdict != events.PolicyAllow || a.Digest != digestOf(t, d.view) || a.Operation != events.OperationExecute {
						t.Errorf("%s by %+v", n.ID, a)
					}
				}
				return
			}
			rejected := cases.Want[*events.PlanRejected](t, decision.Events)
			if rejected.Tag != test.tag || rejected.Diagnostics[0].Code != test.code || !rejected.Final {
				t.Fatalf("rejected %+v", rejected)
			}
			if a := rejected.Authorization; test.rule != "" && (a == nil || a.Rule != test.rule || a.Digest != digestOf(t, d.view)) {
				t.Errorf("by %+v", a)
			}
		})
	}
}

func withoutOperations(rules ...events.PolicyRule) *cases.World {
	w := ruled(rules...)
	w.Policy.Operations = nil
	return w
}

// A rule can want a person for what otherwise needs none, and no mode of a
// capability gets around it.
func TestPolicyCanWantAPerson(t *testing.T) {
	req.Covers(t, "IK-2.8", "IK-5.4.6", "OD-4.4.13")
	for name, test := range map[string]struct {
		plan  *events.Plan
		nodes []string
	}{
		"a read":            {cases.Plan(cases.Read("a"), cases.Read("b", "a")), []string{"b"}},
		"an explicit write": {cases.Plan(cases.Read("a"), cases.Write("b", "note", "a")), []string{"b"}},
		"with another":      {cases.Plan(cases.Write("a", "publish"), cases.Read("b", "a")), []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, decision := proposedTo(t, ruled(rule("ask", "execute", `arguments.word == "b"`, "confirm")), cases.Request(test.plan))
			a := cases.Want[*events.ApprovalRequested](t, decision.Events)
			var nodes []string
			for _, item := range a.Items {
				nodes = append(nodes, item.Node)
			}
			if !slices.Equal(nodes, test.nodes) {
				t.Fatalf("asked about %v", nodes)
			}
			last := a.Items[len(a.Items)-1]
			if last.Authorization == nil || last.Authorization.Rule != "ask" || last.Authorization.Verdict != events.PolicyConfirm {
				t.Errorf("by %+v", last.Authorization)
			}
			admitted := cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.asked(cases.Start+2*cases.Second, answer(a, events.DecisionApprove))).Events)
			for _, n := range admitted.Nodes {
				if n.ID == "b" && n.Confirmation != a.Approval {
					t.Errorf("admitted %+v", n)
				}
			}
		})
	}
	t.Run("for an argument that a run will show", func(t *testing.T) {
		p := cases.Plan(cases.Read("a"), cases.Read("b", "a"))
		p.Nodes[1].Arguments["from"] = cases.Output("a", "/size")
		_, decision := proposedTo(t, ruled(rule("ask", "execute", `arguments.word == "b"`, "confirm")), cases.Request(p))
		if n := cases.Want[*events.RevisionAdmitted](t, decision.Events).Nodes[1]; n.Confirm != events.ConfirmAtDispatch || n.Confirmation != "" {
			t.Errorf("admitted %+v", n)
		}
	})
}

// The way to an approval is recorded, with the rule of the policy.
func TestWaysToAnApproval(t *testing.T) {
	req.Covers(t, "OD-4.4.11", "C3-RUN-002.y3")
	t.Run("standing", func(t *testing.T) {
		d, decision := proposedTo(t, cases.NewWorld(), cases.Request(readPlan()))
		e := cases.Want[*events.SpecApproved](t, decision.Events)
		if e.Way != events.ApprovalStanding || e.Authorization == nil || e.Authorization.Rule != policy.RuleStanding || e.Authorization.Digest != digestOf(t, d.view) || e.Approver.Principal != nil {
			t.Errorf("%+v by %+v", e, e.Authorization)
		}
	})
	t.Run("explicit", func(t *testing.T) {
		d, decision := proposedTo(t, cases.NewWorld(), cases.Request(cases.Plan(cases.Write("w", "note"))))
		e := cases.Want[*events.SpecApproved](t, decision.Events)
		if e.Way != events.ApprovalExplicit || e.Authorization == nil || e.Authorization.Rule != policy.RuleSubmitters || e.Authorization.Digest != digestOf(t, d.view) {
			t.Errorf("%+v by %+v", e, e.Authorization)
		}
	})
	t.Run("person", func(t *testing.T) {
		w := ruled(rule("leads", "approve", `"lead" in principal.roles && run.submitter == "ann" && approval.capabilities == ["publish"]`, "allow"))
		w.Policy.Approvers = nil
		d, decision := proposedTo(t, w, cases.Request(writePlan()))
		a := cases.Want[*events.ApprovalRequested](t, decision.Events)
		given := answer(a, events.DecisionApprove)
		d.Refuse(t, events.CodePrincipalDenied, d.asked(cases.Start+2*cases.Second, given))
		given.Roles = []string{"lead"}
		e := cases.Want[*events.SpecApproved](t, d.Do(t, d.asked(cases.Start+2*cases.Second, given)).Events)
		if e.Way != events.ApprovalPerson || e.Authorization == nil || e.Authorization.Rule != "leads" || e.Authorization.Operation != events.OperationApprove || e.Authorization.Digest != digestOf(t, d.view) {
			t.Errorf("%+v by %+v", e, e.Authorization)
		}
	})
}

// With four eyes nobody approves what they asked for; they may still deny it.
func TestFourEyes(t *testing.T) {
	req.Covers(t, "OD-4.4.13")
	w := cases.NewWorld()
	w.Policy.FourEyes = true
	wait := func(t *testing.T) (*desk, *events.ApprovalRequested) {
		t.Helper()
		d, decision := proposedTo(t, w, cases.Request(writePlan()))
		a := cases.Want[*events.ApprovalRequested](t, decision.Events)
		if a.Terms == nil || !a.Terms.FourEyes {
			t.Fatalf("terms %+v", a.Terms)
		}
		return d, a
	}
	d, a := wait(t)
	given := answer(a, events.DecisionApprove)
	d.Refuse(t, events.CodePrincipalDenied, d.asked(cases.Start+2*cases.Second, given))
	given.Principal.ID = "bob"
	cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.asked(cases.Start+2*cases.Second, given)).Events)
	d, a = wait(t)
	cases.Want[*events.SpecDenied](t, d.Do(t, d.asked(cases.Start+2*cases.Second, answer(a, events.DecisionDeny))).Events)
	// Also the other one is too late once it expired.
	d, a = wait(t)
	given = answer(a, events.DecisionApprove)
	given.Principal.ID = "bob"
	denied := cases.Want[*events.SpecDenied](t, d.Do(t, d.asked(a.Expires, given)).Events)
	if denied.Diagnostic.Code != events.CodeApprovalExpired || denied.Tag != events.TagUnresolved {
		t.Errorf("%+v", denied)
	}
}

// What a policy permits in addition counts from the next run on; what it does
// not permit any more counts at once, also for what waits.
func TestPolicyChangesOfARunUnderWay(t *testing.T) {
	apply := func(d *desk, change func(*events.Policy)) {
		w := cases.NewWorld()
		change(&w.Policy)
		d.view = cases.Evolve(d.view, cases.Applied(events.KindPolicy, cases.Policy, w.Policy))
	}
	t.Run("denied before the proposal", func(t *testing.T) {
		req.Covers(t, "OD-4.4.15", "OD-7.2.12")
		r := cases.Request(readPlan())
		d := sealed(t, cases.NewWorld(), r)
		apply(d, func(p *events.Policy) { p.Operations = []string{"publish"} })
		rejected := rejection(t, d.Do(t, d.proposed(r, proposal{})).Events, events.TagRejected, events.CodeOperationNotAllowed, "plan.nodes[0].capability")
		if rejected.Authorization == nil || rejected.Authorization.Digest != digestOf(t, d.view) {
			t.Errorf("not recorded under the policy of now: %+v", rejected.Authorization)
		}
	})
	t.Run("allowed too late", func(t *testing.T) {
		req.Covers(t, "OD-4.4.14", "OD-7.2.11")
		w := cases.NewWorld()
		w.Policy.Operations = []string{"scan"}
		r := cases.Request(readPlan())
		d := sealed(t, w, r)
		apply(d, func(*events.Policy) {})
		rejection(t, d.Do(t, d.proposed(r, proposal{})).Events, events.TagRejected, events.CodeOperationNotAllowed, "plan.nodes[0].capability")
		// The next run of the same agent may.
		next := newDesk(d.view)
		next.Do(t, next.submitted(r))
		cases.Want[*events.RevisionAdmitted](t, next.Do(t, next.proposed(r, proposal{})).Events)
	})
	t.Run("the same decision is that of the policy the run is pinned to", func(t *testing.T) {
		r := cases.Request(readPlan())
		d := sealed(t, cases.NewWorld(), r)
		pinned := digestOf(t, d.view)
		apply(d, func(p *events.Policy) { p.Description = "the same in other words" })
		admitted := cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.proposed(r, proposal{})).Events)
		if a := admitted.Nodes[0].Authorization; a == nil || a.Digest != pinned || admitted.Policy.Digest != pinned {
			t.Errorf("by %+v, pinned to %s", a, pinned)
		}
	})
	t.Run("another approver", func(t *testing.T) {
		req.Covers(t, "C3-RUN-006.l", "OD-4.4.15")
		d, a := pending(t)
		apply(d, func(p *events.Policy) { p.Approvers = []string{"bob", "zoe"} })
		for name, may := range map[string]bool{"ann": false, "zoe": false, "bob": true} {
			given := answer(a, events.DecisionApprove)
			given.Principal.ID = name
			in := d.asked(cases.Start+2*cases.Second, given)
			if may {
				defer func() { cases.Want[*events.RevisionAdmitted](t, d.Do(t, in).Events) }()
			} else {
				d.Refuse(t, events.CodePrincipalDenied, in)
			}
		}
	})
	t.Run("four eyes", func(t *testing.T) {
		d, a := pending(t)
		apply(d, func(p *events.Policy) { p.FourEyes = true })
		d.Refuse(t, events.CodePrincipalDenied, d.asked(cases.Start+2*cases.Second, answer(a, events.DecisionApprove)))
	})
	t.Run("a use that nobody was asked about", func(t *testing.T) {
		d, a := pending(t)
		apply(d, func(p *events.Policy) { p.Rules = []events.PolicyRule{rule("ask", "execute", "true", "confirm")} })
		decision := d.Do(t, d.asked(cases.Start+2*cases.Second, answer(a, events.DecisionApprove)))
		rejection(t, decision.Events, events.TagRejected, events.CodeConfirmationMissing, "plan.nodes[0]")
	})
	t.Run("an execution that it denies now", func(t *testing.T) {
		req.Covers(t, "OD-4.4.15")
		d, a := pending(t)
		apply(d, func(p *events.Policy) {
			p.Rules = []events.PolicyRule{rule("no", "execute", `capability.name == "publish"`, "deny")}
		})
		decision := d.Do(t, d.asked(cases.Start+2*cases.Second, answer(a, events.DecisionApprove)))
		rejection(t, decision.Events, events.TagRejected, events.CodePolicyDenied, "plan.nodes[1].capability")
	})
}

// Whatever rules are added to a policy: what is admitted with them and without
// a person was so before, and what is refused stays refused.
func TestRulesOnlyNarrowWhatIsAdmitted(t *testing.T) {
	conditions := []string{
		"true", "false", `capability.effect == "write"`, `arguments.word == "n1"`, `"lead" in principal.roles`, `plan.ambiguous`,
		`arguments.missing == 1`, `has(arguments.word) && arguments.word.startsWith("n")`, `budget.actions < 2`,
	}
	narrowed := 0
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		w := drawWorld(t)
		before := outcomeOf(w, r)
		for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
			w.Policy.Rules = append(w.Policy.Rules, events.PolicyRule{
				ID: "r" + strings.Repeat("x", i), Operation: events.OperationExecute, When: rapid.SampledFrom(conditions).Draw(t, "when"),
				Decision: rapid.SampledFrom([]events.PolicyVerdict{events.PolicyDeny, events.PolicyConfirm, events.PolicyClarify}).Draw(t, "decision"),
			})
		}
		after := outcomeOf(w, r)
		if after > before {
			t.Fatalf("%d before and %d with %+v", before, after, w.Policy.Rules)
		}
		if after < before {
			narrowed++
		}
	})
	if narrowed == 0 {
		t.Fatal("no rule ever mattered: the property was not tried")
	}
}

// outcomeOf ranks what becomes of a request: refused, waiting for a person, or
// admitted.
func outcomeOf(w *cases.World, r *events.IntentRequest) int {
	d := newDesk(w.View())
	if _, err := d.Decide(d.submitted(r)); err != nil || d.State.Sealed == nil {
		return 0
	}
	decision, err := d.Decide(d.proposed(r, proposal{}))
	if err != nil {
		return 0
	}
	if _, ok := cases.Event[*events.RevisionAdmitted](decision.Events); ok {
		return 2
	}
	if _, ok := cases.Event[*events.ApprovalRequested](decision.Events); ok {
		return 1
	}
	return 0
}
