// Package jetstream is the journal on NATS JetStream. It is the only package
// that knows the broker.
//
// A bootstrap identity calls [Provision] once per deployment: it alone creates
// streams, buckets and durable consumers. A service calls [Open], which refuses
// streams weaker than configured, and creates nothing. It needs only these
// rights:
//
//   - publish on the subjects it owns: mandate.v1.<owner>.>,
//     timer.sched.<owner>.>, timer.cancelled.<owner>.>, blob.*,
//     parked.<reader>.>, and $KV.<bucket>.> of the buckets it writes;
//   - $JS.API.STREAM.INFO of every stream, and STREAM.MSG.GET and DIRECT.GET of
//     the streams and buckets it reads;
//   - $JS.API.CONSUMER.INFO, MSG.NEXT, RESET and UNPIN and $JS.ACK of its own
//     durables;
//   - $JS.API.STREAM.PURGE of a bucket, only for who erases keys in it;
//   - subscribe on its own inbox prefix.
package jetstream
