package presenter

import (
	"fmt"
	"slices"
	"strings"

	"example.org/mandate/events"
)

// span is one sentence with what it rests on; without anything more exact it
// rests on the commit that concluded the run.
func (s *story) span(text string, citations ...string) events.Span {
	var kept []string
	for _, id := range citations {
		if id != "" && len(id) <= wordBytes && !slices.Contains(kept, id) && len(kept) < events.MaxSpanCitations {
			kept = append(kept, id)
		}
	}
	if len(kept) == 0 {
		kept = []string{s.commit.ID}
	}
	return events.Span{Text: text, Citations: kept}
}

// opening says how the run ended, why, and what follows.
func (s *story) opening() {
	kind, title, text := ending(s.c.Tag)
	var required []string
	for i := range s.evaluations {
		if s.evaluations[i].Importance == events.Must {
			required = append(required, s.evaluations[i].ID)
		}
	}
	s.add(events.Block{Callout: &events.CalloutBlock{Kind: kind, Title: title, Spans: []events.Span{s.span(text, required...)}}})
	if d := s.c.Receipt.Diagnostic; d != nil {
		where := d.Code.String()
		if d.Path != "" {
			where += " " + d.Path
		}
		block := &events.CalloutBlock{Kind: kind, Title: line(where, titleBytes), Spans: []events.Span{s.span(sentence(line(d.Message, wordBytes)))}}
		if d.Action != "" {
			block.Spans = append(block.Spans, s.span("What to do: "+line(d.Action, wordBytes)+"."))
		}
		s.add(events.Block{Callout: block})
	}
	spans := s.sentences()
	if len(spans) > maxSentences {
		s.document.OmittedBlocks++
		spans = spans[:maxSentences]
	}
	if len(spans) > 0 {
		s.add(events.Block{Paragraph: &events.ParagraphBlock{Spans: spans}})
	}
}

// ending returns the words for an outcome.
func ending(tag events.Tag) (kind events.CalloutKind, title, text string) {
	switch tag {
	case events.TagCompleted:
		return events.CalloutInfo, "Completed", "The request is completed."
	case events.TagRejected:
		return events.CalloutError, "Rejected", "The request was refused."
	case events.TagUnresolved:
		return events.CalloutWarning, "Unresolved", "The request could not be resolved into something to do."
	case events.TagUnsupported:
		return events.CalloutWarning, "Unsupported", "The request asks for something that is not supported."
	case events.TagInconclusive:
		return events.CalloutWarning, "Inconclusive", "It could not be established whether the request is fulfilled."
	case events.TagFailed:
		return events.CalloutError, "Failed", "The request is not fulfilled."
	case events.TagCancelled:
		return events.CalloutWarning, "Cancelled", "The request was cancelled."
	case events.TagIndeterminate:
		return events.CalloutError, "Indeterminate", "Nobody knows whether an effect of the request took place."
	}
	return events.CalloutWarning, "Ended", "The run has ended."
}

// sentence makes fixed words a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if c := text[0]; c >= 'a' && c <= 'z' {
		text = string(c-'a'+'A') + text[1:]
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// sentences derives the prose from verdicts and receipts.
func (s *story) sentences() []events.Span {
	var spans []events.Span
	say := func(citations []string, format string, args ...any) {
		spans = append(spans, s.span(fmt.Sprintf(format, args...), citations...))
	}
	if len(s.c.Actions) == 0 {
		say(nil, "Nothing was executed.")
	}
	s.verdicts(say)
	for i := range s.c.Deliverables {
		d := &s.c.Deliverables[i]
		if d.Completion == events.CompletionComplete {
			continue
		}
		var limits []string
		for _, l := range d.Limitations {
			limits = append(limits, line(l, wordBytes))
		}
		say(s.about(d.Deliverable), "Deliverable %s is %s%s.", line(d.Deliverable, wordBytes), d.Completion, after(": ", strings.Join(limits, "; ")))
	}
	s.effects(say)
	s.dates(say)
	if n := len(s.results); n > 0 && s.c.Tag != events.TagCompleted {
		say(s.resultIDs(), "%s shown; %s not the run's output.", count(n, "partial result is", "partial results are"), plural(n, "it is", "they are"))
	}
	return spans
}

func after(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func count(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }

type sayer func(citations []string, format string, args ...any)

// verdicts counts what is met, and names what is not.
func (s *story) verdicts(say sayer) {
	for _, importance := range []events.Importance{events.Must, events.Prefer} {
		met, total := 0, 0
		var cited []string
		for i := range s.evaluations {
			if e := &s.evaluations[i]; e.Importance == importance {
				total++
				cited = append(cited, e.ID)
				if e.Verdict == events.VerdictMet {
					met++
				}
			}
		}
		words := "required"
		if importance == events.Prefer {
			words = "preferred"
		}
		if total > 0 {
			say(cited, "%d of %d %s %s met.", met, total, words, plural(total, "condition is", "conditions are"))
		} else if importance == events.Must && len(s.c.Actions) > 0 {
			say(nil, "No required condition was judged.")
		}
	}
	for i := range s.evaluations {
		e := &s.evaluations[i]
		if e.Verdict == events.VerdictMet {
			continue
		}
		words := "Required"
		if e.Importance == events.Prefer {
			words = "Preferred"
		}
		say(restsOn(e), "%s condition %s is %s%s.", words, line(e.Requirement, wordBytes), verdictWords(e.Verdict), after(": ", line(e.Reason, wordBytes)))
	}
}

func verdictWords(v events.Verdict) string {
	if v == events.VerdictNotApplicable {
		return "not applicable"
	}
	return line(string(v), wordBytes)
}

func restsOn(e *events.Evaluation) []string {
	return slices.Concat([]string{e.ID}, e.Results, e.Evidence)
}

// about lists the evaluations of a deliverable.
func (s *story) about(deliverable string) []string {
	var ids []string
	for i := range s.evaluations {
		if s.evaluations[i].Deliverable == deliverable {
			ids = append(ids, s.evaluations[i].ID)
		}
	}
	return ids
}

// of lists the result and the evidence of an action.
func (s *story) of(action string) []string {
	var ids []string
	for _, r := range s.results {
		if r.record.Action == action {
			ids = append(ids, r.record.ID)
		}
	}
	for i := range s.evidence {
		if s.evidence[i].Action == action {
			ids = append(ids, s.evidence[i].ID)
		}
	}
	return ids
}

func (s *story) resultIDs() []string {
	var ids []string
	for _, r := range s.results {
		ids = append(ids, r.record.ID)
	}
	return ids
}

// effects tells what took place, and what may have.
func (s *story) effects(say sayer) {
	for i := range s.c.Receipt.CompletedEffects {
		e := &s.c.Receipt.CompletedEffects[i]
		receipt := "no receipt was given"
		if e.Receipt != "" {
			receipt = "receipt " + line(e.Receipt, wordBytes)
		}
		say(s.of(e.Action), "%s by %s took effect (%s).", line(e.Node, wordBytes), reference(e.Capability), receipt)
	}
	for i := range s.c.Receipt.UncertainEffects {
		e := &s.c.Receipt.UncertainEffects[i]
		say(s.of(e.Action), "Nobody knows whether %s by %s took effect; it is not repeated.", line(e.Node, wordBytes), reference(e.Capability))
	}
}

// dates tells when the sources are from, only if every one of them has a time
// of its own.
func (s *story) dates(say sayer) {
	var first, last events.Time
	var cited []string
	for _, r := range s.results {
		for i := range r.evidence {
			e := &r.evidence[i]
			at := e.Published
			if at == 0 {
				at = e.SourceModified
			}
			if at == 0 {
				return
			}
			if first == 0 || at < first {
				first = at
			}
			last = max(last, at)
			cited = append(cited, e.ID)
		}
		if len(r.evidence) == 0 {
			return
		}
	}
	if first == 0 {
		return
	}
	const day = "2006-01-02"
	from, to := first.Std().Format(day), last.Std().Format(day)
	if from == to {
		say(cited, "The sources are dated %s.", from)
		return
	}
	say(cited, "The sources are dated %s to %s.", from, to)
}
