// Package executor decides which actions of an admitted revision are
// dispatched, and what their outcomes mean.
//
// An action is appended before it is called. Reads of a level run together,
// writes one after the other. Immediately before each dispatch the lease, the
// budget, the deadline, the registry, the obligations before the effect and
// the confirmed arguments are checked again. An action without a receipt after
// a crash is lost: a read is tried again as a new action, a write is uncertain
// and never repeated.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines, no
// logging. Package shell connects it to the streams and providers.
package executor
