package admission_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/admission"
)

// drawPlan draws a plan out of every capability, right and wrong.
func drawPlan(t *rapid.T) *events.Plan {
	n := rapid.IntRange(1, 4).Draw(t, "nodes")
	var nodes []events.PlanNode
	for i := range n {
		name := rapid.SampledFrom([]string{"look", "look", "scan", "think", "note", "publish", "publish", "mail", "mail", "publish", "look", "ghost"}).Draw(t, "capability")
		effect := map[string]events.Effect{"look": events.EffectRead, "scan": events.EffectRead, "think": events.EffectNone, "ghost": events.EffectRead}[name]
		if effect == "" {
			effect = events.EffectWrite
		}
		if rapid.IntRange(0, 29).Draw(t, "lie") == 0 {
			effect = rapid.SampledFrom([]events.Effect{events.EffectNone, events.EffectRead, events.EffectWrite}).Draw(t, "effect")
		}
		node := cases.Node(fmt.Sprintf("n%d", i), name, effect)
		if i > 0 && rapid.Bool().Draw(t, "after") {
			node.After = append(node.After, fmt.Sprintf("n%d", i-1))
		}
		nodes = append(nodes, node)
	}
	return cases.Plan(nodes...)
}

func drawRequest(t *rapid.T) *events.IntentRequest {
	return cases.Request(drawPlan(t), func(r *events.IntentRequest) {
		for _, b := range budget.Resources() {
			if rapid.IntRange(0, 19).Draw(t, b.Name+" changed") == 0 {
				*b.Field(r.Limits) = rapid.SampledFrom([]int64{0, 1, 2, 100_000, 1 << 40}).Draw(t, b.Name)
			}
		}
		r.Outcome.Alternatives = []events.Alternative{{Statement: "another reading", Material: rapid.IntRange(0, 3).Draw(t, "material") == 0}}
	})
}

// drawWorld draws what is registered, with bounds and allowlists of all sizes.
func drawWorld(t *rapid.T) *cases.World {
	w := cases.NewWorld()
	if rapid.IntRange(0, 7).Draw(t, "narrow") == 0 {
		narrow(w)
	}
	if rapid.IntRange(0, 3).Draw(t, "no standing approval") == 0 {
		w.Policy.StandingApproval = nil
	}
	if rapid.IntRange(0, 7).Draw(t, "allowlist") == 0 {
		w.Policy.Operations = w.Policy.Operations[:rapid.IntRange(0, len(w.Policy.Operations)).Draw(t, "operations")]
	}
	if rapid.IntRange(0, 2).Draw(t, "rules") == 0 {
		w.Policy.Rules = drawRules(t)
	}
	w.Policy.FourEyes = rapid.IntRange(0, 5).Draw(t, "four eyes") == 0
	return w
}

// drawRules draws rules that each speak of one capability, so that what they
// mean can be told without them.
func drawRules(t *rapid.T) (rules []events.PolicyRule) {
	for i := range rapid.IntRange(1, 3).Draw(t, "how many") {
		rules = append(rules, events.PolicyRule{
			ID: fmt.Sprintf("r%d", i), Operation: events.OperationExecute,
			When:     fmt.Sprintf("capability.name == %q", rapid.SampledFrom([]string{"look", "scan", "note", "publish", "mail"}).Draw(t, "of")),
			Decision: rapid.SampledFrom([]events.PolicyVerdict{events.PolicyDeny, events.PolicyConfirm, events.PolicyConfirm, events.PolicyClarify}).Draw(t, "decision"),
		})
	}
	return rules
}

// ruleOf is what the first rule that speaks of a capability decides, allow if
// none does.
func ruleOf(p events.Policy, name string) events.PolicyVerdict {
	for _, r := range p.Rules {
		if r.When == fmt.Sprintf("capability.name == %q", name) {
			return r.Decision
		}
	}
	return events.PolicyAllow
}

// drawInput draws the next thing that happens; mostly what the run waits for,
// or few sequences would get anywhere.
func drawInput(t *rapid.T, d *desk, at events.Time, r *events.IntentRequest) decider.Input {
	kind := rapid.IntRange(0, 6).Draw(t, "input")
	if rapid.IntRange(0, 3).Draw(t, "expected") > 0 {
		switch {
		case d.State.Sealed == nil:
			kind = 0
		case d.State.Pending == nil:
			kind = 1
		default:
			return d.asked(at, answer(d.State.Pending, events.DecisionApprove))
		}
	}
	switch kind {
	case 0:
		in := d.submitted(r)
		in.At = at
		return in
	case 1, 2:
		other := r
		if rapid.IntRange(0, 4).Draw(t, "another plan") == 0 {
			other = drawRequest(t)
		}
		origin := rapid.SampledFrom([]events.Origin{events.OriginExplicit, events.OriginExplicit, events.OriginInferred}).Draw(t, "origin")
		return d.proposed(other, proposal{at: at, origin: origin, formalization: fmt.Sprintf("formalization-%d", rapid.IntRange(1, 2).Draw(t, "formalization"))})
	case 3:
		given := &events.ApprovalDecided{Principal: cases.Person(), Approval: "approval-x", Decision: events.DecisionApprove, Digest: "sha256:x"}
		if d.State.Pending != nil {
			if rapid.IntRange(0, 3).Draw(t, "right approval") > 0 {
				given.Approval = d.State.Pending.Approval
			}
			if rapid.IntRange(0, 3).Draw(t, "right digest") > 0 {
				given.Digest = d.State.Pending.Digest
			}
		}
		given.Principal.ID = rapid.SampledFrom([]string{"ann", "bob", "mallory", ""}).Draw(t, "principal")
		given.Decision = rapid.SampledFrom([]events.Decision{events.DecisionApprove, events.DecisionDeny, "maybe"}).Draw(t, "decision")
		return d.asked(at, given)
	case 4:
		return d.asked(at, &events.CancelRequested{Principal: cases.Person()})
	case 5:
		return cases.Fired(at, d.view, admission.TimerApproval)
	}
	if rapid.IntRange(0, 3).Draw(t, "another policy") == 0 {
		changed := cases.NewWorld().Policy
		changed.Rules, changed.FourEyes = drawRules(t), rapid.Bool().Draw(t, "four eyes")
		d.view = cases.Evolve(d.view, cases.Applied(events.KindPolicy, cases.Policy, changed))
	}
	if rapid.Bool().Draw(t, "revoke") {
		d.view = cases.Revoke(d.view, rapid.SampledFrom([]string{"look", "publish", "note"}).Draw(t, "revoked"))
	}
	return cases.Recovered(at, d.view)
}

// Whatever happens in whatever order, what is admitted stays within what was
// sealed, and no write that needs a person is admitted without one.
func TestNoSequenceWidens(t *testing.T) {
	req.Covers(t, "C3-RUN-001.k", "C3-RUN-004.d", "OD-3.2.5", "OD-4.2.21", "IK-7.3", "C3-RUN-002.y3")
	admitted := 0
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		d, r := newDesk(w.View()), drawRequest(t)
		at := cases.Start
		var lastDecided *events.ApprovalDecided
		for range rapid.IntRange(3, 9).Draw(t, "inputs") {
			in := drawInput(t, d, at, r)
			waiting := d.State.Pending
			decision, err := d.Decide(in)
			if err != nil {
				if refused := (*decider.Error)(nil); !errors.As(err, &refused) || refused.Code == 0 {
					t.Fatalf("an error without a code: %v", err)
				}
				continue
			}
			if in.Commit != nil && len(in.Commit.Events) == 1 {
				lastDecided, _ = in.Commit.Events[0].Data.(*events.ApprovalDecided)
			}
			if e, ok := cases.Event[*events.RevisionAdmitted](decision.Events); ok {
				if waiting != nil {
					admitted++
				}
				checkAdmitted(t, w, d, e, waiting, lastDecided)
			}
			at += events.Time(rapid.Int64Range(0, 20).Draw(t, "seconds")) * cases.Second
		}
		endings := len(cases.Events[*events.RunRejected](d.All)) + len(cases.Events[*events.SpecDenied](d.All)) + len(cases.Events[*events.PlanRejected](d.All)) +
			len(cases.Events[*events.RunCancelled](d.All)) + len(cases.Events[*events.RunExpired](d.All))
		if endings > 1 || len(cases.Events[*events.RevisionAdmitted](d.All)) > 1 || len(cases.Events[*events.RunSealed](d.All)) > 1 {
			t.Fatalf("decided more than once: %v", cases.Types(d.All))
		}
	})
	t.Logf("%d writes were admitted after an approval", admitted)
	if admitted == 0 {
		t.Fatal("no sequence admitted a write that needs a person: the property was not tried")
	}
}

func checkAdmitted(t *rapid.T, w *cases.World, d *desk, e *events.RevisionAdmitted, waiting *events.ApprovalRequested, given *events.ApprovalDecided) {
	sealed := d.State.Sealed
	pinned, _ := d.view.Compiled(sealed.Agent.Digest)
	now := d.view.Policy(cases.Policy).Definition
	for _, n := range e.Nodes {
		c, ok := w.Capabilities[n.Capability.Name]
		if !ok || c.Effect != n.Effect || !slices.Contains(w.Agent.EffectBound, n.Effect) || !slices.Contains(sealed.EffectBound, n.Effect) {
			t.Fatalf("node %+v is outside the bound", n)
		}
		if !slices.Contains(pinned.Policy.Operations, n.Capability.Name) || !slices.Contains(now.Operations, n.Capability.Name) {
			t.Fatalf("node %+v is not in the allowlist", n)
		}
		if _, revoked := d.view.Revoked(n.Capability.Name); revoked {
			t.Fatalf("node %+v is revoked", n)
		}
		verdicts := []events.PolicyVerdict{ruleOf(pinned.Policy, n.Capability.Name), ruleOf(now, n.Capability.Name)}
		if slices.Contains(verdicts, events.PolicyDeny) || slices.Contains(verdicts, events.PolicyClarify) {
			t.Fatalf("node %+v is not what the policies allow: %v", n, verdicts)
		}
		if c.Confirmation != events.ConfirmationRequired && !slices.Contains(verdicts, events.PolicyConfirm) {
			continue
		}
		if (pinned.Policy.FourEyes || now.FourEyes) && given != nil && given.Principal.ID == sealed.Principal.ID {
			t.Fatalf("%+v approved what they asked for", given)
		}
		if waiting == nil || given == nil || n.Confirmation != waiting.Approval || given.Approval != waiting.Approval || given.Digest != waiting.Digest ||
			given.Decision != events.DecisionApprove || !slices.Contains(pinned.Policy.Approvers, given.Principal.ID) {
			t.Fatalf("node %+v was not confirmed by %+v", n, given)
		}
	}
	ceiling := sealed.Ceiling
	if name, ok := budget.Within(ceiling, w.Agent.Limits); !ok {
		t.Fatalf("the ceiling is above the agent's %s", name)
	}
	for _, part := range []events.Limits{e.Budget, e.Checks, e.Consumed} {
		part.ElapsedMillis = min(part.ElapsedMillis, ceiling.ElapsedMillis)
		if name, ok := budget.Within(part, ceiling); !ok {
			t.Fatalf("%s is above the ceiling", name)
		}
	}
	if e.Lease.Expires > e.Deadline || e.Deadline != sealed.Deadline || int64(len(e.Nodes)) > ceiling.Actions {
		t.Fatalf("lease %+v until %v, %d nodes", e.Lease, e.Deadline, len(e.Nodes))
	}
}

// Limits of nothing allow nothing: the first use of each is refused.
func TestZeroLimits(t *testing.T) {
	req.Covers(t, "C3-RUN-004.b")
	for _, resource := range []string{"attempts", "revisions", "actions", "elapsed_millis"} {
		t.Run(resource, func(t *testing.T) {
			r := cases.Request(readPlan())
			for _, b := range budget.Resources() {
				if b.Name == resource {
					*b.Field(r.Limits) = 0
				}
			}
			d := newDesk(cases.NewWorld().View())
			d.Do(t, d.submitted(r))
			if d.State.Sealed != nil {
				d.Do(t, d.proposed(r, proposal{}))
			}
			if _, admitted := cases.Event[*events.RevisionAdmitted](d.All); admitted || !d.State.Over {
				t.Fatalf("decided %v", cases.Types(d.All))
			}
		})
	}
	// A model is not asked at any limit, and so not at none.
	for _, resource := range []string{"input_tokens", "output_tokens", "cost_micros", "context_bytes"} {
		t.Run(resource, func(t *testing.T) {
			_, decision := modeled(t, cases.NewWorld(), readPlan(), proposal{}, func(r *events.IntentRequest) {
				for _, b := range budget.Resources() {
					if b.Name == resource {
						*b.Field(r.Limits) = 0
					}
				}
			})
			rejected := cases.Want[*events.PlanRejected](t, decision.Events)
			if !slices.ContainsFunc(rejected.Diagnostics, func(f events.Diagnostic) bool { return f.Path == "limits."+resource }) {
				t.Fatal(rejected.Diagnostics)
			}
		})
	}
}

// The same input in the same state always gives the same decision.
func TestDecisionsAreDeterministic(t *testing.T) {
	for range 20 {
		a, first := proposedTo(t, cases.NewWorld(), cases.Request(writePlan()))
		b, second := proposedTo(t, cases.NewWorld(), cases.Request(writePlan()))
		if string(cases.JSON(first.Events)) != string(cases.JSON(second.Events)) || string(cases.JSON(a.State)) != string(cases.JSON(b.State)) {
			t.Fatal("two decisions on one input differ")
		}
	}
}

func FuzzSeal(f *testing.F) {
	view := cases.NewWorld().View()
	f.Add(cases.JSON(cases.Request(readPlan())))
	f.Add(cases.JSON(cases.Request(nil)))
	f.Add([]byte(`{"intent":{"agent":"clerk"},"limits":{},"plan":{},"outcome":{}}`))
	f.Add([]byte(`1 {}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := newDesk(view)
		decision := d.Do(t, d.submitted(cases.Request(readPlan()), func(s *events.Submitted) { s.Request = cases.Text(events.ClassRequest, string(data)) }))
		_, sealed := cases.Event[*events.RunSealed](decision.Events)
		rejected, refused := cases.Event[*events.RunRejected](decision.Events)
		if len(decision.Events) != 1 || sealed == refused {
			t.Fatalf("decided %v", cases.Types(decision.Events))
		}
		if refused && (len(rejected.Diagnostics) == 0 || rejected.Diagnostics[0].Code == 0) {
			t.Fatal("rejected without a reason")
		}
	})
}

func FuzzProposal(f *testing.F) {
	view := cases.NewWorld().View()
	r := cases.Request(writePlan())
	f.Add(cases.JSON(r.Outcome), cases.JSON(r.Plan))
	f.Add([]byte(`{}`), []byte(`{"schema_version":1,"candidate":"plan","nodes":[{"id":"a"}]}`))
	f.Fuzz(func(t *testing.T, spec, plan []byte) {
		d := newDesk(view)
		d.Do(t, d.submitted(r))
		in := d.proposed(r, proposal{})
		cases.Data[*events.SpecProposed](t, in.Commit, 0).Spec = cases.Text(events.ClassPlan, string(spec))
		cases.Data[*events.PlanProposed](t, in.Commit, 1).Plan = cases.Text(events.ClassPlan, string(plan))
		decision := d.Do(t, in)
		admitted, ok := cases.Event[*events.RevisionAdmitted](decision.Events)
		if ok && slices.ContainsFunc(admitted.Nodes, func(n events.AdmittedNode) bool { return n.Capability.Name == "publish" || n.Capability.Name == "mail" }) {
			t.Fatal("a write that needs a person was admitted without one")
		}
		if len(decision.Events) == 0 {
			t.Fatal("a proposal was passed over")
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	nodes := []events.PlanNode{cases.Read("n00")}
	for i := 1; i < 16; i++ {
		nodes = append(nodes, cases.Read(fmt.Sprintf("n%02d", i), nodes[i-1].ID))
	}
	r := cases.Request(cases.Plan(nodes...), func(r *events.IntentRequest) { r.Limits.Actions = 16 })
	w := cases.NewWorld()
	w.Agent.Limits.Actions = 16
	d := sealed(b, w, r)
	in := d.proposed(r, proposal{})
	in.Run = cases.Subject(events.OwnerAdmission)
	b.ReportAllocs()
	for b.Loop() {
		decision, err := admission.Decide(d.State, in)
		if err != nil || len(decision.Events) != 2 {
			b.Fatal(err, cases.Types(decision.Events))
		}
	}
}

// A request with a write stops for a person; the decision says for how long.
func ExampleDecide() {
	d := newDesk(cases.NewWorld().View())
	request := cases.Request(cases.Plan(cases.Read("check"), cases.Write("release", "publish", "check")))
	for _, in := range []func() decider.Input{
		func() decider.Input { return d.submitted(request) },
		func() decider.Input { return d.proposed(request, proposal{}) },
	} {
		decision, err := d.Decide(in())
		fmt.Println(events.ShortType(decision.Events[0].EventType()), len(decision.Work), err)
	}
	fmt.Println(d.State.Phase)
	// Output:
	// run-sealed 0 <nil>
	// approval-requested 1 <nil>
	// awaiting-approval
}
