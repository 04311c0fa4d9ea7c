package presenter

import (
	"cmp"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// story is everything that a conclusion tells, in an order that follows from
// identities and not from the order in which things were delivered.
type story struct {
	*composer
	run      string
	at       events.Time
	commit   *events.Commit
	c        *events.RunConcluded
	spec     events.OutcomeSpec
	request  events.IntentRequest
	asked    bool // the request could be read
	results  []*candidate
	evidence []events.EvidenceRecord
	// evaluations in the order of the specification
	evaluations  []events.Evaluation
	requirements map[string]*events.Requirement
	coverage     []events.Coverage
	decisions    []events.DecisionRecord
}

// presentConclusion returns the final document of a run and what it rests on.
func presentConclusion(in decider.Input, at events.Time, c *events.RunConcluded) ([]events.Payload, error) {
	s := newStory(in, at, c)
	s.composer = newComposer(in.Run.Run, s.title())
	s.document.Tag, s.document.Completion = c.Tag, c.Completion
	s.opening()
	s.askedFor()
	s.requirementTable()
	s.deliverableTable()
	s.resultSections()
	s.effectTables()
	s.citations()
	body, err := seal(&s.document)
	if err != nil {
		return nil, err
	}
	return []events.Payload{
		&events.DocumentPresented{Document: body, Tag: c.Tag, Coverage: s.coverage, Decisions: s.decisions},
		&events.ResponseGrounded{Source: "deterministic", Claims: claims(&s.document)},
	}, nil
}

func newStory(in decider.Input, at events.Time, c *events.RunConcluded) *story {
	s := &story{
		run: in.Run.Run, at: at, commit: in.Commit, c: c, requirements: map[string]*events.Requirement{},
		coverage: []events.Coverage{}, decisions: []events.DecisionRecord{},
	}
	read(c.Spec, &s.spec)
	s.asked = read(c.Request, &s.request)
	rank := map[string]int{}
	for i := range s.spec.Requirements {
		s.requirements[s.spec.Requirements[i].ID] = &s.spec.Requirements[i]
		rank["requirement "+s.spec.Requirements[i].ID] = i - len(s.spec.Requirements)
	}
	for i, d := range s.spec.Deliverables {
		rank["node "+d.Result] = i - len(s.spec.Deliverables)
	}
	s.evidence = slices.SortedStableFunc(slices.Values(c.Evidence), func(a, b events.EvidenceRecord) int { return cmp.Compare(a.ID, b.ID) })
	s.evaluations = slices.SortedStableFunc(slices.Values(c.Evaluations), func(a, b events.Evaluation) int {
		return cmp.Or(cmp.Compare(rank["requirement "+a.Requirement], rank["requirement "+b.Requirement]), cmp.Compare(a.Requirement, b.Requirement), cmp.Compare(a.ID, b.ID))
	})
	records, role := c.Results, events.RoleSupporting
	if c.Tag != events.TagCompleted {
		// Without success there is no output: what may be shown is partial.
		records, role = c.Receipt.Partial, events.RolePartial
	}
	records = slices.SortedStableFunc(slices.Values(records), func(a, b events.ResultRecord) int {
		return cmp.Or(cmp.Compare(rank["node "+a.Node], rank["node "+b.Node]), cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID))
	})
	for i := range records {
		s.results = append(s.results, newCandidate(s.run, &records[i], s.evidence, role))
	}
	return s
}

func (s *story) title() string {
	switch {
	case s.spec.Objective != "":
		return s.spec.Objective
	case s.request.Intent.Text != "":
		return s.request.Intent.Text
	}
	return "Run " + s.run
}

// askedFor shows the request as what a person wrote. It has no outcome.
func (s *story) askedFor() {
	if !s.asked {
		return
	}
	block := &events.KeyValuesBlock{Caption: "Asked", Entries: []events.KeyValue{}}
	entry := func(key, value string) {
		if value == "" {
			return
		}
		text, cut := cell(value, events.MaxCellBytes)
		if cut {
			block.CutCells++
		}
		block.Total++
		block.Entries = append(block.Entries, events.KeyValue{Key: key, Value: text})
	}
	entry("asked by", s.request.Authority.ID)
	entry("in these words", s.request.Intent.Text)
	entry("agent", s.request.Intent.Agent)
	s.add(events.Block{KeyValues: block})
}

// claims lists every sentence of a document with what it rests on.
func claims(d *events.Document) []events.Claim {
	found := []events.Claim{}
	add := func(spans []events.Span) {
		for i := range spans {
			found = append(found, events.Claim{Index: len(found), Citations: spans[i].Citations})
		}
	}
	for i := range d.Blocks {
		b := &d.Blocks[i]
		switch {
		case b.Paragraph != nil:
			add(b.Paragraph.Spans)
		case b.Callout != nil:
			add(b.Callout.Spans)
		case b.List != nil:
			for j := range b.List.Items {
				add(b.List.Items[j].Spans)
			}
		}
	}
	return found
}
