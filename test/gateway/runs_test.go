package gateway

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/req"
	"example.org/mandate/projections/timeline"
)

func TestOneNonceIsOneRun(t *testing.T) {
	req.Covers(t, "C3-RUN-001.r", "C3-RUN-001.t")
	g := start(t, nil)
	g.apply()
	nonce := ulid.Make().String()
	const callers = 16
	answers := make([]answer, callers)
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			answers[i] = g.request(http.MethodPost, "/v1/runs", intent("once", false), "Idempotency-Key", nonce)
		})
	}
	all.Wait()
	created := 0
	for _, a := range answers {
		if a.status == http.StatusCreated {
			created++
		} else if a.status != http.StatusOK {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		if s := into[api.Submission](t, a, a.status); s.Run != nonce || s.Joined != (a.status == http.StatusOK) {
			t.Errorf("answer %+v for nonce %s", s, nonce)
		}
		if at := a.header.Get("Location"); at != "/v1/runs/"+nonce {
			t.Errorf("location %q", at)
		}
	}
	if created != 1 {
		t.Errorf("%d runs were created", created)
	}
	refused(t, g.request(http.MethodPost, "/v1/runs", intent("something else", false), "Idempotency-Key", nonce), http.StatusConflict, events.CodeNonceConflict)
	if v := g.await(nonce, done); v.Outcome != events.TagCompleted || len(v.Actions) != 1 {
		t.Errorf("run %+v", v)
	}
}

// TestMalformedRequests sends what cannot be a request. Each is refused with
// one line, and nothing is recorded.
func TestMalformedRequests(t *testing.T) {
	req.Covers(t, "C3-RUN-001.m", "C3-RUN-001.w")
	g := start(t, nil)
	g.apply()
	before := g.recorded()
	good := intent("x", false)
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		code   events.Code
	}{
		"empty":               {" ", nil, 400, events.CodeRequestMalformed},
		"not JSON":            {"{", nil, 400, events.CodeRequestMalformed},
		"two values":          {good + good, nil, 400, events.CodeRequestMalformed},
		"array":               {"[]", nil, 400, events.CodeRequestMalformed},
		"unknown member":      {strings.Replace(good, `"policy"`, `"nope":1,"policy"`, 1), nil, 400, events.CodeRequestMalformed},
		"unknown inner":       {strings.Replace(good, `"agent":"a"`, `"agent":"a","nope":1`, 1), nil, 400, events.CodeRequestMalformed},
		"duplicate member":    {strings.Replace(good, `"policy":"p"`, `"policy":"p","policy":"p"`, 1), nil, 400, events.CodeRequestMalformed},
		"other letter case":   {strings.Replace(good, `"policy"`, `"Policy"`, 1), nil, 400, events.CodeRequestMalformed},
		"wrong type":          {strings.Replace(good, `"attempts":1`, `"attempts":"1"`, 1), nil, 400, events.CodeRequestMalformed},
		"fraction":            {strings.Replace(good, `"attempts":1`, `"attempts":1.5`, 1), nil, 400, events.CodeRequestMalformed},
		"inexact number":      {strings.Replace(good, `"value":{}`, `"value":9007199254740993`, 1), nil, 400, events.CodeRequestMalformed},
		"too deep":            {strings.Replace(good, `"value":{}`, `"value":`+strings.Repeat("[", 40)+strings.Repeat("]", 40), 1), nil, 400, events.CodeRequestTooDeep},
		"too large":           {strings.Replace(good, `"text":"x"`, `"text":"`+strings.Repeat("x", 1<<20)+`"`, 1), nil, 413, events.CodeRequestTooLarge},
		"invalid UTF-8":       {strings.Replace(good, `"text":"x"`, "\"text\":\"\xff\"", 1), nil, 400, events.CodeRequestMalformed},
		"own nonce":           {strings.Replace(good, `"policy"`, `"nonce":"01ARZ3NDEKTSV4RRFFQ69G5FAV","policy"`, 1), nil, 400, events.CodeNonceInvalid},
		"own authority":       {strings.Replace(good, `"policy"`, `"authority":{"id":"root","kind":"person"},"policy"`, 1), nil, 400, events.CodeNonceInvalid},
		"nonce of other kind": {good, []string{"Idempotency-Key", "abc"}, 400, events.CodeNonceInvalid},
		"nonce in lower case": {good, []string{"Idempotency-Key", "01arz3ndektsv4rrffq69g5fav"}, 400, events.CodeNonceInvalid},
		"not declared JSON":   {good, []string{"Content-Type", "text/plain"}, 415, events.CodeRequestMalformed},
		"tenant":              {good, []string{api.HeaderTenant, "a.b"}, 400, events.CodeRequestMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			p := refused(t, g.request(http.MethodPost, "/v1/runs", c.body, c.header...), c.status, c.code)
			if len(p.Detail) > 500 {
				t.Errorf("a long detail: %q", p.Detail)
			}
		})
	}
	if after := g.recorded(); after != before {
		t.Errorf("recorded %v before and %v after", before, after)
	}
	if len(into[api.RunList](t, g.get("/v1/runs"), http.StatusOK).Runs) != 0 {
		t.Error("a run exists")
	}
}

// TestAcceptedThenRejected sends what is a request but cannot be admitted: it
// is recorded, with its rejection and a document.
func TestAcceptedThenRejected(t *testing.T) {
	g := start(t, nil)
	g.apply()
	for name, body := range map[string]string{
		"unknown agent":   strings.Replace(intent("x", false), `"agent":"a"`, `"agent":"nobody"`, 1),
		"cycle":           strings.Replace(intent("x", false), `"after":[]`, `"after":["n"]`, 1),
		"dangling result": strings.Replace(intent("x", false), `"result":"n","path"`, `"result":"zz","path"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			run := into[api.Submission](t, g.request(http.MethodPost, "/v1/runs", body), http.StatusCreated).Run
			v := g.await(run, done)
			if v.Outcome != events.TagRejected || len(v.Diagnostics) == 0 || len(v.Actions) != 0 {
				t.Errorf("run %+v", v)
			}
			contains(t, g.get("/v1/runs/"+run+"/document?surface=text").body, v.Diagnostics[0].Code.String())
		})
	}
}

func TestListsArePaged(t *testing.T) {
	g := start(t, nil)
	g.apply()
	var submitted []string
	for range 5 {
		run := g.submit("x", false)
		g.await(run, done)
		submitted = append(submitted, run)
	}
	slices.Reverse(submitted)
	var listed []string
	cursor := ""
	for pages := 0; ; pages++ {
		list := into[api.RunList](t, g.get("/v1/runs?limit=2&outcome=completed&cursor="+cursor), http.StatusOK)
		if len(list.Runs) > 2 || pages > 3 {
			t.Fatalf("page %d has %d runs", pages, len(list.Runs))
		}
		for _, r := range list.Runs {
			listed = append(listed, r.Run)
		}
		if cursor = list.Cursor; cursor == "" {
			break
		}
	}
	if !slices.Equal(listed, submitted) {
		t.Errorf("listed %v, submitted %v", listed, submitted)
	}
	if n := len(into[api.RunList](t, g.get("/v1/runs?outcome=failed"), http.StatusOK).Runs); n != 0 {
		t.Errorf("%d runs failed", n)
	}
	for _, query := range []string{"limit=0", "limit=501", "limit=x", "phase=nope", "outcome=executing", "cursor=a.b"} {
		refused(t, g.get("/v1/runs?"+query), http.StatusBadRequest, events.CodeRequestMalformed)
	}
	other := *g
	other.tenant = "other"
	if n := len(into[api.RunList](t, other.get("/v1/runs"), http.StatusOK).Runs); n != 0 {
		t.Errorf("another tenant sees %d runs", n)
	}
	refused(t, other.get("/v1/runs/"+submitted[0]), http.StatusNotFound, events.CodeRunUnknown)
	refused(t, g.get("/v1/runs/a.b"), http.StatusNotFound, events.CodeRunUnknown)
	refused(t, g.get("/v1/runs/unknown/bundle"), http.StatusNotFound, events.CodeRunUnknown)
}

func TestDocumentOnEverySurface(t *testing.T) {
	g := start(t, nil)
	g.apply()
	run := g.submit("look at *this* <b>", false)
	g.await(run, done)
	base := "/v1/runs/" + run + "/document"
	for surface, media := range map[string]string{
		"html": "text/html; charset=utf-8", "markdown": "text/markdown; charset=utf-8", "text": "text/plain; charset=utf-8", "json": "application/json",
	} {
		a := g.get(base + "?surface=" + surface)
		if a.status != http.StatusOK || a.header.Get("Content-Type") != media {
			t.Errorf("%s: status %d, %s", surface, a.status, a.header.Get("Content-Type"))
		}
		contains(t, a.body, "complete")
	}
	d := into[events.Document](t, g.get(base), http.StatusOK)
	if d.Run != run || d.Tag != events.TagCompleted || d.Title != "look at *this* <b>" {
		t.Errorf("document %+v", d)
	}
	refused(t, g.get(base+"?surface=paper"), http.StatusBadRequest, events.CodeRequestMalformed)
	waits := g.submit("write", true)
	g.await(waits, waiting)
	refused(t, g.get("/v1/runs/"+waits+"/document"), http.StatusNotFound, events.CodeContentUnavailable)
	tl := into[timeline.View](t, g.get("/v1/runs/"+run+"/timeline"), http.StatusOK)
	if tl.Total != len(tl.Entries) || tl.Total < 10 {
		t.Errorf("timeline of %d entries, total %d", len(tl.Entries), tl.Total)
	}
}

func TestCancel(t *testing.T) {
	g := start(t, nil)
	g.apply()
	run := g.submit("write", true)
	g.await(run, waiting)
	into[api.Accepted](t, g.request(http.MethodPost, "/v1/runs/"+run+"/cancel", `{"reason":"enough"}`), http.StatusAccepted)
	if v := g.await(run, done); v.Outcome != events.TagCancelled {
		t.Errorf("outcome %s", v.Outcome)
	}
	refused(t, g.request(http.MethodPost, "/v1/runs/"+run+"/cancel", `{}`), http.StatusConflict, events.CodeRunConcluded)
	refused(t, g.request(http.MethodPost, "/v1/runs/"+ulid.Make().String()+"/cancel", `{}`), http.StatusNotFound, events.CodeRunUnknown)
	refused(t, g.request(http.MethodPost, "/v1/runs/"+run+"/cancel", `{"why":"x"}`), http.StatusBadRequest, events.CodeRequestMalformed)
	if g.writes.Load() != 0 {
		t.Error("something was written")
	}
}

func TestRebuildGivesTheSame(t *testing.T) {
	g := start(t, nil)
	g.apply()
	g.await(g.submit("x", false), done)
	list := into[api.RebuiltList](t, g.request(http.MethodPost, "/v1/views/rebuild", ""), http.StatusOK)
	if !list.Same || len(list.Views) != 2 || slices.ContainsFunc(list.Views, func(r projector.Rebuilt) bool { return r.Views != 1 }) {
		t.Errorf("rebuilt %+v", list)
	}
}
