package presenter

import (
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// State is what the presenter remembers of one run. The zero State is a run
// of which nothing was shown.
type State struct {
	// Presented is set once the run has its final document.
	Presented bool
	// Interactions are the IDs of those that were shown.
	Interactions []string
}

// Core returns the pure core of the service.
func Core() decider.Core[State] {
	return decider.Core[State]{Owner: events.OwnerPresenter, Evolve: Evolve, Decide: Decide}
}

// Evolve returns the state after an event of the presenter's own chain. It
// never fails: what was recorded happened.
func Evolve(s State, event events.Event) State {
	switch e := event.Data.(type) {
	case *events.DocumentPresented:
		s.Presented = true
	case *events.InteractionPresented:
		s.Interactions = append(slices.Clip(s.Interactions), e.Interaction)
	}
	return s
}
