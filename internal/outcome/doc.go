// Package outcome checks outcome specifications and judges requirements over
// results and evidence. The executor uses it for obligations before an effect,
// the evaluator for verdicts: one meaning of "met" for both.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package outcome
