package provider

import (
	"context"
	"errors"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
)

// Provider invokes capabilities of one kind of binding.
//
// Invoke returns when the invocation is over; ending ctx ends it early. It is
// safe for concurrent use. Close ends what is running, waits for it, and makes
// every later Invoke a refusal; it may be called more than once.
type Provider interface {
	Invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome
	Close() error
}

// ErrClosed is the cause of an invocation's end when its provider is closed.
var ErrClosed = errors.New("provider: closed")

// Refused is the outcome of an invocation that certainly had no effect.
func Refused(code events.Code, message string) capability.Outcome {
	return capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: code, Message: message}
}

// Broken is the outcome of an invocation that was under way when it failed: a
// read has changed nothing, a write is uncertain.
func Broken(effect events.Effect, code events.Code, message string) capability.Outcome {
	if effect == events.EffectNone || effect == events.EffectRead {
		return Refused(code, message)
	}
	return capability.Outcome{Status: capability.StatusUncertain, Code: code, Message: message}
}

// Ended says why ctx ended, as a code and a message for an outcome.
func Ended(ctx context.Context) (events.Code, string) {
	switch {
	case errors.Is(context.Cause(ctx), ErrClosed):
		return events.CodeUnavailable, "the provider is shutting down"
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return events.CodeTimeout, "the time for this invocation is over"
	default:
		return events.CodeCancelled, "the invocation was cancelled"
	}
}
