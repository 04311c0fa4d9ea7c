package gateway

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"example.org/mandate/events"
)

// elements parses a page and counts its elements and dangerous attributes.
func elements(t *testing.T, page []byte) (names map[string]int, handlers []string) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	names = map[string]int{}
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		names[n.Data]++
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
				handlers = append(handlers, n.Data+" "+a.Key+"="+a.Val)
			}
		}
	}
	return names, handlers
}

func TestPages(t *testing.T) {
	g := start(t, nil)
	g.apply()
	hostile := `<script>alert(1)</script><img src=x onerror=alert(2)>`
	run := g.submit(hostile, false)
	g.await(run, done)
	waits := g.submit(hostile, true)
	g.await(waits, waiting)
	for path, wanted := range map[string][]string{
		"/":                        {run, waits, "waits for a person", "completed"},
		"/?outcome=completed":      {run},
		"/?outcome=failed":         {"There are no such runs"},
		"/runs/" + run:             {"&lt;script&gt;alert(1)", "run-concluded", "look@1", "Requirements", "met"},
		"/runs/" + waits:           {"mandate approve", "write@1", "there is no document yet"},
		"/?tenant=elsewhere":       {"There are no such runs", "elsewhere"},
		"/?cursor=" + waits:        {run},
		"/?cursor=%3Cscript%3Ex.y": {run},
	} {
		a := g.get(path, "X-Mandate-Tenant", "")
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Fatalf("%s: %d %s", path, a.status, a.header.Get("Content-Type"))
		}
		contains(t, a.body, wanted...)
		policy := a.header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'") || strings.Contains(policy, "unsafe") {
			t.Errorf("policy %q", policy)
		}
		names, handlers := elements(t, a.body)
		if names["script"] != 1 || names["style"]+names["img"]+names["iframe"] != 0 || len(handlers) > 0 {
			t.Errorf("%s: elements %v, handlers %v", path, names, handlers)
		}
		if names["h1"] != 1 || names["main"] != 1 || names["title"] != 1 {
			t.Errorf("%s: elements %v", path, names)
		}
	}
	for path, status := range map[string]int{"/runs/nothing": 404, "/?outcome=nope": 400, "/?tenant=a.b": 400} {
		a := g.get(path, "Accept", "text/html", "X-Mandate-Tenant", "")
		if a.status != status || !bytes.Contains(a.body, []byte("<h1>")) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, path := range []string{"/static/live.js", "/static/style.css"} {
		if a := g.get(path); a.status != http.StatusOK || len(a.body) == 0 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if a := g.get("/static/../templates/list.html"); a.status == http.StatusOK {
		t.Error("templates are served")
	}
}

func TestProbesAndMetrics(t *testing.T) {
	g := start(t, nil)
	for _, path := range []string{"/livez", "/readyz", "/healthz"} {
		if a := g.get(path); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	refused(t, g.get("/v1/runs/unknown"), http.StatusNotFound, events.CodeRunUnknown)
	contains(t, g.get("/metrics").body, "mandate_ready 1\n", `mandate_gateway_requests_total{route="GET /v1/runs/{run}",status="404"} 1`)
	if a := g.get("/no/such/page"); a.status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", a.status)
	}
}
