package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/journaltest"
	"example.org/mandate/internal/journal/memory"
)

func open(t *testing.T, options memory.Options) *memory.Journal {
	t.Helper()
	j := memory.New(options)
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func TestContract(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journal.Journal {
		t.Helper()
		return open(t, memory.Options{})
	})
}

func TestContractOnOneJournal(t *testing.T) {
	shared := open(t, memory.Options{})
	journaltest.Run(t, func(*testing.T) journal.Journal { return shared })
}

func TestContendUnderFaults(t *testing.T) {
	for seed := range uint64(5) {
		j := open(t, memory.Options{Faults: memory.Rough(seed)})
		journaltest.Contend(t, j, journaltest.ContendOptions{Writers: 8, Runs: 4, For: 100 * time.Millisecond})
	}
}

// schedule returns the calls and results of one schedule as text.
func schedule(seed uint64, crashAt int) (trace []string, stored int) {
	faults := memory.Rough(seed)
	faults.CrashAfter = crashAt
	j := memory.New(memory.Options{Faults: faults, Simulated: true})
	source := journal.Source{Owner: events.OwnerAdmission}
	var ends [3]journal.Position
	subject := func(run int) events.Subject {
		return events.Subject{Owner: events.OwnerAdmission, Tenant: "t", Run: "run" + strconv.Itoa(run)}
	}
	note := func(format string, args ...any) { trace = append(trace, fmt.Sprintf(format, args...)) }
	for n := range 30 {
		run := n % 3
		commit := &events.Commit{
			ID: "c" + strconv.Itoa(n), Subject: subject(run), Number: ends[run].Number + 1,
			Previous: ends[run].Digest, Protocol: events.Protocol,
		}
		for {
			end, err := j.Append(context.Background(), commit, []byte("data"), ends[run])
			note("append %d: %d %v", n, end.Sequence, err)
			if err == nil {
				ends[run] = end
			}
			if errors.Is(err, memory.ErrCrashed) {
				j.Restart()
				continue
			}
			if !errors.Is(err, journal.ErrUnknownOutcome) {
				break
			}
		}
		if d, ok := j.Next("reader", source); ok {
			note("deliver %s", d.Record().Header[events.HeaderCommit])
			if n%2 == 0 {
				d.Ack()
			} else {
				d.Release()
			}
		}
	}
	j.Settle()
	j.CrashAfter(0)
	j.Restart()
	for range 10_000 {
		d, ok := j.Next("reader", source)
		if !ok {
			break
		}
		note("deliver %s", d.Record().Header[events.HeaderCommit])
		d.Ack()
	}
	note("unsettled %d", j.Unsettled("reader", source))
	last, err := j.Last(context.Background(), events.OwnerAdmission)
	note("last %d %v", last, err)
	return trace, int(last)
}

func TestSchedulesRepeat(t *testing.T) {
	different := map[string]bool{}
	for seed := range uint64(200) {
		crash := int(seed % 40)
		first, stored := schedule(seed, crash)
		again, _ := schedule(seed, crash)
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("seed %d differs from itself:\n%s", seed, diff)
		}
		if tail := first[len(first)-2]; tail != "unsettled 0" {
			t.Errorf("seed %d: %s", seed, tail)
		}
		if stored == 0 {
			t.Errorf("seed %d: nothing was stored", seed)
		}
		different[strings.Join(first, "\n")] = true
	}
	if len(different) < 190 {
		t.Errorf("200 seeds made %d schedules", len(different))
	}
}

// TestDeliveryOrderUnderFaults checks for many seeds that a record is first
// delivered only after the one before it of the same run, and that all come.
func TestDeliveryOrderUnderFaults(t *testing.T) {
	for seed := range uint64(500) {
		j := memory.New(memory.Options{Faults: memory.Faults{
			Seed: seed, Shuffle: true, DelayDelivery: 0.2, Redeliver: 0.2, LoseAck: 0.2,
		}, Simulated: true})
		const runs, each = 3, 6
		for n := range runs * each {
			subject := events.Subject{Owner: events.OwnerRequest, Tenant: "t", Run: "run" + strconv.Itoa(n%runs)}
			records, err := j.Load(t.Context(), subject, 0)
			if err != nil {
				t.Fatal(err)
			}
			var end journal.Position
			if len(records) > 0 {
				if end, err = journal.PositionOf(records[len(records)-1]); err != nil {
					t.Fatal(err)
				}
			}
			commit := &events.Commit{ID: strconv.Itoa(n), Subject: subject, Number: end.Number + 1, Previous: end.Digest, Protocol: 1}
			if _, err := j.Append(t.Context(), commit, nil, end); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[string]uint64{}
		repeated := 0
		var held []journal.Delivery
		source := journal.Source{Owner: events.OwnerRequest}
		for step := 0; j.Unsettled("reader", source) > 0; step++ {
			if step > 10_000 {
				t.Fatalf("seed %d: does not end", seed)
			}
			if d, ok := j.Next("reader", source); ok {
				n, err := strconv.ParseUint(d.Record().Header[events.HeaderNumber], 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				run := d.Run().Run
				switch {
				case n > seen[run]+1:
					t.Fatalf("seed %d: %s/%d after %d", seed, run, n, seen[run])
				case n <= seen[run]:
					repeated++
				default:
					seen[run] = n
				}
				d.Release()
				held = append(held, d)
				continue
			}
			for _, d := range held {
				d.Ack()
			}
			held = nil
		}
		for run, n := range seen {
			if n != each {
				t.Errorf("seed %d: %s ended at %d", seed, run, n)
			}
		}
		if len(seen) != runs {
			t.Errorf("seed %d: %d runs", seed, len(seen))
		}
	}
}

func TestCrashFallsOnEitherSideOfStoring(t *testing.T) {
	for crashAt, want := range map[int]uint64{1: 0, 2: 1} {
		j := memory.New(memory.Options{Simulated: true})
		j.CrashAfter(crashAt)
		commit := &events.Commit{ID: "c", Subject: events.Subject{Owner: events.OwnerRequest, Tenant: "t", Run: "r"}, Number: 1}
		if _, err := j.Append(t.Context(), commit, nil, journal.Position{}); !errors.Is(err, memory.ErrCrashed) {
			t.Fatalf("crash at %d: error = %v", crashAt, err)
		}
		if _, err := j.Last(t.Context(), events.OwnerRequest); !errors.Is(err, memory.ErrCrashed) {
			t.Fatalf("after the crash: error = %v", err)
		}
		if !j.Crashed() {
			t.Error("not crashed")
		}
		j.Restart()
		if last, err := j.Last(t.Context(), events.OwnerRequest); err != nil || last != want {
			t.Errorf("crash at %d: stored %d, error %v; want %d", crashAt, last, err, want)
		}
	}
}

func TestRivalTakesThePlace(t *testing.T) {
	subject := events.Subject{Owner: events.OwnerRequest, Tenant: "t", Run: "r"}
	j := memory.New(memory.Options{Simulated: true, Faults: memory.Faults{
		Conflict: 1,
		Rival: func(c *events.Commit, _ []byte) (*events.Commit, []byte) {
			rival := *c
			rival.ID = "rival"
			return &rival, []byte("rival")
		},
	}})
	commit := &events.Commit{ID: "mine", Subject: subject, Number: 1, Protocol: 1}
	if _, err := j.Append(t.Context(), commit, nil, journal.Position{}); !errors.Is(err, journal.ErrConflict) {
		t.Fatalf("error = %v, want ErrConflict", err)
	}
	records, err := j.Load(t.Context(), subject, 0)
	if err != nil || len(records) != 1 || records[0].Header[events.HeaderCommit] != "rival" {
		t.Errorf("chain %+v, error %v", records, err)
	}
}

func TestSimulatedTimers(t *testing.T) {
	j := memory.New(memory.Options{Simulated: true})
	run := events.Subject{Owner: events.OwnerAdmission, Tenant: "t", Run: "r"}
	start := time.Unix(1000, 0)
	for name, after := range map[string]time.Duration{"b": 2, "a": 2, "c": 3} {
		if err := j.Schedule(t.Context(), journal.Timer{Run: run, Name: name, At: start.Add(after)}); err != nil {
			t.Fatal(err)
		}
	}
	if at, ok := j.NextTimer(); !ok || !at.Equal(start.Add(2)) {
		t.Errorf("next timer at %v, %v", at, ok)
	}
	if n := j.FireTimers(start.Add(1)); n != 0 {
		t.Errorf("%d fired early", n)
	}
	if n := j.FireTimers(start.Add(2)); n != 2 {
		t.Errorf("%d fired, want 2", n)
	}
	source := journal.Source{Owner: events.OwnerAdmission, Timers: true}
	for _, want := range []string{"a", "b"} {
		d, ok := j.Next("reader", source)
		if !ok || d.Timer() != want {
			t.Fatalf("delivery %v, want timer %q", d, want)
		}
		d.Ack()
	}
	if _, ok := j.Next("reader", source); ok {
		t.Error("a third timer fired")
	}
}

// BenchmarkSchedule is the cost of one simulated schedule of 30 appends with
// their deliveries.
func BenchmarkSchedule(b *testing.B) {
	b.ReportAllocs()
	seed := uint64(0)
	for b.Loop() {
		seed++
		schedule(seed, 0)
	}
}
