// Package bounded is the capability agent.bounded: a run of the bounded profile as one action of the executor. Its effect
// is read. Whatever becomes of the process that runs it, the executor's own rules say what became of the action: a run
// keeps nothing to go on from.
package bounded

import (
	"context"
	"errors"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider/builtin"
	"example.org/mandate/services/executor/bounded"
)

// The names of the functions.
const (
	// Name is the function for a host that the program supplies.
	Name = "agent.bounded"
	// FixtureName is the function with the host of the known answers, which touches nothing of the world.
	FixtureName = "agent.bounded.fixture"
)

// Options are what the function runs with.
type Options struct {
	// Host returns a host for one run. Without it every invocation is refused.
	Host func() (bounded.Host, error)
	// Now is the clock of the host; nil is the system's.
	Now func() time.Time
}

// Function returns the capability as a builtin function.
func Function(o Options) builtin.Function {
	return func(ctx context.Context, invocation capability.Invocation) ([]byte, error) {
		if invocation.Effect != events.EffectRead {
			return nil, refused(events.CodeEffectOutsideBound, "a bounded run is a read and nothing else")
		}
		if o.Host == nil {
			return nil, refused(events.CodeProviderMissing, "a bounded run needs a host, which a program that embeds the engine supplies")
		}
		host, err := o.Host()
		if err != nil {
			return nil, refused(events.CodeProviderFailed, "the host for a bounded run cannot be had")
		}
		value, err := bounded.Invoke(ctx, bounded.Invocation{
			Host: host, Arguments: invocation.Arguments, OutputBytes: invocation.OutputBytes, Now: o.Now,
		})
		if err != nil {
			return nil, explained(err)
		}
		return value, nil
	}
}

// Fixture returns a host of the known answers.
func Fixture() (bounded.Host, error) { return bounded.NewFixture(), nil }

func refused(code events.Code, message string) error {
	return &builtin.Error{NotApplied: true, Code: code, Message: message}
}

// explained turns a refusal of a run into one of the action. Its text is fixed, so it can be shown.
func explained(err error) error {
	d, ok := errors.AsType[*bounded.Diagnostic](err)
	if !ok {
		return refused(events.CodeArgumentsInvalid, "the arguments are not a profile, a task and budgets")
	}
	code, known := map[string]events.Code{
		"SPX-G208": events.CodeBudgetExhausted, "SPX-G209": events.CodeInternal,
		"SPX-I220": events.CodeCancelled, "SPX-I221": events.CodeDeadline,
	}[string(d.Code)]
	if !known {
		code = events.CodeArgumentsInvalid
	}
	return refused(code, d.Error())
}
