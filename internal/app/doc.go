// Package app puts Mandate together: it connects or starts NATS, opens the
// journal, and starts the services that a process is to run.
//
// One process with an embedded server and many processes against a cluster
// run the same code over the same messages; nothing here asks which it is.
package app
