package presenter_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/services/presenter"
)

const diffValue = `{"text":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}`

// several builds a conclusion with a test report, a diff and a text.
func several(tb testing.TB, tag events.Tag) *fixture {
	tb.Helper()
	f := newFixture(tb, tag)
	f.result("test", "test.report", report(tb, 0), adapter, "process-exit")
	f.result("change", "text.diff", diffValue, "process-exit")
	f.result("read", "text.document", `{"text":"v1.2.0 released"}`, "mcp-tool-result")
	f.judge("pass", events.Must, events.VerdictMet, "test")
	f.judge("named", events.Prefer, events.VerdictUnmet, "read")
	f.c.Deliverables = []events.DeliverableVerdict{
		{Deliverable: "tests", Completion: events.CompletionComplete},
		{Deliverable: "log", Completion: events.CompletionPartial, Limitations: []string{"named is unmet"}},
	}
	return f
}

func TestResultsAreShownIndependently(t *testing.T) {
	req.Covers(t, "OD-6.24")
	s := several(t, events.TagCompleted).present()
	kinds := map[string]string{}
	for _, b := range s.Blocks {
		switch {
		case b.TestReport != nil:
			kinds[b.Result.ResultID] = "test report"
		case b.Diff != nil:
			kinds[b.Result.ResultID] = "diff"
		case b.Code != nil:
			kinds[b.Result.ResultID] = "text"
		}
	}
	want := map[string]string{"result-test": "test report", "result-change": "diff", "result-read": "text"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

// One result is shown as it is among others: there is no second way.
func TestOneResultIsShownAsAmongOthers(t *testing.T) {
	req.Covers(t, "OD-6.31")
	many := several(t, events.TagCompleted).present()
	f := newFixture(t, events.TagCompleted)
	f.result("test", "test.report", report(t, 0), adapter, "process-exit")
	one := f.present()
	if diff := cmp.Diff(many.of("result-test"), one.of("result-test")); diff != "" || len(one.of("result-test")) != 3 {
		t.Errorf("a single result is shown differently:\n%s", diff)
	}
}

// A completed run shows what was asked, what was delivered, how each
// condition was established, and what limits it.
func TestCompletedShowsAskedDeliveredEstablished(t *testing.T) {
	req.Covers(t, "OD-8.5")
	s := several(t, events.TagCompleted).present()
	found := map[string]bool{}
	for _, b := range s.Blocks {
		switch {
		case b.KeyValues != nil:
			found[b.KeyValues.Caption] = true
		case b.Table != nil:
			found[b.Table.Caption] = true
			for _, row := range b.Table.Rows {
				found[strings.Join(row, "|")] = true
			}
		case b.TestReport != nil:
			found["report"] = true
		case b.Citations != nil:
			found["citations"] = true
		}
	}
	for _, want := range []string{
		"Asked", "report", "citations", "tests|The tests|complete|", "log|The log|partial|named is unmet",
		"pass|All tests pass|must|met|observed|the field has the required value|evidence-test-0",
	} {
		if !found[want] {
			t.Errorf("%s is not shown", want)
		}
	}
}

// Links in a text are words: they are no references and establish nothing.
func TestLinksAreNoReferences(t *testing.T) {
	req.Covers(t, "OD-6.18", "OD-8.7")
	f := newFixture(t, events.TagCompleted)
	f.result("news", "text.document", `{"text":"See https://example.org/news [1] (https://example.org/other)."}`)
	s := f.present()
	if text := strings.ToLower(s.text()); strings.Contains(text, "verif") || strings.Contains(text, "source") {
		t.Errorf("links establish something:\n%s", text)
	}
	for _, b := range s.Blocks {
		if b.Citations != nil && slices.ContainsFunc(b.Citations.Entries, func(c events.Citation) bool {
			return strings.Contains(c.ID+c.What, "example.org") || c.Kind == events.CiteEvidence
		}) {
			t.Errorf("references %+v", b.Citations.Entries)
		}
		if b.Paragraph != nil && slices.ContainsFunc(b.Paragraph.Spans, func(s events.Span) bool { return s.Link != "" }) {
			t.Error("a link became a link")
		}
	}
}

// What an evaluation rests on is resolved even if it must not be shown.
func TestCitationsBeyondTheConclusion(t *testing.T) {
	f := newFixture(t, events.TagFailed)
	f.judge("pass", events.Must, events.VerdictUnmet, "test")
	s := f.present()
	kinds := map[string]events.CitationKind{}
	for _, b := range s.Blocks {
		if b.Citations != nil {
			for _, c := range b.Citations.Entries {
				kinds[c.ID] = c.Kind
			}
		}
	}
	want := map[string]events.CitationKind{
		"evaluation-pass": events.CiteEvaluation, "result-test": events.CiteResult, "evidence-test-0": events.CiteEvidence, commitID: events.CiteConclusion,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error(diff)
	}
}

// Every block of a result carries the outcome of that result, whatever
// happened to the run or to its neighbors.
func TestOutcomesAreNotBorrowed(t *testing.T) {
	req.Covers(t, "OD-6.27", "OD-6.28", "OD-6.29", "OD-6.30")
	f := several(t, events.TagFailed)
	f.c.Completion = events.CompletionFailed
	states := map[string]events.ResultStatus{"result-test": events.ResultComplete, "result-change": events.ResultFailed, "result-read": events.ResultCancelled}
	for i := range f.c.Receipt.Partial {
		r := &f.c.Receipt.Partial[i]
		r.Status, r.Valid = states[r.ID], r.ID == "result-test"
	}
	s := f.present()
	for id, status := range states {
		blocks := s.of(id)
		if len(blocks) < 2 {
			t.Fatalf("%s has %d blocks", id, len(blocks))
		}
		for _, b := range blocks {
			if b.Result.Status != status || b.Result.Valid != (id == "result-test") || b.Result.Role != events.RolePartial {
				t.Errorf("%s is shown as %+v", id, b.Result)
			}
		}
	}
}

// The request is what a person wrote: it has no outcome and no result.
func TestRequestStaysThePersons(t *testing.T) {
	req.Covers(t, "OD-6.25", "OD-6.26")
	s := several(t, events.TagFailed).present()
	for _, b := range s.Blocks {
		if b.KeyValues != nil && b.KeyValues.Caption == "Asked" {
			want := []events.KeyValue{{Key: "asked by", Value: "ada"}, {Key: "in these words", Value: "Are the tests passed?"}, {Key: "agent", Value: "release"}}
			if diff := cmp.Diff(want, b.KeyValues.Entries); diff != "" || b.Result != nil {
				t.Errorf("%+v: %s", b.Result, diff)
			}
			return
		}
	}
	t.Error("the request is not shown")
}

// Without success nothing is output, and only what the conclusion authorizes
// as partial appears.
func TestWithoutSuccessOnlyPartialResults(t *testing.T) {
	req.Covers(t, "OD-6.36", "OD-6.37")
	for _, tag := range events.Tags() {
		if tag == events.TagCompleted {
			continue
		}
		f := newFixture(t, tag)
		f.result("test", "test.report", report(t, 0), adapter)
		unfinished := f.result("read", "text.document", `{"text":"half"}`)
		unfinished.Status = events.ResultCancelled
		hidden := f.c.Receipt.Partial[0]
		hidden.ID, hidden.Value = "result-hidden", body(t, `{"text":"not authorized"}`)
		f.c.Results, f.c.Output, f.c.OutputType = []events.ResultRecord{hidden}, hidden.Value, "x"
		s := f.present()
		if strings.Contains(s.bytes, "not authorized") || strings.Contains(s.bytes, "result-hidden") {
			t.Errorf("%s shows what is not authorized", tag)
		}
		if len(s.of("result-test")) == 0 || len(s.of("result-read")) == 0 {
			t.Errorf("%s loses a partial result", tag)
		}
		for _, b := range s.Blocks {
			if b.Result != nil && (b.Result.Role != events.RolePartial || b.Result.ResultID == "result-read" && b.Result.Status != events.ResultCancelled) {
				t.Errorf("%s: outcome %+v", tag, b.Result)
			}
		}
		if !strings.Contains(s.text(), "2 partial results are shown; they are not the run's output.") {
			t.Errorf("%s does not say that the results are partial:\n%s", tag, s.text())
		}
	}
}

// Every sentence rests on something that the document resolves, and the
// recorded claims are the sentences.
func TestEverySentenceIsCited(t *testing.T) {
	req.Covers(t, "IK-5.7.3")
	s := several(t, events.TagCompleted).present()
	resolved := map[string]events.CitationKind{}
	var spans []events.Span
	for _, b := range s.Blocks {
		switch {
		case b.Citations != nil:
			for _, c := range b.Citations.Entries {
				resolved[c.ID] = c.Kind
			}
		case b.Paragraph != nil:
			spans = append(spans, b.Paragraph.Spans...)
		case b.Callout != nil:
			spans = append(spans, b.Callout.Spans...)
		}
	}
	if s.grounded.Source != "deterministic" || len(s.grounded.Claims) != len(spans) || len(spans) == 0 {
		t.Fatalf("%d claims for %d sentences", len(s.grounded.Claims), len(spans))
	}
	for i, span := range spans {
		if diff := cmp.Diff(span.Citations, s.grounded.Claims[i].Citations); diff != "" || s.grounded.Claims[i].Index != i || len(span.Citations) == 0 {
			t.Errorf("%q: %s", span.Text, diff)
		}
		for _, id := range span.Citations {
			if resolved[id] == "" {
				t.Errorf("%q cites %s, which is not resolved", span.Text, id)
			}
		}
	}
	for text, want := range map[string][]string{
		"1 of 1 required condition is met.":                                               {"evaluation-pass"},
		"0 of 1 preferred condition is met.":                                              {"evaluation-named"},
		"Preferred condition named is unmet: the field does not have the required value.": {"evaluation-named", "result-read", "evidence-read-0"},
	} {
		i := slices.IndexFunc(spans, func(s events.Span) bool { return s.Text == text })
		if i < 0 {
			t.Errorf("%q is missing in\n%s", text, s.text())
		} else if diff := cmp.Diff(want, spans[i].Citations); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestRequirementTable(t *testing.T) {
	s := several(t, events.TagCompleted).present()
	for _, b := range s.Blocks {
		if b.Table != nil && b.Table.Caption == "The verdict on every condition" {
			want := [][]string{
				{"pass", "All tests pass", "must", "met", "observed", "the field has the required value", "evidence-test-0"},
				{"named", "The log names it", "prefer", "unmet", "", "the field does not have the required value", "evidence-read-0"},
			}
			if diff := cmp.Diff(want, b.Table.Rows); diff != "" {
				t.Error(diff)
			}
			return
		}
	}
	t.Error("no table of conditions")
}

func TestOutput(t *testing.T) {
	f := several(t, events.TagCompleted)
	f.c.OutputType, f.c.Output = "text.document", f.c.Results[2].Value
	s := f.present()
	for _, b := range s.Blocks {
		if b.Result != nil && (b.Result.Role == events.RoleOutput) != (b.Result.ResultID == "result-read") {
			t.Errorf("role of %+v", b.Result)
		}
	}
	f.c.Output = body(t, `"v1.2.0 released"`) // a part of a result
	s = f.present()
	if !slices.ContainsFunc(s.Blocks, func(b events.Block) bool {
		return b.Code != nil && b.Code.Text == `"v1.2.0 released"` && b.Result == nil
	}) {
		t.Error("an output that is a part of a result is not shown")
	}
	f.c.Output = closed(f.c.Output)
	if s = f.present(); !strings.Contains(s.text(), "The content of the output is not available.") {
		t.Error("an output that cannot be opened is not mentioned")
	}
}

func TestEffects(t *testing.T) {
	f := several(t, events.TagIndeterminate)
	f.c.Receipt.CompletedEffects = []events.EffectSummary{{Action: "action-test", Node: "test", Capability: events.CapabilityRef{Name: "cap.test", Version: 1}, Effect: events.EffectWrite, Receipt: "ledger 7"}}
	f.c.Receipt.UncertainEffects = []events.EffectSummary{{Action: "action-x", Node: "publish", Capability: events.CapabilityRef{Name: "release.publish", Version: 2}, Effect: events.EffectWrite, Reason: "lost"}}
	s := f.present()
	for _, want := range []string{
		"test by cap.test@1 took effect (receipt ledger 7).", "Nobody knows whether publish by release.publish@2 took effect; it is not repeated.",
		"Nobody knows whether an effect of the request took place.",
	} {
		if !strings.Contains(s.text(), want+"\n") {
			t.Errorf("%q is missing in\n%s", want, s.text())
		}
	}
}

// Dates are told only if every source has one.
func TestDatesNeedTimestamps(t *testing.T) {
	req.Covers(t, "OD-8.6")
	f := newFixture(t, events.TagCompleted)
	f.result("a", "text.document", `{"text":"a"}`, "file-stat")
	f.result("b", "text.document", `{"text":"b dated 2020-01-01"}`, "file-stat")
	if text := f.present().text(); strings.Contains(text, "dated") {
		t.Errorf("dates without timestamps:\n%s", text)
	}
	f.c.Evidence[0].Published = at
	if text := f.present().text(); strings.Contains(text, "dated") {
		t.Errorf("one date for two sources:\n%s", text)
	}
	f.c.Evidence[1].SourceModified = at + 86_400_000_000_000
	if text := f.present().text(); !strings.Contains(text, "The sources are dated 2026-02-02 to 2026-02-03.") {
		t.Errorf("no dates:\n%s", text)
	}
}

// A run that never executed anything is presented like every other.
func TestRunsThatNeverExecuted(t *testing.T) {
	for _, tag := range events.Tags() {
		t.Run(string(tag), func(t *testing.T) {
			f := &fixture{t: t, c: &events.RunConcluded{Tag: tag, Completion: events.CompletionFailed, Receipt: events.Receipt{
				Phase:      events.PhaseSealed,
				Diagnostic: &events.Diagnostic{Code: events.CodePlanCycle, Path: "plan.nodes[1]", Message: "the plan has a cycle", Action: "remove an edge"},
			}}}
			s := f.present()
			if s.Tag != tag || s.presented.Tag != tag || s.Title != "Run "+run || len(s.presented.Coverage) != 0 {
				t.Errorf("presented %+v", s.Document)
			}
			for _, want := range []string{"The plan has a cycle.", "What to do: remove an edge.", "Nothing was executed."} {
				if !strings.Contains(s.text(), want+"\n") {
					t.Errorf("%q is missing in\n%s", want, s.text())
				}
			}
			if c := s.Blocks[1].Callout; c == nil || c.Title != "MD-1203 plan.nodes[1]" {
				t.Errorf("the diagnostic is shown as %+v", s.Blocks[1])
			}
			if ended := s.Blocks[0].Callout; ended == nil || ended.Title == "Ended" || (ended.Kind == events.CalloutInfo) != (tag == events.TagCompleted) {
				t.Errorf("the outcome is shown as %+v", ended)
			}
		})
	}
}

// The same conclusion gives the same bytes, in whatever order its results,
// evidence and evaluations stand.
func TestSameInputSameBytes(t *testing.T) {
	req.Covers(t, "OD-6.2")
	whole := several(t, events.TagCompleted)
	want := whole.present()
	rapid.Check(t, func(rt *rapid.T) {
		c := *whole.c
		c.Results = rapid.Permutation(c.Results).Draw(rt, "results")
		c.Evidence = rapid.Permutation(c.Evidence).Draw(rt, "evidence")
		c.Evaluations = rapid.Permutation(c.Evaluations).Draw(rt, "evaluations")
		got := (&fixture{t: t, c: &c}).present()
		if got.bytes != want.bytes {
			rt.Errorf("other bytes:\n%s\n%s", got.bytes, want.bytes)
		}
		if diff := cmp.Diff(want.presented.Decisions, got.presented.Decisions); diff != "" {
			rt.Error(diff)
		}
		if diff := cmp.Diff(want.grounded, got.grounded); diff != "" {
			rt.Error(diff)
		}
	})
}

// Whatever text stands anywhere, the document keeps its rules and its bounds.
func TestAnyTextKeepsTheRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.Rune(), 0, 400, -1), rapid.Just("\xff\x00\x1b[2J"), rapid.Just(strings.Repeat("\x01", 9000))).Draw(rt, "text")
		f := several(t, rapid.SampledFrom(events.Tags()).Draw(rt, "tag"))
		for _, list := range [][]events.ResultRecord{f.c.Results, f.c.Receipt.Partial} {
			for i := range list {
				list[i].Node, list[i].Type, list[i].Producer.Name = text, text, text
				list[i].Value = body(t, text)
			}
		}
		for i := range f.c.Evaluations {
			f.c.Evaluations[i].Requirement, f.c.Evaluations[i].Reason = text, text
		}
		f.c.Receipt.Diagnostic = &events.Diagnostic{Code: 1, Message: text, Path: text, Action: text}
		f.c.Receipt.CompletedEffects = []events.EffectSummary{{Node: text, Receipt: text}}
		f.c.Deliverables[1].Deliverable, f.c.Deliverables[1].Limitations = text, []string{text}
		f.present()
	})
}

// A document stays within its bounds however much there is, and coverage
// names every result.
func TestLargeRunsStayWithinBounds(t *testing.T) {
	for name, value := range map[string]string{
		"text":     `{"text":"` + strings.Repeat("word ", 20_000) + `"}`,
		"controls": `{"text":"` + strings.Repeat(`\u0001`, 15_000) + `"}`,
		"table":    "[" + strings.Repeat(`{"a":1,"b":2,"c":3},`, 1_000) + `{"a":1}]`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, events.TagCompleted)
			for i := range 70 {
				f.result(fmt.Sprintf("n%02d", i), "text.document", value, "mcp-tool-result")
			}
			for i := range 100 {
				f.judge(fmt.Sprintf("r%03d", i), events.Must, events.VerdictUnknown, "n00")
			}
			s := f.present()
			if len(s.presented.Coverage) != 70 {
				t.Errorf("coverage of %d results", len(s.presented.Coverage))
			}
			if s.OmittedBlocks == 0 {
				t.Error("nothing says that something was left out")
			}
			commit := events.Commit{ID: "c", Subject: events.Subject{Tenant: "t", Run: run, Owner: events.OwnerPresenter}, Number: 1, Protocol: 1}
			sealed, _ := s.presented.Document.Committed([]byte("key"))
			s.presented.Document = sealed
			commit.Events = []events.Event{{ID: "1", Data: s.presented}, {ID: "2", Data: s.grounded}}
			data, err := events.Encode(&commit)
			if err != nil {
				t.Fatal(err)
			}
			record := events.Record{Subject: commit.Subject.String(), Header: commit.Header(), Data: data}
			if _, err := events.Decode(record); err != nil {
				t.Errorf("the commit cannot be read: %v", err)
			}
		})
	}
}

func TestOneFinalDocument(t *testing.T) {
	f := several(t, events.TagCompleted)
	s := f.present()
	state := presenter.Evolve(presenter.State{}, events.Event{Data: s.presented})
	_, err := presenter.Decide(state, deliver(f.c))
	var refusal *decider.Error
	if !errors.As(err, &refusal) || refusal.Code != events.CodeRunConcluded {
		t.Errorf("a second conclusion gives %v", err)
	}
	if _, err := presenter.Decide(presenter.State{}, deliver(f.c, f.c)); !errors.As(err, &refusal) {
		t.Errorf("two conclusions in one commit give %v", err)
	}
	for _, kind := range []decider.Kind{decider.Fired, decider.Observed, decider.Recovered} {
		if d, err := presenter.Decide(presenter.State{}, decider.Input{Kind: kind}); err != nil || len(d.Events) != 0 {
			t.Errorf("%s gives %+v, %v", kind, d, err)
		}
	}
}

func BenchmarkPresent(b *testing.B) {
	for _, size := range []int{1 << 18, 1 << 19, 1 << 20} {
		b.Run(strings.Repeat("=", size>>18), func(b *testing.B) {
			f := newFixture(b, events.TagCompleted)
			f.result("r", "x", "["+strings.Repeat(`{"a":1,"b":"some words"},`, size/25)+`{"a":1}]`)
			in := deliver(f.c)
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, err := presenter.Decide(presenter.State{}, in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
