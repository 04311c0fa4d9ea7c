package presenter

import (
	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
)

// citations resolves every ID that the document cites, and the evidence of
// the table of conditions, in the order of first use.
func (s *story) citations() {
	s.left += citationBytes
	entries := s.entries()
	block := &events.CitationsBlock{Entries: []events.Citation{}}
	size := 1 << 10
	cite := func(id string) {
		entry, known := entries[id]
		if !known {
			return
		}
		delete(entries, id)
		block.Total++
		data, err := json.Marshal(&entry)
		if err != nil || size+len(data)+1 > s.left || len(block.Entries) == events.MaxCitations {
			return
		}
		size += len(data) + 1
		block.Entries = append(block.Entries, entry)
	}
	for _, claim := range claims(&s.document) {
		for _, id := range claim.Citations {
			cite(id)
		}
	}
	for i := range s.evaluations {
		for _, id := range s.evaluations[i].Evidence {
			cite(id)
		}
	}
	if block.Total > 0 {
		s.add(heading(1, "What this rests on"), events.Block{Citations: block})
	}
}

const notHandedOn = "recorded by the executor; not part of the conclusion"

// entries lists everything that can be cited, by ID.
func (s *story) entries() map[string]events.Citation {
	entries := map[string]events.Citation{}
	add := func(c events.Citation) {
		if c.ID != "" && len(c.ID) <= wordBytes {
			c.What, c.Method = line(c.What, wordBytes), line(c.Method, wordBytes)
			entries[c.ID] = c
		}
	}
	// An evaluation may rest on what the conclusion does not hand on, such as a
	// result that must not be shown.
	for i := range s.evaluations {
		for _, id := range s.evaluations[i].Results {
			add(events.Citation{ID: id, Kind: events.CiteResult, What: notHandedOn})
		}
		for _, id := range s.evaluations[i].Evidence {
			add(events.Citation{ID: id, Kind: events.CiteEvidence, What: notHandedOn})
		}
	}
	for i := range s.evidence {
		e := &s.evidence[i]
		add(events.Citation{
			ID: e.ID, Kind: events.CiteEvidence, What: e.Kind + " of " + e.Node + " by " + reference(e.Producer), Method: e.Method, Strength: e.Strength,
			Observed: e.Observed, SourceModified: e.SourceModified, Published: e.Published, Digest: e.Subject,
		})
	}
	for _, r := range s.results {
		body, _ := source(r.record)
		add(events.Citation{ID: r.record.ID, Kind: events.CiteResult, What: r.record.Type + " of " + r.record.Node, Method: reference(r.record.Producer), Digest: body.Commitment})
	}
	for i := range s.evaluations {
		e := &s.evaluations[i]
		add(events.Citation{
			ID: e.ID, Kind: events.CiteEvaluation, What: e.Requirement + " is " + verdictWords(e.Verdict), Method: e.Evaluator + ", " + e.Method,
			Strength: e.Strength, At: e.At,
		})
	}
	add(events.Citation{ID: s.commit.ID, Kind: events.CiteConclusion, What: "the conclusion of the run", At: s.at, Digest: s.commit.Digest})
	return entries
}
