package gateway

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/projections/timeline"
)

// message is one server-sent event.
type message struct {
	id    string
	batch []api.CloudEvent
}

// messages reads an event stream.
func messages(t *testing.T, body io.Reader, found func(message) bool) {
	t.Helper()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 8<<20)
	var m message
	for lines.Scan() {
		line := lines.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			m.id = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(data), &m.batch); err != nil {
				t.Fatal(err)
			}
		}
		if line == "" && m.id != "" {
			if !found(m) {
				return
			}
			m = message{}
		}
	}
}

func ids(list []message) (out []string) {
	for _, m := range list {
		for _, e := range m.batch {
			out = append(out, e.ID)
		}
	}
	return out
}

func (g *gateway) history(run, after string) (list []message) {
	g.t.Helper()
	a := g.get("/v1/runs/"+run+"/events?follow=false", "Last-Event-ID", after)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/event-stream" {
		g.t.Fatalf("status %d: %s", a.status, a.body)
	}
	messages(g.t, strings.NewReader(string(a.body)), func(m message) bool { list = append(list, m); return true })
	return list
}

func TestRunEventsResume(t *testing.T) {
	g := start(t, nil)
	g.apply()
	run := g.submit("private words", false)
	g.await(run, done)
	whole := g.history(run, "")
	// The timeline may still be behind the streams.
	deadline := time.Now().Add(patience)
	for {
		tl := into[timeline.View](t, g.get("/v1/runs/"+run+"/timeline"), http.StatusOK)
		if len(ids(whole)) == tl.Total {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d events in the stream, %d in the timeline", len(ids(whole)), tl.Total)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for i, m := range whole {
		rest := g.history(run, m.id)
		if got := append(ids(whole[:i+1]), ids(rest)...); !slices.Equal(got, ids(whole)) {
			t.Errorf("resumed after %s: %v", m.id, got)
		}
		for _, e := range m.batch {
			if e.SpecVersion != "1.0" || e.Subject != run || e.Tenant != "default" || !strings.HasPrefix(e.Source, "/mandate/") || len(e.Data) == 0 {
				t.Errorf("event %+v", e)
			}
			if strings.Contains(string(e.Data), "private words") {
				t.Errorf("private content in %s", e.Type)
			}
		}
	}
	for _, id := range []string{"x", "admission.x", "nobody.1", "admission.1-admission.2", "admission.-1", strings.Repeat("admission.1-", 20)} {
		refused(t, g.get("/v1/runs/"+run+"/events?follow=false", "Last-Event-ID", id), http.StatusBadRequest, events.CodeRequestMalformed)
	}
}

// follow opens a stream that stays open and sends what it finds.
func (g *gateway) follow(path string, header ...string) <-chan message {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	g.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+path, http.NoBody)
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set(api.HeaderTenant, g.tenant)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r) //nolint:bodyclose // the reader below closes it
	if err != nil {
		g.t.Fatal(err)
	}
	found := make(chan message, 1000)
	go func() {
		defer close(found)
		defer response.Body.Close() //nolint:errcheck // it was only read
		messages(g.t, response.Body, func(m message) bool { found <- m; return true })
	}()
	return found
}

// until reads a stream up to the event of a type.
func until(t *testing.T, found <-chan message, eventType string) (list []message) {
	t.Helper()
	for deadline := time.After(patience); ; {
		select {
		case m, ok := <-found:
			if !ok {
				t.Fatal("the stream ended")
			}
			list = append(list, m)
			if slices.ContainsFunc(m.batch, func(e api.CloudEvent) bool { return e.Type == eventType }) {
				return list
			}
		case <-deadline:
			t.Fatalf("no %s in the stream", eventType)
		}
	}
}

// count reads a stream up to a number of events.
func count(t *testing.T, found <-chan message, number int) (list []message) {
	t.Helper()
	for deadline := time.After(patience); number > 0; {
		select {
		case m, ok := <-found:
			if !ok {
				t.Fatalf("the stream ended %d events too early", number)
			}
			list = append(list, m)
			number -= len(m.batch)
		case <-deadline:
			t.Fatalf("%d events are missing", number)
		}
	}
	return list
}

func TestRunEventsFollow(t *testing.T) {
	g := start(t, nil)
	g.apply()
	run := g.submit("write", true)
	found := g.follow("/v1/runs/" + run + "/events")
	until(t, found, new(events.InteractionPresented).EventType())
	w := g.await(run, waiting).Waiting[0]
	into[api.Decided](t, g.request(http.MethodPost, "/v1/interactions/"+w.Interaction+"/decision", decision("approve", w.Digest)), http.StatusAccepted)
	until(t, found, new(events.DocumentPresented).EventType())
}

func TestEventsOfAllRuns(t *testing.T) {
	g := start(t, nil)
	g.apply()
	first := g.submit("one", false)
	g.await(first, done)
	live := g.follow("/v1/events")
	second := g.submit("two", false)
	documented := new(events.DocumentPresented).EventType()
	news := until(t, live, documented)
	for _, m := range news {
		if m.batch[0].Subject != second {
			t.Errorf("an event of run %s in a stream from now on", m.batch[0].Subject)
		}
	}
	g.await(second, done)
	// From the start there are both; after an ID there is the rest, once.
	total := 0
	for _, run := range []string{first, second} {
		total += into[timeline.View](t, g.get("/v1/runs/"+run+"/timeline"), http.StatusOK).Total
	}
	whole := count(t, g.follow("/v1/events?from=start"), total)
	half := whole[:len(whole)/2]
	rest := count(t, g.follow("/v1/events", "Last-Event-ID", half[len(half)-1].id), total-len(ids(half)))
	got := append(ids(half), ids(rest)...)
	slices.Sort(got)
	if want := slices.Sorted(slices.Values(ids(whole))); !slices.Equal(got, want) || len(slices.Compact(got)) != total {
		t.Errorf("%d events, %d after resuming in the middle", total, len(got))
	}
	other := *g
	other.tenant = "other"
	other.apply()
	quiet := other.follow("/v1/events?from=start")
	other.submit("three", false)
	for _, m := range until(t, quiet, documented) {
		if m.batch[0].Tenant != "other" {
			t.Errorf("an event of tenant %s", m.batch[0].Tenant)
		}
	}
}
