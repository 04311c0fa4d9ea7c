package provider

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
)

// Slot is a provider and how many invocations it may have at once.
type Slot struct {
	Provider    Provider
	Concurrency int
}

// Options are the providers of a Set by binding. An empty slot means that
// there is no provider for that kind.
type Options struct {
	Process Slot
	MCP     Slot
	Builtin Slot
	// Ceiling bounds every invocation, whatever its context says.
	Ceiling time.Duration
	// Now is the clock of the host; nil is the system's.
	Now func() time.Time
}

// DefaultConcurrency is how many invocations a provider may have at once when
// nothing else is set.
const DefaultConcurrency = 8

// DefaultCeiling bounds an invocation when nothing else is set.
const DefaultCeiling = 15 * time.Minute

// validate completes o and refuses what makes no sense.
func (o *Options) validate() error {
	for _, slot := range []*Slot{&o.Process, &o.MCP, &o.Builtin} {
		if slot.Concurrency == 0 {
			slot.Concurrency = DefaultConcurrency
		}
		if slot.Concurrency < 0 {
			return fmt.Errorf("provider: concurrency %d", slot.Concurrency)
		}
	}
	if o.Ceiling == 0 {
		o.Ceiling = DefaultCeiling
	}
	if o.Ceiling < 0 {
		return fmt.Errorf("provider: ceiling %v", o.Ceiling)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Set is a Provider that hands each invocation to the provider of its binding.
type Set struct {
	options Options
	slots   map[binding]*lane
	gate    Gate
}

// binding is which member of a ProviderBinding is set.
type binding int

const (
	bindingProcess binding = iota + 1
	bindingMCP
	bindingBuiltin
)

// lane is a provider behind its concurrency limit.
type lane struct {
	provider Provider
	tokens   chan struct{}
}

// NewSet returns a set that owns the providers in options: closing it closes
// them.
func NewSet(options Options) (*Set, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	set := &Set{options: options, slots: make(map[binding]*lane)}
	for kind, slot := range map[binding]Slot{
		bindingProcess: options.Process, bindingMCP: options.MCP, bindingBuiltin: options.Builtin,
	} {
		if slot.Provider != nil {
			set.slots[kind] = &lane{provider: slot.Provider, tokens: make(chan struct{}, slot.Concurrency)}
		}
	}
	return set, nil
}

// Invoke implements Provider.
func (s *Set) Invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	started := s.options.Now()
	outcome := s.route(ctx, invocation)
	if outcome.Started == 0 {
		outcome.Started = events.At(started)
	}
	if outcome.Finished == 0 {
		outcome.Finished = events.At(s.options.Now())
	}
	return outcome
}

// route finds the provider, waits for its turn and checks what comes back.
func (s *Set) route(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	if !invocation.Effect.Valid() {
		return Refused(events.CodeProviderFailed, "the effect of the capability is unknown")
	}
	kind, ok := bindingOf(invocation.Provider)
	if !ok {
		return Refused(events.CodeProviderMissing, "the capability does not name exactly one provider")
	}
	lane, ok := s.slots[kind]
	if !ok {
		return Refused(events.CodeProviderMissing, "this executor has no provider of that kind")
	}
	ctx, stop := context.WithTimeout(ctx, s.options.Ceiling)
	defer stop()
	ctx, leave, ok := s.gate.Enter(ctx)
	if !ok {
		return Refused(events.CodeUnavailable, "the providers are closed")
	}
	defer leave()
	select {
	case lane.tokens <- struct{}{}:
		defer func() { <-lane.tokens }()
	case <-ctx.Done():
		code, message := Ended(ctx)
		return Refused(code, message)
	}
	if ctx.Err() != nil {
		code, message := Ended(ctx)
		return Refused(code, message)
	}
	return checked(invocation, lane.provider.Invoke(ctx, invocation))
}

// Close ends what is running and closes the providers.
func (s *Set) Close() error {
	s.gate.Close()
	var failures []error
	for _, kind := range []binding{bindingProcess, bindingMCP, bindingBuiltin} {
		if lane, ok := s.slots[kind]; ok {
			failures = append(failures, lane.provider.Close())
		}
	}
	return errors.Join(failures...)
}

// bindingOf returns the one kind that b sets.
func bindingOf(b events.ProviderBinding) (binding, bool) {
	kind, members := binding(0), 0
	if b.Process != nil {
		kind, members = bindingProcess, members+1
	}
	if b.MCP != nil {
		kind, members = bindingMCP, members+1
	}
	if b.Builtin != nil {
		kind, members = bindingBuiltin, members+1
	}
	return kind, members == 1
}

// checked refuses an outcome outside the closed set: a status that is unknown,
// or a completion without a canonical value.
func checked(invocation capability.Invocation, outcome capability.Outcome) capability.Outcome {
	switch outcome.Status {
	case capability.StatusCompleted:
		value, err := CanonicalValue(outcome.Value)
		if err != nil {
			broken := Broken(invocation.Effect, events.CodeOutputInvalid, "the provider completed without a valid value")
			broken.Evidence, broken.Raw, broken.MediaType = outcome.Evidence, outcome.Raw, outcome.MediaType
			broken.Started, broken.Finished, broken.Receipt = outcome.Started, outcome.Finished, outcome.Receipt
			return broken
		}
		outcome.Value = value
		return outcome
	case capability.StatusNeedsInput, capability.StatusNeedsDependency, capability.StatusNeedsConfirmation,
		capability.StatusFailed, capability.StatusUncertain:
		outcome.Value = nil
		return outcome
	}
	return Broken(invocation.Effect, events.CodeProviderFailed, "the provider reported an unknown status")
}
