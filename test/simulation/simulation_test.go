package simulation

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
)

var (
	schedules = flag.Int("schedules", 400, "how many schedules to run")
	firstSeed = flag.Uint64("seed", 0, "seed of the first schedule; 0 draws one")
	timeBox   = flag.Duration("time-box", 4*time.Minute, "stop after this time")
)

// run goes through one schedule and returns the promise it broke, if any.
func run(ctx context.Context, w *world) error {
	runs := 1 + w.random.IntN(2)
	for i := range runs {
		var id ulid.ULID
		entropy := make([]byte, 10)
		for j := range entropy {
			entropy[j] = byte(w.random.IntN(256))
		}
		must(0, errors.Join(id.SetTime(ulid.Timestamp(start)+uint64(i)), id.SetEntropy(entropy)))
		nonce := id.String()
		w.submit(ctx, nonce, newRequest(w.random.IntN(kindCount)))
	}
	for range 40 + w.random.IntN(120) {
		w.step(ctx)
	}
	if err := w.drain(ctx); err != nil {
		return err
	}
	return w.check(ctx)
}

// step does one thing that could happen next.
func (w *world) step(ctx context.Context) {
	switch n := w.random.IntN(40); {
	case n < 26:
		w.deliver(ctx, w.lanes[w.random.IntN(len(w.lanes))])
	case n < 32:
		w.finishCall()
	case n < 34:
		w.decide(ctx)
	case n < 35 && w.random.IntN(6) == 0:
		w.cancel(ctx)
	case n < 37:
		w.now = w.now.Add(time.Duration(w.random.IntN(3000)) * time.Millisecond)
		w.journal.FireTimers(w.now)
	case n < 38:
		w.crash(ctx)
	case n < 39:
		w.journal.CrashAfter(1 + w.random.IntN(6))
	}
	w.restartIfCrashed()
}

func (w *world) finishCall() {
	if len(w.calls) == 0 {
		return
	}
	i := w.random.IntN(len(w.calls))
	call := w.calls[i]
	w.calls = append(w.calls[:i:i], w.calls[i+1:]...)
	call()
}

// decide lets a person decide on something that waits.
func (w *world) decide(ctx context.Context) {
	for _, runID := range w.submitted {
		if w.decided[runID] {
			continue
		}
		waiting := w.waiting(ctx, runID)
		if waiting == nil {
			continue
		}
		decision := events.DecisionApprove
		if w.random.IntN(5) == 0 {
			decision = events.DecisionDeny
		}
		err := w.intake.DecideApproval(ctx, tenant, runID, events.ApprovalDecided{
			Principal: person, Approval: waiting.Approval, Decision: decision, Digest: waiting.Digest,
		})
		w.decided[runID] = err == nil
		return
	}
}

// waiting is the last thing of a run that a person was asked about.
func (w *world) waiting(ctx context.Context, runID string) *events.ApprovalRequested {
	records, err := w.journal.Load(ctx, events.Subject{Owner: events.OwnerAdmission, Tenant: tenant, Run: runID}, 1)
	if err != nil {
		return nil
	}
	var last *events.ApprovalRequested
	for i := range records {
		c, err := events.Decode(records[i])
		if err != nil {
			return nil
		}
		if asked, ok := c.Events[0].Data.(*events.ApprovalRequested); ok {
			last = asked
		}
	}
	return last
}

func (w *world) cancel(ctx context.Context) {
	if len(w.submitted) == 0 {
		return
	}
	runID := w.submitted[w.random.IntN(len(w.submitted))]
	if !w.cancelled[runID] {
		w.cancelled[runID] = w.intake.Cancel(ctx, tenant, runID, person, "changed my mind") == nil
	}
}

// drain lets everything happen that still can, until nothing is left.
func (w *world) drain(ctx context.Context) error {
	for quiet, round := 0, 0; quiet < 6; round++ {
		if round > 4000 {
			return fmt.Errorf("does not come to rest: %v", w.trace)
		}
		w.journal.CrashAfter(0)
		w.restartIfCrashed()
		moved := w.journal.Settle() > 0
		for _, l := range w.lanes {
			for range 4 {
				moved = w.deliver(ctx, l) || moved
			}
		}
		for len(w.calls) > 0 {
			moved = true
			w.finishCall()
		}
		if moved {
			quiet = 0
			continue
		}
		quiet++
		w.now = w.now.Add(90 * time.Second)
		w.journal.FireTimers(w.now)
	}
	return nil
}

func TestSchedules(t *testing.T) {
	req.Covers(t, "C3-RUN-005.p", "C3-RUN-006.f", "C3-RUN-006.g", "C3-RUN-006.h", "OD-10.1.7", "OD-10.1.12", "OD-10.1.13")
	view := newRegistry()
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64() >> 1
	}
	deadline := time.Now().Add(*timeBox)
	var (
		mu   sync.Mutex
		next int
		done int
		wait sync.WaitGroup
		tags = map[events.Tag]int{}
	)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= *schedules || time.Now().After(deadline) || t.Failed()
				mu.Unlock()
				if stop {
					return
				}
				s := seed + uint64(i)
				w := newWorld(s, view)
				if err := run(t.Context(), w); err != nil {
					t.Log(w.story(t.Context()))
					t.Errorf("schedule with seed %d: %v (run again with -schedules=1 -seed=%d)", s, err, s)
					return
				}
				found := w.tags(t.Context())
				mu.Lock()
				done++
				for tag, n := range found {
					tags[tag] += n
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	t.Logf("%d schedules from seed %d; outcomes %v", done, seed, tags)
	if *schedules >= 400 && !t.Failed() {
		for _, tag := range []events.Tag{events.TagCompleted, events.TagRejected, events.TagFailed, events.TagCancelled, events.TagIndeterminate, events.TagUnresolved} {
			if tags[tag] == 0 {
				t.Errorf("no schedule ended %s: the simulation does not reach it", tag)
			}
		}
	}
}

// TestSchedulesThatFailed runs schedules that broke a promise once.
func TestSchedulesThatFailed(t *testing.T) {
	view := newRegistry()
	for name, seed := range map[string]uint64{
		"a replica recovers a run that another has gone on with": 5606618151495714373,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(seed, view)
			if err := run(t.Context(), w); err != nil {
				t.Log(w.story(t.Context()))
				t.Error(err)
			}
		})
	}
}

func (w *world) tags(ctx context.Context) map[events.Tag]int {
	found := map[events.Tag]int{}
	all, err := w.histories(ctx)
	if err != nil {
		return found
	}
	for _, h := range all {
		if n, c := count[*events.RunConcluded](h, events.OwnerEvaluator); n > 0 {
			found[c.Tag]++
		}
	}
	return found
}

// story tells what was recorded, for a schedule that failed.
func (w *world) story(ctx context.Context) string {
	all, err := w.histories(ctx)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, runID := range w.submitted {
		fmt.Fprintf(&b, "run %s (%d crashes, trace %v)\n", runID, w.crashes, w.trace)
		for _, owner := range events.Owners() {
			for _, c := range all[runID][owner] {
				fmt.Fprintf(&b, "  %s %d by %s, cause %s %s:", owner, c.Number, c.Writer, c.Cause.Commit, c.Cause.Event)
				for _, e := range c.Events {
					fmt.Fprintf(&b, " %s", events.ShortType(e.Type()))
				}
				b.WriteByte('\n')
			}
		}
	}
	for _, l := range w.lanes {
		fmt.Fprintf(&b, "  %s from %v: %d unsettled\n", l.reader, l.source, w.journal.Unsettled(l.reader, l.source))
	}
	return b.String()
}
