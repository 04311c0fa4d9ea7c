package presenter_test

import (
	"fmt"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/evidence/gotest"
	"example.org/mandate/services/presenter"
)

const (
	run      = "01JZZZZZZZZZZZZZZZZZZZZZZZ"
	commitID = "commit-conclusion"
)

var at = events.Time(1_770_000_000_000_000_000)

// body returns sealed and opened content, as a delivered commit has it.
func body(tb testing.TB, content string) events.Body {
	tb.Helper()
	b, _ := events.NewBody(events.ClassResult, events.MediaJSON, []byte(content)).Committed([]byte("key"))
	return b
}

// closed returns b as a reader without the key has it.
func closed(b events.Body) events.Body {
	return events.Body{Commitment: b.Commitment, Size: b.Size, MediaType: b.MediaType, Class: b.Class}
}

func document(tb testing.TB, v any) events.Body {
	tb.Helper()
	data, err := canon.JSON(v)
	if err != nil {
		tb.Fatal(err)
	}
	return body(tb, string(data))
}

// report is a report as the adapter makes it.
func report(tb testing.TB, failed int) string {
	tb.Helper()
	r := gotest.Report{
		Tool: gotest.Tool, Packages: []gotest.Package{{Name: "example.org/m", Status: gotest.StatusPassed}}, Passed: 2, Failed: failed, Complete: true,
		Tests: []gotest.Test{
			{Package: "example.org/m", Name: "TestA", Status: gotest.StatusPassed, ElapsedMillis: 3},
			{Package: "example.org/m", Name: "TestB", Status: gotest.StatusPassed},
		},
	}
	for i := range failed {
		r.Tests = append(r.Tests, gotest.Test{Package: "example.org/m", Name: fmt.Sprintf("TestF%d", i), Status: gotest.StatusFailed, Output: "want 1, got 2"})
	}
	data, err := canon.JSON(r)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// fixture builds a conclusion.
type fixture struct {
	t testing.TB
	c *events.RunConcluded
}

func newFixture(tb testing.TB, tag events.Tag) *fixture {
	tb.Helper()
	return &fixture{t: tb, c: &events.RunConcluded{
		Tag: tag, Completion: events.CompletionComplete,
		Request: document(tb, events.IntentRequest{
			Intent: events.IntentRef{Agent: "release", Text: "Are the tests passed?"}, Authority: events.Principal{ID: "ada", Kind: events.PrincipalPerson},
			Input: events.Value{Type: "x", Value: events.JSON("1")}, Context: []events.ContextItem{}, Limits: &events.Limits{},
		}),
		Spec: document(tb, events.OutcomeSpec{
			SchemaVersion: 1, ID: "s", Revision: 1, Objective: "Is the module ready?",
			Deliverables: []events.Deliverable{{ID: "tests", Description: "The tests", Result: "test"}, {ID: "log", Description: "The log", Result: "read"}},
			Requirements: []events.Requirement{
				{ID: "pass", Deliverable: "tests", Description: "All tests pass", Importance: events.Must},
				{ID: "named", Deliverable: "log", Description: "The log names it", Importance: events.Prefer},
			},
		}),
		Receipt: events.Receipt{Phase: events.PhaseExecuting, Revision: 1},
	}}
}

// result adds a result with evidence acquired by the given methods.
func (f *fixture) result(node, resultType, value string, methods ...string) *events.ResultRecord {
	f.t.Helper()
	r := events.ResultRecord{
		ID: "result-" + node, Run: run, Node: node, Action: "action-" + node, Producer: events.CapabilityRef{Name: "cap." + node, Version: 1},
		Type: resultType, SchemaVersion: 1, Status: events.ResultComplete, Valid: true, Value: body(f.t, value),
	}
	for i, method := range methods {
		e := events.EvidenceRecord{
			ID: fmt.Sprintf("evidence-%s-%d", node, i), Run: run, Action: r.Action, Node: node, Kind: "output", Method: method,
			Producer: r.Producer, Strength: events.StrengthObserved, Scope: run, Observed: at,
		}
		r.Evidence = append(r.Evidence, e.ID)
		f.c.Evidence = append(f.c.Evidence, e)
	}
	f.c.Actions = append(f.c.Actions, events.ActionSummary{Node: node, Action: r.Action, Capability: r.Producer, Effect: events.EffectRead, Status: events.ActionStatusCompleted, Attempts: 1})
	records := &f.c.Results
	if f.c.Tag != events.TagCompleted {
		records = &f.c.Receipt.Partial
	}
	*records = append(*records, r)
	return &(*records)[len(*records)-1]
}

func (f *fixture) judge(requirement string, importance events.Importance, verdict events.Verdict, node string) {
	e := events.Evaluation{
		ID: "evaluation-" + requirement, Requirement: requirement, Deliverable: "tests", Importance: importance, Verdict: verdict,
		Evaluator: "mandate.predicates@1", Method: "field comparison", Reason: "the field has the required value", At: at,
		Results: []string{"result-" + node}, Evidence: []string{"evidence-" + node + "-0"},
	}
	if verdict == events.VerdictMet {
		e.Strength = events.StrengthObserved
	} else {
		e.Reason = "the field does not have the required value"
	}
	f.c.Evaluations = append(f.c.Evaluations, e)
}

func deliver(payloads ...events.Payload) decider.Input {
	c := &events.Commit{ID: commitID, Digest: canon.Sum("test", nil), Subject: events.Subject{Tenant: "t", Run: run, Owner: events.OwnerEvaluator}}
	for i, p := range payloads {
		c.Events = append(c.Events, events.Event{ID: fmt.Sprint("event-", i), Time: at, Data: p})
	}
	return decider.Input{Kind: decider.Delivered, At: at, Run: events.Subject{Tenant: "t", Run: run, Owner: events.OwnerPresenter}, Commit: c}
}

// shown is what the presenter made of a conclusion.
type shown struct {
	events.Document
	presented *events.DocumentPresented
	grounded  *events.ResponseGrounded
	bytes     string
}

func (f *fixture) present() shown {
	f.t.Helper()
	decision, err := presenter.Decide(presenter.State{}, deliver(f.c))
	if err != nil {
		f.t.Fatal(err)
	}
	if len(decision.Events) != 2 || len(decision.Work) != 0 {
		f.t.Fatalf("decided %+v", decision)
	}
	var s shown
	var ok1, ok2 bool
	s.presented, ok1 = decision.Events[0].(*events.DocumentPresented)
	s.grounded, ok2 = decision.Events[1].(*events.ResponseGrounded)
	if !ok1 || !ok2 {
		f.t.Fatalf("decided %T and %T", decision.Events[0], decision.Events[1])
	}
	s.Document, s.bytes = open(f.t, s.presented.Document)
	return s
}

func open(tb testing.TB, b events.Body) (events.Document, string) {
	tb.Helper()
	content, ok := b.Content()
	if !ok || b.Class != events.ClassDocument {
		tb.Fatalf("the document body is %+v", b)
	}
	d, err := events.ParseDocument(content)
	if err != nil {
		tb.Fatal(err)
	}
	return d, string(content)
}

// of returns the blocks that show a result.
func (s shown) of(result string) []events.Block {
	var blocks []events.Block
	for _, b := range s.Blocks {
		if b.Result != nil && b.Result.ResultID == result {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// recipe returns how a result was shown and what was recorded about that.
func (s shown) recipe(tb testing.TB, result string) (events.Coverage, events.DecisionRecord) {
	tb.Helper()
	var coverage events.Coverage
	for _, c := range s.presented.Coverage {
		if c.Result == result {
			coverage = c
		}
	}
	for _, d := range s.presented.Decisions {
		if len(d.Inputs) > 0 && d.Inputs[0] == result {
			return coverage, d
		}
	}
	tb.Fatalf("no decision about %s is recorded", result)
	return coverage, events.DecisionRecord{}
}

func (s shown) reports() int {
	n := 0
	for _, b := range s.Blocks {
		if b.TestReport != nil {
			n++
		}
	}
	return n
}

// text returns all sentences.
func (s shown) text() string {
	var text strings.Builder
	for _, b := range s.Blocks {
		var spans []events.Span
		switch {
		case b.Paragraph != nil:
			spans = b.Paragraph.Spans
		case b.Callout != nil:
			spans = b.Callout.Spans
		}
		for _, span := range spans {
			text.WriteString(span.Text + "\n")
		}
	}
	return text.String()
}
