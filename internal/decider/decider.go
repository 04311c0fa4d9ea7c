// Package decider says what the pure core of a service is: a function from
// state and input to a decision.
//
// A core reads no clock, makes no identifiers at random and calls nothing.
// Time is a field of the input; identifiers derive from what they name; work
// leaves as data and its outcome comes back as the next input.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package decider

import (
	"fmt"
	"maps"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/registry"
)

// Kind is the kind of an input.
type Kind string

// The kinds of inputs.
const (
	// Delivered: another service committed something.
	Delivered Kind = "delivered"
	// Fired: a timer of this service fired. It is only a hint.
	Fired Kind = "fired"
	// Observed: work that this process started has ended.
	Observed Kind = "observed"
	// Recovered: the run was read again, perhaps by a process that did not
	// start its work: what is in flight according to the state, but not in
	// InFlight, is lost.
	Recovered Kind = "recovered"
	// Changed: the registry of the tenant changed while work of the run is in
	// hand.
	Changed Kind = "changed"
)

// Input is what a core decides on.
type Input struct {
	Kind   Kind
	At     events.Time    // the shell's clock when it took the input
	Run    events.Subject // with the core's own owner
	Commit *events.Commit // Delivered
	Timer  string         // Fired

	// Work and Outcome: which work ended, and how (Observed).
	Work    string
	Outcome capability.Outcome

	// InFlight lists the keys of the calls that this process has in hand.
	InFlight map[string]bool

	// Registry is the tenant's registry as the shell last saw it, at least at
	// the epoch that the run is pinned to.
	Registry registry.View
}

// Decision is what follows from an input: one commit, and work to start after
// it is appended. No events means that nothing is appended.
type Decision struct {
	Events []events.Payload
	Work   []Work
}

// Work is something to do after the append. The set is closed.
type Work interface{ isWork() }

// CallCapability invokes a capability and reports the outcome as an
// [Observed] input with Key.
type CallCapability struct {
	Key        string // the action ID
	Invocation capability.Invocation
	Deadline   events.Time
}

// StopCall asks the call with Key to end. Its outcome is still reported.
type StopCall struct{ Key string }

// SetTimer schedules a durable wake-up.
type SetTimer struct {
	Name string
	At   events.Time
}

// ClearTimer removes a wake-up that is no longer needed.
type ClearTimer struct{ Name string }

func (CallCapability) isWork() {}
func (StopCall) isWork()       {}
func (SetTimer) isWork()       {}
func (ClearTimer) isWork()     {}

// Core is the pure core of a service: two functions of a state.
type Core[S any] struct {
	Owner events.Owner
	// Evolve returns the state after an event of the service's own chain. It
	// never fails: what was recorded happened.
	Evolve func(S, events.Event) S
	// Decide returns what follows from an input. A refusal of what was asked
	// is an event; an error means that the input makes no sense in this state
	// and nothing happened.
	Decide func(S, Input) (Decision, error)
}

// Error says why an input makes no sense.
type Error struct {
	Owner events.Owner
	Code  events.Code
	What  string
}

// Error implements the error interface.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %s", e.Owner, e.Code, e.What) }

// Heads returns heads with those of a delivered commit added.
func Heads(heads events.Heads, c *events.Commit) events.Heads {
	out := make(events.Heads, len(heads)+1)
	maps.Copy(out, heads)
	if c != nil {
		out[c.Subject.Owner] = c.Head()
	}
	return out
}
