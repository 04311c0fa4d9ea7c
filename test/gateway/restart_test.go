package gateway

import (
	"context"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/sealing"
	"example.org/mandate/projections/runs"
)

// TestRestart stops a process while a run waits for a person, and goes on with
// another one on the same data.
func TestRestart(t *testing.T) {
	req.Covers(t, "IK-7.7")
	data := t.TempDir()
	on := func(o *app.Options) { o.DataDir = data }
	g := start(t, on)
	g.apply()
	run := g.submit("write", true)
	before := g.await(run, waiting).Waiting[0]
	if err := g.app.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	g = start(t, on)
	after := into[api.Interaction](t, g.get("/v1/interactions/"+before.Interaction), http.StatusOK)
	if after.Digest != before.Digest || after.Run != run {
		t.Errorf("%+v waited before, %+v after", before, after)
	}
	into[api.Decided](t, g.request(http.MethodPost, "/v1/interactions/"+after.ID+"/decision", decision("approve", after.Digest)), http.StatusAccepted)
	if v := g.await(run, done); v.Outcome != events.TagCompleted || g.writes.Load() != 1 {
		t.Errorf("outcome %s, written %d times", v.Outcome, g.writes.Load())
	}
}

// TestErasedContentIsGone destroys the key of a run: its document cannot be
// shown any more, everything that was recorded is still there and verifies.
func TestErasedContentIsGone(t *testing.T) {
	data := t.TempDir()
	on := func(o *app.Options) { o.DataDir = data }
	g := start(t, on)
	g.apply()
	run := g.submit("forget me", false)
	g.await(run, done)
	text, err := os.ReadFile(filepath.Join(data, "wrapping.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sealing.NewKeyring(g.app.Journal(), key)
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Erase(t.Context(), sealing.Scope("default", run, "")); err != nil {
		t.Fatal(err)
	}
	// A process keeps the keys that it used in memory.
	if err := g.app.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	g = start(t, on)
	refused(t, g.get("/v1/runs/"+run+"/document"), http.StatusGone, events.CodeContentUnavailable)
	if v := into[runs.View](t, g.get("/v1/runs/"+run), http.StatusOK); v.Outcome != events.TagCompleted {
		t.Errorf("outcome %s", v.Outcome)
	}
	contains(t, g.get("/runs/"+run).body, "erased", "run-concluded")
	report, err := bundle.Verify(g.get("/v1/runs/" + run + "/bundle").body)
	if err != nil || !report.Holds() || report.Opened != 0 || report.Bodies == 0 {
		t.Errorf("report %+v, %v", report, err)
	}
}
