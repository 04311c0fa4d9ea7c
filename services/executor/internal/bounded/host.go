package bounded

import "sync/atomic"

// Host is what a run reaches the world through. It owns credentials and transport. Only AttemptProvider and InvokeTool
// are external boundaries; the other methods are pure local observations, and a host for which they are not is outside
// of what the Evidence says.
type Host interface {
	// PolicyEpoch is the epoch of the policy that is in force. A run whose epoch is over ends.
	PolicyEpoch() uint64
	// ElapsedMillis is the time since the run began, on a clock that never goes back.
	ElapsedMillis() uint64
	// Probe returns what a sink observes elapsed time and epoch with, at every chunk.
	Probe() Probe
	// Tokenize counts the tokens of a request; known is false for a tokenizer that the host does not have.
	Tokenize(tokenizerID string, request []byte) (tokens uint64, known bool)
	// AttemptProvider asks a provider once and pushes what it answers into the sink.
	AttemptProvider(call ProviderCall, sink *ProviderSink) Attempt
	// InvokeTool invokes a tool once and pushes its result into the sink. It reports false when the invocation failed.
	InvokeTool(call ToolCall, sink *ToolSink) bool
}

// DeadlineHost is a host that can end a tool invocation in time. A host that is not one cannot be interrupted inside
// InvokeTool; its sink refuses what comes late, and no late result is used.
type DeadlineHost interface {
	Host
	// InvokeToolWithDeadline is InvokeTool with the time that remains, which is more than zero.
	InvokeToolWithDeadline(call ToolCall, remainingMillis uint64, sink *ToolSink) bool
}

// Probe observes elapsed time in milliseconds and the epoch of the policy.
type Probe func() (elapsedMillis, epoch uint64)

// ProviderCall is one provider attempt.
type ProviderCall struct {
	ProviderID, ModelID string
	// Request is the canonical request. It is the host's own copy.
	Request []byte
	// RemainingMillis is the time that remains, more than zero.
	RemainingMillis uint64
}

// ToolCall is one invocation of a tool.
type ToolCall struct {
	CallID, ToolID string
	// Arguments is the canonical object of arguments. It is the host's own copy.
	Arguments []byte
}

// Usage is what a provider reported about an attempt. The zero value is no report.
type Usage struct {
	input, output, microunits uint64
	reported                  bool
}

// Tokens are the tokens that a provider reports.
type Tokens struct{ Input, Output uint64 }

// Reported is an explicit report: of tokens, and of the charge in USD microunits.
func Reported(tokens Tokens, usdMicrounits uint64) Usage {
	return Usage{tokens.Input, tokens.Output, usdMicrounits, true}
}

// disposition says what became of an attempt. The zero value is the one that nothing follows from.
type disposition int

const (
	uncertain disposition = iota
	succeeded
	notStarted
)

// Attempt is what a host says about a provider attempt. The zero value is an attempt of which nobody knows whether it
// started.
type Attempt struct {
	disposition disposition
	usage       Usage
}

// Succeeded is an attempt whose response is complete.
func Succeeded(usage Usage) Attempt { return Attempt{succeeded, usage} }

// DefinitelyNotStarted is an attempt of which the host knows that it did not start.
func DefinitelyNotStarted(usage Usage) Attempt { return Attempt{notStarted, usage} }

// FailedUncertain is an attempt that failed, of which nobody knows how far it came.
func FailedUncertain(usage Usage) Attempt { return Attempt{uncertain, usage} }

// Cancellation tells a run to end. It is shared, safe for concurrent use, and can only go from no to yes.
type Cancellation struct{ cancelled atomic.Bool }

// NewCancellation returns a cancellation that nobody asked for yet.
func NewCancellation() *Cancellation { return &Cancellation{} }

// Cancel asks for the end. It does not interrupt anything.
func (c *Cancellation) Cancel() { c.cancelled.Store(true) }

// Cancelled reports whether the end was asked for.
func (c *Cancellation) Cancelled() bool { return c.cancelled.Load() }
