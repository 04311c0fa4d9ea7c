package jetstream_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/journal/journaltest"
	"example.org/mandate/internal/testkit"
)

// config returns a configuration for tests: short waits, and the durables of
// the contract suite.
func config(replicas int) jetstream.Config {
	c := jetstream.Config{
		Replicas: replicas, MaxBytes: 1 << 30, AckWait: 2 * time.Second, PinnedTTL: 2 * time.Second,
	}
	for _, r := range journaltest.Readers() {
		c.Readers = append(c.Readers, jetstream.Reader{Name: r.Name, Source: r.Source})
	}
	return c
}

// open provisions and opens a journal that closes with the test.
func open(tb testing.TB, conn *nats.Conn, c jetstream.Config) *jetstream.Journal {
	tb.Helper()
	if err := jetstream.Provision(tb.Context(), conn, c); err != nil {
		tb.Fatal(err)
	}
	j, err := jetstream.Open(tb.Context(), conn, c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := j.Close(); err != nil {
			tb.Error(err)
		}
	})
	return j
}

func TestContractOnOneNode(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	shared := open(t, conn, config(1))
	journaltest.Run(t, func(*testing.T) journal.Journal { return shared })
}

func TestContractOnCluster(t *testing.T) {
	t.Parallel()
	conn := testkit.StartCluster(t, testkit.ServerOptions{}).Connect(t)
	shared := open(t, conn, config(3))
	journaltest.Run(t, func(*testing.T) journal.Journal { return shared })
}
