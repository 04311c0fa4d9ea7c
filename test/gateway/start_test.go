package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider/builtin"
	"example.org/mandate/projections/runs"
)

// patience bounds how long anything may take; a busy machine is slow.
const patience = 60 * time.Second

// gateway is a running process and a client of it.
type gateway struct {
	t      *testing.T
	app    *app.App
	url    string
	tenant string
	token  string
	writes *atomic.Int64
}

// start runs a process with everything in it until the test ends.
func start(t *testing.T, change func(*app.Options)) *gateway {
	t.Helper()
	writes := &atomic.Int64{}
	b := builtin.NewBuilder()
	register := func(name string, f func(context.Context, capability.Invocation) ([]byte, error)) {
		if err := b.Register(name, f); err != nil {
			t.Fatal(err)
		}
	}
	register("look", func(context.Context, capability.Invocation) ([]byte, error) { return []byte(`{"failed":0}`), nil })
	register("write", func(context.Context, capability.Invocation) ([]byte, error) {
		writes.Add(1)
		return []byte(`{"failed":0}`), nil
	})
	o := app.DefaultOptions()
	o.DataDir, o.HTTPListen, o.Builtin = t.TempDir(), "127.0.0.1:0", b.Build()
	o.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	if change != nil {
		change(&o)
	}
	a, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &gateway{t: t, app: a, url: a.HTTPAddr(), tenant: "default", writes: writes}
}

// answer is what the gateway answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// request sends a request with a body, "" for none.
func (g *gateway) request(method, path, body string, header ...string) answer {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.url+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header.Set(api.HeaderTenant, g.tenant)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if g.token != "" {
		r.Header.Set("Authorization", "Bearer "+g.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
			continue
		}
		r.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(response.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, data}
}

func (g *gateway) get(path string, header ...string) answer {
	g.t.Helper()
	return g.request(http.MethodGet, path, "", header...)
}

// into reads an answer that must have a status.
func into[T any](t *testing.T, a answer, status int) T {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d instead of %d: %s", a.status, status, a.body)
	}
	var value T
	if err := json.Unmarshal(a.body, &value); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	return value
}

// refused checks that an answer is a problem with a code.
func refused(t *testing.T, a answer, status int, code events.Code) api.Problem {
	t.Helper()
	p := into[api.Problem](t, a, status)
	if p.Code != code || p.Status != status || len(p.Diagnostics) == 0 || p.Detail == "" || p.Title == "" {
		t.Errorf("not a problem with code %s: %s", code, a.body)
	}
	if media := a.header.Get("Content-Type"); media != "application/problem+json" {
		t.Errorf("content type %q", media)
	}
	if strings.ContainsAny(p.Detail, "\n\r") {
		t.Errorf("more than one line: %q", p.Detail)
	}
	return p
}

// resources of the tests: one read and one write that a person confirms.
const resources = `[
{"kind":"Policy","name":"p","definition":{"version":1,"description":"d","standing_approval":["none","read"],"operations":["look","write"],"submitters":["*"],"approvers":["*"],"approval_seconds":600,"lease_seconds":600}},
{"kind":"Capability","name":"look","definition":{"version":1,"description":"d","effect":"read","confirmation":"none","input":{"type":"object"},"output":{"type":"object"},"result_type":"x.report","timeout_millis":10000,"output_bytes":1000,"provider":{"builtin":{"function":"look"}}}},
{"kind":"Capability","name":"write","definition":{"version":1,"description":"d","effect":"write","confirmation":"required","input":{"type":"object"},"output":{"type":"object"},"result_type":"x.report","timeout_millis":10000,"output_bytes":1000,"provider":{"builtin":{"function":"write"}}}},
{"kind":"Agent","name":"a","definition":{"version":1,"description":"d","capabilities":[{"name":"look","version":1},{"name":"write","version":1}],"policy":"p","effect_bound":["read","write"],"input":{"type":"object"},"output":{"type":"object"},"limits":{"attempts":1,"revisions":1,"elapsed_millis":600000,"input_tokens":0,"output_tokens":0,"cost_micros":0,"cost_unit":"usd","check_steps":10,"check_memory_bytes":1000,"artifact_bytes":100000,"context_bytes":0,"actions":4}}}
]`

func (g *gateway) apply() {
	g.t.Helper()
	into[api.AppliedList](g.t, g.request(http.MethodPut, "/v1/registry", resources), http.StatusOK)
}

// intent is a request: a read, and with write a write after it.
func intent(text string, write bool) string {
	nodes := `{"id":"n","capability":{"name":"look","version":1},"arguments":{},"after":[],"effect":"read"}`
	output := "n"
	if write {
		nodes += `,{"id":"w","capability":{"name":"write","version":1},"arguments":{"to":{"literal":"\"here\""}},"after":["n"],"effect":"write"}`
		output = "w"
	}
	return fmt.Sprintf(`{"intent":{"agent":"a","text":%q},"input":{"type":"x","value":{}},"context":[],"policy":"p","generator":{"mode":"explicit"},
"limits":{"attempts":1,"revisions":1,"elapsed_millis":600000,"input_tokens":0,"output_tokens":0,"cost_micros":0,"cost_unit":"usd","check_steps":10,"check_memory_bytes":1000,"artifact_bytes":100000,"context_bytes":0,"actions":4},
"outcome":{"schema_version":1,"id":"s","revision":1,"objective":%q,"deliverables":[{"id":"r","description":"d","result":"n"}],
"requirements":[{"id":"ok","deliverable":"r","description":"d","origin":"explicit","importance":"must","strength":"observed","predicate":{"field":{"result":"n","path":"/failed","op":"eq","value":0}}}],"provenance":{"origin":"explicit"}},
"plan":{"schema_version":1,"candidate":"plan","nodes":[%s],"output":{"node":%q,"type":"x.report"}}}`, text, text, nodes, output)
}

func (g *gateway) submit(text string, write bool) string {
	g.t.Helper()
	return into[api.Submission](g.t, g.request(http.MethodPost, "/v1/runs", intent(text, write)), http.StatusCreated).Run
}

// await polls a run until it is as wanted.
func (g *gateway) await(run string, wanted func(runs.View) bool) runs.View {
	g.t.Helper()
	var v runs.View
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		v = into[runs.View](g.t, g.get("/v1/runs/"+run), http.StatusOK)
		if wanted(v) {
			return v
		}
	}
	g.t.Fatalf("the run is not as wanted: %+v", v)
	return v
}

func done(v runs.View) bool    { return v.Document && v.Outcome != "" }
func waiting(v runs.View) bool { return len(v.Waiting) > 0 }

// recorded counts what was ever recorded of requests and in the registry.
func (g *gateway) recorded() [2]uint64 {
	g.t.Helper()
	var out [2]uint64
	for i, owner := range []events.Owner{events.OwnerRequest, events.OwnerRegistry} {
		last, err := g.app.Journal().Last(g.t.Context(), owner)
		if err != nil {
			g.t.Fatal(err)
		}
		out[i] = last
	}
	return out
}

func contains(t *testing.T, data []byte, wanted ...string) {
	t.Helper()
	for _, text := range wanted {
		if !bytes.Contains(data, []byte(text)) {
			t.Errorf("%q is not in it:\n%s", text, data)
		}
	}
}
