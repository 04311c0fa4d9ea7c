package e2e

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/req"
)

// TestBundleMutations alters, drops, doubles and swaps every commit and every
// event of a bundle. The digest of the bundle is made right again each time,
// so it is what is inside that has to tell.
func TestBundleMutations(t *testing.T) {
	req.Covers(t, "C3-RUN-006.c")
	data := finished(t)
	if report, err := bundle.Verify(data); err != nil || !report.Holds() {
		t.Fatalf("the unharmed bundle: %+v %v", report, err)
	}
	tried := 0
	for name, mutate := range mutations(t, data) {
		b, err := bundle.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		place := mutate(b)
		harmed, err := bundle.Encode(b)
		if err != nil {
			t.Fatal(err)
		}
		tried++
		report, err := bundle.Verify(harmed)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if report.Holds() {
			t.Errorf("%s: verification holds", name)
			continue
		}
		named := slices.ContainsFunc(report.Findings, func(f bundle.Finding) bool { return strings.Contains(f.Place, place) })
		if !named {
			t.Errorf("%s: no finding names %q: %v", name, place, report.Findings)
		}
		if _, err := app.Replay(harmed); err == nil {
			t.Errorf("%s: replay goes on", name)
		}
	}
	t.Logf("%d mutations", tried)
	if tried < 60 {
		t.Errorf("only %d mutations were tried", tried)
	}
	if report, err := bundle.Verify(bytes.Replace(data, []byte(`"tenant":"default"`), []byte(`"tenant":"another"`), 1)); err != nil || report.Holds() {
		t.Errorf("a changed manifest: %+v %v", report, err)
	}
}

// finished returns the bundle of a run with reads, an approval and a write.
func finished(t *testing.T) []byte {
	t.Helper()
	a, err := plan{Dir: t.TempDir()}.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	if _, err := a.Intake().Apply(t.Context(), tenant, ann, resources(), false); err != nil {
		t.Fatal(err)
	}
	nonce := ulid.Make().String()
	if err := submit(t.Context(), a, nonce, request(driveWrite)); err != nil {
		t.Fatal(err)
	}
	if _, err := await(t.Context(), a, nonce, events.DecisionApprove); err != nil {
		t.Fatal(err)
	}
	data, err := bundle.Collect(t.Context(), a.BundleSource(), tenant, nonce, events.At(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// mutations lists ways to harm a bundle. Each returns the owner that a finding
// has to name.
func mutations(t *testing.T, data []byte) map[string]func(*bundle.Bundle) string {
	t.Helper()
	whole, err := bundle.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]func(*bundle.Bundle) string{}
	for i, r := range whole.Records {
		subject, err := events.ParseSubject(r.Subject)
		if err != nil {
			t.Fatal(err)
		}
		owner := string(subject.Owner)
		all[fmt.Sprintf("commit %d of %s dropped", i, owner)] = func(b *bundle.Bundle) string {
			b.Records = slices.Delete(b.Records, i, i+1)
			return owner
		}
		all[fmt.Sprintf("commit %d of %s doubled", i, owner)] = func(b *bundle.Bundle) string {
			b.Records = slices.Insert(b.Records, i, b.Records[i])
			return owner
		}
		all[fmt.Sprintf("commit %d of %s altered", i, owner)] = func(b *bundle.Bundle) string {
			at := len(b.Records[i].Data) - 3
			b.Records[i].Data[at] ^= 1
			return "" // the bytes may not even say whose they are
		}
		for _, header := range []string{events.HeaderCommit, events.HeaderCause, events.HeaderWriter, events.HeaderTypes, events.HeaderNumber} {
			if r.Header[header] == "" {
				continue
			}
			all[fmt.Sprintf("header %s of commit %d of %s altered", header, i, owner)] = func(b *bundle.Bundle) string {
				b.Records[i].Header[header] += "0"
				return ""
			}
		}
		if i+1 < len(whole.Records) && whole.Records[i+1].Stream == r.Stream {
			all[fmt.Sprintf("commits %d and %d of %s swapped", i, i+1, owner)] = func(b *bundle.Bundle) string {
				b.Records[i], b.Records[i+1] = b.Records[i+1], b.Records[i]
				return owner
			}
		}
		c, err := events.Decode(events.Record{Stream: r.Stream, Subject: r.Subject, Header: r.Header, Data: r.Data})
		if err != nil {
			t.Fatal(err)
		}
		for j := range c.Events {
			addEventMutations(t, all, i, j, c)
		}
	}
	return all
}

// addEventMutations changes one event within a commit and encodes the commit
// anew, as somebody does who knows the format.
func addEventMutations(t *testing.T, all map[string]func(*bundle.Bundle) string, i, j int, c events.Commit) {
	t.Helper()
	owner := string(c.Subject.Owner)
	harm := func(name string, change func(*events.Commit)) {
		all[fmt.Sprintf("event %d of commit %d of %s %s", j, i, owner, name)] = func(b *bundle.Bundle) string {
			changed := c
			changed.Events = slices.Clone(c.Events)
			change(&changed)
			data, err := events.Encode(&changed)
			if err != nil {
				t.Fatal(err)
			}
			b.Records[i].Data, b.Records[i].Header = data, changed.Header()
			return owner
		}
	}
	harm("altered", func(c *events.Commit) { c.Events[j].Time++ })
	harm("dropped", func(c *events.Commit) { c.Events = slices.Delete(c.Events, j, j+1) })
	harm("doubled", func(c *events.Commit) { c.Events = slices.Insert(c.Events, j, c.Events[j]) })
	if j+1 < len(c.Events) {
		harm("swapped with the next", func(c *events.Commit) { c.Events[j], c.Events[j+1] = c.Events[j+1], c.Events[j] })
	}
}
