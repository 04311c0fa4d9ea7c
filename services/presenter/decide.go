package presenter

import (
	"slices"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// Decide returns what follows from an input in state s. An error means that
// the input makes no sense in s and nothing happened.
func Decide(s State, in decider.Input) (decider.Decision, error) {
	if in.Kind != decider.Delivered {
		return decider.Decision{}, nil
	}
	var d decider.Decision
	for i := range in.Commit.Events {
		var payloads []events.Payload
		var err error
		switch e := in.Commit.Events[i].Data.(type) {
		case *events.RunConcluded:
			if s.Presented {
				return decider.Decision{}, nonsense(events.CodeRunConcluded, "the run has its final document")
			}
			payloads, err = presentConclusion(in, in.Commit.Events[i].Time, e)
			s.Presented = true
		case *events.ApprovalRequested:
			if s.Presented {
				continue // the run ended before its question was shown: nothing waits any more
			}
			if slices.Contains(s.Interactions, e.Approval) {
				return decider.Decision{}, nonsense(events.CodeConflict, "the approval was presented")
			}
			payloads, err = presentApproval(in, e)
			s.Interactions = append(slices.Clip(s.Interactions), e.Approval)
		}
		if err != nil {
			return decider.Decision{}, err
		}
		d.Events = append(d.Events, payloads...)
	}
	return d, nil
}

func nonsense(code events.Code, what string) error {
	return &decider.Error{Owner: events.OwnerPresenter, Code: code, What: what}
}

// seal checks a document against its own rules and makes it a body.
func seal(document *events.Document) (events.Body, error) {
	if err := document.Check(); err != nil {
		return events.Body{}, nonsense(events.CodeInternal, err.Error())
	}
	body, err := events.NewDocument(events.ClassDocument, document)
	if err != nil {
		return events.Body{}, nonsense(events.CodeInternal, err.Error())
	}
	return body, nil
}

func read(b events.Body, into any) bool {
	content, ok := b.Content()
	return ok && json.Unmarshal(content, into) == nil
}
