package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/journal"
)

// watched notes what is given again.
type watched struct {
	journal.Journal
	mu    sync.Mutex
	again []journal.Parked
}

func (w *watched) Redeliver(ctx context.Context, parked journal.Parked) error {
	if err := w.Journal.Redeliver(ctx, parked); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.again = append(w.again, parked)
	return nil
}

func TestParkedMessages(t *testing.T) {
	var w *watched
	g := start(t, func(o *app.Options) {
		o.WrapJournal = func(j journal.Journal) journal.Journal {
			w = &watched{Journal: j}
			return w
		}
	})
	g.apply()
	run := g.submit("x", false)
	g.await(run, done)
	o := readOpenAPI(t, g)
	list := func() []journal.Parked {
		a := g.get("/v1/parked")
		var l api.ParkedList
		if err := json.Unmarshal(a.body, &l); err != nil || a.status != http.StatusOK {
			t.Fatalf("%d %v %s", a.status, err, a.body)
		}
		o.check(t, "/paths/~1v1~1parked/get/responses/200/content/application~1json/schema", a.body)
		return l.Parked
	}
	if got := list(); len(got) != 0 {
		t.Fatalf("parked at first: %v", got)
	}
	mine := events.Subject{Owner: events.OwnerExecutor, Tenant: g.tenant, Run: run}
	for i, subject := range []string{mine.String(), events.Subject{Owner: events.OwnerExecutor, Tenant: "other", Run: run}.String(), "a.b"} {
		err := w.Park(t.Context(), journal.Parked{
			Reader: "evaluator", Stream: events.OwnerExecutor.Stream(), Sequence: uint64(i + 1), Subject: subject, Commit: "c", Reason: "a test", At: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := list()
	if len(got) != 2 || got[0].Subject != mine.String() || got[1].Subject != "a.b" {
		t.Fatalf("want mine and that of nobody: %+v", got)
	}
	a := g.request(http.MethodPost, "/v1/parked/"+got[0].ID+"/redeliver", "")
	if a.status != http.StatusAccepted {
		t.Fatalf("%d %s", a.status, a.body)
	}
	o.check(t, "/paths/~1v1~1parked~1{id}~1redeliver/post/responses/202/content/application~1json/schema", a.body)
	if len(w.again) != 1 || w.again[0] != got[0] {
		t.Fatalf("given again: %+v, want %+v", w.again, got[0])
	}
	for id, status := range map[string]int{
		got[1].ID: http.StatusUnprocessableEntity, // of no subject
		"2":       http.StatusNotFound,            // of another tenant
		"999":     http.StatusNotFound,
	} {
		if a := g.request(http.MethodPost, "/v1/parked/"+id+"/redeliver", ""); a.status != status {
			t.Errorf("%s: %d %s, want %d", id, a.status, a.body, status)
		}
	}
	// What is handled again changes nothing.
	if again := g.await(run, done); again.Outcome == "" {
		t.Error("the run lost its outcome")
	}
	if len(list()) != 2 {
		t.Error("what was parked is gone")
	}
}

// Bytes that are no commit, on a stream of every service: they are parked, and
// runs go on.
func TestStrayMessagesAreParked(t *testing.T) {
	g := start(t, func(o *app.Options) { o.NATSListen = "127.0.0.1:0" })
	g.apply()
	conn, err := nats.Connect(g.app.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var owners []events.Owner
	for _, owner := range events.Owners() {
		if owner == events.OwnerRegistry {
			continue // whose chain everything depends on: it fails closed
		}
		owners = append(owners, owner)
		stray := events.Subject{Owner: owner, Tenant: "default", Run: "GARBAGE"}
		wrong := fmt.Sprintf("mandate.v1.%s.%02d.default.GARBAGE", owner, (stray.Partition()+1)%events.Partitions)
		for _, subject := range []string{stray.String(), wrong} {
			if err := conn.Publish(subject, []byte("\xff\x00garbage")); err != nil {
				t.Fatal(err)
			}
		}
	}
	g.await(g.submit("x", false), done)
	if a := g.get("/readyz"); a.status != http.StatusOK {
		t.Errorf("not ready: %d %s", a.status, a.body)
	}
	deadline := time.Now().Add(patience)
	for {
		var list api.ParkedList
		if err := json.Unmarshal(g.get("/v1/parked").body, &list); err != nil {
			t.Fatal(err)
		}
		streams := map[string]bool{}
		for _, p := range list.Parked {
			streams[p.Stream] = true
			if p.Reason == "" {
				t.Errorf("no reason: %+v", p)
			}
		}
		missing := slices.DeleteFunc(slices.Clone(owners), func(o events.Owner) bool {
			return streams[o.Stream()] || o == events.OwnerPresenter // to whom nobody listens
		})
		if len(missing) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing parked of %v", missing)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A chain with a gap stops what reads it, and the process says so: whoever
// goes on would act on half of what was decided.
func TestGapIsNotReady(t *testing.T) {
	g := start(t, func(o *app.Options) { o.NATSListen = "127.0.0.1:0" })
	conn, err := nats.Connect(g.app.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if a := g.get("/readyz"); a.status != http.StatusOK {
		t.Fatalf("not ready at first: %d %s", a.status, a.body)
	}
	subject := events.Subject{Owner: events.OwnerRequest, Tenant: "default", Run: "GAP"}.String()
	for _, number := range []string{"5", "9"} {
		m := nats.NewMsg(subject)
		m.Header = nats.Header{
			events.HeaderCommit: {"c" + number}, events.HeaderNumber: {number}, events.HeaderSchema: {"1"},
			events.HeaderPrevious: {"sha256:" + strings.Repeat("0", 64)},
		}
		if err := conn.PublishMsg(m); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(patience)
	for g.get("/readyz").status == http.StatusOK {
		if time.Now().After(deadline) {
			t.Fatal("ready, with a gap")
		}
		time.Sleep(10 * time.Millisecond)
	}
}
