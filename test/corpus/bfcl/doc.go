// Package bfcl runs the ground truth of a public collection of function calls,
// and calls that are wrong in one thing, through admission and execution.
package bfcl
