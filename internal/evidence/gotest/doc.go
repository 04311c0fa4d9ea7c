// Package gotest reads the output of "go test -json" into a typed report.
//
// A report is a verdict about every package that the tool started. A stream
// that is empty, cut off, contradictory or not what the tool writes gives an
// error and no verdict: it is never read as "nothing failed".
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package gotest
