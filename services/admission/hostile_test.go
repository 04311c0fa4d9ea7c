package admission_test

import (
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/testkit/cases"
)

// A write that names nothing has nobody's word: what it touches then is
// everything, or what its capability takes by default.
func TestWritesThatNameNothing(t *testing.T) {
	for name, arguments := range map[string]map[string]events.Argument{
		"no arguments":  {},
		"an empty list": {"from": cases.Literal(`{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			n := cases.Write("w", "note")
			n.Arguments = arguments
			_, decision := modeled(t, cases.NewWorld(), cases.Plan(n), proposal{}, unmetered)
			if a, asks := cases.Event[*events.ApprovalRequested](decision.Events); !asks || len(a.Items) != 1 {
				t.Errorf("decided %v", cases.Types(decision.Events))
			}
			own := cases.NewWorld()
			_, decision = proposedTo(t, own, cases.Request(cases.Plan(n)))
			cases.Want[*events.RevisionAdmitted](t, decision.Events) // the principal wrote the plan
			said := cases.NewWorld()
			said.Change("note", func(c *events.Capability) { c.AuthorityArguments = []string{} })
			_, decision = modeled(t, said, cases.Plan(n), proposal{}, unmetered)
			cases.Want[*events.RevisionAdmitted](t, decision.Events) // whoever applied it says that it has none
		})
	}
}

// Nothing shows that a plan is inherited but the word of whoever proposes it.
func TestInheritedIsOnlyAClaim(t *testing.T) {
	w := cases.NewWorld()
	w.Policy.Rules = []events.PolicyRule{
		{ID: "inferred", Operation: events.OperationExecute, When: `plan.origin == "inferred"`, Decision: events.PolicyConfirm},
	}
	_, decision := modeled(t, w, noteOf(said(`"milk"`, 13, 17)), proposal{origin: events.OriginInherited}, unmetered)
	if _, asks := cases.Event[*events.ApprovalRequested](decision.Events); !asks {
		t.Errorf("decided %v", cases.Types(decision.Events))
	}
}

// What a newer version of the policy does not approve without asking any more
// is asked about at once.
func TestStandingApprovalIsWithdrawnAtOnce(t *testing.T) {
	w := cases.NewWorld()
	r := cases.Request(readPlan())
	d := sealed(t, w, r)
	w.Policy.Version, w.Policy.StandingApproval = 2, []events.Effect{events.EffectNone}
	d.view = cases.Evolve(d.view, cases.Applied(events.KindPolicy, cases.Policy, w.Policy))
	decision := d.Do(t, d.proposed(r, proposal{}))
	if _, asks := cases.Event[*events.ApprovalRequested](decision.Events); !asks {
		t.Errorf("decided %v", cases.Types(decision.Events))
	}
}

// An approval before the run does not have to be one of what waits at its
// dispatch.
func TestApprovalBeforeAndAtDispatch(t *testing.T) {
	w := cases.NewWorld()
	w.Policy.Rules = []events.PolicyRule{
		{ID: "writes", Operation: events.OperationExecute, When: `capability.effect == "write"`, Decision: events.PolicyConfirm},
	}
	later := cases.Write("x", "publish", "a", "w")
	later.Arguments = map[string]events.Argument{"word": cases.Output("a", "/text")}
	d, decision := proposedTo(t, w, cases.Request(cases.Plan(cases.Read("a"), cases.Write("w", "publish", "a"), later)))
	a := cases.Want[*events.ApprovalRequested](t, decision.Events)
	admitted := cases.Want[*events.RevisionAdmitted](t, d.Do(t, d.asked(cases.Start+10*cases.Second, answer(a, events.DecisionApprove))).Events)
	for _, n := range admitted.Nodes {
		if n.ID == "x" && (n.Confirm != events.ConfirmAtDispatch || n.Confirmation != "") || n.ID == "w" && n.Confirmation != a.Approval {
			t.Errorf("%+v", n)
		}
	}
}
