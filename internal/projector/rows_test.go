package projector_test

import (
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/reactor"
)

// A list goes on after the run it stopped at, also if that run went on
// meanwhile and is not in the list any more; it does not begin again.
func TestRowsAfterARunThatWentOn(t *testing.T) {
	d := newDesk(t)
	d.accept("a")
	d.say(events.OwnerAdmission, "b", "one")
	d.accept("c")
	p, stop := d.project(d.journal, projector.Options{Process: "test"})
	defer stop()
	for before, want := range map[string]string{"": "ca", "c": "a", "b": "a", "a": "", "nobody": ""} {
		rows, more := p.Rows(projector.Query{Tenant: tenant, Phase: events.PhaseExecuting, Before: before, Limit: 10})
		var names []string
		for _, r := range rows {
			names = append(names, r.Run)
		}
		if got := strings.Join(names, ""); got != want || more {
			t.Errorf("after %q: %q, more %t; want %q", before, got, more, want)
		}
	}
}

// accept appends that the executor has begun with a run.
func (d *desk) accept(run string) {
	d.t.Helper()
	c := reactor.Assemble(reactor.Draft{
		Subject: events.Subject{Owner: events.OwnerExecutor, Tenant: tenant, Run: run}, Cause: events.Cause{Event: "test"}, Writer: "test",
		At: events.At(d.clock.Advance(d.step)), Payloads: []events.Payload{&events.RevisionAccepted{}},
	})
	data, err := events.Encode(&c)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.journal.Append(d.t.Context(), &c, data, journal.Position{}); err != nil {
		d.t.Fatal(err)
	}
}
