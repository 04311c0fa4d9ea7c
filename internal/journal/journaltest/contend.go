package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// ContendOptions say how hard writers contend.
type ContendOptions struct {
	Writers int           // all at once
	Runs    int           // shared by the writers
	For     time.Duration // how long they write
}

// contender is what one writer believes of its commits.
type contender struct {
	stored    []string // Append said so
	refused   []string // Append said conflict
	unknown   int      // answers that were unknown and asked again
	abandoned []string // never answered
}

// Contend lets writers append to shared runs and checks the log afterwards:
// what was acknowledged is there once, what was refused is not, and every run
// is one dense chain.
func Contend(t *testing.T, j journal.Journal, o ContendOptions) {
	who := tenant()
	until := time.Now().Add(o.For)
	results := make([]contender, o.Writers)
	var writers sync.WaitGroup
	for w := range results {
		subject := events.Subject{Owner: owner, Tenant: who, Run: fmt.Sprintf("run%d", w%o.Runs)}
		writers.Go(func() { results[w].write(t.Context(), j, subject, until) })
	}
	writers.Wait()
	verify(t, j, who, results)
}

func (c *contender) write(ctx context.Context, j journal.Journal, subject events.Subject, until time.Time) {
	ctx, cancel := context.WithDeadline(ctx, until.Add(patience))
	defer cancel()
	var end journal.Position
	known := false
	for time.Now().Before(until) {
		if !known {
			records, err := j.Load(ctx, subject, end.Number)
			if err != nil {
				continue // the leader is away: ask again
			}
			if n := len(records); n > 0 {
				if end, err = journal.PositionOf(records[n-1]); err != nil {
					return
				}
			}
			known = true
		}
		commit, data := commitAfter(subject, end)
		next, err := j.Append(ctx, commit, data, end)
		for errors.Is(err, journal.ErrUnknownOutcome) && ctx.Err() == nil {
			c.unknown++
			next, err = j.Append(ctx, commit, data, end)
		}
		switch {
		case err == nil:
			c.stored = append(c.stored, commit.ID)
			end = next
		case errors.Is(err, journal.ErrConflict):
			c.refused = append(c.refused, commit.ID)
			known = false
		default:
			c.abandoned = append(c.abandoned, fmt.Sprintf("%s: %v", commit.ID, err))
			return
		}
	}
}

// verify reads the whole stream and compares it with what the writers believe.
func verify(t *testing.T, j journal.Journal, who string, results []contender) {
	t.Helper()
	count := map[string]int{}
	heads := map[events.Subject]events.Head{}
	total := 0
	for r, err := range j.Read(within(t), owner, 1) {
		if err != nil {
			t.Fatal(err)
		}
		c, err := journal.ParseHeader(r)
		if err != nil {
			t.Fatal(err)
		}
		if c.Subject.Tenant != who {
			continue
		}
		if heads[c.Subject], err = journal.Follows(heads[c.Subject], &c); err != nil {
			t.Fatal(err)
		}
		count[c.ID]++
		total++
	}
	var stored, refused, unknown, lost, doubled, ghosts int
	for i := range results {
		stored += len(results[i].stored)
		refused += len(results[i].refused)
		unknown += results[i].unknown
		for _, id := range results[i].stored {
			if count[id] == 0 {
				lost++
			}
		}
		for _, id := range results[i].refused {
			ghosts += count[id]
		}
		for _, what := range results[i].abandoned {
			t.Errorf("append was never answered: %s", what)
		}
	}
	for _, n := range count {
		if n > 1 {
			doubled++
		}
	}
	t.Logf("stored %d, conflicts %d, unknown answers %d", stored, refused, unknown)
	if stored == 0 || refused == 0 {
		t.Errorf("stored %d and refused %d: the writers did not contend", stored, refused)
	}
	if lost != 0 || doubled != 0 || ghosts != 0 || total != stored {
		t.Errorf("lost %d, doubled %d, refused but stored %d, in the log %d of %d", lost, doubled, ghosts, total, stored)
	}
}
