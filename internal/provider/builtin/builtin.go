// Package builtin is the provider of capabilities that are Go functions of
// the program that the engine runs in.
package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
)

// Function is a capability in Go. It returns the JSON of its result value, at
// most invocation.OutputBytes long. It must return soon after ctx ends: a
// function cannot be stopped from outside.
//
// An error means that the capability failed. For a write it also means that
// nobody knows whether the effect took place, unless it is an *Error that says
// more.
type Function func(ctx context.Context, invocation capability.Invocation) ([]byte, error)

// Error is how a function says exactly what happened.
type Error struct {
	// Status is any but StatusCompleted; empty means StatusFailed.
	Status capability.Status
	// NotApplied says that it is certain that no effect took place.
	NotApplied bool
	// Code is zero for the usual code of the status.
	Code events.Code
	// Message is public: it holds no arguments, credentials or output.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// ErrName is returned for a function that cannot be registered.
var ErrName = errors.New("builtin: a function needs a name of its own and a body")

// Builder collects functions. It is not safe for concurrent use.
type Builder struct {
	functions map[string]Function
}

// NewBuilder returns a builder with no functions.
func NewBuilder() *Builder { return &Builder{functions: make(map[string]Function)} }

// Register adds a function under a name that is not taken.
func (b *Builder) Register(name string, function Function) error {
	if _, taken := b.functions[name]; taken || name == "" || function == nil {
		return fmt.Errorf("%w: %.80q", ErrName, name)
	}
	b.functions[name] = function
	return nil
}

// Build returns a provider of the functions so far.
func (b *Builder) Build() *Provider {
	return &Provider{functions: maps.Clone(b.functions), now: time.Now}
}

// Provider calls functions. It implements provider.Provider.
type Provider struct {
	functions map[string]Function
	now       func() time.Time
	gate      provider.Gate
}

// Close implements provider.Provider.
func (p *Provider) Close() error {
	p.gate.Close()
	return nil
}

// Invoke implements provider.Provider.
func (p *Provider) Invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	started := events.At(p.now())
	outcome := p.invoke(ctx, invocation)
	outcome.Started, outcome.Finished = started, events.At(p.now())
	return outcome
}

// invoke finds and calls the function.
func (p *Provider) invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	ctx, leave, ok := p.gate.Enter(ctx)
	if !ok {
		return provider.Refused(events.CodeUnavailable, "the provider is closed")
	}
	defer leave()
	binding := invocation.Provider.Builtin
	if binding == nil {
		return provider.Refused(events.CodeProviderMissing, "the capability has no builtin binding")
	}
	function, ok := p.functions[binding.Function]
	if !ok {
		return provider.Refused(events.CodeProviderMissing, "no function is registered under the capability's name for it")
	}
	if _, err := provider.DecodeArguments(invocation.Arguments); err != nil {
		return provider.Refused(events.CodeArgumentsInvalid, "the arguments are not an acceptable JSON object")
	}
	if ctx.Err() != nil {
		code, message := provider.Ended(ctx)
		return provider.Refused(code, message)
	}
	output, err := call(ctx, function, invocation)
	if err != nil {
		return failure(ctx, invocation.Effect, err)
	}
	return p.completed(invocation, output)
}

// completed checks the output of a function that succeeded.
func (p *Provider) completed(invocation capability.Invocation, output []byte) capability.Outcome {
	sink := provider.NewSink(invocation.OutputBytes, nil)
	if _, err := sink.Write(output); err != nil {
		return provider.Broken(invocation.Effect, events.CodeOutputTooLarge, "the function returned more than it may")
	}
	value, err := provider.CanonicalValue(output)
	if err != nil {
		return provider.Broken(invocation.Effect, events.CodeOutputInvalid, "the function did not return a valid value")
	}
	content, err := canon.JSON(map[string]string{"function": invocation.Provider.Builtin.Function})
	if err != nil {
		content = nil
	}
	return capability.Outcome{
		Status: capability.StatusCompleted, Value: value, Raw: output, MediaType: events.MediaJSON,
		Evidence: []capability.Observation{{
			Kind: "invocation", Method: "builtin-return", Observed: events.At(p.now()),
			Content: content, MediaType: events.MediaJSON,
		}},
	}
}

// errPanic is what a panic in a function becomes.
var errPanic = errors.New("builtin: the function panicked")

// call calls function, whose panic is its own failure and nobody else's.
func call(ctx context.Context, function Function, invocation capability.Invocation) (output []byte, err error) {
	defer func() {
		if recover() != nil {
			output, err = nil, errPanic
		}
	}()
	// The function gets its own copy of the arguments (IK-5.5.2).
	invocation.Arguments = append([]byte(nil), invocation.Arguments...)
	return function(ctx, invocation)
}

// failure turns an error into an outcome. Only the message of an *Error is
// public.
func failure(ctx context.Context, effect events.Effect, err error) capability.Outcome {
	var told *Error
	switch {
	case errors.As(err, &told):
		return reported(effect, *told)
	case ctx.Err() != nil:
		code, message := provider.Ended(ctx)
		return provider.Broken(effect, code, message)
	case errors.Is(err, errPanic):
		return provider.Broken(effect, events.CodeProviderFailed, "the function panicked")
	}
	return provider.Broken(effect, events.CodeActionFailed, "the function returned an error")
}

// reported turns a function's own account into an outcome.
func reported(effect events.Effect, told Error) capability.Outcome {
	outcome := capability.Outcome{Status: told.Status, Code: told.Code, Message: told.Message}
	usual := events.CodeActionFailed
	switch told.Status {
	case "", capability.StatusFailed:
		outcome.Status = capability.StatusFailed
		outcome.NotApplied = told.NotApplied || effect != events.EffectWrite
	case capability.StatusUncertain:
		usual = events.CodeActionUncertain
	case capability.StatusNeedsInput:
		usual = events.CodeArgumentsInvalid
	case capability.StatusNeedsDependency:
		usual = events.CodePrecheckUnmet
	case capability.StatusNeedsConfirmation:
		usual = events.CodeConfirmationMissing
	case capability.StatusCompleted:
		return provider.Broken(effect, events.CodeProviderFailed, "the function returned an error that says it completed")
	default:
		return provider.Broken(effect, events.CodeProviderFailed, "the function reported an unknown status")
	}
	if outcome.Code == 0 {
		outcome.Code = usual
	}
	return outcome
}
