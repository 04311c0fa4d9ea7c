// Package provider is the way from the executor to the capabilities of the
// world: one port, and a router that picks the provider of a binding.
//
// A provider never returns an error: whatever happens is an outcome that says
// what is known about the effect. Nothing fails open. What cannot be reached,
// read or understood is a failure, and where a write may have happened without
// proof it is uncertain.
package provider
