package jetstream_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/journal/journaltest"
	"example.org/mandate/internal/testkit"
)

// orderly consumes as a reader until stopped, acknowledging everything, and
// remembers per run the highest number and every step over one.
type orderly struct {
	mu     sync.Mutex
	seen   map[events.Subject]uint64
	steps  []string
	total  int
	repeat int
}

func (o *orderly) consume(deliveries <-chan journal.Delivery) {
	for d := range deliveries {
		c, err := journal.ParseHeader(d.Record())
		o.mu.Lock()
		switch {
		case err != nil:
			o.steps = append(o.steps, err.Error())
		case c.Number <= o.seen[c.Subject]:
			o.repeat++
		default:
			if c.Number != o.seen[c.Subject]+1 {
				o.steps = append(o.steps, fmt.Sprintf("%s: %d after %d", c.Subject, c.Number, o.seen[c.Subject]))
			}
			o.seen[c.Subject] = c.Number
			o.total++
		}
		o.mu.Unlock()
		go d.Ack()
	}
}

// wait waits until so many records were seen.
func (o *orderly) wait(t *testing.T, total int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		o.mu.Lock()
		got, steps, repeat := o.total, o.steps, o.repeat
		o.mu.Unlock()
		if len(steps) > 0 {
			t.Fatalf("out of order: %q", steps)
		}
		if got == total {
			t.Logf("consumed %d in order, %d of them again", got, repeat)
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("consumed %d of %d", got, total)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestClusterUnderChanges lets eight writers contend while the stream's leader
// steps down again and again and nodes are restarted and cut off, and consumes
// at the same time.
func TestClusterUnderChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	cluster := testkit.StartCluster(t, testkit.ServerOptions{})
	conn := cluster.Connect(t)
	source := journal.Source{Owner: events.OwnerAdmission}
	c := config(3)
	c.Readers = []jetstream.Reader{{Name: "watch", Source: source}}
	j := open(t, conn, c)
	ctx, stopConsuming := context.WithCancel(t.Context())
	defer stopConsuming()
	deliveries, err := j.Consume(ctx, "watch", source)
	if err != nil {
		t.Fatal(err)
	}
	watch := &orderly{seen: make(map[events.Subject]uint64)}
	go watch.consume(deliveries)

	stream := source.Owner.Stream()
	stop := make(chan struct{})
	var trouble sync.WaitGroup
	trouble.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
			}
			switch n % 8 {
			case 3:
				cluster.Restart(n/8%3, 100*time.Millisecond)
			case 6:
				if leader := cluster.Leader(stream); leader >= 0 {
					cluster.Isolate(leader, true)
					time.Sleep(300 * time.Millisecond)
					cluster.Isolate(leader, false)
				}
			default:
				cluster.StepDown(conn, stream)
			}
		}
	})
	var mended sync.Once
	mend := func() { mended.Do(func() { close(stop); trouble.Wait(); cluster.WaitReady() }) }
	defer mend()
	journaltest.Contend(t, j, journaltest.ContendOptions{Writers: 8, Runs: 4, For: 10 * time.Second})
	mend()

	last, err := j.Last(t.Context(), source.Owner)
	if err != nil {
		t.Fatal(err)
	}
	watch.wait(t, int(last))
}

// TestTakeover kills a consumer with a hundred deliveries in hand, again and
// again: the next gets everything that was not acknowledged, in order.
func TestTakeover(t *testing.T) {
	t.Parallel()
	s := testkit.StartServer(t, testkit.ServerOptions{})
	source := journal.Source{Owner: events.OwnerAdmission}
	c := config(1)
	c.PinnedTTL = time.Second
	c.Readers = []jetstream.Reader{{Name: "taken", Source: source}}
	writer := open(t, testkit.Connect(t, s), c)
	const runs, each = 10, 60
	for n := range runs {
		subject := events.Subject{Owner: source.Owner, Tenant: "t", Run: fmt.Sprintf("run%d", n)}
		var end journal.Position
		for range each {
			commit := &events.Commit{
				ID: fmt.Sprintf("%s-%d", subject.Run, end.Number), Subject: subject,
				Number: end.Number + 1, Previous: end.Digest, Protocol: 1,
			}
			var err error
			if end, err = writer.Append(t.Context(), commit, nil, end); err != nil {
				t.Fatal(err)
			}
		}
	}
	settled := map[string]bool{}
	for round := 0; len(settled) < runs*each; round++ {
		conn := testkit.Connect(t, s)
		quiet := c
		quiet.Fatal = func(error) {} // the connection is killed below
		j, err := jetstream.Open(t.Context(), conn, quiet)
		if err != nil {
			t.Fatal(err)
		}
		deliveries, err := j.Consume(t.Context(), "taken", source)
		if err != nil {
			t.Fatal(err)
		}
		session := map[string]uint64{}
		crash := round < 4
		for n := 0; len(settled) < runs*each && (!crash || n < 150); n++ {
			var d journal.Delivery
			var ok bool
			select {
			case d, ok = <-deliveries:
				if !ok {
					t.Fatal("deliveries ended")
				}
			case <-time.After(patience):
				t.Fatalf("round %d: no delivery, %d of %d settled", round, len(settled), runs*each)
			}
			number, err := journal.ParseHeader(d.Record())
			if err != nil {
				t.Fatal(err)
			}
			run := d.Run().Run
			if before, ok := session[run]; ok && number.Number != before+1 {
				t.Fatalf("round %d: %s/%d after %d", round, run, number.Number, before)
			}
			for missed := uint64(1); missed < number.Number; missed++ {
				if _, ok := session[run]; !ok && !settled[fmt.Sprint(run, missed)] {
					t.Fatalf("round %d: %s begins at %d, but %d is not settled", round, run, number.Number, missed)
				}
			}
			session[run] = number.Number
			if crash && n >= 50 {
				d.Release() // in hand when it dies
				continue
			}
			d.Ack()
			settled[fmt.Sprint(run, number.Number)] = true
		}
		conn.Close()
		_ = j.Close()
	}
}

// TestGroupsForm checks that commits that wait together on a synced server
// share batches, that each is acknowledged with its own place, and that a stale
// guard among them loses nothing.
func TestGroupsForm(t *testing.T) {
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{SyncAlways: true}))
	c := config(1)
	c.SyncAlways, c.Try = true, 5*time.Second
	j := open(t, conn, c)
	j.CheapGroups() // whatever the disk of this machine is like
	const runs, each = 200, 3
	var writers sync.WaitGroup
	for n := range runs {
		subject := events.Subject{Owner: events.OwnerAdmission, Tenant: "t", Run: fmt.Sprintf("run%d", n)}
		writers.Go(func() {
			var end journal.Position
			for range each {
				commit := &events.Commit{
					ID: fmt.Sprintf("%s-%d", subject.Run, end.Number), Subject: subject,
					Number: end.Number + 1, Previous: end.Digest, Protocol: 1,
				}
				var err error
				if end, err = j.Append(t.Context(), commit, nil, end); err != nil {
					t.Errorf("append %s %d: %v", subject, commit.Number, err)
					return
				}
			}
			records, err := j.Load(t.Context(), subject, 0)
			if err != nil || len(records) != each || records[each-1].Sequence != end.Sequence {
				t.Errorf("%s: %d records, error %v; want %d, the last at %d", subject, len(records), err, each, end.Sequence)
			}
		})
	}
	writers.Wait()
	if grouped := inGroups(t, conn, events.OwnerAdmission.Stream()); grouped == 0 {
		t.Error("no commit shared a batch")
	}
	j.CheapGroups()
	journaltest.Contend(t, j, journaltest.ContendOptions{Writers: 160, Runs: 150, For: time.Second})
}

// inGroups counts the stored messages that came in a batch.
func inGroups(t *testing.T, conn *nats.Conn, name string) int {
	t.Helper()
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	grouped := 0
	for sequence := uint64(1); sequence <= stream.CachedInfo().State.LastSeq; sequence++ {
		msg, err := stream.GetMsg(t.Context(), sequence)
		if err != nil {
			t.Fatal(err)
		}
		if msg.Header.Get("Nats-Batch-Id") != "" {
			grouped++
		}
	}
	t.Logf("%d of %d commits came in groups", grouped, stream.CachedInfo().State.LastSeq)
	return grouped
}

func TestContractOnSyncedNode(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{SyncAlways: true}))
	c := config(1)
	c.SyncAlways = true
	shared := open(t, conn, c)
	journaltest.Run(t, func(*testing.T) journal.Journal { return shared })
}

func TestContractOnPartitionGroups(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	c := config(1)
	c.PartitionGroups = 8
	shared := open(t, conn, c)
	journaltest.Run(t, func(*testing.T) journal.Journal { return shared })
}
