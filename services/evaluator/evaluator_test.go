package evaluator_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/evaluator"
)

const good = `{"failed":0,"text":"1.2 is out"}`

// bench is the evaluator with an execution to judge: a read a, then a write w.
type bench struct {
	*cases.Script[evaluator.State]
	world     *cases.World
	request   *events.IntentRequest
	execution events.Execution
}

func newBench(change ...func(*events.IntentRequest)) *bench {
	r := cases.Request(cases.Plan(cases.Read("a"), cases.Write("w", "publish", "a")), change...)
	b := &bench{Script: cases.NewScript(evaluator.Core()), world: cases.NewWorld(), request: r}
	b.execution = events.Execution{
		Revision: 1, Request: cases.Document(events.ClassRequest, r), Spec: cases.Document(events.ClassPlan, r.Outcome), Plan: cases.Document(events.ClassPlan, r.Plan),
		Consumed: events.Limits{Attempts: 1, Revisions: 1, Actions: 2, ArtifactBytes: 60, CostUnit: "usd"},
		Ceiling:  events.Limits{CheckSteps: 10, CheckMemoryBytes: 1 << 10, CostUnit: "usd"}, SealedAt: cases.Start, Deadline: cases.Start + 600*cases.Second,
		Heads: events.Heads{events.OwnerRequest: {Number: 1}, events.OwnerAdmission: {Number: 2}},
	}
	for _, n := range r.Plan.Nodes {
		b.execution.Actions = append(b.execution.Actions, events.ActionSummary{
			Node: n.ID, Action: "action-" + n.ID, Capability: n.Capability, Effect: n.Effect, Status: events.ActionStatusCompleted, Attempts: 1, Receipt: "exit 0",
		})
		b.execution.Results = append(b.execution.Results, events.ResultRecord{
			ID: "result-" + n.ID, Run: cases.Run, Node: n.ID, Action: "action-" + n.ID, Producer: n.Capability, Type: "case.report",
			Status: events.ResultComplete, Valid: true, Value: cases.Text(events.ClassResult, good), Evidence: []string{"evidence-" + n.ID},
		})
		b.execution.Evidence = append(b.execution.Evidence, events.EvidenceRecord{
			ID: "evidence-" + n.ID, Run: cases.Run, Scope: cases.Run, Node: n.ID, Action: "action-" + n.ID, Strength: events.StrengthObserved, Observed: cases.Start,
		})
	}
	return b
}

func require(requirements ...events.Requirement) func(*events.IntentRequest) {
	return func(r *events.IntentRequest) { r.Outcome.Requirements = requirements }
}

// returned sets what the read returned.
func (b *bench) returned(content string) {
	b.execution.Results[0].Value = cases.Text(events.ClassResult, content)
}

// ended sets how a node's action ended; without completion there is no result.
func (b *bench) ended(node string, status events.ActionStatus) {
	for i := range b.execution.Actions {
		if a := &b.execution.Actions[i]; a.Node == node {
			a.Status, a.Receipt = status, ""
			if status == events.ActionStatusUncertain || status == events.ActionStatusFailed {
				a.Diagnostic = &events.Diagnostic{Code: events.CodeActionUncertain, Message: "nobody knows"}
			}
		}
	}
	b.execution.Results = slices.DeleteFunc(b.execution.Results, func(r events.ResultRecord) bool { return r.Node == node })
	b.execution.Evidence = slices.DeleteFunc(b.execution.Evidence, func(e events.EvidenceRecord) bool { return e.Node == node })
}

// end delivers the end of the execution: halted if there is a cause.
func (b *bench) end(cause events.HaltCause) decider.Input {
	view := b.world.View()
	agent, _ := view.Agent(cases.Agent)
	b.execution.Agent = events.AgentBinding{Name: cases.Agent, Digest: agent.Digest}
	var p events.Payload = &events.ExecutionCompleted{Execution: b.execution}
	if cause != "" {
		p = &events.ExecutionHalted{Execution: b.execution, Cause: cause, Diagnostic: events.Diagnostic{Code: events.CodeActionFailed, Message: "it stopped"}}
	}
	return cases.Delivered(cases.Start+9*cases.Second, view, cases.Commit(events.OwnerExecutor, 5, p))
}

// conclude judges and returns the one conclusion.
func (b *bench) conclude(tb testing.TB, cause events.HaltCause) *events.RunConcluded {
	tb.Helper()
	d := b.Do(tb, b.end(cause))
	c := cases.Want[*events.RunConcluded](tb, d.Events)
	if len(cases.Events[*events.RequirementEvaluated](d.Events)) != len(b.request.Outcome.Requirements) || len(d.Work) > 0 {
		tb.Fatalf("decided %v", cases.Types(d.Events))
	}
	consistent(tb, c)
	return c
}

// consistent checks what holds for every conclusion.
func consistent(tb interface {
	Helper()
	Errorf(string, ...any)
}, c *events.RunConcluded,
) {
	tb.Helper()
	if (c.Tag == events.TagCompleted) != !c.Output.IsZero() || (c.OutputType != "") != !c.Output.IsZero() {
		tb.Errorf("%s with output %+v of type %q", c.Tag, c.Output, c.OutputType)
	}
	if (c.Tag == events.TagCompleted) != (c.Receipt.Diagnostic == nil) {
		tb.Errorf("%s with diagnostic %+v", c.Tag, c.Receipt.Diagnostic)
	}
	if c.Tag != events.TagCompleted && len(c.Results) > 0 || c.Tag == events.TagCompleted && len(c.Receipt.Partial) > 0 {
		tb.Errorf("%s with %d results and %d partial ones", c.Tag, len(c.Results), len(c.Receipt.Partial))
	}
	if len(c.Receipt.UncertainEffects) > 0 && c.Tag != events.TagIndeterminate {
		tb.Errorf("%s with uncertain effects", c.Tag)
	}
	if !events.CanConclude(c.Receipt.Phase, c.Tag) {
		tb.Errorf("%s out of phase %q", c.Tag, c.Receipt.Phase)
	}
}

func TestCompleted(t *testing.T) {
	req.Covers(t, "C3-RUN-001.b", "C3-RUN-001.d", "C3-RUN-005.c", "C3-RUN-005.e", "OD-3.4.5", "OD-5.3.17")
	b := newBench(require(cases.NoneFailed("a"), cases.NoneFailed("w")))
	c := b.conclude(t, "")
	if c.Tag != events.TagCompleted || c.Completion != events.CompletionComplete || c.OutputType != "case.report" {
		t.Fatalf("%+v", c)
	}
	if output, _ := c.Output.Content(); string(output) != good {
		t.Errorf("output %s", output)
	}
	r := c.Receipt
	want := b.execution.Consumed
	want.CheckSteps, want.CheckMemoryBytes, want.ElapsedMillis = 2, int64(2*len(good)), 9000
	if diff := cmp.Diff(want, r.Consumed); diff != "" {
		t.Error(diff)
	}
	if r.Revision != 1 || len(r.CompletedEffects) != 1 || r.CompletedEffects[0].Node != "w" || r.CompletedEffects[0].Receipt != "exit 0" || len(r.Heads) != 3 {
		t.Errorf("receipt %+v", r)
	}
	if len(c.Results) != 2 || len(c.Evidence) != 2 || len(c.Actions) != 2 {
		t.Errorf("%d results, %d evidence, %d actions", len(c.Results), len(c.Evidence), len(c.Actions))
	}
	for _, e := range c.Evaluations {
		if e.Verdict != events.VerdictMet || e.Evaluator == "" || e.Method == "" || len(e.Results) != 1 || len(e.Evidence) != 1 || e.At != cases.Start+9*cases.Second {
			t.Errorf("evaluation %+v", e)
		}
	}
	t.Run("only once", func(t *testing.T) {
		b.Refuse(t, events.CodeRunConcluded, b.end(""))
		b.Refuse(t, events.CodeRunConcluded, b.end(events.HaltFailed))
	})
}

// The one table from how an execution went to the outcome of the run (X2).
func TestTags(t *testing.T) {
	unmet, soft := cases.NoneFailed("a"), cases.NoneFailed("a")
	soft.Importance, soft.ID = events.Prefer, "preference"
	missing := cases.Must("missing", "a", events.Predicate{Field: &events.FieldPredicate{Result: "a", Path: "/ghost", Op: "eq", Value: events.JSON("0")}})
	fails := func(b *bench) { b.returned(`{"failed":1}`) }
	uncertain := func(b *bench) { b.ended("w", events.ActionStatusUncertain) }
	lost := func(b *bench) { b.ended("w", events.ActionStatusNeverDispatched) }
	for name, test := range map[string]struct {
		requirements []events.Requirement
		change       func(*bench)
		cause        events.HaltCause
		tag          events.Tag
		code         events.Code
		completion   events.Completion
		covers       []string
	}{
		"all met":                     {[]events.Requirement{unmet}, nil, "", events.TagCompleted, 0, events.CompletionComplete, []string{"C3-RUN-005.d"}},
		"unmet":                       {[]events.Requirement{unmet}, fails, "", events.TagFailed, events.CodeRequirementUnmet, events.CompletionPartial, []string{"C3-RUN-005.d", "C3-RUN-005.f", "OD-5.3.12"}},
		"unknown":                     {[]events.Requirement{missing}, nil, "", events.TagInconclusive, events.CodeRequirementUnknown, events.CompletionPartial, []string{"OD-5.3.13", "OD-11.13", "C3-RUN-005.h3"}},
		"unmet, unknown":              {[]events.Requirement{missing, unmet}, fails, "", events.TagFailed, events.CodeRequirementUnmet, events.CompletionPartial, nil},
		"soft":                        {[]events.Requirement{soft}, fails, "", events.TagCompleted, 0, events.CompletionComplete, []string{"OD-5.3.14"}},
		"no steps":                    {[]events.Requirement{unmet}, func(b *bench) { b.execution.Ceiling.CheckSteps = 0 }, "", events.TagInconclusive, events.CodeBudgetExhausted, events.CompletionPartial, []string{"C3-RUN-005.h3", "C3-RUN-002.k", "C3-RUN-004.b"}},
		"one step of two":             {[]events.Requirement{unmet, cases.NoneFailed("w")}, func(b *bench) { b.execution.Ceiling.CheckSteps = 1 }, "", events.TagInconclusive, events.CodeBudgetExhausted, events.CompletionPartial, []string{"C3-RUN-005.h3"}},
		"no memory":                   {[]events.Requirement{unmet}, func(b *bench) { b.execution.Ceiling.CheckMemoryBytes = 0 }, "", events.TagInconclusive, events.CodeBudgetExhausted, events.CompletionPartial, []string{"C3-RUN-005.h3", "C3-RUN-004.b"}},
		"no memory for the output":    {nil, func(b *bench) { b.execution.Ceiling.CheckMemoryBytes = int64(len(good)) }, "", events.TagInconclusive, events.CodeBudgetExhausted, events.CompletionComplete, nil},
		"failed":                      {nil, lost, events.HaltFailed, events.TagFailed, events.CodeActionFailed, events.CompletionPartial, []string{"C3-RUN-005.h4"}},
		"revoked":                     {nil, lost, events.HaltRevoked, events.TagFailed, events.CodeActionFailed, events.CompletionPartial, nil},
		"changed":                     {nil, lost, events.HaltChanged, events.TagFailed, events.CodeActionFailed, events.CompletionPartial, nil},
		"precheck":                    {[]events.Requirement{cases.NoneFailed("a", "w")}, func(b *bench) { fails(b); lost(b) }, events.HaltPrecheck, events.TagFailed, events.CodeActionFailed, events.CompletionPartial, nil},
		"budget":                      {nil, lost, events.HaltBudget, events.TagInconclusive, events.CodeActionFailed, events.CompletionPartial, []string{"C3-RUN-005.h3", "OD-10.2.13"}},
		"cancelled":                   {nil, lost, events.HaltCancelled, events.TagCancelled, events.CodeActionFailed, events.CompletionPartial, []string{"C3-RUN-005.l"}},
		"uncertain":                   {nil, uncertain, events.HaltUncertain, events.TagIndeterminate, events.CodeActionUncertain, events.CompletionPartial, []string{"C3-RUN-005.p", "C3-RUN-002.h4"}},
		"uncertain, cancelled":        {nil, uncertain, events.HaltCancelled, events.TagIndeterminate, events.CodeActionFailed, events.CompletionPartial, []string{"C3-RUN-005.k"}},
		"uncertain, failed":           {nil, uncertain, events.HaltFailed, events.TagIndeterminate, events.CodeActionUncertain, events.CompletionPartial, []string{"C3-RUN-005.p"}},
		"uncertain, budget":           {nil, uncertain, events.HaltBudget, events.TagIndeterminate, events.CodeActionUncertain, events.CompletionPartial, []string{"C3-RUN-005.p"}},
		"uncertain, claimed complete": {nil, uncertain, "", events.TagIndeterminate, events.CodeActionUncertain, events.CompletionPartial, []string{"C3-RUN-005.p"}},
		"specification not at hand":   {nil, func(b *bench) { b.execution.Spec = cases.Closed(b.execution.Spec) }, "", events.TagInconclusive, events.CodeContentUnavailable, events.CompletionFailed, nil},
		"result not valid":            {nil, func(b *bench) { b.execution.Results[0].Valid = false }, "", events.TagFailed, events.CodeRequirementUnmet, events.CompletionPartial, nil},
		"output not at hand":          {nil, func(b *bench) { b.execution.Results[1].Value = cases.Closed(b.execution.Results[1].Value) }, "", events.TagFailed, events.CodeOutputMissing, events.CompletionComplete, []string{"C3-RUN-005.c"}},
		"output of another type":      {nil, func(b *bench) { b.world.Agent.Output = events.JSON(`{"type":"object","required":["digest"]}`) }, "", events.TagFailed, events.CodeOutputMissing, events.CompletionComplete, []string{"C3-RUN-005.c", "C3-RUN-001.d"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			b := newBench(require(test.requirements...))
			if test.change != nil {
				test.change(b)
			}
			if name == "specification not at hand" {
				b.request.Outcome.Requirements = nil
			}
			c := b.conclude(t, test.cause)
			if c.Tag != test.tag || c.Completion != test.completion {
				t.Fatalf("%s and %s, want %s and %s: %+v", c.Tag, c.Completion, test.tag, test.completion, c.Receipt.Diagnostic)
			}
			if test.code != 0 && c.Receipt.Diagnostic.Code != test.code {
				t.Fatalf("diagnostic %+v, want %s", c.Receipt.Diagnostic, test.code)
			}
			if slices.ContainsFunc(b.execution.Actions, func(a events.ActionSummary) bool { return a.Node == "w" && a.Status == events.ActionStatusCompleted }) {
				if len(c.Receipt.CompletedEffects) != 1 {
					t.Fatalf("the effect that took place is lost: %+v", c.Receipt)
				}
			}
			if c.Tag == events.TagIndeterminate && (len(c.Receipt.UncertainEffects) != 1 || c.Receipt.UncertainEffects[0].Node != "w") {
				t.Fatalf("the uncertain effect is hidden: %+v", c.Receipt)
			}
		})
	}
}

// Without success only what the specification allows is shown, and never as
// the output.
func TestPartialObservations(t *testing.T) {
	req.Covers(t, "C3-RUN-005.m", "C3-RUN-005.n", "C3-RUN-005.o", "C3-RUN-001.c")
	for name, test := range map[string]struct {
		partial []string
		want    []string
	}{
		"none allowed": {nil, nil}, "the read": {[]string{"d-a"}, []string{"a"}}, "both": {[]string{"d-a", "d-w"}, []string{"a", "w"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(require(cases.NoneFailed("a")), func(r *events.IntentRequest) { r.Outcome.Partial = test.partial })
			b.returned(`{"failed":1}`)
			c := b.conclude(t, "")
			var nodes, seen []string
			for _, r := range c.Receipt.Partial {
				nodes = append(nodes, r.Node)
			}
			for _, e := range c.Evidence {
				seen = append(seen, e.Node)
			}
			if !slices.Equal(nodes, test.want) || !slices.Equal(seen, test.want) || len(c.Results) > 0 || !c.Output.IsZero() || c.Tag != events.TagFailed {
				t.Fatalf("%s with %v and %v", c.Tag, nodes, seen)
			}
			r := c.Receipt
			if r.Phase != events.PhaseExecuting || r.Diagnostic == nil || r.Revision != 1 || r.Consumed.Actions != 2 || len(r.CompletedEffects) != 1 {
				t.Fatalf("receipt %+v", r)
			}
		})
	}
}

// Runs that never executed anything are concluded too, with the tag that was
// decided, and nothing to show.
func TestConclusionsWithoutExecution(t *testing.T) {
	why := events.Diagnostic{Code: events.CodePlanCycle, Message: "a cycle"}
	request, spec := cases.Document(events.ClassRequest, "r"), cases.Document(events.ClassPlan, cases.Spec(cases.Plan(cases.Read("a"))))
	used := events.Limits{Attempts: 1, CostUnit: "usd"}
	for name, test := range map[string]struct {
		payload    events.Payload
		tag        events.Tag
		phase      events.Phase
		completion events.Completion
		covers     []string
	}{
		"rejected":     {&events.RunRejected{Tag: events.TagRejected, Phase: events.PhaseNew, Diagnostics: []events.Diagnostic{why}, Request: request}, events.TagRejected, events.PhaseNew, events.CompletionFailed, []string{"C3-RUN-005.h1"}},
		"unsupported":  {&events.RunRejected{Tag: events.TagUnsupported, Phase: events.PhaseNew, Diagnostics: []events.Diagnostic{why}}, events.TagUnsupported, events.PhaseNew, events.CompletionBlocked, []string{"C3-RUN-005.h5"}},
		"no time":      {&events.RunRejected{Tag: events.TagInconclusive, Phase: events.PhaseNew, Diagnostics: []events.Diagnostic{why}}, events.TagInconclusive, events.PhaseNew, events.CompletionBlocked, nil},
		"denied":       {&events.SpecDenied{Tag: events.TagRejected, Diagnostic: why, Spec: spec, Consumed: used}, events.TagRejected, events.PhaseAwaitingApproval, events.CompletionFailed, nil},
		"undecided":    {&events.SpecDenied{Tag: events.TagUnresolved, Diagnostic: why, Spec: spec}, events.TagUnresolved, events.PhaseAwaitingApproval, events.CompletionBlocked, []string{"C3-RUN-005.h2"}},
		"plan refused": {&events.PlanRejected{Final: true, Tag: events.TagRejected, Diagnostics: []events.Diagnostic{why}, Spec: spec, Consumed: used}, events.TagRejected, events.PhaseAwaitingApproval, events.CompletionFailed, nil},
		"expired":      {&events.RunExpired{Tag: events.TagInconclusive, Phase: events.PhaseSealed, Diagnostic: why}, events.TagInconclusive, events.PhaseSealed, events.CompletionBlocked, nil},
		"cancelled":    {&events.RunCancelled{Phase: events.PhaseSealed, Spec: spec}, events.TagCancelled, events.PhaseSealed, events.CompletionCancelled, []string{"C3-RUN-005.l"}},
		"not read":     {&events.InterpretationFailed{Tag: events.TagUnresolved, Phase: events.PhaseFormalizing, Diagnostics: []events.Diagnostic{why}}, events.TagUnresolved, events.PhaseFormalizing, events.CompletionBlocked, nil},
		"no reason":    {&events.RunRejected{Tag: events.TagRejected, Phase: events.PhaseNew}, events.TagRejected, events.PhaseNew, events.CompletionFailed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			s := cases.NewScript(evaluator.Core())
			in := cases.Delivered(cases.Start, cases.NewWorld().View(), cases.Commit(events.OwnerAdmission, 2, test.payload))
			d := s.Do(t, in)
			c := cases.Want[*events.RunConcluded](t, d.Events)
			consistent(t, c)
			if len(d.Events) != 1 || c.Tag != test.tag || c.Receipt.Phase != test.phase || c.Completion != test.completion || c.Receipt.Diagnostic.Code == 0 {
				t.Fatalf("%+v", c)
			}
			if c.Receipt.Heads[events.OwnerAdmission] != in.Commit.Head() || len(c.Receipt.CompletedEffects) > 0 {
				t.Fatalf("%+v", c.Receipt)
			}
			s.Refuse(t, events.CodeRunConcluded, in)
		})
	}
	for name, p := range map[string]events.Payload{
		"a plan that may be tried again": &events.PlanRejected{}, "a cancellation that the executor ends": &events.RunCancelled{Revision: 1},
		"an admission": &events.RevisionAdmitted{}, "a halt in progress": &events.ExecutionHalting{}, "a receipt": &events.ActionCompleted{},
	} {
		t.Run(name, func(t *testing.T) {
			s := cases.NewScript(evaluator.Core())
			if d := s.Do(t, cases.Delivered(cases.Start, cases.NewWorld().View(), cases.Commit(events.OwnerExecutor, 2, p))); len(d.Events) > 0 {
				t.Fatalf("decided %v", cases.Types(d.Events))
			}
		})
	}
	for _, kind := range []decider.Kind{decider.Fired, decider.Observed, decider.Recovered} {
		if d := cases.NewScript(evaluator.Core()).Do(t, decider.Input{Kind: kind}); len(d.Events) > 0 {
			t.Errorf("%s: decided %v", kind, cases.Types(d.Events))
		}
	}
}

// Whatever an execution looks like, the conclusion does not claim more than
// there is.
func TestNoConclusionClaimsTooMuch(t *testing.T) {
	req.Covers(t, "C3-RUN-005.p", "C3-RUN-005.d", "C3-RUN-001.c", "C3-RUN-001.d")
	rapid.Check(t, func(t *rapid.T) {
		requirement := cases.NoneFailed("a")
		requirement.Importance = rapid.SampledFrom([]events.Importance{events.Must, events.Prefer}).Draw(t, "importance")
		b := newBench(require(requirement), func(r *events.IntentRequest) { r.Outcome.Partial = []string{"d-a"} })
		b.returned(rapid.SampledFrom([]string{good, good, `{"failed":1}`, `{}`}).Draw(t, "value"))
		complete := true
		for _, node := range []string{"a", "w"} {
			status := rapid.SampledFrom([]events.ActionStatus{
				events.ActionStatusCompleted, events.ActionStatusCompleted, events.ActionStatusFailed, events.ActionStatusUncertain, events.ActionStatusNeverDispatched,
			}).Draw(t, node)
			if status != events.ActionStatusCompleted {
				b.ended(node, status)
				complete = false
			}
		}
		b.execution.Ceiling.CheckSteps = rapid.Int64Range(0, 2).Draw(t, "steps")
		b.execution.Ceiling.CheckMemoryBytes = rapid.SampledFrom([]int64{0, 40, 100}).Draw(t, "memory")
		cause := rapid.SampledFrom([]events.HaltCause{
			"", "", events.HaltFailed, events.HaltUncertain, events.HaltCancelled, events.HaltBudget, events.HaltRevoked, events.HaltChanged, events.HaltPrecheck,
		}).Draw(t, "cause")
		d, err := b.Decide(b.end(cause))
		c, one := cases.Event[*events.RunConcluded](d.Events)
		if err != nil || !one {
			t.Fatalf("%v, decided %v", err, cases.Types(d.Events))
		}
		consistent(t, c)
		uncertain := slices.ContainsFunc(b.execution.Actions, func(a events.ActionSummary) bool { return a.Status == events.ActionStatusUncertain })
		if uncertain != (c.Tag == events.TagIndeterminate) {
			t.Fatalf("uncertain %t and %s", uncertain, c.Tag)
		}
		musts := true
		for _, e := range c.Evaluations {
			musts = musts && (e.Importance != events.Must || e.Verdict == events.VerdictMet)
		}
		if c.Tag == events.TagCompleted && (!complete || !musts || cause != "" || c.Completion != events.CompletionComplete) {
			t.Fatalf("completed: all actions %t, every must %t, cause %q, %s", complete, musts, cause, c.Completion)
		}
		if c.Receipt.Consumed.CheckSteps > b.execution.Ceiling.CheckSteps || c.Receipt.Consumed.CheckMemoryBytes > b.execution.Ceiling.CheckMemoryBytes {
			t.Fatalf("consumed %+v of %+v", c.Receipt.Consumed, b.execution.Ceiling)
		}
	})
}

func ExampleDecide() {
	b := newBench(require(cases.NoneFailed("a")))
	b.returned(`{"failed":2}`)
	d, err := b.Decide(b.end(""))
	e, _ := cases.Event[*events.RequirementEvaluated](d.Events)
	c, _ := cases.Event[*events.RunConcluded](d.Events)
	fmt.Println(e.Evaluation.Requirement, e.Evaluation.Verdict)
	fmt.Println(c.Tag, c.Completion, err)
	// Output:
	// none-failed-a unmet
	// failed partial <nil>
}
