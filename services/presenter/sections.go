package presenter

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"example.org/mandate/events"
)

func (s *story) requirementTable() {
	if len(s.evaluations) == 0 {
		return
	}
	g := newGrid("The verdict on every condition", "requirement", "condition", "importance", "verdict", "strength", "reason", "evidence")
	for i := range s.evaluations {
		e := &s.evaluations[i]
		condition := ""
		if r := s.requirements[e.Requirement]; r != nil {
			condition = line(r.Description, wordBytes)
		}
		g.row(e.Requirement, condition, string(e.Importance), verdictWords(e.Verdict), string(e.Strength), e.Reason, strings.Join(e.Evidence, ", "))
	}
	s.add(heading(1, "Conditions"), g.block())
}

func (s *story) deliverableTable() {
	if len(s.c.Deliverables) == 0 {
		return
	}
	g := newGrid("How far every deliverable came", "deliverable", "description", "completion", "limitations")
	for _, d := range s.c.Deliverables {
		description := ""
		if i := slices.IndexFunc(s.spec.Deliverables, func(w events.Deliverable) bool { return w.ID == d.Deliverable }); i >= 0 {
			description = line(s.spec.Deliverables[i].Description, wordBytes)
		}
		g.row(d.Deliverable, description, string(d.Completion), strings.Join(d.Limitations, "; "))
	}
	s.add(heading(1, "Deliverables"), g.block())
}

// resultSections shows every result by itself.
func (s *story) resultSections() {
	completed := s.c.Tag == events.TagCompleted
	if completed && !s.markOutput() {
		s.separateOutput()
	}
	if len(s.results) == 0 {
		return
	}
	title := "Results"
	if !completed {
		title = "Partial results (not the run's output)"
	}
	s.add(heading(1, title))
	for i, c := range s.results {
		if i >= maxResults {
			s.document.OmittedBlocks++
			s.coverage = append(s.coverage, events.Coverage{Result: c.record.ID, Recipe: recipeUnavailable, Reason: "left out: the document is full"})
			continue
		}
		s.result(c)
	}
}

// markOutput finds the result that is the run's typed output, byte for byte.
func (s *story) markOutput() bool {
	output, open := s.c.Output.Content()
	if !open {
		return false
	}
	for _, c := range s.results {
		if c.open && bytes.Equal(c.content, output) {
			c.outcome.Role = events.RoleOutput
			return true
		}
	}
	return false
}

// separateOutput shows an output that is a part of a result.
func (s *story) separateOutput() {
	if s.c.Output.IsZero() {
		return
	}
	output, open := s.c.Output.Content()
	title := heading(1, line("Output: "+s.c.OutputType, titleBytes))
	if !open {
		s.add(title, s.unavailable("The content of the output is not available.", s.commit.ID))
		return
	}
	text := strings.ToValidUTF8(string(output), "\uFFFD")
	s.add(title, events.Block{Code: &events.CodeBlock{Language: "json", Text: prefix(text, nativeBytes), TotalBytes: int64(len(text))}})
}

func (s *story) unavailable(text string, citations ...string) events.Block {
	return events.Block{Callout: &events.CalloutBlock{Kind: events.CalloutWarning, Title: "Not available", Spans: []events.Span{s.span(text, citations...)}}}
}

// result shows one result: its heading with its own outcome, what it is, and
// its exact source.
func (s *story) result(c *candidate) {
	chosen := selectRecipe(c)
	s.decisions = append(s.decisions, chosen.record)
	title := heading(2, line(c.record.Node+": "+c.record.Type, titleBytes))
	title.Result = &c.outcome
	remarks := []events.Block{title}
	if c.record.Type == typeTestReport && (chosen.native == nil || chosen.native.TestReport == nil) {
		remarks = append(remarks, events.Block{Result: &c.outcome, Callout: &events.CalloutBlock{
			Kind: events.CalloutWarning, Title: "Not a test report of this system",
			Spans: []events.Span{s.span("The result says that it is a test report; that is not established here: "+chosen.record.Alternatives[0].Reason+".", c.record.ID)},
		}})
	}
	if chosen.recipe == recipeUnavailable {
		block := s.unavailable("The content of this result is not available.", c.record.ID)
		block.Result = &c.outcome
		remarks = append(remarks, block)
	}
	bare := append(slices.Clone(remarks), fallback(c, false, 0))
	whole := append(slices.Clone(remarks), fallback(c, false, sourceBytes))
	if chosen.native != nil {
		whole = append(slices.Clone(remarks), *chosen.native, fallback(c, true, sourceBytes))
	}
	coverage := events.Coverage{Result: c.record.ID, Recipe: chosen.recipe, Native: chosen.native != nil, Reason: chosen.reason}
	switch s.firstOf(whole, bare) {
	case 0:
	case 1:
		coverage.Native, coverage.Recipe, coverage.Reason = false, recipeSource, "only size and commitment: the document is full"
	default:
		coverage.Native, coverage.Recipe, coverage.Reason = false, recipeUnavailable, "left out: the document is full"
	}
	s.coverage = append(s.coverage, coverage)
}

// effectTables shows what was done, and separately what took effect or may
// have.
func (s *story) effectTables() {
	if len(s.c.Actions) > 0 {
		g := newGrid("How every action ended", "node", "capability", "effect", "status", "attempts", "receipt", "reason")
		for i := range s.c.Actions {
			a := &s.c.Actions[i]
			reason := ""
			if a.Diagnostic != nil {
				reason = a.Diagnostic.String()
			}
			g.row(a.Node, reference(a.Capability), string(a.Effect), string(a.Status), strconv.Itoa(a.Attempts), a.Receipt, reason)
		}
		g.table.Columns[4].Numeric = true
		s.add(heading(1, "Actions"), g.block())
	}
	if len(s.c.Receipt.CompletedEffects) > 0 {
		g := newGrid("Effects that took place", "node", "capability", "effect", "receipt")
		for _, e := range s.c.Receipt.CompletedEffects {
			g.row(e.Node, reference(e.Capability), string(e.Effect), e.Receipt)
		}
		s.add(heading(1, "Effects"), g.block())
	}
	if len(s.c.Receipt.UncertainEffects) > 0 {
		g := newGrid("Effects that may have taken place", "node", "capability", "effect", "reason")
		for _, e := range s.c.Receipt.UncertainEffects {
			g.row(e.Node, reference(e.Capability), string(e.Effect), e.Reason)
		}
		s.add(heading(1, "Uncertain effects"), g.block())
	}
}
