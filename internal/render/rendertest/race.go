//go:build race

package rendertest

// every says which part of a collection is tried: the race detector makes
// everything slow and finds nothing more in the rest.
const every = 10
