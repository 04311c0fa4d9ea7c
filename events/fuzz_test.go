package events_test

import (
	"errors"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/events/eventstest"
)

func FuzzDecode(f *testing.F) {
	for _, name := range events.Types() {
		record := eventstest.Record(f, eventstest.Commit(eventstest.Payload(f, name)))
		f.Add(record.Subject, record.Header[events.HeaderNumber], record.Header[events.HeaderSchema], record.Data)
	}
	for _, bomb := range bombs() {
		f.Add("mandate.v1.request.00.t.r", "1", "1", bomb[:min(len(bomb), 4096)])
	}
	f.Fuzz(func(t *testing.T, subject, number, schema string, data []byte) {
		checkDecode(t, events.Record{Subject: subject, Data: data, Header: map[string]string{
			events.HeaderCommit: "commit-1", events.HeaderNumber: number, events.HeaderSchema: schema,
		}})
	})
}

func FuzzDecodePayload(f *testing.F) {
	for _, name := range events.Types() {
		data, err := events.EncodePayload(eventstest.Payload(f, name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, data)
	}
	f.Add("other.event.v1", []byte("\x81\xa1a\xc0"))
	f.Add("mandate.request.submitted.v2", []byte("\x80"))
	f.Fuzz(func(t *testing.T, name string, data []byte) { checkDecodePayload(t, name, data) })
}

func FuzzParseSubject(f *testing.F) {
	f.Add(events.Subject{Owner: events.OwnerAdmission, Tenant: "acme", Run: eventstest.Run}.String())
	f.Add("mandate.v1.request.00.a.b")
	f.Add("mandate.v1.request.*.>.")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := events.ParseSubject(text)
		if err != nil {
			if !errors.Is(err, events.ErrSubject) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if s.String() != text || s.Validate() != nil {
			t.Fatalf("%q was read as %q", text, s)
		}
	})
}

func FuzzParseDigest(f *testing.F) {
	f.Add(string(canon.Sum("example", []byte("a"))))
	f.Add("sha256:")
	f.Add("sha256:zz")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := canon.ParseDigest(text)
		if err != nil {
			if !errors.Is(err, canon.ErrDigest) {
				t.Fatalf("an error of no kind: %v", err)
			}
			return
		}
		if string(d) != text || len(d.Hex()) != 64 || "sha256:"+d.Hex() != text {
			t.Fatalf("%q was read as %q", text, d)
		}
	})
}
