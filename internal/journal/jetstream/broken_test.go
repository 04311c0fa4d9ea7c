package jetstream_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/testkit"
)

// patience bounds every wait.
const patience = 20 * time.Second

// brokenReader consumes the stream that a test damages.
var brokenReader = jetstream.Reader{Name: "broken", Source: journal.Source{Owner: events.OwnerExecutor}}

// forge publishes a message as a commit, without the journal's care.
func forge(t *testing.T, conn *nats.Conn, c *events.Commit, expected uint64) uint64 {
	t.Helper()
	msg := nats.NewMsg(c.Subject.String())
	for name, value := range journal.Header(c) {
		msg.Header[name] = []string{value}
	}
	msg.Header["Nats-Expected-Last-Subject-Sequence"] = []string{strconv.FormatUint(expected, 10)}
	msg.Data = []byte(c.ID)
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	ack, err := js.PublishMsg(t.Context(), msg)
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// TestDamageIsNeverSkipped damages a stream in every way that the broker lets
// through and checks that each way of reading stops there.
func TestDamageIsNeverSkipped(t *testing.T) {
	t.Parallel()
	run := events.Subject{Owner: events.OwnerExecutor, Tenant: "t", Run: "run"}
	chain := func(t *testing.T, conn *nats.Conn) (commits []events.Commit, sequences []uint64) {
		t.Helper()
		var head events.Head
		var last uint64
		for n := range 5 {
			c := events.Commit{ID: fmt.Sprintf("c%d", n), Subject: run, Number: head.Number + 1, Previous: head.Digest, Protocol: 1}
			last = forge(t, conn, &c, last)
			head = events.Head{Number: c.Number, Digest: events.ChainDigest(&c, []byte(c.ID))}
			c.Digest = head.Digest
			commits, sequences = append(commits, c), append(sequences, last)
		}
		return commits, sequences
	}
	for name, test := range map[string]struct {
		damage       func(t *testing.T, conn *nats.Conn, js natsjs.JetStream)
		delivered    int  // before consumption stops
		read, loaded bool // whether Read and Load see it
	}{
		"a message is missing": {func(t *testing.T, conn *nats.Conn, js natsjs.JetStream) {
			t.Helper()
			_, sequences := chain(t, conn)
			stream, err := js.Stream(t.Context(), events.OwnerExecutor.Stream())
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.DeleteMsg(t.Context(), sequences[2]); err != nil {
				t.Fatal(err)
			}
		}, 2, true, true},
		"the chain breaks": {func(t *testing.T, conn *nats.Conn, _ natsjs.JetStream) {
			t.Helper()
			commits, sequences := chain(t, conn)
			c := commits[4]
			c.ID, c.Number, c.Previous = "forged", 6, commits[1].Digest
			forge(t, conn, &c, sequences[4])
		}, 5, false, true},
		"a number is used twice": {func(t *testing.T, conn *nats.Conn, _ natsjs.JetStream) {
			t.Helper()
			commits, sequences := chain(t, conn)
			c := commits[4]
			c.ID = "forged"
			forge(t, conn, &c, sequences[4])
		}, 5, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
			js, err := natsjs.New(conn)
			if err != nil {
				t.Fatal(err)
			}
			// A stream that allows deletion, to make a hole in it; provisioning
			// then takes the right away.
			if _, err := js.CreateStream(t.Context(), natsjs.StreamConfig{
				Name: run.Owner.Stream(), Subjects: []string{"mandate.v1.executor.>"}, Discard: natsjs.DiscardNew,
			}); err != nil {
				t.Fatal(err)
			}
			test.damage(t, conn, js)
			alarms := make(chan error, 1)
			c := jetstream.Config{Readers: []jetstream.Reader{brokenReader}, Alarm: func(err error) { alarms <- err }}
			j := open(t, conn, c)

			deliveries, err := j.Consume(t.Context(), brokenReader.Name, brokenReader.Source)
			if err != nil {
				t.Fatal(err)
			}
			delivered := 0
			for waiting := true; waiting; {
				select {
				case d, ok := <-deliveries:
					if !ok {
						t.Fatal("deliveries ended")
					}
					delivered++
					d.Ack()
				case err := <-alarms:
					if !errors.Is(err, journal.ErrCorrupt) {
						t.Errorf("alarm = %v, want ErrCorrupt", err)
					}
					waiting = false
				case <-time.After(patience):
					t.Fatal("no alarm")
				}
			}
			if delivered > test.delivered {
				t.Errorf("%d delivered, the damage is after %d", delivered, test.delivered)
			}
			var readErr error
			for _, err := range j.Read(t.Context(), run.Owner, 1) {
				readErr = err
			}
			if errors.Is(readErr, journal.ErrCorrupt) != test.read {
				t.Errorf("read: error = %v, want ErrCorrupt: %v", readErr, test.read)
			}
			if _, err := j.Load(t.Context(), run, 0); errors.Is(err, journal.ErrCorrupt) != test.loaded {
				t.Errorf("load: error = %v, want ErrCorrupt: %v", err, test.loaded)
			}
		})
	}
}

// TestStrayMessages publishes what is no commit of any chain: readers get it,
// to park it, and the rest goes on.
func TestStrayMessages(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	j := open(t, conn, jetstream.Config{
		Readers: []jetstream.Reader{brokenReader}, Alarm: func(err error) { t.Errorf("alarm: %v", err) },
	})
	run := events.Subject{Owner: events.OwnerExecutor, Tenant: "t", Run: "run"}
	first := events.Commit{ID: "c0", Subject: run, Number: 1, Protocol: 1}
	last := forge(t, conn, &first, 0)
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	wrong := (run.Partition() + 1) % events.Partitions
	strays := []string{
		events.Subject{Owner: run.Owner, Tenant: "t", Run: "garbage"}.String(),
		fmt.Sprintf("mandate.v1.executor.%02d.t.run", wrong),
		fmt.Sprintf("mandate.v1.executor.%02d.too.many.words", wrong),
	}
	for _, subject := range strays {
		if _, err := js.Publish(t.Context(), subject, []byte("\xff\x00garbage")); err != nil {
			t.Fatal(err)
		}
	}
	second := events.Commit{
		ID: "c1", Subject: run, Number: 2, Protocol: 1, Previous: events.ChainDigest(&first, []byte(first.ID)),
	}
	forge(t, conn, &second, last)

	want := map[string]int{run.String(): 2}
	for _, subject := range strays {
		want[subject] = 1
	}
	deliveries, err := j.Consume(t.Context(), brokenReader.Name, brokenReader.Source)
	if err != nil {
		t.Fatal(err)
	}
	delivered := map[string]int{}
	for range 5 {
		select {
		case d := <-deliveries:
			delivered[d.Record().Subject]++
			d.Ack()
		case <-time.After(patience):
			t.Fatalf("only %v came", delivered)
		}
	}
	if diff := cmp.Diff(want, delivered); diff != "" {
		t.Errorf("delivered (-want +got):\n%s", diff)
	}
	read := map[string]int{}
	for r, err := range j.Read(t.Context(), run.Owner, 1) {
		if err != nil {
			t.Fatal(err)
		}
		read[r.Subject]++
	}
	if diff := cmp.Diff(want, read); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	if records, err := j.Load(t.Context(), run, 0); err != nil || len(records) != 2 {
		t.Errorf("loaded %d, %v", len(records), err)
	}
}
