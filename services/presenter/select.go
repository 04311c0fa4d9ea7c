package presenter

import (
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// Algorithm is the name and version of the rules that select a recipe.
const Algorithm = "presenter.select@1"

// Recipes without a block of their own type.
const (
	recipeSource      = "source@1"
	recipeUnavailable = "unavailable@1"
)

// candidate is a result with everything that may decide how it is shown.
type candidate struct {
	record  *events.ResultRecord
	outcome events.ResultOutcome
	// evidence is what the result rests on: of its own run and action only.
	evidence []events.EvidenceRecord
	content  []byte
	open     bool
	value    any
	parsed   bool
}

var valueLimits = jsonvalue.Limits{Bytes: 4 << 20, Depth: 16, Tokens: 1_000_000}

func newCandidate(run string, record *events.ResultRecord, evidence []events.EvidenceRecord, role events.ResultRole) *candidate {
	c := &candidate{record: record, outcome: events.ResultOutcome{
		ResultID: line(record.ID, wordBytes), Node: line(record.Node, wordBytes), Type: line(record.Type, wordBytes), Role: role,
		Producer: events.CapabilityRef{Name: line(record.Producer.Name, wordBytes), Version: record.Producer.Version}, Status: record.Status, Valid: record.Valid,
	}}
	for _, e := range evidence {
		if slices.Contains(record.Evidence, e.ID) && e.Action == record.Action && e.Run == run && e.Scope == run && record.Run == run {
			c.evidence = append(c.evidence, e)
		}
	}
	c.content, c.open = record.Value.Content()
	return c
}

// parse reads the value, once it is certain that it will be shown.
func (c *candidate) parse() {
	if value, err := jsonvalue.Parse(c.content, valueLimits); c.open && err == nil {
		c.value, c.parsed = value, true
	}
}

// recipe is one way to show a result.
type recipe struct {
	name string
	// build returns the block, or the reason why the result is not eligible.
	build func(*candidate) (events.Block, string)
}

// recipes lists the ways to show a result, the most specific first. The order
// is part of the algorithm; nothing can register itself above another.
func recipes() []recipe {
	return []recipe{
		{"test-report@1", buildTestReport},
		{"diff@1", buildDiff},
		{"terminal@1", buildTerminal},
		{"text@1", buildText},
		{"table@1", buildTable},
		{"key-values@1", buildKeyValues},
	}
}

// selection is how a result is shown, and why so.
type selection struct {
	recipe string
	native *events.Block // nil for the exact source alone
	reason string        // for not native
	record events.DecisionRecord
}

// selectRecipe takes the first eligible recipe and records why the others were
// not taken.
func selectRecipe(c *candidate) selection {
	c.parse()
	s := selection{record: events.DecisionRecord{Inputs: []string{c.record.ID}, Algorithm: Algorithm}}
	for _, e := range c.evidence {
		if len(s.record.Inputs) < 16 {
			s.record.Inputs = append(s.record.Inputs, e.ID)
		}
	}
	reject := func(option, reason string) {
		s.record.Alternatives = append(s.record.Alternatives, events.Rejected{Option: option, Reason: reason})
	}
	for _, r := range recipes() {
		if s.native != nil {
			reject(r.name, "a more specific recipe is eligible")
			continue
		}
		if reason := gate(c); reason != "" {
			reject(r.name, reason)
			continue
		}
		block, reason := r.build(c)
		if reason != "" {
			reject(r.name, reason)
			continue
		}
		block.Result = &c.outcome
		s.recipe, s.native = r.name, &block
	}
	switch _, held := source(c.record); {
	case s.native != nil:
		s.record.Disposition = "shown as its own type, with the exact source"
	case held:
		s.recipe, s.reason = recipeSource, "no recipe is eligible"
		s.record.Disposition = "shown as its exact source"
	default:
		s.recipe, s.reason = recipeUnavailable, "the content is not available"
		s.record.Disposition = "shown as unavailable"
	}
	s.record.Selected = s.recipe
	return s
}

// gate refuses what no recipe may touch: content that is not at hand, or that
// does not follow its own schema.
func gate(c *candidate) string {
	switch {
	case !c.open:
		return "the content is not available"
	case !c.record.Valid:
		return "the result does not follow its schema"
	case !c.parsed:
		return "the value is not JSON within the limits"
	}
	return ""
}
