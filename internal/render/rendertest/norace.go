//go:build !race

package rendertest

// every says which part of a collection is tried: all of it.
const every = 1
