// Package policy compiles policies and decides by them.
//
// A policy is a list of rules with conditions in CEL. For an operation its
// rules are tried in document order: the first that holds and does not allow
// wins, and where nothing allows, the operation is refused: a rule that wants
// a confirmation or a clarification does not allow by itself. A condition that
// cannot be evaluated, or costs too much, refuses too. So adding a rule that
// does not allow never lets through what was refused before, and a mistake in
// a rule closes rather than opens.
//
// What conditions may cost is bounded twice: by an estimate of the worst case
// when a policy is compiled, and by a limit on what each evaluation spends.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package policy
