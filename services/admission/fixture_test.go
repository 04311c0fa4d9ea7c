package admission_test

import (
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/admission"
)

// desk is admission at work on one run.
type desk struct {
	*cases.Script[admission.State]
	view registry.View
}

func newDesk(view registry.View) *desk {
	return &desk{Script: cases.NewScript(admission.Core()), view: view}
}

// submitted is the input of a submission, changed.
func (d *desk) submitted(r *events.IntentRequest, change ...func(*events.Submitted)) decider.Input {
	s := cases.Submission(r)
	for _, f := range change {
		f(s)
	}
	return cases.Delivered(cases.Start, d.view, cases.Commit(events.OwnerRequest, 1, s))
}

// proposal is the input of a proposal.
type proposal struct {
	at            events.Time
	formalization string
	origin        events.Origin
	spec          any // default: of the request
	plan          any
	request       events.Digest // default: of the sealed request
	drop          bool          // leave the plan out
}

func (d *desk) proposed(r *events.IntentRequest, p proposal) decider.Input {
	if p.at == 0 {
		p.at = cases.Start + cases.Second
	}
	if p.formalization == "" {
		p.formalization = "formalization-1"
	}
	if p.origin == "" {
		p.origin = events.OriginExplicit
	}
	if p.spec == nil {
		p.spec = r.Outcome
	}
	if p.plan == nil {
		p.plan = r.Plan
	}
	if p.request == "" && d.State.Sealed != nil {
		p.request = d.State.Sealed.Request.Commitment
	}
	payloads := []events.Payload{&events.SpecProposed{
		Formalization: p.formalization, Spec: cases.Document(events.ClassPlan, p.spec), Request: p.request, Origin: p.origin,
	}}
	if !p.drop {
		payloads = append(payloads, &events.PlanProposed{
			Formalization: p.formalization, Plan: cases.Document(events.ClassPlan, p.plan), Attempt: 1, Origin: p.origin,
		})
	}
	return cases.Delivered(p.at, d.view, cases.Commit(events.OwnerInterpreter, 1, payloads...))
}

// asked is the input of something that a person asks later.
func (d *desk) asked(at events.Time, p events.Payload) decider.Input {
	return cases.Delivered(at, d.view, cases.Commit(events.OwnerRequest, 2, p))
}

// sealed is a desk with a request sealed.
func sealed(tb testing.TB, w *cases.World, r *events.IntentRequest) *desk {
	tb.Helper()
	d := newDesk(w.View())
	cases.Want[*events.RunSealed](tb, d.Do(tb, d.submitted(r)).Events)
	return d
}

// proposedTo is a desk with a request sealed and its own proposal decided.
func proposedTo(tb testing.TB, w *cases.World, r *events.IntentRequest) (*desk, decider.Decision) {
	tb.Helper()
	d := sealed(tb, w, r)
	return d, d.Do(tb, d.proposed(r, proposal{}))
}

// pending is a desk with a request whose write waits for a person.
func pending(tb testing.TB) (*desk, *events.ApprovalRequested) {
	tb.Helper()
	d, decision := proposedTo(tb, cases.NewWorld(), cases.Request(writePlan()))
	return d, cases.Want[*events.ApprovalRequested](tb, decision.Events)
}

func readPlan() *events.Plan { return cases.Plan(cases.Read("a"), cases.Read("b", "a")) }

func writePlan() *events.Plan {
	return cases.Plan(cases.Read("a"), cases.Write("w", "publish", "a"))
}

// answer is the decision of a person on an approval.
func answer(a *events.ApprovalRequested, decision events.Decision) *events.ApprovalDecided {
	return &events.ApprovalDecided{Principal: cases.Person(), Approval: a.Approval, Decision: decision, Digest: a.Digest}
}

// rejection is the one final rejection in a list.
func rejection(tb testing.TB, list []events.Payload, tag events.Tag, code events.Code, path string) *events.PlanRejected {
	tb.Helper()
	rejected := cases.Want[*events.PlanRejected](tb, list)
	if len(list) != 1 || !rejected.Final || rejected.Tag != tag || len(rejected.Diagnostics) == 0 {
		tb.Fatalf("decided %+v with %v", cases.Types(list), rejected)
	}
	if first := rejected.Diagnostics[0]; first.Code != code || first.Path != path {
		tb.Fatalf("rejected for %+v, want %s at %s", first, code, path)
	}
	return rejected
}

// words is the text of a request to a model.
const words = `Please note "milk" and 25, on 2024-05-13.`

// modeled is a desk with a request that a model may interpret, and a proposal
// of a plan decided.
func modeled(tb testing.TB, w *cases.World, plan *events.Plan, p proposal, change func(*events.IntentRequest)) (*desk, decider.Decision) {
	tb.Helper()
	w.Routes = &events.Routes{Version: 1, Ladder: []string{"small"}}
	w.Agent.Routes = "ladder"
	r := cases.Request(nil, func(r *events.IntentRequest) {
		r.Generator = events.Generator{Mode: events.GeneratorModel, Routes: "ladder"}
		r.Intent.Text = words
	})
	if change != nil {
		change(r)
	}
	d := sealed(tb, w, r)
	if p.origin == "" {
		p.origin = events.OriginInferred
	}
	if p.spec == nil {
		p.spec = cases.Spec(plan)
	}
	p.plan = plan
	return d, d.Do(tb, d.proposed(r, p))
}

// unmetered allows no call of a model at all.
func unmetered(r *events.IntentRequest) {
	r.Limits.InputTokens, r.Limits.OutputTokens, r.Limits.CostMicros = 0, 0, 0
}
