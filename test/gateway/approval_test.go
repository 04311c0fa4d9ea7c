package gateway

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
)

func decision(decision string, digest events.Digest) string {
	return fmt.Sprintf(`{"decision":%q,"digest":%q,"reason":"because"}`, decision, digest)
}

func TestApprovalIsOfExactlyWhatWaits(t *testing.T) {
	g := start(t, nil)
	g.apply()
	run := g.submit("write", true)
	w := g.await(run, waiting).Waiting[0]
	list := into[api.InteractionList](t, g.get("/v1/interactions"), http.StatusOK)
	if len(list.Interactions) != 1 || list.Interactions[0].ID != w.Interaction || list.Interactions[0].Run != run {
		t.Fatalf("interactions %+v", list)
	}
	at := "/v1/interactions/" + w.Interaction
	shown := into[api.Interaction](t, g.get(at), http.StatusOK)
	if shown.Digest != w.Digest || shown.Document == nil {
		t.Errorf("interaction %+v", shown)
	}
	contains(t, g.get(at+"?surface=text").body, "write@1", "here", string(w.Digest))

	refused(t, g.request(http.MethodPost, at+"/decision", decision("approve", "sha256:"+events.Digest(strings.Repeat("0", 64)))), http.StatusConflict, events.CodeApprovalMismatch)
	refused(t, g.request(http.MethodPost, at+"/decision", decision("approve", "")), http.StatusConflict, events.CodeApprovalMismatch)
	refused(t, g.request(http.MethodPost, at+"/decision", decision("perhaps", w.Digest)), http.StatusBadRequest, events.CodeRequestMalformed)
	refused(t, g.request(http.MethodPost, "/v1/interactions/other/decision", decision("approve", w.Digest)), http.StatusNotFound, events.CodeInteractionUnknown)
	if g.writes.Load() != 0 {
		t.Fatal("written without an approval")
	}
	into[api.Decided](t, g.request(http.MethodPost, at+"/decision", decision("approve", w.Digest)), http.StatusAccepted)
	if v := g.await(run, done); v.Outcome != events.TagCompleted || v.Approver == nil || v.Approver.Principal == nil || v.Approver.Principal.ID != "local" {
		t.Errorf("run %+v", v)
	}
	if n := g.writes.Load(); n != 1 {
		t.Errorf("written %d times", n)
	}
	refused(t, g.get(at), http.StatusNotFound, events.CodeInteractionUnknown)
	refused(t, g.request(http.MethodPost, at+"/decision", decision("approve", w.Digest)), http.StatusNotFound, events.CodeInteractionUnknown)
}

func TestDeny(t *testing.T) {
	g := start(t, nil)
	g.apply()
	run := g.submit("write", true)
	w := g.await(run, waiting).Waiting[0]
	into[api.Decided](t, g.request(http.MethodPost, "/v1/interactions/"+w.Interaction+"/decision", decision("deny", w.Digest)), http.StatusAccepted)
	if v := g.await(run, done); v.Outcome != events.TagRejected {
		t.Errorf("outcome %s", v.Outcome)
	}
	if g.writes.Load() != 0 {
		t.Error("written although it was denied")
	}
}

// TestTokens checks who may do what with which token.
func TestTokens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	ann, bob := strings.Repeat("a", 32), strings.Repeat("b", 32)
	if err := os.WriteFile(file, []byte("# who may\n"+ann+" ann roles=owner\n\n"+bob+" bob\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := start(t, func(o *app.Options) { o.TokenFile = file })
	for _, header := range []string{"", "Bearer ", "Bearer " + ann[:31], "Bearer " + ann + "a", "Basic " + ann, "Bearer ann"} {
		a := g.get("/v1/runs", "Authorization", header)
		refused(t, a, http.StatusUnauthorized, events.CodeUnauthorized)
		if a.header.Get("WWW-Authenticate") == "" {
			t.Error("no challenge")
		}
	}
	if a := g.get("/"); a.status != http.StatusUnauthorized {
		t.Errorf("a page without a token: %d", a.status)
	}
	for _, path := range []string{"/livez", "/readyz", "/healthz", "/metrics", "/static/style.css"} {
		if a := g.get(path); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+ann))
	if a := g.get("/", "Authorization", basic); a.status != http.StatusOK {
		t.Errorf("a page with a token as password: %d", a.status)
	}
	g.token = ann
	into[api.AppliedList](t, g.request(http.MethodPut, "/v1/registry", strings.Replace(resources, `"approvers":["*"]`, `"approvers":["bob"]`, 1)), http.StatusOK)
	run := g.submit("write", true)
	v := g.await(run, waiting)
	if v.Principal.ID != "ann" {
		t.Errorf("asked by %q", v.Principal.ID)
	}
	at := "/v1/interactions/" + v.Waiting[0].Interaction + "/decision"
	refused(t, g.request(http.MethodPost, at, decision("approve", v.Waiting[0].Digest)), http.StatusForbidden, events.CodePrincipalDenied)
	g.token = bob
	into[api.Decided](t, g.request(http.MethodPost, at, decision("approve", v.Waiting[0].Digest)), http.StatusAccepted)
	if v := g.await(run, done); v.Outcome != events.TagCompleted || v.Approver.Principal.ID != "bob" {
		t.Errorf("run %+v", v)
	}
}

// TestBrowsersOfOtherSites checks that a page elsewhere cannot act through a
// person's browser.
func TestBrowsersOfOtherSites(t *testing.T) {
	g := start(t, nil)
	g.apply()
	before := g.recorded()
	refused(t, g.request(http.MethodPost, "/v1/runs", intent("x", false), "Sec-Fetch-Site", "cross-site"), http.StatusForbidden, events.CodeUnauthorized)
	refused(t, g.request(http.MethodPost, "/v1/runs", intent("x", false), "Origin", "https://example.org"), http.StatusForbidden, events.CodeUnauthorized)
	refused(t, g.request(http.MethodPost, "/v1/runs", intent("x", false), "Host", "rebound.example.org"), http.StatusMisdirectedRequest, events.CodeUnauthorized)
	refused(t, g.get("/v1/runs", "Host", "rebound.example.org:7420"), http.StatusMisdirectedRequest, events.CodeUnauthorized)
	if a := g.get("/v1/runs", "Host", "localhost:7420"); a.status != http.StatusOK {
		t.Errorf("localhost: %d", a.status)
	}
	if after := g.recorded(); after != before {
		t.Errorf("recorded %v before and %v after", before, after)
	}
}
