package interpreter

import (
	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// State is what the interpreter remembers of one run. The zero State is a run
// without events.
type State struct {
	// Formalization is the identity of the interpretation proposed last.
	Formalization string
	// Attempts counts proposals.
	Attempts int
	Failed   bool
}

// Core returns the pure core of the service.
func Core() decider.Core[State] {
	return decider.Core[State]{Owner: events.OwnerInterpreter, Evolve: Evolve, Decide: Decide}
}

// Evolve returns the state after an event of the interpreter's own chain. It
// never fails: what was recorded happened.
func Evolve(s State, event events.Event) State {
	switch e := event.Data.(type) {
	case *events.SpecProposed:
		s.Formalization = e.Formalization
	case *events.PlanProposed:
		s.Attempts = e.Attempt
	case *events.InterpretationFailed:
		s.Failed = true
	}
	return s
}
