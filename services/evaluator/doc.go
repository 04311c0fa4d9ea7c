// Package evaluator judges what was done against what was asked, and writes
// the one terminal event of every run.
//
// Each requirement gets a verdict over exact results and evidence, with the
// bounded method that gave it. What cannot be established is unknown, never
// met. An outcome is completed only if every required condition is met and no
// effect is uncertain.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines, no
// logging. Package shell connects it to the streams.
package evaluator
