// Package testkit holds what tests of several packages need: servers that run
// in the test's own process, alone or as a cluster of three, and a clock that
// the test moves. Only tests import it.
package testkit
