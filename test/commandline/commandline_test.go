package commandline

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/projections/runs"
)

func read[T any](t *testing.T, text string) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(text), &value, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// TestDemo runs the main job as a person would: `make demo`.
func TestDemo(t *testing.T) {
	command := exec.CommandContext(t.Context(), example(t, "demo.sh"))
	command.Env = append(os.Environ(), "MANDATE="+filepath.Join(binaries(t), "mandate"))
	began := time.Now()
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("it took %s", took)
	}
	for _, text := range []string{
		"ready http=", "5 passed, 0 failed", "Approval needed", `"version":"1.2.0"`, "tests-pass is unmet", "all of it holds", "A  completed", "C  failed",
	} {
		if !bytes.Contains(out, []byte(text)) {
			t.Errorf("%q is not in the output", text)
		}
	}
}

// variant is a request of the example with something changed.
func variant(t *testing.T, name string, changes ...string) string {
	t.Helper()
	data, err := os.ReadFile(example(t, name))
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for i := 0; i+1 < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("%q is not in %s", changes[i], name)
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	return text
}

// TestOutcomesAreExitCodes follows a request to every outcome that a request
// alone can have.
func TestOutcomesAreExitCodes(t *testing.T) {
	w := workspace(t)
	s := up(t, "--data-dir", t.TempDir(), "--workspace", w)
	mandate(t, s.address, "", "apply", "-f", example(t, "agent.yaml")).want(t, 0, "agent/release-check", "applied")
	mandate(t, s.address, "", "apply", "-f", example(t, "agent.yaml")).want(t, 0, "unchanged")
	submit := func(stdin string, more ...string) result {
		return mandate(t, s.address, stdin, append([]string{"submit", "-f", "-", "--wait", "--timeout", "80s"}, more...)...)
	}
	completed := submit(variant(t, "request-a.yaml"), "-o", "json").want(t, 0)
	if d := read[events.Document](t, completed.stdout); d.Tag != events.TagCompleted {
		t.Errorf("document %+v", d)
	}
	if !strings.Contains(completed.stderr, "run-concluded: completed") || !strings.Contains(completed.stderr, "test: go.test@1") {
		t.Errorf("progress %s", completed.stderr)
	}
	submit(variant(t, "request-a.yaml", "agent: release-check", "agent: nobody")).want(t, 10, "MD-1101")
	submit(variant(t, "request-a.yaml", "mode: explicit", "mode: model")).want(t, 12)
	submit(variant(t, "request-a.yaml", "elapsed_millis: 1800000", "elapsed_millis: 0")).want(t, 13)
	failed := submit(variant(t, "request-a.yaml", "module: module,", "module: failing,"), "-o", "markdown")
	if failed.want(t, 14, "tests-pass"); !strings.Contains(failed.stdout, "# ") {
		t.Errorf("not Markdown: %s", failed.stdout)
	}
	waits := submit(variant(t, "request-b.yaml"))
	if waits.want(t, 20); waits.stdout != "" || !strings.Contains(waits.stderr, "mandate interactions approval-") {
		t.Errorf("waiting: %q %q", waits.stdout, waits.stderr)
	}
	run := read[api.RunList](t, mandate(t, s.address, "", "runs", "--limit", "1", "-o", "json").stdout).Runs[0].Run
	mandate(t, s.address, "", "run", "watch", run, "--timeout", "300ms").want(t, 21)
	mandate(t, s.address, "", "run", "cancel", run, "--reason", "enough").want(t, 0)
	mandate(t, s.address, "", "run", "watch", run, "--timeout", "80s").want(t, 15)
	if _, err := os.Stat(filepath.Join(w, "ledger.jsonl")); err == nil {
		t.Error("something was published")
	}
	// The same nonce is the same run.
	nonce := ulid.Make().String()
	first := mandate(t, s.address, variant(t, "request-a.yaml"), "submit", "-f", "-", "--nonce", nonce).want(t, 0)
	if strings.TrimSpace(first.stdout) != nonce {
		t.Errorf("run %q for nonce %s", first.stdout, nonce)
	}
	submit(variant(t, "request-a.yaml"), "--nonce", nonce).want(t, 0)
	if other := submit(variant(t, "request-b.yaml"), "--nonce", nonce); other.code != 1 || !strings.HasPrefix(other.stderr, "error: MD-1005") {
		t.Errorf("another request with the nonce: %+v", other)
	}
	t.Run("views of it", func(t *testing.T) { views(t, s, nonce) })
}

// views reads a run in every way there is.
func views(t *testing.T, s *server, run string) {
	t.Helper()
	v := read[runs.View](t, mandate(t, s.address, "", "run", "get", run, "-o", "json").want(t, 0).stdout)
	if v.Run != run || v.Outcome != events.TagCompleted || len(v.Requirements) != 4 {
		t.Errorf("run %+v", v)
	}
	mandate(t, s.address, "", "run", "get", run).want(t, 0, "completed", "requirement", "go.test@1", "budget")
	mandate(t, s.address, "", "run", "get", run, "-o", "markdown").want(t, 0, "# Say whether")
	mandate(t, s.address, "", "run", "get", run, "-o", "yaml").want(t, 0, "outcome: completed")
	lines := strings.Split(strings.TrimSpace(mandate(t, s.address, "", "events", run, "-o", "json").want(t, 0).stdout), "\n")
	for _, line := range lines {
		if e := read[api.CloudEvent](t, line); e.Subject != run {
			t.Errorf("event %+v", e)
		}
	}
	followed := mandate(t, s.address, "", "events", run, "--follow").want(t, 0, "document-presented")
	if n := strings.Count(followed.stdout, "\n"); n < 10 || n > len(lines) {
		t.Errorf("%d events followed, %d listed", n, len(lines))
	}
	exported := mandate(t, s.address, "", "export", run).want(t, 0)
	file := filepath.Join(t.TempDir(), "run.bundle")
	if err := os.WriteFile(file, []byte(exported.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	// Neither needs a server.
	report := read[bundle.Report](t, mandate(t, "http://127.0.0.1:1", "", "verify", file, "-o", "json").want(t, 0).stdout)
	if !report.Holds() || !report.Complete || report.Run != run {
		t.Errorf("report %+v", report)
	}
	replayed := read[bundle.Replayed](t, mandate(t, "http://127.0.0.1:1", "", "replay", file, "-o", "json").want(t, 0).stdout)
	if !replayed.Holds() || replayed.Decisions == 0 {
		t.Errorf("replayed %+v", replayed)
	}
	mandate(t, s.address, exported.stdout, "verify", "-").want(t, 0)
	mandate(t, s.address, "", "verify", run).want(t, 0, "complete  true")
	damaged := strings.Replace(exported.stdout, `"sequence":`, `"sequence":1`, 1)
	if r := mandate(t, s.address, damaged, "verify", "-"); r.code != 1 || !strings.Contains(r.stdout, "MD-16") {
		t.Errorf("a damaged bundle: %+v", r)
	}
	mandate(t, s.address, "", "rebuild").want(t, 0, "runs", "timeline", "true")
	mandate(t, s.address, "", "rebuild", "timeline").want(t, 0, "timeline")
	mandate(t, s.address, "", "get", "agents").want(t, 0, "release-check")
	mandate(t, s.address, "", "get", "capability", "go.test", "-o", "yaml").want(t, 0, "effect: read")
	mandate(t, s.address, "", "revoke", "capability", "go.test", "--reason", "broken").want(t, 0)
	mandate(t, s.address, "", "get", "capabilities").want(t, 0, "revoked: broken")
}

// TestMalformedFilesLeaveNothing submits and applies what cannot be read. Each
// gives one line with the place, and nothing is recorded.
func TestMalformedFilesLeaveNothing(t *testing.T) {
	s := up(t, "--data-dir", t.TempDir())
	for name, c := range map[string]struct {
		command string
		stdin   string
		says    string
	}{
		"syntax":         {"submit", variant(t, "request-a.yaml", "context: []", "context: ["), "standard input:"},
		"unknown field":  {"submit", variant(t, "request-a.yaml", "policy: release", "polity: release"), "standard input:12: unknown member IntentRequest.spec/polity"},
		"unknown deep":   {"submit", variant(t, "request-a.yaml", "op: eq", "operator: eq"), "unknown member IntentRequest.spec/outcome/requirements/0/predicate/field/operator"},
		"wrong type":     {"submit", variant(t, "request-a.yaml", "actions: 6", "actions: six"), "IntentRequest.spec/limits/actions"},
		"duplicate":      {"submit", variant(t, "request-a.yaml", "actions: 6", "actions: 6\n    actions: 7"), `the member "actions" is there twice`},
		"own nonce":      {"submit", variant(t, "request-a.yaml", "context: []", "context: []\n  nonce: 01ARZ3NDEKTSV4RRFFQ69G5FAV"), "MD-1010"},
		"inexact number": {"submit", variant(t, "request-a.yaml", "actions: 6", "actions: 9007199254740993"), "exact range"},
		"too deep":       {"submit", variant(t, "request-a.yaml", "value: {module", "value: {x: "+strings.Repeat("[", 18)+strings.Repeat("]", 18)+", module"), "MD-1003"},
		"too large":      {"submit", variant(t, "request-a.yaml", "text: Is", "text: "+strings.Repeat("x", 1<<20)+" Is"), "large"},
		"JSON":           {"submit", `{"apiVersion":"mandate/v1","kind":"IntentRequest","spec":{"intent":{}},}`, "standard input:1"},
		"a resource":     {"submit", variant(t, "agent.yaml"), "mandate apply"},
		"unknown kind":   {"apply", variant(t, "agent.yaml", "kind: Policy", "kind: Polity"), `standard input:4: unknown kind "Polity"`},
		"other version":  {"apply", variant(t, "agent.yaml", "mandate/v1", "mandate/v9"), "standard input:3"},
		"bad capability": {"apply", variant(t, "agent.yaml", "confirmation: none", "confirmation: perhaps"), "standard input:"},
		"bad schema":     {"apply", variant(t, "agent.yaml", "type: object", "type: objekt"), "Capability/go.test"},
		"unknown policy": {"apply", variant(t, "agent.yaml", "policy: release", "policy: other"), "Agent/release-check"},
		"no capability":  {"apply", variant(t, "agent.yaml", "{name: go.test, version: 1}", "{name: go.test, version: 2}"), "Agent/release-check"},
	} {
		t.Run(name, func(t *testing.T) {
			r := mandate(t, s.address, c.stdin, c.command, "-f", "-")
			if r.code != 1 || r.stdout != "" {
				t.Errorf("code %d, output %q", r.code, r.stdout)
			}
			if strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "error: MD-") || !strings.Contains(r.stderr, c.says) {
				t.Errorf("%q does not say %q in one line", r.stderr, c.says)
			}
		})
	}
	if list := read[api.RunList](t, mandate(t, s.address, "", "runs", "-o", "json").stdout); len(list.Runs) != 0 {
		t.Errorf("runs %+v", list)
	}
	for _, kind := range []string{"policies", "capabilities", "agents"} {
		if list := read[api.ResourceList](t, mandate(t, s.address, "", "get", kind, "-o", "json").stdout); list.Epoch != 0 || len(list.Resources) != 0 {
			t.Errorf("%s %+v", kind, list)
		}
	}
}

// TestUpDrains stops mandate up with each signal: it ends with 0, and what it
// printed is one line.
func TestUpDrains(t *testing.T) {
	data := t.TempDir()
	for _, signal := range interrupt {
		s := up(t, "--data-dir", data, "--nats", "127.0.0.1:0")
		if !strings.Contains(s.ready, " nats=nats://127.0.0.1:") || strings.Count(s.ready, "\n") != 1 {
			t.Errorf("ready line %q", s.ready)
		}
		mandate(t, s.address, "", "runs").want(t, 0)
		if second := mandate(t, "", "", "up", "--http", strings.TrimPrefix(s.address, "http://"), "--data-dir", t.TempDir()); second.code != 1 || strings.Count(second.stderr, "error: ") != 1 {
			t.Errorf("a second one on the same address: %+v", second)
		}
		if err := s.stop(t, signal); err != nil {
			t.Errorf("%s: %v\n%s", signal, err, s.stderr)
		}
		if s.output.Len() > 0 {
			t.Errorf("further output: %s", s.output)
		}
	}
	s := up(t, "--data-dir", data)
	if !strings.HasSuffix(s.ready, " nats=none\n") {
		t.Errorf("ready line %q", s.ready)
	}
}

func TestConfigurationFileAndTokens(t *testing.T) {
	directory := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(directory, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	token := strings.Repeat("t", 32)
	tokens := write("tokens", token+" ann roles=owner\n")
	config := write("mandate.yaml", "data-dir: "+filepath.Join(directory, "data")+"\ntoken-file: "+tokens+"\nsync: always\n")
	mandate(t, "", "", "check", "--config", config).want(t, 0, "valid")
	if _, err := os.Stat(filepath.Join(directory, "data")); err == nil {
		t.Error("checking made a data directory")
	}
	s := up(t, "--config", config)
	if r := mandate(t, s.address, "", "runs"); r.code != 1 || !strings.HasPrefix(r.stderr, "error: MD-1904") || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("without a token: %+v", r)
	}
	mandate(t, s.address, "", "apply", "-f", example(t, "agent.yaml"), "--token-file", tokens).want(t, 0)
	mandate(t, s.address, "", "runs", "--token-file", write("token", token)).want(t, 0)
	if _, err := os.Stat(filepath.Join(directory, "data", "nats")); err != nil {
		t.Errorf("the data directory of the file is not used: %v", err)
	}
}

// TestPolicyTest tries policies against what was recorded.
func TestPolicyTest(t *testing.T) {
	s := up(t, "--data-dir", t.TempDir(), "--workspace", workspace(t))
	mandate(t, s.address, "", "apply", "-f", example(t, "agent.yaml")).want(t, 0)
	run := strings.TrimSpace(mandate(t, s.address, variant(t, "request-a.yaml"), "submit", "-f", "-").want(t, 0).stdout)
	mandate(t, s.address, "", "run", "watch", run, "--timeout", "80s").want(t, 0)
	policy := func(rules string) string {
		return "apiVersion: mandate/v1\nkind: Policy\nmetadata:\n  name: release\nspec:\n  version: 2\n  description: tried\n" +
			"  standing_approval: [none, read]\n  operations: [go.test, file.read, release.publish]\n  submitters: ['*']\n" +
			"  approvers: ['*']\n  approval_seconds: 60\n  lease_seconds: 60\n" + rules
	}
	frozen := policy("  rules:\n    - id: frozen\n      operation: execute\n      when: capability.name == 'go.test'\n      decision: deny\n      reason: not now\n")
	says := func(r result, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if !strings.Contains(r.stderr, text) {
				t.Errorf("%q is not in %q", text, r.stderr)
			}
		}
	}
	says(mandate(t, s.address, policy(""), "policy", "test", "-f", "-", "--against", run).want(t, 0), "0 of 2 decisions about 1 runs")
	says(mandate(t, s.address, frozen, "policy", "test", "-f", "-", "--since", "1h").want(t, 0, run, "frozen", "plan rejected MD-1122", "not now"), "1 of 2 decisions")
	tried := read[struct {
		Policy     string             `json:"policy"`
		Runs       int                `json:"runs"`
		Decisions  int                `json:"decisions"`
		Registered int                `json:"registered"`
		Changes    []app.PolicyChange `json:"changes"`
		Skipped    []string           `json:"skipped"`
	}](t, mandate(t, s.address, frozen, "policy", "test", "-f", "-", "--against", run, "-o", "json").want(t, 0).stdout)
	if tried.Policy != "release" || tried.Runs != 1 || tried.Registered != 1 || len(tried.Changes) != 1 || tried.Changes[0].Rule != "frozen" || tried.Changes[0].Run != run {
		t.Errorf("tried %+v", tried)
	}
	wrong := policy("  rules:\n    - id: frozen\n      operation: execute\n      when: capability.nom == 'go.test'\n      decision: deny\n")
	says(mandate(t, s.address, wrong, "policy", "test", "-f", "-", "--against", run).want(t, 1), "standard input:17", "line 1, column 11: undeclared reference to 'capability.nom'")
	says(mandate(t, s.address, wrong, "apply", "-f", "-").want(t, 1), "standard input:17", "capability.nom")
	renamed := strings.Replace(policy(""), "name: ", "name: un", 1)
	says(mandate(t, s.address, renamed, "policy", "test", "-f", "-", "--against", run).want(t, 0), "was registered for these runs")
	says(mandate(t, s.address, frozen, "policy", "test", "-f", "-").want(t, 1), "--against")
	// Nothing was applied.
	mandate(t, s.address, "", "get", "policy", "release", "-o", "yaml").want(t, 0, "version: 1")
}
