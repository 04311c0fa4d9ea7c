package journal_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

func commit() *events.Commit {
	return &events.Commit{
		ID: "c-1", Subject: events.Subject{Owner: events.OwnerAdmission, Tenant: "t", Run: "r"},
		Number: 1, Cause: events.Cause{Commit: "c-0", Event: "e-0"}, Correlation: "c-0",
		Writer: "w-1", Protocol: events.Protocol, Traceparent: "00-aa-bb-01",
		Events: []events.Event{{ID: "e", Data: &events.Unknown{Type: "a.v1"}}, {ID: "f", Data: &events.Unknown{Type: "b.v1"}}},
	}
}

func record(c *events.Commit, data []byte) events.Record {
	return events.Record{Stream: c.Subject.Owner.Stream(), Sequence: 7, Subject: c.Subject.String(), Header: journal.Header(c), Data: data}
}

func TestHeaderRoundTrip(t *testing.T) {
	for _, number := range []uint64{1, 2} {
		c := commit()
		if number > 1 {
			c.Number, c.Previous = number, events.ChainDigest(commit(), []byte("x"))
		}
		data := []byte("body")
		got, err := journal.ParseHeader(record(c, data))
		if err != nil {
			t.Fatal(err)
		}
		want := *c
		want.Events, want.Digest = nil, events.ChainDigest(c, data)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("commit %d (-want +got):\n%s", number, diff)
		}
	}
	if got := journal.Header(commit())[events.HeaderTypes]; got != "a.v1,b.v1" {
		t.Errorf("types = %q", got)
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	for name, mutate := range map[string]func(*events.Record){
		"foreign subject": func(r *events.Record) { r.Subject = "mandate.v1.nobody.00.t.r" },
		"no number":       func(r *events.Record) { delete(r.Header, events.HeaderNumber) },
		"number zero":     func(r *events.Record) { r.Header[events.HeaderNumber] = "0" },
		"negative number": func(r *events.Record) { r.Header[events.HeaderNumber] = "-1" },
		"no commit ID":    func(r *events.Record) { delete(r.Header, events.HeaderCommit) },
		"bad previous":    func(r *events.Record) { r.Header[events.HeaderPrevious] = "sha256:1" },
		"no protocol":     func(r *events.Record) { delete(r.Header, events.HeaderSchema) },
	} {
		t.Run(name, func(t *testing.T) {
			r := record(commit(), nil)
			mutate(&r)
			if _, err := journal.ParseHeader(r); !errors.Is(err, journal.ErrCorrupt) {
				t.Errorf("error = %v, want ErrCorrupt", err)
			}
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	if err := journal.Check(commit(), nil, journal.Position{}); err != nil {
		t.Fatal(err)
	}
	for name, mutate := range map[string]func(*events.Commit){
		"owner":           func(c *events.Commit) { c.Subject.Owner = "nobody" },
		"run":             func(c *events.Commit) { c.Subject.Run = "a.b" },
		"number":          func(c *events.Commit) { c.Number = 2 },
		"previous":        func(c *events.Commit) { c.Previous = "sha256:00" },
		"no ID":           func(c *events.Commit) { c.ID = "" },
		"line break":      func(c *events.Commit) { c.Writer = "w\r\nNats-Msg-Id: x" },
		"space at an end": func(c *events.Commit) { c.Cause.Event = "e " },
		"comma in a type": func(c *events.Commit) { c.Events[0].Data = &events.Unknown{Type: "a,b"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := commit()
			mutate(c)
			if err := journal.Check(c, nil, journal.Position{}); !errors.Is(err, journal.ErrRefused) {
				t.Errorf("error = %v, want ErrRefused", err)
			}
		})
	}
	if err := journal.Check(commit(), make([]byte, events.MaxCommitBytes+1), journal.Position{}); !errors.Is(err, journal.ErrRefused) {
		t.Errorf("oversize: error = %v, want ErrRefused", err)
	}
}

func FuzzParseHeader(f *testing.F) {
	f.Add("mandate.v1.admission.00.t.r", "1", "", "1", "id")
	f.Add("mandate.v1.request.31.t.r", "18446744073709551615", "sha256:ff", "-1", "")
	f.Fuzz(func(t *testing.T, subject, number, previous, protocol, id string) {
		r := events.Record{Subject: subject, Header: map[string]string{
			events.HeaderNumber: number, events.HeaderPrevious: previous,
			events.HeaderSchema: protocol, events.HeaderCommit: id,
		}}
		c, err := journal.ParseHeader(r)
		if (err == nil) == (c.ID == "") {
			t.Errorf("commit %+v with error %v", c, err)
		}
		if err != nil && !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("error = %v, want ErrCorrupt", err)
		}
	})
}
