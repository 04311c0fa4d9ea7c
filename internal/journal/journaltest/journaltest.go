// Package journaltest holds the contract that every adapter of the journal
// passes.
//
// The journal under test may be fresh for every test or shared by all: each
// test works under its own tenant and, where it consumes, as its own reader.
package journaltest

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// patience bounds every wait of the suite.
const patience = 30 * time.Second

// Reader is one reader of one source.
type Reader struct {
	Name   string
	Source journal.Source
}

// owner is whose stream the suite mostly writes.
const owner = events.OwnerAdmission

// commits and wakeups are the two sources that the suite consumes.
var (
	commits = journal.Source{Owner: owner}
	wakeups = journal.Source{Owner: owner, Timers: true}
)

// The readers, one per consuming test.
const (
	readerOrder     = "suite-order"
	readerRelease   = "suite-release"
	readerRetry     = "suite-retry"
	readerAgain     = "suite-again"
	readerRestart   = "suite-restart"
	readerDuplicate = "suite-duplicate"
	readerTimers    = "suite-timers"
	readerStop      = "suite-stop"
)

// Readers lists what the suite consumes, for adapters that must be told
// beforehand.
func Readers() []Reader {
	list := []Reader{{readerTimers, wakeups}}
	for _, name := range []string{readerOrder, readerRelease, readerRetry, readerAgain, readerRestart, readerDuplicate, readerStop} {
		list = append(list, Reader{name, commits})
	}
	return list
}

// Run runs the contract. open returns a journal that is ready for use; closing
// it is open's business.
func Run(t *testing.T, open func(t *testing.T) journal.Journal) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, journal.Journal)
	}{
		{"append follows the position", testAppend},
		{"append elsewhere is a conflict", testConflict},
		{"append again succeeds", testAppendAgain},
		{"same ID with other bytes is a conflict", testSameIDOtherBytes},
		{"refuses what can never be stored", testRefused},
		{"append after the context ended is unknown", testEndedContext},
		{"load from a number", testLoad},
		{"read is dense", testRead},
		{"follow waits", testFollow},
		{"consume in order per run", testConsumeOrder},
		{"release lets the next pass", testRelease},
		{"retry comes before the next", testRetry},
		{"unacknowledged comes again", testRedelivery},
		{"no gap over a restart with many in hand", testRestart},
		{"a duplicate append is delivered once", testDuplicateAppend},
		{"consume stops with its context", testConsumeStops},
		{"timers fire, replace and cancel", testTimers},
		{"blobs", testBlobs},
		{"values", testValues},
		{"parking", testParking},
		{"what was parked is delivered again", testRedeliver},
		{"contending writers", func(t *testing.T, j journal.Journal) {
			Contend(t, j, ContendOptions{Writers: 8, Runs: 4, For: time.Second})
		}},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// chain writes the commits of one run for a test.
type chain struct {
	t       *testing.T
	journal journal.Journal
	subject events.Subject
	end     journal.Position
}

// tenant returns a tenant of the test's own.
func tenant() string { return "t" + rand.Text()[:12] }

func newChain(t *testing.T, j journal.Journal, tenant, run string) *chain {
	t.Helper()
	return &chain{t: t, journal: j, subject: events.Subject{Owner: owner, Tenant: tenant, Run: run}}
}

// next returns the next commit of the chain and its bytes.
func (c *chain) next() (*events.Commit, []byte) { return commitAfter(c.subject, c.end) }

func commitAfter(subject events.Subject, end journal.Position) (*events.Commit, []byte) {
	id := "c-" + rand.Text()
	return &events.Commit{
		ID: id, Subject: subject, Number: end.Number + 1, Previous: end.Digest,
		Cause:       events.Cause{Commit: "cause-" + id, Event: "event-1"},
		Correlation: subject.Run, Writer: "suite", Protocol: events.Protocol,
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Events:      []events.Event{{ID: "e-" + id, Data: &events.Unknown{Type: "mandate.admission.suite.v1"}}},
	}, []byte("body of " + id)
}

// append writes the next commit and returns its ID.
func (c *chain) append() string {
	c.t.Helper()
	commit, data := c.next()
	end, err := c.journal.Append(within(c.t), commit, data, c.end)
	if err != nil {
		c.t.Fatalf("append %s %d: %v", c.subject, commit.Number, err)
	}
	c.end = end
	return commit.ID
}

// within returns a context that ends with the suite's patience.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// consumption receives the deliveries of one tenant; others it acknowledges.
type consumption struct {
	t          *testing.T
	tenant     string
	deliveries <-chan journal.Delivery
	stop       context.CancelFunc
}

func consume(t *testing.T, j journal.Journal, tenant string, r Reader) *consumption {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	deliveries, err := j.Consume(ctx, r.Name, r.Source)
	if err != nil {
		t.Fatalf("consume as %s: %v", r.Name, err)
	}
	return &consumption{t: t, tenant: tenant, deliveries: deliveries, stop: cancel}
}

// take returns the next delivery of the tenant.
func (c *consumption) take() journal.Delivery {
	c.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case d, ok := <-c.deliveries:
			if !ok {
				c.t.Fatal("deliveries ended")
			}
			if d.Run().Tenant == c.tenant {
				return d
			}
			go d.Ack()
		case <-deadline.C:
			c.t.Fatal("no delivery in time")
		}
	}
}

// end stops consuming and waits until the channel is closed.
func (c *consumption) end() {
	c.t.Helper()
	c.stop()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case _, ok := <-c.deliveries:
			if !ok {
				return
			}
		case <-deadline.C:
			c.t.Fatal("deliveries did not end with their context")
		}
	}
}

// number returns the commit number of a delivery.
func number(t *testing.T, d journal.Delivery) uint64 {
	t.Helper()
	c, err := journal.ParseHeader(d.Record())
	if err != nil {
		t.Fatal(err)
	}
	return c.Number
}

// name describes a delivery in failures: run and number.
func name(t *testing.T, d journal.Delivery) string {
	t.Helper()
	return fmt.Sprintf("%s/%d", d.Run().Run, number(t, d))
}
