package events_test

import (
	"errors"
	"strconv"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/events/eventstest"
)

func TestCheckNext(t *testing.T) {
	first := eventstest.Commit(eventstest.Payload(t, "mandate.request.submitted.v1"))
	eventstest.Record(t, first)
	second := eventstest.Next(first)
	eventstest.Record(t, second)
	if err := events.CheckNext(events.Head{}, first); err != nil {
		t.Errorf("the first: %v", err)
	}
	if err := events.CheckNext(first.Head(), second); err != nil {
		t.Errorf("the second: %v", err)
	}
	other := second.Head()
	other.Number = 1
	skipped := *second
	skipped.Number = 3
	for name, wrong := range map[string]struct {
		head events.Head
		c    *events.Commit
	}{
		"the second as first":          {events.Head{}, second},
		"the first again":              {first.Head(), first},
		"one left out":                 {first.Head(), &skipped},
		"after another of that number": {other, second},
		"after no digest":              {events.Head{Number: 1}, second},
		"a first with a digest":        {events.Head{Digest: "sha256:00"}, first},
		"before what is there":         {second.Head(), first},
	} {
		if err := events.CheckNext(wrong.head, wrong.c); !errors.Is(err, events.ErrChain) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever is changed of a stored commit, its digest is another one, so the
// next commit of the chain no longer follows.
func TestDigestCoversTheWholeCommit(t *testing.T) {
	c := eventstest.Commit(eventstest.Payload(t, "mandate.request.submitted.v1"))
	c.Number, c.Previous = 2, canon.Sum("example", []byte("the one before"))
	record := eventstest.Record(t, c)
	head := c.Head()
	check := func(name string, changed events.Record) {
		t.Helper()
		got, err := events.DecodeHeader(changed)
		if err != nil {
			return // refused: found as well
		}
		if got.Digest == head.Digest {
			t.Errorf("%s was changed and the digest is the same", name)
		}
		next := eventstest.Next(c)
		if events.CheckNext(got.Head(), next) == nil {
			t.Errorf("%s was changed and the next commit still follows", name)
		}
	}
	for _, subject := range []events.Subject{
		c.Subject.With(events.OwnerAdmission),
		{Owner: c.Subject.Owner, Tenant: "other", Run: c.Subject.Run},
		{Owner: c.Subject.Owner, Tenant: c.Subject.Tenant, Run: "other"},
	} {
		changed := record
		changed.Subject = subject.String()
		check("subject "+subject.String(), changed)
	}
	for _, name := range []string{
		events.HeaderCommit, events.HeaderNumber, events.HeaderPrevious, events.HeaderCause, events.HeaderCauseEvent,
		events.HeaderCorrelation, events.HeaderWriter,
	} {
		check(name+" left out", eventstest.With(record, name, ""))
		check(name, eventstest.With(record, name, "3"))
		check(name+" longer", eventstest.With(record, name, record.Header[name]+"0"))
	}
	// What moves from one member to its neighbor is a change too.
	moved := eventstest.With(record, events.HeaderCause, c.Cause.Commit+c.Cause.Event)
	check("the cause joined", eventstest.With(moved, events.HeaderCauseEvent, ""))
	for i := range record.Data {
		changed := record
		changed.Data = append([]byte(nil), record.Data...)
		changed.Data[i] ^= 1
		check("byte "+strconv.Itoa(i), changed)
	}
	check("a byte more", events.Record{Subject: record.Subject, Header: record.Header, Data: append(append([]byte(nil), record.Data...), 0)})
	check("a byte less", events.Record{Subject: record.Subject, Header: record.Header, Data: record.Data[:len(record.Data)-1]})
	same, err := events.DecodeHeader(record)
	if err != nil || same.Digest != head.Digest {
		t.Errorf("unchanged: %s, %v", same.Digest, err)
	}
	if traced, err := events.DecodeHeader(eventstest.With(record, events.HeaderTrace, "")); err != nil || traced.Digest != head.Digest {
		t.Errorf("tracing is no part of the record: %v", err)
	}
}

func TestHeadersThatAreRefused(t *testing.T) {
	record := eventstest.Record(t, eventstest.Commit(eventstest.Payload(t, "mandate.request.submitted.v1")))
	for name, changed := range map[string]events.Record{
		"no commit ID":        eventstest.With(record, events.HeaderCommit, ""),
		"no number":           eventstest.With(record, events.HeaderNumber, ""),
		"number 0":            eventstest.With(record, events.HeaderNumber, "0"),
		"a negative number":   eventstest.With(record, events.HeaderNumber, "-1"),
		"a number too large":  eventstest.With(record, events.HeaderNumber, "18446744073709551616"),
		"a number with signs": eventstest.With(record, events.HeaderNumber, "+1"),
		"zeros before":        eventstest.With(record, events.HeaderNumber, "01"),
		"a signed protocol":   eventstest.With(record, events.HeaderSchema, "+1"),
		"no digest":           eventstest.With(record, events.HeaderPrevious, "sha256:AB"),
	} {
		if _, err := events.Decode(changed); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
