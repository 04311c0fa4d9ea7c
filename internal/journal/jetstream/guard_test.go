package jetstream_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/testkit"
)

func TestOpenRefusesWeakStreams(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	js, err := natsjs.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	c := config(1)
	stream := events.OwnerAdmission.Stream()
	for field, weaken := range map[string]func(*natsjs.StreamConfig){
		"storage":                  func(s *natsjs.StreamConfig) { s.Storage = natsjs.MemoryStorage },
		"retention":                func(s *natsjs.StreamConfig) { s.Retention = natsjs.InterestPolicy },
		"discard":                  func(s *natsjs.StreamConfig) { s.Discard = natsjs.DiscardOld },
		"subjects":                 func(s *natsjs.StreamConfig) { s.Subjects = append(s.Subjects, "extra.>") },
		"max age":                  func(s *natsjs.StreamConfig) { s.MaxAge = time.Hour },
		"max messages":             func(s *natsjs.StreamConfig) { s.MaxMsgs = 1000 },
		"max messages per subject": func(s *natsjs.StreamConfig) { s.MaxMsgsPerSubject = 10 },
		"max message size":         func(s *natsjs.StreamConfig) { s.MaxMsgSize = 1024 },
		"max bytes":                func(s *natsjs.StreamConfig) { s.MaxBytes = 1 << 20 },
		"duplicates window":        func(s *natsjs.StreamConfig) { s.Duplicates = time.Minute },
		"deny delete":              func(s *natsjs.StreamConfig) { s.DenyDelete = false },
		"deny purge":               func(s *natsjs.StreamConfig) { s.DenyPurge = false },
		"allow direct":             func(s *natsjs.StreamConfig) { s.AllowDirect = false },
		"allow atomic publish":     func(s *natsjs.StreamConfig) { s.AllowAtomicPublish = false },
		"allow rollup":             func(s *natsjs.StreamConfig) { s.AllowRollup, s.DenyPurge = true, false },
		"allow message TTL":        func(s *natsjs.StreamConfig) { s.AllowMsgTTL = true },
		"metadata":                 func(s *natsjs.StreamConfig) { s.Metadata = map[string]string{"mandate_partitions": "16"} },
		"republish":                func(s *natsjs.StreamConfig) { s.RePublish = &natsjs.RePublish{Source: ">", Destination: "copy.>"} },
	} {
		t.Run(field, func(t *testing.T) {
			if err := jetstream.Provision(t.Context(), conn, c); err != nil {
				t.Fatal(err)
			}
			strong, err := js.Stream(t.Context(), stream)
			if err != nil {
				t.Fatal(err)
			}
			weak := strong.CachedInfo().Config
			weaken(&weak)
			if err := js.DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
			if _, err := js.CreateStream(t.Context(), weak); err != nil {
				t.Fatal(err)
			}
			_, err = jetstream.Open(t.Context(), conn, c)
			if weakness, ok := errors.AsType[*jetstream.WeakError](err); !ok || weakness.Stream != stream || !strings.Contains(err.Error(), field) {
				t.Errorf("error = %v, want one that names %s and %q", err, stream, field)
			}
			if err := js.DeleteStream(t.Context(), stream); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := jetstream.Open(t.Context(), conn, c); err == nil {
		t.Error("opened without a stream")
	}
}

func TestOpenRefusesFewerReplicas(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	if err := jetstream.Provision(t.Context(), conn, config(1)); err != nil {
		t.Fatal(err)
	}
	_, err := jetstream.Open(t.Context(), conn, config(3))
	if weakness, ok := errors.AsType[*jetstream.WeakError](err); !ok || weakness.Field != "replicas" {
		t.Errorf("error = %v, want replicas", err)
	}
}

func TestProductionRefusesWeakness(t *testing.T) {
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	for name, test := range map[string]struct {
		mutate func(*jetstream.Config)
		want   []string
	}{
		"both":     {func(*jetstream.Config) {}, []string{"replicas", "sync_always"}},
		"sync":     {func(c *jetstream.Config) { c.Accept = []string{jetstream.WeakReplicas} }, []string{"sync_always"}},
		"replicas": {func(c *jetstream.Config) { c.SyncAlways = true }, []string{"replicas"}},
		"told so":  {func(c *jetstream.Config) { c.Accept = []string{jetstream.WeakReplicas, jetstream.WeakSync} }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := config(1)
			c.Production = true
			test.mutate(&c)
			err := jetstream.Provision(t.Context(), conn, c)
			if (err == nil) != (test.want == nil) {
				t.Fatalf("error = %v, want %q", err, test.want)
			}
			for _, field := range test.want {
				if !strings.Contains(err.Error(), field) {
					t.Errorf("error = %v, want %q", err, field)
				}
			}
		})
	}
}

func TestConfigIsValidated(t *testing.T) {
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	for name, mutate := range map[string]func(*jetstream.Config){
		"replicas": func(c *jetstream.Config) { c.Replicas = 2 },
		"groups":   func(c *jetstream.Config) { c.PartitionGroups = 5 },
		"ack wait": func(c *jetstream.Config) { c.AckWait = time.Millisecond },
		"reader":   func(c *jetstream.Config) { c.Readers[0].Name = "a.b" },
		"accept":   func(c *jetstream.Config) { c.Accept = []string{"anything"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := config(1)
			mutate(&c)
			if _, err := jetstream.Open(t.Context(), conn, c); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestProvisionIsIdempotent(t *testing.T) {
	t.Parallel()
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	for _, groups := range []int{4, 4, 32} {
		c := config(1)
		c.PartitionGroups = groups
		j := open(t, conn, c)
		if _, err := j.Last(t.Context(), events.OwnerAdmission); err != nil {
			t.Error(err)
		}
	}
}

func TestConsumeNeedsItsDurable(t *testing.T) {
	conn := testkit.Connect(t, testkit.StartServer(t, testkit.ServerOptions{}))
	j := open(t, conn, config(1))
	if _, err := j.Consume(t.Context(), "stranger", journal.Source{Owner: events.OwnerAdmission}); err == nil {
		t.Error("consumed as a reader without a durable")
	}
}
