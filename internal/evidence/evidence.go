// Package evidence says how well something is established by the way in which
// it was acquired, and what a capability can establish at all.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package evidence

import (
	"slices"

	"example.org/mandate/events"
)

// The times that evidence can carry.
const (
	TimeObserved       = "observed"
	TimeSourceModified = "source_modified"
	TimePublished      = "published"
)

// goTest is the adapter whose reports say when they were made.
const goTest = "go-test-json"

// StrengthOf says how well something acquired by a method is established.
// Nothing that a capability says of itself can raise it.
func StrengthOf(method string) events.Strength {
	switch method {
	case "process-exit", "file-stat", "adapter:" + goTest, "mcp-tool-result", "builtin-return":
		return events.StrengthObserved
	}
	return events.StrengthAsserted
}

// CanReach reports whether a result of a capability can be as well established
// as wanted.
func CanReach(binding events.ProviderBinding, wanted events.Strength) bool {
	strongest := events.StrengthAsserted
	if binding.Process != nil || binding.MCP != nil || binding.Builtin != nil {
		strongest = events.StrengthObserved
	}
	return wanted.Rank() <= strongest.Rank()
}

// CanTell reports whether evidence for a result of a capability can carry a
// time.
func CanTell(binding events.ProviderBinding, time string) bool {
	times := []string{TimeObserved}
	if p := binding.Process; p != nil {
		if len(p.Observes) > 0 {
			times = append(times, TimeSourceModified)
		}
		if p.Output == goTest {
			times = append(times, TimePublished)
		}
	}
	return slices.Contains(times, time)
}
