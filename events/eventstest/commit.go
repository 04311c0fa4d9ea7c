package eventstest

import (
	"maps"
	"testing"

	"example.org/mandate/events"
)

// Tenant and Run are the tenant and the run of every commit made here.
const (
	Tenant = "acme"
	Run    = "01JGK3N1M0000000000000RUN1"
)

// Commit returns a first commit that holds payloads, owned by whoever owns the
// first of them. It is the same for every call with the same payloads.
func Commit(payloads ...events.Payload) *events.Commit {
	c := &events.Commit{
		ID: "commit-1", Number: 1, Protocol: events.Protocol, Correlation: "commit-1", Writer: "writer-1",
		Cause:       events.Cause{Commit: "cause-1", Event: "event-1"},
		Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		Subject:     events.Subject{Owner: events.OwnerRequest, Tenant: Tenant, Run: Run},
	}
	if len(payloads) > 0 {
		if owner := events.TypeOwner(payloads[0].EventType()); owner.Valid() {
			c.Subject.Owner = owner
		}
	}
	ids := [...]string{"01JGK3N1M0000000000000EV01", "01JGK3N1M0000000000000EV02", "01JGK3N1M0000000000000EV03"}
	for i, p := range payloads {
		c.Events = append(c.Events, events.Event{
			ID: ids[i%len(ids)], Source: "/mandate/" + string(c.Subject.Owner), Subject: Run,
			Time: started, Data: p,
		})
	}
	return c
}

// Next returns a copy of c that follows it in its chain. c was encoded before.
func Next(c *events.Commit) *events.Commit {
	next := *c
	next.Number, next.Previous, next.ID, next.Digest = c.Number+1, c.Digest, c.ID+"-next", ""
	return &next
}

// Record encodes c and returns it as its stream holds it.
func Record(tb testing.TB, c *events.Commit) events.Record {
	tb.Helper()
	data, err := events.Encode(c)
	if err != nil {
		tb.Fatal(err)
	}
	return events.Record{
		Stream: c.Subject.Owner.Stream(), Sequence: c.Number, Stored: started,
		Subject: c.Subject.String(), Header: c.Header(), Data: data,
	}
}

// With returns a copy of r with one header set, or removed if value is empty.
func With(r events.Record, name, value string) events.Record {
	r.Header = maps.Clone(r.Header)
	if value == "" {
		delete(r.Header, name)
	} else {
		r.Header[name] = value
	}
	return r
}
