package journaltest

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
)

func testTimers(t *testing.T, j journal.Journal) {
	run := events.Subject{Owner: owner, Tenant: tenant(), Run: "run"}
	in := consume(t, j, run.Tenant, Reader{readerTimers, wakeups})
	defer in.end()
	schedule := func(name string, in time.Duration) time.Time {
		t.Helper()
		at := time.Now().Add(in)
		if err := j.Schedule(within(t), journal.Timer{Run: run, Name: name, At: at}); err != nil {
			t.Fatal(err)
		}
		return at
	}
	// take expects these timers, each once and not before it is due, in any
	// order: a busy broker may fire what is due in any.
	take := func(due map[string]time.Time) {
		t.Helper()
		for len(due) > 0 {
			d := in.take()
			at, ok := due[d.Timer()]
			if !ok || d.Run() != run {
				t.Fatalf("timer %q of %s fired, want one of %v of %s", d.Timer(), d.Run(), due, run)
			}
			delete(due, d.Timer())
			if early := time.Until(at); early > 0 {
				t.Errorf("timer %q fired %v early", d.Timer(), early)
			}
			if r := d.Record(); r.Subject != run.String() || len(r.Data) != 0 {
				t.Errorf("timer record %+v", r)
			}
			d.Ack()
		}
	}

	schedule("cancelled", 300*time.Millisecond)
	schedule("replaced", 300*time.Millisecond)
	later := schedule("replaced", 1200*time.Millisecond)
	soon := schedule("soon", 600*time.Millisecond)
	if err := j.CancelTimer(within(t), run, "cancelled"); err != nil {
		t.Fatal(err)
	}
	if err := j.CancelTimer(within(t), run, "never-set"); err != nil {
		t.Errorf("cancel a timer that is not there: %v", err)
	}
	// Were the cancellation or the replacement lost, these would come first,
	// or too early.
	take(map[string]time.Time{"soon": soon, "replaced": later})
	if err := j.CancelTimer(within(t), run, "soon"); err != nil {
		t.Errorf("cancel a timer that fired: %v", err)
	}
	take(map[string]time.Time{"past": schedule("past", -time.Hour)})
	take(map[string]time.Time{"soon": schedule("soon", 200*time.Millisecond)})
	if err := j.Schedule(within(t), journal.Timer{Run: run, Name: "a.b", At: time.Now()}); !errors.Is(err, journal.ErrRefused) {
		t.Errorf("a name that is no token: error = %v, want ErrRefused", err)
	}
}

func testBlobs(t *testing.T, j journal.Journal) {
	data := append([]byte("blob "), make([]byte, journal.MaxBlobBytes-5)...)
	if _, err := rand.Read(data[8:]); err != nil {
		t.Fatal(err)
	}
	digest := canon.Sum("blob", data)
	if _, err := j.Blob(within(t), digest); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("before it is put: error = %v, want ErrNotFound", err)
	}
	for range 3 {
		if err := j.PutBlob(within(t), digest, data); err != nil {
			t.Fatal(err)
		}
	}
	got, err := j.Blob(within(t), digest)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("blob of %d bytes, error %v; want %d bytes", len(got), err, len(data))
	}
	if err := j.PutBlob(within(t), digest, []byte("other")); !errors.Is(err, journal.ErrRefused) {
		t.Errorf("bytes that do not match: error = %v, want ErrRefused", err)
	}
	large := make([]byte, journal.MaxBlobBytes+1)
	if err := j.PutBlob(within(t), canon.Sum("blob", large), large); !errors.Is(err, journal.ErrRefused) {
		t.Errorf("too large: error = %v, want ErrRefused", err)
	}
}

func testValues(t *testing.T, j journal.Journal) {
	prefix := tenant()
	key, other := prefix+".a.key", prefix+".another"
	get := func(key, want string) {
		t.Helper()
		got, err := j.Value(within(t), journal.BucketKeys, key)
		if want == "" {
			if !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("value %q, error %v; want ErrNotFound", got, err)
			}
			return
		}
		if err != nil || string(got) != want {
			t.Errorf("value %q, error %v; want %q", got, err, want)
		}
	}
	check := func(what string, got, want error) {
		t.Helper()
		if !errors.Is(got, want) {
			t.Errorf("%s: error = %v, want %v", what, got, want)
		}
	}
	get(key, "")
	check("create", j.CreateValue(within(t), journal.BucketKeys, key, []byte("1")), nil)
	check("create again", j.CreateValue(within(t), journal.BucketKeys, key, []byte("2")), journal.ErrExists)
	get(key, "1")
	check("put", j.PutValue(within(t), journal.BucketKeys, key, []byte("3")), nil)
	get(key, "3")
	check("put another", j.PutValue(within(t), journal.BucketKeys, other, []byte("x")), nil)
	keys := func() []string {
		t.Helper()
		all, err := j.ValueKeys(within(t), journal.BucketKeys)
		if err != nil {
			t.Fatal(err)
		}
		mine := slices.DeleteFunc(all, func(k string) bool { return len(k) < len(prefix) || k[:len(prefix)] != prefix })
		slices.Sort(mine)
		return mine
	}
	if diff := cmp.Diff([]string{key, other}, keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	check("delete", j.DeleteValue(within(t), journal.BucketKeys, key), nil)
	check("delete again", j.DeleteValue(within(t), journal.BucketKeys, key), nil)
	get(key, "")
	if diff := cmp.Diff([]string{other}, keys()); diff != "" {
		t.Errorf("keys after deleting (-want +got):\n%s", diff)
	}
	check("create after deleting", j.CreateValue(within(t), journal.BucketKeys, key, []byte("4")), nil)
	get(key, "4")
	check("a bad key", j.PutValue(within(t), journal.BucketKeys, "a..b", nil), journal.ErrRefused)
	check("a bad bucket", j.PutValue(within(t), "other", "a", nil), journal.ErrRefused)
	if _, err := j.Value(within(t), journal.BucketSnapshots, other); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a key of another bucket: error = %v, want ErrNotFound", err)
	}
}

func testParking(t *testing.T, j journal.Journal) {
	reader := tenant()
	want := journal.Parked{
		Reader: reader, Stream: owner.Stream(), Sequence: 7, Subject: "mandate.v1.admission.00.t.r",
		Commit: "c-1", Reason: "handler failed: \"quoted\"\nand more", At: events.At(time.Unix(1, 2)),
	}
	second := want
	second.Sequence, second.Timer = 8, "wake"
	for _, p := range []journal.Parked{want, want, second} { // the same twice
		if err := j.Park(within(t), p); err != nil {
			t.Fatal(err)
		}
	}
	all, err := j.ParkedMessages(within(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []journal.Parked
	for _, p := range all {
		if p.Reader != reader {
			continue
		}
		if p.ID == "" {
			t.Errorf("parked without ID: %+v", p)
		}
		p.ID = ""
		got = append(got, p)
	}
	if diff := cmp.Diff([]journal.Parked{want, second}, got); diff != "" {
		t.Errorf("parked (-want +got):\n%s", diff)
	}
}
