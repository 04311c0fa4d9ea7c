// Package protocoldoc describes the protocol for programs in any language: a
// JSON Schema of every event type and document, an AsyncAPI document of the
// streams, and the list of stable codes. All of it is derived from the Go types
// of package events and their comments.
package protocoldoc

//go:generate go run ./cmd/protocoldoc -root ../..
