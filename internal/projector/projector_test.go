package projector_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/memory"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/reactor"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

const tenant = "default"

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// desk has a journal, and the commits that were appended to it.
type desk struct {
	t       *testing.T
	journal journal.Journal
	clock   *testkit.Clock
	heads   map[events.Subject]journal.Position
	commits []events.Commit
	step    time.Duration // by which the clock goes on with every commit
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	j := memory.New(memory.Options{})
	t.Cleanup(func() { _ = j.Close() })
	return &desk{t: t, journal: j, clock: testkit.NewClock(start), heads: map[events.Subject]journal.Position{}, step: time.Second}
}

// say appends a commit of an owner about a run.
func (d *desk) say(owner events.Owner, run, word string) {
	d.t.Helper()
	subject := events.Subject{Owner: owner, Tenant: tenant, Run: run}
	var payload events.Payload = &events.ExecutionHalting{
		Cause: events.HaltFailed, Diagnostic: events.Diagnostic{Code: events.CodeActionFailed, Message: word, Action: "none"},
	}
	if owner == events.OwnerAdmission {
		payload = &events.RunCancelled{Principal: events.Principal{ID: "somebody", Kind: "person"}, Reason: word, Phase: events.PhaseSealed}
	}
	after := d.heads[subject]
	c := reactor.Assemble(reactor.Draft{
		Subject: subject, After: after.Head, Cause: events.Cause{Event: "test"}, Writer: "test",
		At: events.At(d.clock.Advance(d.step)), Payloads: []events.Payload{payload},
	})
	data, err := events.Encode(&c)
	if err != nil {
		d.t.Fatal(err)
	}
	if d.heads[subject], err = d.journal.Append(d.t.Context(), &c, data, after); err != nil {
		d.t.Fatal(err)
	}
	d.commits = append(d.commits, c)
}

// want is the fold of everything that was appended about a run.
func (d *desk) want(run string) (r runs.View, tl timeline.View) {
	for i := range d.commits {
		if d.commits[i].Subject.Run == run {
			r, tl = runs.Apply(r, &d.commits[i]), timeline.Apply(tl, &d.commits[i])
		}
	}
	return r, tl
}

// project runs a projector that has read everything until stop is called.
func (d *desk) project(streams projector.Streams, o projector.Options) (p *projector.Projector, stop func()) {
	d.t.Helper()
	o.Streams, o.Clock = streams, d.clock.Now
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(d.t.Output(), nil))
	}
	p = projector.New(o)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	select {
	case <-p.Ready():
	case err := <-done:
		d.t.Fatal(err)
	case <-time.After(30 * time.Second):
		d.t.Fatal("the projector did not catch up")
	}
	return p, func() {
		d.t.Helper()
		cancel()
		if err := <-done; err != nil {
			d.t.Error(err)
		}
	}
}

// same compares the views of a run with the fold of everything.
func (d *desk) same(p *projector.Projector, run string) {
	d.t.Helper()
	wantRun, wantTimeline := d.want(run)
	got, err := p.View(d.t.Context(), projector.Key{Tenant: tenant, Run: run})
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(wantRun, got); diff != "" {
		d.t.Errorf("run %s (-want +got):\n%s", run, diff)
	}
	gotTimeline, err := p.Timeline(d.t.Context(), projector.Key{Tenant: tenant, Run: run})
	if err != nil {
		d.t.Fatal(err)
	}
	if diff := cmp.Diff(wantTimeline, gotTimeline); diff != "" {
		d.t.Errorf("timeline of %s (-want +got):\n%s", run, diff)
	}
}

// bucket reads every published view.
func (d *desk) bucket() map[string][]byte {
	d.t.Helper()
	all := map[string][]byte{}
	keys, err := d.journal.ValueKeys(d.t.Context(), journal.BucketViews)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, key := range keys {
		if all[key], err = d.journal.Value(d.t.Context(), journal.BucketViews, key); err != nil {
			d.t.Fatal(err)
		}
	}
	return all
}

func (d *desk) put(values map[string][]byte) {
	d.t.Helper()
	for key, data := range values {
		if err := d.journal.PutValue(d.t.Context(), journal.BucketViews, key, data); err != nil {
			d.t.Fatal(err)
		}
	}
}

// A process that was behind publishes old views over new ones, and ends. Who
// reads them goes back to the chains instead of folding onto a gap.
func TestViewsThatAnotherProcessPublishedLate(t *testing.T) {
	d := newDesk(t)
	d.say(events.OwnerExecutor, "r", "one")
	_, stop := d.project(d.journal, projector.Options{Process: "a"})
	stop()
	old := d.bucket()
	d.say(events.OwnerExecutor, "r", "two")
	d.say(events.OwnerAdmission, "r", "three")
	d.clock.Advance(2 * time.Hour) // the first cursor counts no more
	p, stop := d.project(d.journal, projector.Options{Process: "b", Kept: 1})
	defer stop()
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.put(old)
	d.say(events.OwnerExecutor, "other", "pushes r out of memory")
	await(t, p, "other")
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.say(events.OwnerExecutor, "another", "and again")
	await(t, p, "another")
	d.same(p, "r")

	// A process that starts on the old views folds a commit onto a gap.
	d.put(old)
	q, stop := d.project(d.journal, projector.Options{Process: "c"})
	defer stop()
	d.say(events.OwnerExecutor, "r", "four")
	deadline := time.Now().Add(30 * time.Second)
	for {
		v, err := q.View(t.Context(), projector.Key{Tenant: tenant, Run: "r"})
		if err == nil && v.Positions[events.OwnerExecutor] == 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("not followed")
		}
		time.Sleep(time.Millisecond)
	}
	d.same(q, "r")
}

func await(t *testing.T, p *projector.Projector, run string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		changed := p.Changed()
		if _, err := p.View(t.Context(), projector.Key{Tenant: tenant, Run: run}); err == nil {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%s was not followed", run)
		}
	}
}

// The least position of the cursors counts, but not that of a process that
// has been silent for long.
func TestCursors(t *testing.T) {
	d := newDesk(t)
	d.say(events.OwnerExecutor, "r", "one")
	_, stop := d.project(d.journal, projector.Options{Process: "a"})
	stop()
	old := d.bucket()
	d.say(events.OwnerExecutor, "r", "two")
	_, stop = d.project(d.journal, projector.Options{Process: "b"})
	stop()
	d.put(old) // a was late, and is still within its time
	p, stop := d.project(d.journal, projector.Options{Process: "c"})
	d.same(p, "r")
	stop()
	d.clock.Advance(2 * time.Hour)
	d.say(events.OwnerExecutor, "r", "three")
	p, stop = d.project(d.journal, projector.Options{Process: "d"})
	d.same(p, "r")
	stop()
	_, stop = d.project(d.journal, projector.Options{Process: "e"})
	stop()
	names, err := d.journal.ValueKeys(t.Context(), journal.BucketSnapshots)
	if err != nil || len(names) != 1 || !strings.HasSuffix(names[0], ".d") {
		t.Errorf("cursors %v, %v", names, err)
	}
}

func TestRebuildFindsChangedViews(t *testing.T) {
	req.Covers(t, "C3-RUN-007.b")
	d := newDesk(t)
	for _, run := range []string{"a", "b"} {
		d.say(events.OwnerExecutor, run, "one")
		d.say(events.OwnerAdmission, run, "two")
	}
	p, stop := d.project(d.journal, projector.Options{Process: "a"})
	defer stop()
	rebuild := func() (same bool) {
		t.Helper()
		list, err := p.Rebuild(t.Context())
		if err != nil || len(list) != 2 || list[0].Views != 2 {
			t.Fatalf("%+v %v", list, err)
		}
		return list[0].Same() && list[1].Same()
	}
	if !rebuild() {
		t.Error("an untouched view differs")
	}
	was := d.bucket()
	d.put(map[string][]byte{
		"runs.default.a": bytes.Replace(was["runs.default.a"], []byte(`"tenant":"default"`), []byte(`"tenant":"changed"`), 1),
		"runs.default.z": was["runs.default.a"], // of a run that never was
	})
	if rebuild() {
		t.Error("a changed view was not found")
	}
	if diff := cmp.Diff(was, d.bucket()); diff != "" {
		t.Errorf("not restored (-want +got):\n%s", diff)
	}
	if !rebuild() {
		t.Error("differs after a rebuild")
	}
	d.same(p, "a")
}

// spoiled yields the second record of the executor as bytes that are no commit.
type spoiled struct{ journal.Journal }

func (s spoiled) Follow(ctx context.Context, owner events.Owner, from uint64) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		for r, err := range s.Journal.Follow(ctx, owner, from) {
			if owner == events.OwnerExecutor && r.Sequence == 2 {
				r.Data = []byte("{")
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// Bytes that are no commit stop no view.
func TestRecordThatIsNoCommit(t *testing.T) {
	d := newDesk(t)
	d.say(events.OwnerExecutor, "a", "one")
	d.say(events.OwnerExecutor, "bad", "two")
	bad := d.commits[1]
	d.commits = append(d.commits[:1:1], d.commits[2:]...)
	d.say(events.OwnerExecutor, "b", "three")
	var logs bytes.Buffer
	p, stop := d.project(spoiled{d.journal}, projector.Options{Process: "a", Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	d.same(p, "a")
	d.same(p, "b")
	if _, err := p.View(t.Context(), projector.Key{Tenant: tenant, Run: bad.Subject.Run}); !errors.Is(err, projector.ErrUnknownRun) {
		t.Errorf("a view of no commit: %v", err)
	}
	stop()
	if !strings.Contains(logs.String(), "sequence=2") {
		t.Errorf("nobody was told:\n%s", logs.String())
	}
}

// full refuses values while it is full.
type full struct {
	journal.Journal
	full atomic.Bool
}

var errFull = errors.New("no space left")

func (f *full) PutValue(ctx context.Context, bucket journal.Bucket, key string, value []byte) error {
	if f.full.Load() && bucket == journal.BucketViews {
		return errFull
	}
	return f.Journal.PutValue(ctx, bucket, key, value)
}

// Views that could not be published are published later; the cursor waits for
// them.
func TestPublishingThatFails(t *testing.T) {
	d := newDesk(t)
	d.say(events.OwnerExecutor, "a", "one")
	f := &full{Journal: d.journal}
	f.full.Store(true)
	p, stop := d.project(f, projector.Options{Process: "a", Flush: time.Hour})
	defer stop()
	if err := p.Flush(t.Context()); !errors.Is(err, errFull) {
		t.Fatalf("got %v", err)
	}
	if names, err := d.journal.ValueKeys(t.Context(), journal.BucketSnapshots); err != nil || len(names) != 0 {
		t.Fatalf("the cursor is ahead of the views: %v %v", names, err)
	}
	f.full.Store(false)
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(d.bucket()) != 2 {
		t.Errorf("published %d views", len(d.bucket()))
	}
}

// The views of a run under way are published when they are a second old; until
// then the cursor stays before them, so that nothing is lost with the process.
func TestViewsOfRunsUnderWay(t *testing.T) {
	d := newDesk(t)
	d.step = 100 * time.Millisecond
	p, stop := d.project(d.journal, projector.Options{Process: "a", Flush: time.Millisecond})
	d.say(events.OwnerExecutor, "a", "one")
	await(t, p, "a")
	d.say(events.OwnerExecutor, "b", "two")
	await(t, p, "b")
	d.clock.Advance(950 * time.Millisecond)
	deadline := time.Now().Add(30 * time.Second)
	for len(d.bucket()) == 0 {
		if time.Now().After(deadline) {
			t.Fatal("never published")
		}
		time.Sleep(time.Millisecond)
	}
	for key := range d.bucket() {
		if !strings.HasSuffix(key, ".a") {
			t.Errorf("%s is published at once", key)
		}
	}
	// Who starts now reads b from the streams.
	q, stopOther := d.project(d.journal, projector.Options{Process: "b"})
	d.same(q, "b")
	stopOther()
	stop()
	if len(d.bucket()) != 4 {
		t.Error("not published at the end")
	}
}
