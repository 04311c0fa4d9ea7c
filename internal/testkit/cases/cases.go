// Package cases builds what tests of the pure cores decide on: a registry,
// requests, commits, and a script that folds what a core decides. Everything
// in it is fixed, so a case that fails fails again.
package cases

import (
	"fmt"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/registry"
)

// The run that the cases are about.
const (
	Tenant = "default"
	Run    = "01JZZZZZZZZZZZZZZZZZZZZZZZ"
	Agent  = "clerk"
	Policy = "careful"
)

// Start is when the first thing of every case happens.
const Start events.Time = 1_770_000_000_000_000_000

// Second is a second, for arithmetic with [Start].
const Second events.Time = 1_000_000_000

// Person is who submits and who approves.
func Person() events.Principal {
	return events.Principal{ID: "ann", Kind: events.PrincipalPerson}
}

// Subject is the subject of an owner about the run.
func Subject(owner events.Owner) events.Subject {
	return events.Subject{Owner: owner, Tenant: Tenant, Run: Run}
}

// key is the key of every body.
var key = []byte("0123456789abcdef0123456789abcdef")

// Seal returns a body that is committed to and still open, as a reader with
// the key has it.
func Seal(b events.Body) events.Body {
	if b.IsZero() {
		return b
	}
	b, _ = b.Committed(key)
	return b
}

// Closed returns b as a reader without the key has it.
func Closed(b events.Body) events.Body {
	return events.Body{Commitment: b.Commitment, Size: b.Size, MediaType: b.MediaType, Class: b.Class}
}

// Text returns a sealed body of bytes.
func Text(class events.Class, content string) events.Body {
	return Seal(events.NewBody(class, events.MediaJSON, []byte(content)))
}

// Document returns a sealed body of the canonical JSON of v.
func Document(class events.Class, v any) events.Body {
	return Seal(must(events.NewDocument(class, v)))
}

// JSON returns the canonical JSON of v.
func JSON(v any) []byte { return must(canon.JSON(v)) }

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("cases: %v", err))
	}
	return v
}

// Commit returns a commit of payloads by an owner. Its identity follows from
// its number.
func Commit(owner events.Owner, number uint64, payloads ...events.Payload) *events.Commit {
	c := &events.Commit{
		ID: fmt.Sprintf("%s-%d", owner, number), Subject: Subject(owner), Number: number, Protocol: events.Protocol,
		Digest: canon.Sum("case", fmt.Appendf(nil, "%s-%d", owner, number)),
	}
	for i, p := range payloads {
		c.Events = append(c.Events, events.Event{ID: fmt.Sprintf("%s-%d-%d", owner, number, i), Time: Start, Data: p})
	}
	return c
}

// Delivered is the input of a commit that another service made.
func Delivered(at events.Time, view registry.View, c *events.Commit) decider.Input {
	return decider.Input{Kind: decider.Delivered, At: at, Commit: c, Registry: view}
}

// Fired is the input of a timer.
func Fired(at events.Time, view registry.View, timer string) decider.Input {
	return decider.Input{Kind: decider.Fired, At: at, Timer: timer, Registry: view}
}

// Observed is the input of an outcome.
func Observed(at events.Time, view registry.View, action string, o capability.Outcome) decider.Input {
	return decider.Input{Kind: decider.Observed, At: at, Work: action, Outcome: o, Registry: view}
}

// Changed is the input after the registry changed.
func Changed(at events.Time, view registry.View) decider.Input {
	return decider.Input{Kind: decider.Changed, At: at, Registry: view}
}

// Recovered is the input after a start; inFlight are the calls in hand.
func Recovered(at events.Time, view registry.View, inFlight ...string) decider.Input {
	in := decider.Input{Kind: decider.Recovered, At: at, Registry: view, InFlight: map[string]bool{}}
	for _, action := range inFlight {
		in.InFlight[action] = true
	}
	return in
}

// Script is one core with the state that its own decisions led to.
type Script[S any] struct {
	Core  decider.Core[S]
	State S
	// All are all events decided so far.
	All []events.Payload
}

// NewScript returns a script at the zero state.
func NewScript[S any](core decider.Core[S]) *Script[S] { return &Script[S]{Core: core} }

// Decide decides on an input and folds the decision. An error folds nothing.
func (s *Script[S]) Decide(in decider.Input) (decider.Decision, error) {
	in.Run = Subject(s.Core.Owner)
	d, err := s.Core.Decide(s.State, in)
	if err != nil {
		return d, err
	}
	for _, p := range d.Events {
		s.State = s.Core.Evolve(s.State, events.Event{Time: in.At, Data: p})
	}
	s.All = append(s.All, d.Events...)
	return d, nil
}

// Do decides on an input and fails the test on an error.
func (s *Script[S]) Do(tb testing.TB, in decider.Input) decider.Decision {
	tb.Helper()
	d, err := s.Decide(in)
	if err != nil {
		tb.Fatalf("decide on %s: %v", in.Kind, err)
	}
	return d
}

// Refuse decides on an input and fails the test unless it is refused with
// code, and nothing else.
func (s *Script[S]) Refuse(tb testing.TB, code events.Code, in decider.Input) {
	tb.Helper()
	d, err := s.Decide(in)
	refused, ok := err.(*decider.Error) //nolint:errorlint // the core returns exactly it
	if !ok || refused.Code != code {
		tb.Fatalf("error %v, want one with code %s", err, code)
	}
	if len(d.Events) > 0 || len(d.Work) > 0 {
		tb.Fatalf("an error came with a decision: %+v", d)
	}
}

// Event returns the one event of type P in a list, and whether there is
// exactly one.
func Event[P events.Payload](list []events.Payload) (found P, one bool) {
	for _, p := range list {
		if e, ok := p.(P); ok {
			if one {
				return found, false
			}
			found, one = e, true
		}
	}
	return found, one
}

// Events returns every event of type P in a list.
func Events[P events.Payload](list []events.Payload) (found []P) {
	for _, p := range list {
		if e, ok := p.(P); ok {
			found = append(found, e)
		}
	}
	return found
}

// Want returns the one event of type P in a list, or fails the test.
func Want[P events.Payload](tb testing.TB, list []events.Payload) P {
	tb.Helper()
	found, one := Event[P](list)
	if !one {
		tb.Fatalf("want exactly one %T, got %s", found, Types(list))
	}
	return found
}

// Types lists the types of events in words.
func Types(list []events.Payload) (types []string) {
	for _, p := range list {
		types = append(types, p.EventType())
	}
	return types
}

// Codes lists the codes of diagnostics.
func Codes(found []events.Diagnostic) (codes []events.Code) {
	for _, d := range found {
		codes = append(codes, d.Code)
	}
	return codes
}

// Data returns the data of the i-th event of a commit, which is a P.
func Data[P events.Payload](tb testing.TB, c *events.Commit, i int) P {
	tb.Helper()
	data, ok := c.Events[i].Data.(P)
	if !ok {
		tb.Fatalf("event %d is a %T", i, c.Events[i].Data)
	}
	return data
}

// AppliedAgent is the event by which an agent is applied.
func AppliedAgent(definition events.Agent) *events.AgentApplied {
	if e, ok := Applied(events.KindAgent, Agent, definition).(*events.AgentApplied); ok {
		return e
	}
	return nil
}
