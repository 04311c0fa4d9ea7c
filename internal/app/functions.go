package app

import (
	"context"
	"errors"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/bounded"
	"example.org/mandate/internal/provider/builtin"
	"example.org/mandate/projections/runs"
)

// Waiting is something that waits for a person.
type Waiting = runs.Waiting

// Asker is asked for everything that waits for a person.
type Asker = func(context.Context, Waiting) error

// Function is a capability that is a Go function.
type Function func(ctx context.Context, call Call) ([]byte, error)

// Call is one dispatch of a function.
type Call struct {
	Run            string
	Action         string
	IdempotencyKey string
	Arguments      []byte
}

// Functions returns a provider of Go functions, and of the functions that every
// engine has. An error that says that nothing was applied has a method
// NotApplied() bool.
func Functions(functions map[string]Function) (provider.Provider, error) {
	b := builtin.NewBuilder()
	errs := []error{
		b.Register("noop", builtin.Noop), b.Register("echo", builtin.Echo),
		b.Register(bounded.FixtureName, bounded.Function(bounded.Options{Host: bounded.Fixture})),
	}
	if _, supplied := functions[bounded.Name]; !supplied { // a program that has a host registers the name itself
		errs = append(errs, b.Register(bounded.Name, bounded.Function(bounded.Options{})))
	}
	for name, function := range functions {
		errs = append(errs, b.Register(name, func(ctx context.Context, i capability.Invocation) ([]byte, error) {
			value, err := function(ctx, Call{Run: i.Run, Action: i.Action, IdempotencyKey: i.IdempotencyKey, Arguments: i.Arguments})
			var notApplied interface{ NotApplied() bool }
			if errors.As(err, &notApplied) && notApplied.NotApplied() {
				return nil, &builtin.Error{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeActionFailed, Message: "the function says that nothing was applied"}
			}
			return value, err
		}))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return b.Build(), nil
}
