package journaltest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

func testConsumeOrder(t *testing.T, j journal.Journal) {
	who := tenant()
	const runs, each = 5, 8
	for n := range runs {
		c := newChain(t, j, who, fmt.Sprintf("run%d", n))
		for range each {
			c.append()
		}
	}
	in := consume(t, j, who, Reader{readerOrder, commits})
	defer in.end()

	// The first of every run comes although none is acknowledged, and nothing
	// but the first.
	held := map[string]journal.Delivery{}
	for range runs {
		d := in.take()
		if n := number(t, d); n != 1 {
			t.Fatalf("got %s while the one before was in hand", name(t, d))
		}
		held[d.Run().Run] = d
	}
	if len(held) != runs {
		t.Fatalf("heads of %d runs, want %d", len(held), runs)
	}
	next := map[string]uint64{}
	for run, d := range held {
		next[run] = 2
		go d.Ack()
	}
	for range runs * (each - 1) {
		d := in.take()
		if n := number(t, d); n != next[d.Run().Run] {
			t.Fatalf("got %s, want number %d", name(t, d), next[d.Run().Run])
		}
		next[d.Run().Run]++
		go d.Ack()
	}
}

func testRelease(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	for range 3 {
		c.append()
	}
	in := consume(t, j, c.subject.Tenant, Reader{readerRelease, commits})
	defer in.end()
	first := in.take()
	first.Release()
	second := in.take()
	if number(t, first) != 1 || number(t, second) != 2 {
		t.Fatalf("got %s, then %s", name(t, first), name(t, second))
	}
	second.Ack() // out of order
	third := in.take()
	if number(t, third) != 3 {
		t.Fatalf("got %s, want 3", name(t, third))
	}
	first.Ack()
	third.Ack()
	c.append()
	fourth := in.take()
	if number(t, fourth) != 4 {
		t.Fatalf("got %s, want 4", name(t, fourth))
	}
	fourth.Ack()
}

func testRetry(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	c.append()
	c.append()
	in := consume(t, j, c.subject.Tenant, Reader{readerRetry, commits})
	defer in.end()
	const delay = 150 * time.Millisecond
	for range 3 {
		d := in.take()
		if number(t, d) != 1 {
			t.Fatalf("got %s before the first was settled", name(t, d))
		}
		given := time.Now()
		d.Retry(delay)
		again := in.take()
		if number(t, again) != 1 {
			t.Fatalf("got %s before the one given back", name(t, again))
		}
		if waited := time.Since(given); waited < delay {
			t.Errorf("came again after %v, want at least %v", waited, delay)
		}
		again.Retry(0)
	}
	in.take().Ack()
	last := in.take()
	if number(t, last) != 2 {
		t.Fatalf("got %s, want 2", name(t, last))
	}
	last.Ack()
}

func testRedelivery(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	for range 5 {
		c.append()
	}
	in := consume(t, j, c.subject.Tenant, Reader{readerAgain, commits})
	for range 3 {
		in.take().Release()
	}
	in.end()
	in = consume(t, j, c.subject.Tenant, Reader{readerAgain, commits})
	defer in.end()
	for want := uint64(1); want <= 5; want++ {
		d := in.take()
		if number(t, d) != want {
			t.Fatalf("got %s, want %d", name(t, d), want)
		}
		d.Ack()
	}
}

// testRestart stops a reader with a hundred deliveries in hand, some of them
// acknowledged out of order, and checks that the next misses nothing and sees
// each run in order.
func testRestart(t *testing.T, j journal.Journal) {
	const runs, each, inHand = 4, 40, 100
	who := tenant()
	chains := make([]*chain, runs)
	for n := range chains {
		chains[n] = newChain(t, j, who, fmt.Sprintf("run%d", n))
	}
	for range each {
		for _, c := range chains {
			c.append()
		}
	}
	reader := Reader{readerRestart, commits}
	in := consume(t, j, who, reader)
	done := map[string]bool{}
	var acks sync.WaitGroup
	for n := range inHand {
		d := in.take()
		if n%3 == 1 {
			done[name(t, d)] = true
			acks.Go(d.Ack)
		} else {
			d.Release()
		}
	}
	acks.Wait()
	in.end()

	in = consume(t, j, who, reader)
	defer in.end()
	seen := map[string][]uint64{}
	for finished := 0; finished < runs; {
		d := in.take()
		n := number(t, d)
		run := d.Run().Run
		if before := seen[run]; len(before) > 0 && n <= before[len(before)-1] {
			t.Errorf("%s/%d after %d", run, n, before[len(before)-1])
		}
		seen[run] = append(seen[run], n)
		if n == each {
			finished++
		}
		d.Ack()
	}
	for _, c := range chains {
		for n := uint64(1); n <= each; n++ {
			key := fmt.Sprintf("%s/%d", c.subject.Run, n)
			if !done[key] && !slices.Contains(seen[c.subject.Run], n) {
				t.Errorf("%s was never delivered to be acknowledged", key)
			}
		}
	}
}

func testDuplicateAppend(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	before := c.end
	commit, data := c.next()
	for range 3 {
		end, err := j.Append(within(t), commit, data, before)
		if err != nil {
			t.Fatal(err)
		}
		c.end = end
	}
	c.append()
	in := consume(t, j, c.subject.Tenant, Reader{readerDuplicate, commits})
	defer in.end()
	for want := uint64(1); want <= 2; want++ {
		d := in.take()
		if number(t, d) != want {
			t.Fatalf("got %s, want %d", name(t, d), want)
		}
		d.Ack()
	}
}

func testConsumeStops(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	c.append()
	in := consume(t, j, c.subject.Tenant, Reader{readerStop, commits})
	d := in.take()
	in.end()
	// A delivery that outlived its consumption settles nothing and hangs
	// nowhere.
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		d.Release()
		d.Ack()
	}()
	select {
	case <-finished:
	case <-time.After(patience):
		t.Fatal("acknowledging after the end hangs")
	}
	if _, err := j.Consume(t.Context(), readerStop, journal.Source{Owner: events.Owner("nobody")}); err == nil {
		t.Error("consumed the stream of nobody")
	}
}

// testRedeliver parks a delivery, acknowledges it and all after it, and asks
// for it again.
func testRedeliver(t *testing.T, j journal.Journal) {
	c := newChain(t, j, tenant(), "run")
	for range 3 {
		c.append()
	}
	in := consume(t, j, c.subject.Tenant, Reader{readerAgain, commits})
	defer in.end()
	first := in.take()
	r := first.Record()
	parked := journal.Parked{
		Reader: readerAgain, Stream: r.Stream, Sequence: r.Sequence, Subject: r.Subject, Commit: r.Header[events.HeaderCommit], Reason: "a test", At: 1,
	}
	if err := j.Park(within(t), parked); err != nil {
		t.Fatal(err)
	}
	first.Ack()
	for range 2 {
		in.take().Ack()
	}
	if err := j.Redeliver(within(t), parked); err != nil {
		t.Fatal(err)
	}
	again := in.take()
	if number(t, again) != 1 {
		t.Fatalf("got %s, want the parked one", name(t, again))
	}
	again.Ack()
	unknown := parked
	unknown.Reader = "nobody"
	if err := j.Redeliver(within(t), unknown); err == nil {
		t.Error("a reader that does not exist got a delivery")
	}
}
