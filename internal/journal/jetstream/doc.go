// Package jetstream is the journal on NATS JetStream. It is the only package
// that knows the broker.
//
// A bootstrap identity calls [Provision] once per deployment: it alone creates
// streams, buckets and durable consumers. A service calls [Open], which refuses
// streams weaker than configured, and needs only these rights: publish on the
// subjects it owns, the leader read (STREAM.MSG.GET), STREAM.INFO and DIRECT.GET
// of the streams it reads, and next, reset, unpin and ack of its own durables.
// It creates nothing.
package jetstream
