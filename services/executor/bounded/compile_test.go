package bounded_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
)

// TestOutsidersCannot compiles programs that try what the surface does not let them.
func TestOutsidersCannot(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		body, want string
		ids        []string
	}{
		"use it":                  {`a, _ := bounded.New(nil, bounded.NewFixture(), bounded.Options{}); run, _ := a.Run(nil); _ = run.Status()`, "", nil},
		"make a finished run":     {`_ = bounded.AgentRun{status: "completed"}`, "cannot refer to unexported field status", []string{"BNAR-7.5"}},
		"read the run's state":    {`var run bounded.AgentRun; _ = run.attempts`, "undefined", []string{"BNAR-7.5"}},
		"make a disposition":      {`_ = bounded.Attempt{disposition: 1}`, "cannot refer to unexported field disposition", []string{"BNAR-7.4"}},
		"make an unreported cost": {`_ = bounded.Usage{reported: true}`, "cannot refer to unexported field reported", []string{"BNAR-7.4"}},
		"open a sink":             {`_ = bounded.ProviderSink{open: true}`, "unknown field open", []string{"BNAR-7.3"}},
		"read a sink":             {`var s bounded.ToolSink; _ = s.bytes`, "undefined", []string{"BNAR-7.3"}},
		"take a cancellation back": {
			`bounded.NewCancellation().Reset()`, "undefined", []string{"BNAR-7.2"},
		},
		"change an agent":   {`var a bounded.Agent; a.limits.Turns = 99`, "undefined", []string{"BNAR-7.1"}},
		"bill by a receipt": {`var run bounded.AgentRun; run.Settle()`, "undefined", []string{"BNAR-7.6", "BNAR-3.11"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.ids != nil {
				req.Covers(t, test.ids...)
			}
			dir := t.TempDir()
			source := filepath.Join(dir, "main.go")
			text := "package main\n\nimport \"example.org/mandate/services/executor/bounded\"\n\nfunc main() {\n" + test.body + "\n}\n"
			if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			// The program is in the module only for the compiler.
			overlay, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "examples", "outsider", "main.go"): source}})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "out"), "./examples/outsider")
			build.Dir = root
			out, err := build.CombinedOutput()
			if (err == nil) != (test.want == "") || !strings.Contains(string(out), test.want) {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
