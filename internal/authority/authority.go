// Package authority says what an admitted revision may do and which code keeps
// every bound of it.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package authority

import (
	"slices"

	"example.org/mandate/events"
)

// Within reports whether every effect is in bound.
func Within(effects, bound []events.Effect) bool {
	return !slices.ContainsFunc(effects, func(e events.Effect) bool { return !slices.Contains(bound, e) })
}

// Allows reports whether a list of principals names one; "*" is everybody who
// was authenticated.
func Allows(list []string, principal events.Principal) bool {
	return principal.ID != "" && (slices.Contains(list, principal.ID) || slices.Contains(list, "*"))
}
