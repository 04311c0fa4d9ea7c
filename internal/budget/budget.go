// Package budget is the arithmetic of finite limits: zero is zero, nothing
// wraps around, and no operation ever widens an allowance.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package budget

import (
	"errors"
	"fmt"
	"math"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
)

// Errors. They are wrapped with the resource's name.
var (
	ErrExhausted = errors.New("budget exhausted")
	ErrNegative  = errors.New("negative limit")
	ErrOverflow  = errors.New("budget overflow")
	ErrUnit      = errors.New("different billing units")
)

// Resource names one metered resource and finds it in a set of limits.
type Resource struct {
	Name  string
	Field func(*events.Limits) *int64
}

// Resources lists every metered resource (C3-RUN-004.a), in a fixed order.
func Resources() []Resource {
	return []Resource{
		{"attempts", func(l *events.Limits) *int64 { return &l.Attempts }},
		{"revisions", func(l *events.Limits) *int64 { return &l.Revisions }},
		{"elapsed_millis", func(l *events.Limits) *int64 { return &l.ElapsedMillis }},
		{"input_tokens", func(l *events.Limits) *int64 { return &l.InputTokens }},
		{"output_tokens", func(l *events.Limits) *int64 { return &l.OutputTokens }},
		{"cost_micros", func(l *events.Limits) *int64 { return &l.CostMicros }},
		{"check_steps", func(l *events.Limits) *int64 { return &l.CheckSteps }},
		{"check_memory_bytes", func(l *events.Limits) *int64 { return &l.CheckMemoryBytes }},
		{"artifact_bytes", func(l *events.Limits) *int64 { return &l.ArtifactBytes }},
		{"context_bytes", func(l *events.Limits) *int64 { return &l.ContextBytes }},
		{"actions", func(l *events.Limits) *int64 { return &l.Actions }},
	}
}

// Check reports the first limit that is negative, or a missing unit.
func Check(l events.Limits) error {
	for _, r := range Resources() {
		if *r.Field(&l) < 0 {
			return fmt.Errorf("%w: %s", ErrNegative, r.Name)
		}
	}
	if l.CostUnit == "" {
		return fmt.Errorf("%w: cost_unit is empty", ErrUnit)
	}
	return nil
}

// Missing lists the resources that a document of limits does not name, in the
// order of [Resources]. A limit that is left out is not the limit zero.
func Missing[V any](document map[string]V) []string {
	var names []string
	for _, r := range Resources() {
		if _, ok := document[r.Name]; !ok {
			names = append(names, r.Name)
		}
	}
	return names
}

// MissingIn is [Missing] of the limits in a request document. A document that
// cannot be read or has no limits lacks none: both are refused as what they are.
func MissingIn(document []byte) []string {
	var written struct {
		Limits map[string]events.JSON `json:"limits"`
	}
	if json.Unmarshal(document, &written) != nil || written.Limits == nil {
		return nil
	}
	return Missing(written.Limits)
}

// Meet returns the smaller of each limit: never above either.
func Meet(a, b events.Limits) events.Limits {
	out := a
	for _, r := range Resources() {
		*r.Field(&out) = min(*r.Field(&a), *r.Field(&b))
	}
	if a.CostUnit != b.CostUnit {
		// Amounts in different units cannot be compared: nothing is allowed.
		out.CostMicros = 0
		out.CostUnit = min(a.CostUnit, b.CostUnit)
	}
	return out
}

// Within reports whether every limit of a is at most that of b, and otherwise
// the name of the first that is not.
func Within(a, b events.Limits) (resource string, ok bool) {
	for _, r := range Resources() {
		if *r.Field(&a) > *r.Field(&b) {
			return r.Name, false
		}
	}
	if a.CostMicros > 0 && a.CostUnit != b.CostUnit {
		return "cost_unit", false
	}
	return "", true
}

// Spend returns left after use, or [ErrExhausted] naming the resource that
// does not suffice; then nothing is spent. A negative use is refused.
func Spend(left, use events.Limits) (events.Limits, error) {
	out := left
	for _, r := range Resources() {
		have, want := *r.Field(&left), *r.Field(&use)
		if want < 0 {
			return left, fmt.Errorf("%w: %s", ErrNegative, r.Name)
		}
		if want > have {
			return left, fmt.Errorf("%w: %s", ErrExhausted, r.Name)
		}
		*r.Field(&out) = have - want
	}
	if use.CostMicros > 0 && use.CostUnit != left.CostUnit {
		return left, fmt.Errorf("%w: %s and %s", ErrUnit, use.CostUnit, left.CostUnit)
	}
	return out, nil
}

// Add returns the sum of what two parties consumed.
func Add(a, b events.Limits) (events.Limits, error) {
	out := a
	for _, r := range Resources() {
		x, y := *r.Field(&a), *r.Field(&b)
		if x < 0 || y < 0 {
			return a, fmt.Errorf("%w: %s", ErrNegative, r.Name)
		}
		if x > math.MaxInt64-y {
			return a, fmt.Errorf("%w: %s", ErrOverflow, r.Name)
		}
		*r.Field(&out) = x + y
	}
	if out.CostUnit == "" {
		out.CostUnit = b.CostUnit
	}
	if a.CostMicros > 0 && b.CostMicros > 0 && a.CostUnit != b.CostUnit {
		return a, fmt.Errorf("%w: %s and %s", ErrUnit, a.CostUnit, b.CostUnit)
	}
	return out, nil
}

// Allot divides a ceiling among the services that spend it. What each gets is
// its own; the sum of every divided resource is the ceiling. Elapsed time is
// not divided: it passes for all at once.
func Allot(ceiling events.Limits) map[events.Owner]events.Limits {
	unit, elapsed := ceiling.CostUnit, ceiling.ElapsedMillis
	return map[events.Owner]events.Limits{
		events.OwnerAdmission: {Revisions: ceiling.Revisions, CostUnit: unit, ElapsedMillis: elapsed},
		events.OwnerInterpreter: {
			Attempts: ceiling.Attempts, InputTokens: ceiling.InputTokens, OutputTokens: ceiling.OutputTokens,
			CostMicros: ceiling.CostMicros, ContextBytes: ceiling.ContextBytes, CostUnit: unit, ElapsedMillis: elapsed,
		},
		events.OwnerExecutor: {
			Actions: ceiling.Actions, ArtifactBytes: ceiling.ArtifactBytes, CostUnit: unit, ElapsedMillis: elapsed,
		},
		events.OwnerEvaluator: {
			CheckSteps: ceiling.CheckSteps, CheckMemoryBytes: ceiling.CheckMemoryBytes, CostUnit: unit, ElapsedMillis: elapsed,
		},
	}
}
