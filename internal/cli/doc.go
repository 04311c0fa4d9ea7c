// Package cli is the command line: it starts processes, and talks to a gateway
// over HTTP. It decides nothing about a run.
package cli
