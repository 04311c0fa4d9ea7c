package budget_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/journal/memory"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit"
)

const (
	consumers = 64
	allotted  = 80
	// each is what a consumer reserves; it reports a third of it.
	each = 6
)

func use(n int64) events.Limits { return events.Limits{OutputTokens: n, CostUnit: "usd"} }

// chain is the one chain that all consumers spend through.
var subject = events.Subject{Owner: events.OwnerInterpreter, Tenant: "default", Run: "01JZZZZZZZZZZZZZZZZZZZZZZZ"}

// read returns the books as the chain tells them, and where it ends.
func read(ctx context.Context, j journal.Journal) (budget.Ledger, journal.Position, error) {
	l, err := budget.NewLedger(use(allotted))
	if err != nil {
		return l, journal.Position{}, err
	}
	records, err := j.Load(ctx, subject, 0)
	if err != nil {
		return l, journal.Position{}, err
	}
	var end journal.Position
	for _, r := range records {
		c, err := events.Decode(r)
		if err != nil {
			return l, end, err
		}
		for i := range c.Events {
			l = l.Fold(subject.Owner, c.Events[i].Data)
		}
		if end, err = journal.PositionOf(r); err != nil {
			return l, end, err
		}
	}
	return l, end, nil
}

// record decides on what the chain says and appends it, again and again until
// nobody was faster. A decision without a payload ends it.
func record(ctx context.Context, j journal.Journal, id string, decide func(budget.Ledger) events.Payload) (bool, error) {
	for attempt := 0; ; attempt++ {
		l, end, err := read(ctx, j)
		if err != nil {
			return false, err
		}
		payload := decide(l)
		if payload == nil {
			return false, nil
		}
		commit := &events.Commit{
			ID: fmt.Sprintf("%s-%d", id, attempt), Subject: subject, Number: end.Number + 1, Previous: end.Digest, Correlation: subject.Run,
			Cause: events.Cause{Commit: "cause", Event: "event"}, Writer: id, Protocol: events.Protocol,
			Events: []events.Event{{ID: id + "-event", Time: 1, Data: payload}},
		}
		data, err := events.Encode(commit)
		if err != nil {
			return false, err
		}
		commit.Digest = canon.Sum("commit", data)
		_, err = j.Append(ctx, commit, data, end)
		for errors.Is(err, journal.ErrUnknownOutcome) && ctx.Err() == nil {
			_, err = j.Append(ctx, commit, data, end)
		}
		if err == nil || !errors.Is(err, journal.ErrConflict) {
			return err == nil, err
		}
	}
}

// consume reserves, uses and settles until the budget is used up. Every fourth
// consumer crashes between its first reservation and its settlement.
func consume(ctx context.Context, j journal.Journal, n int) (used int64, crashed bool, err error) {
	for round := 0; ; round++ {
		id := fmt.Sprintf("c%02d-%02d", n, round)
		reserved, err := record(ctx, j, id+"-reserve", func(l budget.Ledger) events.Payload {
			if _, err := l.Reserve(id, use(each)); err != nil {
				return nil
			}
			return &events.GenerationReserved{Generation: id, Purpose: "spend", Provider: "test", Model: "m", Bound: use(each)}
		})
		if err != nil || !reserved {
			return used, false, err
		}
		if n%4 == 0 {
			return used + each, true, nil // it used everything, and nobody will know
		}
		used += each / 3
		if _, err := record(ctx, j, id+"-settle", func(budget.Ledger) events.Payload {
			return &events.GenerationSettled{Generation: id, Status: "succeeded", Reported: true, Usage: use(each / 3)}
		}); err != nil {
			return used, false, err
		}
	}
}

// Many consumers of one allotment never use more than it together, whoever is
// first, and what a crashed one had reserved stays charged.
func TestConcurrentConsumersNeverOvershoot(t *testing.T) {
	for name, open := range map[string]func(*testing.T) journal.Journal{
		"memory": func(*testing.T) journal.Journal { return memory.New(memory.Options{}) },
		"jetstream": func(t *testing.T) journal.Journal {
			t.Helper()
			conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
			config := jetstream.Config{Replicas: 1, MaxBytes: 1 << 28, AckWait: 2 * time.Second, PinnedTTL: 2 * time.Second}
			if err := jetstream.Provision(t.Context(), conn, config); err != nil {
				t.Fatal(err)
			}
			j, err := jetstream.Open(t.Context(), conn, config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			})
			return j
		},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "C3-RUN-004.l", "C3-RUN-004.m", "C3-RUN-004.b")
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			j := open(t)
			var group sync.WaitGroup
			used, crashed, failed := make([]int64, consumers), make([]bool, consumers), make([]error, consumers)
			for n := range consumers {
				group.Go(func() { used[n], crashed[n], failed[n] = consume(ctx, j, n) })
			}
			group.Wait()
			var total, lost int64
			for n := range consumers {
				if failed[n] != nil {
					t.Fatalf("consumer %d: %v", n, failed[n])
				}
				total += used[n]
				if crashed[n] {
					lost++
				}
			}
			l, _, err := read(ctx, j)
			if err != nil {
				t.Fatal(err)
			}
			if charged := l.Charged().OutputTokens; total > allotted || charged > allotted || charged != total {
				t.Fatalf("%d used and %d charged of %d", total, charged, allotted)
			}
			if left := l.Left().OutputTokens; left >= each {
				t.Fatalf("%d are left although everybody stopped", left)
			}
			if open := l.Open(); int64(len(open)) != lost || lost == 0 {
				t.Fatalf("%d crashed, and %v are open", lost, open)
			}
		})
	}
}
