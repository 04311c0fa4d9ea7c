package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/testkit"
)

// rights are what the package documentation grants a service that owns the
// executor's stream and consumes admission.
func rights() *server.Permissions {
	own, reads := events.OwnerExecutor.Stream(), events.OwnerAdmission.Stream()
	publish := []string{"mandate.v1.executor.>", "timer.sched.executor.>", "timer.cancelled.executor.>", "blob.*", "$KV.mandate_keys.>", "$KV.mandate_snapshots.>"}
	for _, stream := range []string{own, jetstream.StreamTimers, jetstream.StreamBlobs, jetstream.StreamParked, "KV_mandate_keys", "KV_mandate_snapshots", "KV_mandate_views"} {
		publish = append(publish, "$JS.API.STREAM.MSG.GET."+stream, "$JS.API.DIRECT.GET."+stream, "$JS.API.DIRECT.GET."+stream+".>")
	}
	for _, durable := range []string{reads + ".executor-p00-31", jetstream.StreamTimers + ".executor-executor-p00-31"} {
		publish = append(publish, "$JS.API.CONSUMER.INFO."+durable, "$JS.API.CONSUMER.MSG.NEXT."+durable,
			"$JS.API.CONSUMER.RESET."+durable, "$JS.API.CONSUMER.UNPIN."+durable, "$JS.ACK."+durable+".>")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: append(publish, "$JS.API.STREAM.INFO.*", "parked.executor.>", "$JS.API.INFO")},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX_executor.>"}},
	}
}

func TestServiceRights(t *testing.T) {
	t.Parallel()
	s := testkit.StartServer(t, testkit.ServerOptions{Configure: func(o *server.Options) {
		o.Users = []*server.User{{Username: "bootstrap", Password: "b"}, {Username: "executor", Password: "e", Permissions: rights()}}
	}})
	source := journal.Source{Owner: events.OwnerAdmission}
	wakeups := journal.Source{Owner: events.OwnerExecutor, Timers: true}
	fatal := make(chan error, 10)
	c := jetstream.Config{
		Readers: []jetstream.Reader{{Name: "executor", Source: source}, {Name: "executor", Source: wakeups}},
		Fatal: func(err error) {
			select {
			case fatal <- err:
			default:
			}
		},
	}
	bootstrap := open(t, testkit.Connect(t, s, nats.UserInfo("bootstrap", "b")), c)
	conn := testkit.Connect(t, s, nats.UserInfo("executor", "e"), nats.CustomInboxPrefix("_INBOX_executor"))
	j, err := jetstream.Open(t.Context(), conn, c)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := events.Subject{Owner: events.OwnerExecutor, Tenant: "t", Run: "run"}
	first := func(subject events.Subject) *events.Commit {
		return &events.Commit{ID: "c-" + string(subject.Owner), Subject: subject, Number: 1, Protocol: 1}
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	_, err = j.Append(ctx, first(run), nil, journal.Position{})
	must("append to the own stream", err)
	_, err = j.Load(ctx, run, 0)
	must("load the own stream", err)
	for _, err := range j.Read(ctx, run.Owner, 1) {
		must("read the own stream", err)
	}
	must("schedule", j.Schedule(ctx, journal.Timer{Run: run, Name: "wake", At: time.Now()}))
	must("put a value", j.PutValue(ctx, journal.BucketSnapshots, "a", nil))
	must("park", j.Park(ctx, journal.Parked{Reader: "executor", Stream: "S", Sequence: 1}))
	_, err = bootstrap.Append(ctx, first(run.With(events.OwnerAdmission)), nil, journal.Position{})
	must("append to another stream as another", err)
	for _, source := range []journal.Source{source, wakeups} {
		deliveries, err := j.Consume(ctx, "executor", source)
		must("consume", err)
		select {
		case d, ok := <-deliveries:
			if !ok {
				t.Fatal("deliveries ended")
			}
			d.Ack()
		case err := <-fatal:
			t.Fatalf("consume: %v", err)
		case <-ctx.Done():
			t.Fatal("no delivery")
		}
	}
	select {
	case err := <-fatal:
		t.Fatalf("a right is missing: %v", err)
	default:
	}

	// What is not granted ends the process, and is not stored.
	short, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	foreign := run.With(events.OwnerAdmission)
	foreign.Run = "forged"
	if _, err := j.Append(short, first(foreign), nil, journal.Position{}); !errors.Is(err, journal.ErrUnknownOutcome) {
		t.Errorf("append to another's stream: error = %v, want ErrUnknownOutcome", err)
	}
	select {
	case err := <-fatal:
		if !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("fatal: %v, want a permission violation", err)
		}
	case <-ctx.Done():
		t.Error("a permission violation went unnoticed")
	}
	if records, err := bootstrap.Load(ctx, foreign, 0); err != nil || len(records) != 0 {
		t.Errorf("another's stream has %d forged records, error %v", len(records), err)
	}
}
