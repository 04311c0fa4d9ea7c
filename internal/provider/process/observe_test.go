package process_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/req"
)

// module writes a Go module with one test and returns its workspace.
func module(t *testing.T, test string) string {
	t.Helper()
	workspace := t.TempDir()
	files := map[string]string{
		"m/go.mod":            "module example.org/m\n\ngo 1.26\n",
		"m/m.go":              "package m\n",
		"m/m_test.go":         "package m\n\nimport \"testing\"\n\n" + test,
		"m/deep/er/other.go":  "package er\n",
		"m/deep/er/notes.txt": "not observed",
	}
	for name, content := range files {
		path := filepath.Join(workspace, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, written); err != nil {
			t.Fatal(err)
		}
	}
	return workspace
}

// written is when all files of a module were written.
var written = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// goTest is the binding of a test run.
func goTest() events.ProcessBinding {
	return events.ProcessBinding{
		Command: []string{"go", "test", "-json", "./..."}, Directory: "{module}", Output: "go-test-json",
		Environment: []string{"PATH", "HOME", "GOCACHE", "GOMODCACHE", "GOPATH"}, Set: map[string]string{"GOWORK": "off"},
		SuccessExitCodes: []int{0, 1}, Observes: []string{"**/*.go", "go.mod"},
	}
}

func TestGoTest(t *testing.T) {
	req.Covers(t, "OD-7.1.14")
	tests := map[string]struct {
		body   string
		passed int
		failed int
	}{
		"passes":  {"func TestA(t *testing.T) {}\n", 1, 0},
		"fails":   {"func TestA(t *testing.T) { t.Error(\"wrong\") }\n", 0, 1},
		"no test": {"var _ testing.TB\n", 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := open(t, module(t, test.body))
			run := invocation(goTest(), events.EffectRead, `{"module":"m"}`)
			run.OutputBytes = 1 << 20
			got := p.Invoke(t.Context(), run)
			if got.Status != capability.StatusCompleted {
				t.Fatalf("outcome = %s %v %s\n%s", got.Status, got.Code, got.Message, got.Raw)
			}
			var report struct {
				Tool           string
				Passed, Failed int
				Complete       bool
			}
			if err := json.Unmarshal(got.Value, &report); err != nil {
				t.Fatal(err)
			}
			if report.Tool != "go test" || report.Passed != test.passed || report.Failed != test.failed || !report.Complete {
				t.Errorf("report = %s", got.Value)
			}
			source, output := evidence(t, got, "source-files"), evidence(t, got, "output")
			if source.SourceModified != events.At(written) || source.Subject == "" || string(source.Content) != `{"bytes":`+bytesOf(test.body)+`,"files":4}` {
				t.Errorf("source = %+v %s", source, source.Content)
			}
			want := capability.Observation{
				Kind: "output", Method: "adapter:go-test-json", Observed: output.Observed, Published: output.Published,
				SourceModified: source.SourceModified, Subject: source.Subject, Content: got.Value, MediaType: events.MediaJSON,
			}
			if diff := cmp.Diff(want, output); diff != "" {
				t.Errorf("output differs (-want +got):\n%s", diff)
			}
			if output.Published < events.At(written) || output.Published > output.Observed || source.Observed > output.Observed {
				t.Errorf("times: source seen %v, published %v, output seen %v", source.Observed, output.Published, output.Observed)
			}
			if !strings.HasPrefix(string(got.Raw), `{"Time":`) || got.MediaType != "application/x-ndjson" {
				t.Errorf("raw = %.20q of type %s", got.Raw, got.MediaType)
			}
		})
	}
}

// bytesOf returns how many bytes are observed of a module with a test.
func bytesOf(body string) string {
	total := len("module example.org/m\n\ngo 1.26\n") + len("package m\n") + len("package m\n\nimport \"testing\"\n\n"+body) + len("package er\n")
	data, err := json.Marshal(total)
	if err != nil {
		return "?"
	}
	return string(data)
}

// evidence returns the one observation of a kind.
func evidence(t *testing.T, outcome capability.Outcome, kind string) capability.Observation {
	t.Helper()
	var found []capability.Observation
	for _, observation := range outcome.Evidence {
		if observation.Kind == kind {
			found = append(found, observation)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d observations of kind %s in %+v", len(found), kind, outcome.Evidence)
	}
	return found[0]
}

// A report whose verdict the exit code contradicts is no report.
func TestGoTestContradiction(t *testing.T) {
	stream := `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`
	for name, output := range map[string]string{"failure with exit 0": stream, "nothing": "", "text": "ok"} {
		t.Run(name, func(t *testing.T) {
			binding := events.ProcessBinding{Command: program(t, "print", "{text}"), Output: "go-test-json"}
			arguments, err := json.Marshal(map[string]string{"text": output})
			if err != nil {
				t.Fatal(err)
			}
			got := open(t, t.TempDir()).Invoke(t.Context(), invocation(binding, events.EffectRead, string(arguments)))
			if got.Status != capability.StatusFailed || got.Code != events.CodeOutputInvalid || string(got.Raw) != output {
				t.Errorf("outcome = %s %v, raw %q", got.Status, got.Code, got.Raw)
			}
		})
	}
}

func TestSourceChanged(t *testing.T) {
	workspace := module(t, "")
	binding := events.ProcessBinding{
		Command: program(t, "touch", "{file}"), Directory: "m", Output: "text", Observes: []string{"**/*.go"},
	}
	p := open(t, workspace)
	got := p.Invoke(t.Context(), invocation(binding, events.EffectWrite, `{"file":"m.go"}`))
	before, after := evidence(t, got, "source-files"), evidence(t, got, "source-changed")
	seen := evidence(t, got, "invocation").Observed
	if got.Status != capability.StatusCompleted || before.Subject == after.Subject || before.SourceModified >= seen || after.SourceModified <= seen {
		t.Errorf("outcome = %s, before %+v, after %+v", got.Status, before, after)
	}
	// A file that nobody observes changes nothing.
	got = p.Invoke(t.Context(), invocation(binding, events.EffectWrite, `{"file":"deep/er/notes.txt"}`))
	if again := evidence(t, got, "source-files"); again.Subject != after.Subject {
		t.Errorf("subject = %s, want %s", again.Subject, after.Subject)
	}
	for _, observation := range got.Evidence {
		if observation.Kind == "source-changed" {
			t.Errorf("changed: %+v", observation)
		}
	}
}

func TestObservedFilesStayInside(t *testing.T) {
	workspace, outside := module(t, ""), t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret.go"), []byte("package secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(workspace, "m", "link")); err != nil {
		t.Fatal(err)
	}
	binding := events.ProcessBinding{Command: program(t, "print"), Directory: "m", Output: "text", Observes: []string{"**/*.go"}}
	p := open(t, workspace)
	source := evidence(t, p.Invoke(t.Context(), invocation(binding, events.EffectRead, `{}`)), "source-files")
	if !strings.Contains(string(source.Content), `"files":3`) {
		t.Errorf("observed %s, want 3 files", source.Content)
	}
	for _, pattern := range []string{"../*.go", "/etc/*", "a//b", "[", "**/**/**/**/**/x", ""} {
		binding.Observes = []string{pattern}
		if got := p.Invoke(t.Context(), invocation(binding, events.EffectRead, `{}`)); got.Code != events.CodeProviderFailed || !got.NotApplied {
			t.Errorf("%q: outcome = %s %v", pattern, got.Status, got.Code)
		}
	}
}
