// Package capability holds what is known about capabilities without touching
// the world: checks of their definitions and arguments, and the closed form of
// what an invocation can come back with.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package capability
