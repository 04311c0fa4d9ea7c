// Package bounded is the bounded profile for Go programs: an [Agent] over a [Host] that the program supplies. It runs a
// task in one loop under a frozen profile, accepts only canonical actions, calls read-only tools, and leaves a Trace,
// Evidence and an accounting receipt that replay. docs/bounded.md says what it is and what it does not claim.
//
// The host owns credentials and transport. Only its provider attempts and tool invocations are external boundaries; a
// host whose other methods touch the world is outside of what the Evidence says, and nothing here proves that a host has
// no side effects.
package bounded

import (
	"context"
	"time"

	core "example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/host"
)

type (
	// Agent runs tasks under one admitted profile, one at a time.
	Agent = core.Agent
	// AgentRun is what a run left behind.
	AgentRun = core.AgentRun
	// Options are what an agent is made with.
	Options = core.Options
	// Outer are budgets of the caller that lower the profile's limits.
	Outer = core.Outer
	// Cancellation ends runs; once cancelled is always cancelled.
	Cancellation = core.Cancellation
	// Host is what a run reaches the world through.
	Host = core.Host
	// DeadlineHost is a host that can end a tool invocation in time.
	DeadlineHost = core.DeadlineHost
	// Probe observes elapsed time and policy epoch.
	Probe = core.Probe
	// ProviderCall is one provider attempt.
	ProviderCall = core.ProviderCall
	// ToolCall is one invocation of a tool.
	ToolCall = core.ToolCall
	// Attempt is what a host says about a provider attempt.
	Attempt = core.Attempt
	// Usage is what a provider reported.
	Usage = core.Usage
	// Tokens are the tokens that a provider reports.
	Tokens = core.Tokens
	// ProviderSink takes the response of one provider attempt.
	ProviderSink = core.ProviderSink
	// ToolSink takes the result of one tool invocation.
	ToolSink = core.ToolSink
	// Diagnostic is a code and its fixed text. Every error of this package is one, but for those that it names.
	Diagnostic = diagnostic.Diagnostic
)

// ErrSinkClosed is what pushing gives outside of the one call that a sink was made for.
var ErrSinkClosed = core.ErrSinkClosed

// ErrNoHost is returned for an agent without a host.
var ErrNoHost = core.ErrNoHost

// New admits a profile.
func New(profile []byte, host Host, options Options) (*Agent, error) {
	return core.New(profile, host, options)
}

// NewCancellation returns a cancellation that nobody asked for yet.
func NewCancellation() *Cancellation { return core.NewCancellation() }

// Reported is an explicit report: of tokens, and of the charge in USD microunits.
func Reported(tokens Tokens, usdMicrounits uint64) Usage { return core.Reported(tokens, usdMicrounits) }

// Succeeded is an attempt whose response is complete.
func Succeeded(usage Usage) Attempt { return core.Succeeded(usage) }

// DefinitelyNotStarted is an attempt of which the host knows that it did not start.
func DefinitelyNotStarted(usage Usage) Attempt { return core.DefinitelyNotStarted(usage) }

// FailedUncertain is an attempt that failed, of which nobody knows how far it came.
func FailedUncertain(usage Usage) Attempt { return core.FailedUncertain(usage) }

// Run runs a task and cancels the agent when ctx ends. An agent that was cancelled stays cancelled.
func Run(ctx context.Context, agent *Agent, task []byte) (*AgentRun, error) {
	stop := context.AfterFunc(ctx, agent.Cancellation().Cancel)
	defer stop()
	if ctx.Err() != nil { // the function above runs on its own time
		agent.Cancellation().Cancel()
	}
	return agent.Run(task)
}

// NewFixture returns the host of the known answers. It touches nothing of the world, and answers what the published
// fixture documents say.
func NewFixture() Host { return host.NewFixture() }

// Clock is a monotonic clock for hosts.
type Clock struct {
	started time.Time
	now     func() time.Time
}

// NewClock returns a clock that starts now; nil takes the system's.
func NewClock(now func() time.Time) *Clock {
	if now == nil {
		now = time.Now
	}
	return &Clock{started: now(), now: now}
}

// ElapsedMillis is the time since the clock was made.
func (c *Clock) ElapsedMillis() uint64 {
	return uint64(max(0, c.now().Sub(c.started).Milliseconds()))
}
