package journaltest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

func testAppend(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	var last uint64
	for want := uint64(1); want <= 5; want++ {
		commit, data := c.next()
		end, err := j.Append(within(t), commit, data, c.end)
		if err != nil {
			t.Fatal(err)
		}
		if end.Number != want || end.Digest != events.ChainDigest(commit, data) {
			t.Fatalf("position %+v after commit %d", end, want)
		}
		if end.Sequence <= last {
			t.Fatalf("sequence %d after %d", end.Sequence, last)
		}
		last, c.end = end.Sequence, end
	}
	records, err := j.Load(within(t), c.subject, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 5 || records[4].Sequence != last {
		t.Errorf("loaded %d records", len(records))
	}
}

func testConflict(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	first, firstData := c.next()
	c.append()
	stale := c.end
	c.append()
	other := newChain(t, j, c.subject.Tenant, "other")
	other.append()

	for name, attempt := range map[string]struct {
		commit *events.Commit
		data   []byte
		after  journal.Position
	}{
		"an empty chain expected":   {first, firstData, journal.Position{}},
		"an earlier end expected":   {data: []byte("x"), after: stale},
		"a sequence of another run": {data: []byte("x"), after: journal.Position{Sequence: other.end.Sequence, Head: c.end.Head}},
	} {
		t.Run(name, func(t *testing.T) {
			if attempt.commit == nil {
				attempt.commit, _ = commitAfter(c.subject, attempt.after)
			}
			_, err := j.Append(within(t), attempt.commit, attempt.data, attempt.after)
			if !errors.Is(err, journal.ErrConflict) {
				t.Errorf("error = %v, want ErrConflict", err)
			}
		})
	}
	records, err := j.Load(within(t), c.subject, 0)
	if err != nil || len(records) != 2 {
		t.Errorf("%d records, error %v; want the 2 that were accepted", len(records), err)
	}
	c.append() // the chain goes on
}

func testAppendAgain(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	c.append()
	before := c.end
	commit, data := c.next()
	end, err := j.Append(within(t), commit, data, before)
	if err != nil {
		t.Fatal(err)
	}
	again := func(when string) {
		t.Helper()
		got, err := j.Append(within(t), commit, data, before)
		if err != nil {
			t.Errorf("%s: %v", when, err)
		} else if got != end {
			t.Errorf("%s: position %+v, want %+v", when, got, end)
		}
	}
	again("at once")
	c.end = end
	c.append()
	again("after the chain moved on")
	records, err := j.Load(within(t), c.subject, 0)
	if err != nil || len(records) != 3 {
		t.Errorf("%d records, error %v; want 3", len(records), err)
	}
}

func testSameIDOtherBytes(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	before := c.end
	commit, data := c.next()
	end, err := j.Append(within(t), commit, data, before)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(within(t), commit, []byte("other"), before); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("other bytes in the same place: error = %v, want ErrConflict", err)
	}
	c.end = end
	next, nextData := c.next()
	next.ID = commit.ID
	if _, err := j.Append(within(t), next, nextData, end); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the same ID in the next place: error = %v, want ErrConflict", err)
	}
	other := newChain(t, j, c.subject.Tenant, "other")
	foreign, foreignData := other.next()
	foreign.ID = commit.ID
	if _, err := j.Append(within(t), foreign, foreignData, other.end); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the same ID in another run: error = %v, want ErrConflict", err)
	}
	records, err := j.Load(within(t), c.subject, 0)
	if err != nil || len(records) != 1 || string(records[0].Data) != string(data) {
		t.Errorf("stored %d records, error %v", len(records), err)
	}
}

func testRefused(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	for name, attempt := range map[string]struct {
		mutate func(*events.Commit)
		data   []byte
	}{
		"oversize":                 {func(*events.Commit) {}, make([]byte, events.MaxCommitBytes+1)},
		"no such stream":           {func(c *events.Commit) { c.Subject.Owner = "nobody" }, nil},
		"a run outside its token":  {func(c *events.Commit) { c.Subject.Run = "a.>" }, nil},
		"a number that is not due": {func(c *events.Commit) { c.Number = 2 }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			commit, _ := c.next()
			attempt.mutate(commit)
			if _, err := j.Append(within(t), commit, attempt.data, c.end); !errors.Is(err, journal.ErrRefused) {
				t.Errorf("error = %v, want ErrRefused", err)
			}
		})
	}
	commit, _ := c.next()
	if _, err := j.Append(within(t), commit, make([]byte, events.MaxCommitBytes), c.end); err != nil {
		t.Errorf("a commit of exactly the limit: %v", err)
	}
}

func testEndedContext(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	commit, data := c.next()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Append(ctx, commit, data, c.end); !errors.Is(err, journal.ErrUnknownOutcome) {
		t.Fatalf("error = %v, want ErrUnknownOutcome", err)
	}
	end, err := j.Append(within(t), commit, data, c.end)
	if err != nil || end.Number != 1 {
		t.Errorf("asked again: position %+v, error %v", end, err)
	}
}

func testLoad(t *testing.T, j journal.Journal) {
	who := tenant()
	c, other := newChain(t, j, who, "run"), newChain(t, j, who, "other")
	var ids []string
	for range 12 {
		ids = append(ids, c.append())
		other.append()
	}
	for _, after := range []uint64{0, 1, 5, 11, 12, 40} {
		records, err := j.Load(within(t), c.subject, after)
		if err != nil {
			t.Fatalf("load after %d: %v", after, err)
		}
		var got []string
		for i, r := range records {
			commit, err := journal.ParseHeader(r)
			if err != nil {
				t.Fatal(err)
			}
			if want := after + uint64(i) + 1; commit.Number != want || commit.Subject != c.subject {
				t.Fatalf("load after %d: record %d is %s number %d", after, i, r.Subject, commit.Number)
			}
			if r.Stream != owner.Stream() || r.Stored == 0 || string(r.Data) != "body of "+commit.ID {
				t.Fatalf("record %+v", r)
			}
			got = append(got, commit.ID)
		}
		if diff := cmp.Diff(ids[min(after, 12):], got, cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("load after %d (-want +got):\n%s", after, diff)
		}
	}
	empty, err := j.Load(within(t), c.subject.With(events.OwnerExecutor), 0)
	if err != nil || len(empty) != 0 {
		t.Errorf("an empty chain: %d records, error %v", len(empty), err)
	}
}

func testRead(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	start, err := j.Last(within(t), owner)
	if err != nil {
		t.Fatal(err)
	}
	const count = 700 // more than one page of any adapter
	for range count {
		c.append()
	}
	last, err := j.Last(within(t), owner)
	if err != nil || last != start+count {
		t.Fatalf("last = %d, error %v; want %d", last, err, start+count)
	}
	next := start + 1
	for r, err := range j.Read(within(t), owner, start+1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Sequence != next {
			t.Fatalf("sequence %d, want %d", r.Sequence, next)
		}
		next++
	}
	if next != last+1 {
		t.Errorf("read ended before %d", next)
	}
	loaded, err := j.Load(within(t), c.subject, count-1)
	if err != nil || len(loaded) != 1 {
		t.Fatalf("loaded %d, error %v", len(loaded), err)
	}
	for r, err := range j.Read(within(t), owner, last) {
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(loaded[0], r); diff != "" {
			t.Errorf("a record loaded and read differ (-loaded +read):\n%s", diff)
		}
	}
	for r, err := range j.Read(within(t), owner, last+1) {
		t.Fatalf("read past the end: %+v, %v", r, err)
	}
}

func testFollow(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	start, err := j.Last(within(t), owner)
	if err != nil {
		t.Fatal(err)
	}
	c.append()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := make(chan uint64)
	go func() {
		defer close(got)
		for r, err := range j.Follow(ctx, owner, start+1) {
			if err != nil {
				return
			}
			select {
			case got <- r.Sequence:
			case <-ctx.Done():
				return
			}
		}
	}()
	for i := range uint64(5) {
		if sequence, ok := <-got; !ok || sequence != start+i+1 {
			t.Fatalf("followed to %d (%v), want %d", sequence, ok, start+i+1)
		}
		c.append()
	}
	cancel()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case _, ok := <-got:
			if !ok {
				return
			}
		case <-deadline.C:
			t.Fatal("follow did not end with its context")
		}
	}
}
