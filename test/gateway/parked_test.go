package gateway

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

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
