// Package authority says what an admitted revision may do and which code keeps
// every bound of it.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package authority

import (
	"slices"

	"example.org/mandate/events"
)

// A Consumer is a piece of code that keeps a bound.
type Consumer string

// The one table from bounds to their consumers (C3-RUN, OD-3.6.13). A bound
// without a consumer is never shown as a promise.
var consumers = map[string]Consumer{
	"actions":            "executor dispatch",
	"artifact_bytes":     "executor result sink",
	"attempts":           "admission candidate check",
	"check_memory_bytes": "evaluator result reader",
	"check_steps":        "evaluator requirement loop",
	"effects":            "admission plan check and executor dispatch",
	"elapsed_millis":     "executor deadline and admission timer",
	"lease_millis":       "executor dispatch",
	"operations":         "admission plan check",
	"revisions":          "admission",
	"context_bytes":      "",
	"cost_micros":        "",
	"input_tokens":       "",
	"output_tokens":      "",
}

// Names lists every bound, sorted.
func Names() []string {
	names := make([]string, 0, len(consumers))
	for name := range consumers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Bounds returns the bounds of a revision. Without a model no tokens, cost or
// context are used, so these bounds do not apply; with one they would need a
// consumer.
func Bounds(ceiling events.Limits, effects []events.Effect, leaseMillis int64, operations int, usesModel bool) []events.Bound {
	values := map[string]int64{
		"actions": ceiling.Actions, "artifact_bytes": ceiling.ArtifactBytes, "attempts": ceiling.Attempts,
		"check_steps": ceiling.CheckSteps, "effects": int64(len(effects)), "elapsed_millis": ceiling.ElapsedMillis,
		"lease_millis": leaseMillis, "operations": int64(operations), "revisions": ceiling.Revisions,
		"check_memory_bytes": ceiling.CheckMemoryBytes, "context_bytes": ceiling.ContextBytes,
		"cost_micros": ceiling.CostMicros, "input_tokens": ceiling.InputTokens, "output_tokens": ceiling.OutputTokens,
	}
	var bounds []events.Bound
	for _, name := range Names() {
		b := events.Bound{Name: name, Value: values[name], Consumer: string(consumers[name])}
		switch {
		case b.Consumer != "":
			b.Status, b.Reason = events.BoundEnforced, "checked before every use"
		case usesModel:
			b.Status, b.Reason = events.BoundUnavailable, "no model provider keeps this bound"
		default:
			b.Status, b.Reason = events.BoundNotApplicable, "the run calls no model"
		}
		bounds = append(bounds, b)
	}
	return bounds
}

// Unkept returns the names of required bounds that nothing keeps.
func Unkept(bounds []events.Bound) []string {
	var names []string
	for _, b := range bounds {
		if b.Status == events.BoundUnavailable {
			names = append(names, b.Name)
		}
	}
	return names
}

// Within reports whether every effect is in bound.
func Within(effects, bound []events.Effect) bool {
	return !slices.ContainsFunc(effects, func(e events.Effect) bool { return !slices.Contains(bound, e) })
}

// Allows reports whether a list of principals names one; "*" is everybody who
// was authenticated.
func Allows(list []string, principal events.Principal) bool {
	return principal.ID != "" && (slices.Contains(list, principal.ID) || slices.Contains(list, "*"))
}
