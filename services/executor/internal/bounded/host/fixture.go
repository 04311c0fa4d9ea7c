// Package host has hosts of the bounded profile that touch nothing of the world.
package host

import (
	"bytes"

	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/document"
)

// Fixture is the host of the known answers: one model that asks for the value of "alpha" and then says "done", and one
// tool that gives the value back. Its clock stands still, and one token is one byte.
type Fixture struct{ turns int }

// NewFixture returns a fixture at its first turn.
func NewFixture() *Fixture { return &Fixture{} }

// What the fixture is made of.
const (
	fixtureTokenizer = "fake.bytes-v1"
	fixtureProvider  = "fake.local"
	fixtureModel     = "fake-basic"
	fixtureTool      = "fixture.read"
	fixtureAction    = `{"schema":"` + document.SchemaAction + `","kind":"tool","tool_id":"fixture.read","arguments":{"query":"alpha"}}` + "\n"
	fixtureMessage   = "done"
)

// PolicyEpoch implements bounded.Host: the policy never changes.
func (f *Fixture) PolicyEpoch() uint64 { return 1 }

// ElapsedMillis implements bounded.Host: no time goes by.
func (f *Fixture) ElapsedMillis() uint64 { return 0 }

// Probe implements bounded.Host.
func (f *Fixture) Probe() bounded.Probe {
	return func() (elapsed, epoch uint64) { return f.ElapsedMillis(), f.PolicyEpoch() }
}

// Tokenize implements bounded.Host.
func (f *Fixture) Tokenize(tokenizerID string, request []byte) (tokens uint64, known bool) {
	return uint64(len(request)), tokenizerID == fixtureTokenizer
}

// AttemptProvider implements bounded.Host.
func (f *Fixture) AttemptProvider(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
	if call.ProviderID != fixtureProvider || call.ModelID != fixtureModel {
		return bounded.DefinitelyNotStarted(bounded.Usage{})
	}
	response := []byte(fixtureAction)
	if f.turns++; f.turns > 1 {
		response = document.RenderFinal(fixtureMessage)
	}
	for chunk := range bytes.Lines(response) {
		if sink.Push(chunk) != nil {
			return bounded.FailedUncertain(bounded.Usage{})
		}
	}
	tokens := bounded.Tokens{Input: uint64(len(call.Request)), Output: uint64(len(response))}
	return bounded.Succeeded(bounded.Reported(tokens, 0))
}

// InvokeTool implements bounded.Host.
func (f *Fixture) InvokeTool(call bounded.ToolCall, sink *bounded.ToolSink) bool {
	if call.ToolID != fixtureTool || !bytes.Equal(call.Arguments, []byte(`{"query":"alpha"}`)) {
		return false
	}
	return sink.Push([]byte(`{"value":"alpha"}`)) == nil
}
