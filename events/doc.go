// Package events is the published language of Mandate: what is in its streams.
//
// It holds the envelope and the commit, the body of every event type with its
// version, the documents that services exchange (requests, outcome
// specifications, plans, results, evidence, evaluations, presentations), the
// codec, the subjects and the stable codes. It takes no decision, reads no
// clock and opens no connection: programs outside Mandate import it to follow
// the streams.
//
// # Commits
//
// One decision of one service about one run is one message, a [Commit]: an
// ordered list of events and the sealed bodies they name. The commits of one
// service about one run form a chain: each carries a dense number and the
// digest of the one before.
//
// # Bodies
//
// Private content is never written into an event. An event names a [Body] by
// its salted commitment; the bytes travel encrypted beside the events, or in
// the blob stream when they are large.
//
// # Versions
//
// Protocol version 1: the first. Within a version changes only add optional
// fields. A new meaning is a new type name ending in the next version, with a
// pure upcaster applied on read.
package events
