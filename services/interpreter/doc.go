// Package interpreter turns a sealed request into a proposal: what the person
// wants, as an outcome specification, and how to do it, as a typed plan.
//
// A proposal is data. The interpreter grants nothing, dispatches nothing and
// widens nothing; admission decides. Explicit structured input comes first: a
// request that carries its own specification and plan needs no model.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines, no
// logging. Package shell connects it to the streams.
package interpreter
