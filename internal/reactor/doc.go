// Package reactor runs a pure core against the streams: load, fold, decide,
// append, act, and feed the outcome back in. It is the one place where that
// loop is written.
//
// A decision is appended before any of its work starts. An input is
// acknowledged only when the work that followed from it has ended and is
// recorded, so that a crash brings it back; handling it again changes nothing,
// because the state knows the causes it has handled.
package reactor
