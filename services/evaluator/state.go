package evaluator

import (
	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// State is what the evaluator remembers of one run. The zero State is a run
// without events.
type State struct {
	// Concluded is set once the run has its terminal event.
	Concluded bool
}

// Core returns the pure core of the service.
func Core() decider.Core[State] {
	return decider.Core[State]{Owner: events.OwnerEvaluator, Evolve: Evolve, Decide: Decide}
}

// Evolve returns the state after an event of the evaluator's own chain. It
// never fails: what was recorded happened.
func Evolve(s State, event events.Event) State {
	if _, ok := event.Data.(*events.RunConcluded); ok {
		s.Concluded = true
	}
	return s
}
