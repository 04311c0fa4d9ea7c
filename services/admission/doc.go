// Package admission decides what may run.
//
// It seals requests, approves interpretations (by a standing policy, by the
// submitter's own explicit request, or by a person), checks plans, and admits
// revisions under bounds that some code keeps. It never calls a model or a
// capability and never widens a limit.
//
// Everything it knows about a run comes from its own chain, folded by
// [Evolve]; everything it decides leaves as a [decider.Decision].
//
// This package is pure: no I/O, no clock, no randomness, no goroutines, no
// logging. Package shell connects it to the streams.
package admission
