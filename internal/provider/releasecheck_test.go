package provider_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/mcp"
	"example.org/mandate/internal/provider/process"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/schema"
)

// resource is one document of the example.
type resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       events.Kind
	Metadata   struct{ Name string }
	Spec       events.JSON
}

// example returns the directory of the example.
func example(t *testing.T) string {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "examples", "release-check")
}

// capabilities decodes the resources of the example strictly and returns the
// capabilities by name.
func capabilities(t *testing.T) map[string]events.Capability {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(example(t), "agent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]events.Capability)
	var kinds []string
	for document := range bytes.SplitSeq(data, []byte("\n---\n")) {
		converted, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			t.Fatal(err)
		}
		var r resource
		strict(t, converted, &r)
		kinds = append(kinds, string(r.Kind)+" "+r.Metadata.Name)
		switch r.Kind {
		case events.KindCapability:
			var c events.Capability
			strict(t, r.Spec, &c)
			found[r.Metadata.Name] = c
		case events.KindAgent:
			strict(t, r.Spec, new(events.Agent))
		case events.KindPolicy:
			strict(t, r.Spec, new(events.Policy))
		case events.KindPackage, events.KindRoutes:
			t.Errorf("a resource of kind %s", r.Kind)
		default:
			t.Errorf("a resource of kind %s", r.Kind)
		}
	}
	want := []string{"Policy release", "Capability go.test", "Capability file.read", "Capability release.publish", "Agent release-check"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("resources differ (-want +got):\n%s", diff)
	}
	return found
}

// strict decodes JSON and fails on an unknown member.
func strict(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(data, into, json.RejectUnknownMembers(true), json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
}

// workspace lays the example out as its README says.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, module := range []string{"module", "failing"} {
		if err := os.CopyFS(filepath.Join(dir, module), os.DirFS(filepath.Join(example(t), module))); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"filereader", "publish"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "bin", program), "./cmd/"+program)
		build.Dir = example(t)
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program, err, output)
		}
	}
	return dir
}

// TestReleaseCheck runs every capability of the example with real programs.
func TestReleaseCheck(t *testing.T) {
	defined, dir := capabilities(t), workspace(t)
	programs, err := process.New(process.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	servers, err := mcp.New(mcp.Options{Workspace: dir})
	if err != nil {
		t.Fatal(err)
	}
	set, err := provider.NewSet(provider.Options{Process: provider.Slot{Provider: programs}, MCP: provider.Slot{Provider: servers}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		onlyExpected(t, dir)
	}()
	invoke := func(t *testing.T, name, arguments string) capability.Outcome {
		t.Helper()
		definition := defined[name]
		valid(t, definition.Input, []byte(arguments))
		outcome := set.Invoke(t.Context(), capability.Invocation{
			Run: "run-1", Action: "action-1", Name: name, Version: 1, Effect: definition.Effect, Arguments: []byte(arguments),
			IdempotencyKey: "key-1", OutputBytes: definition.OutputBytes, Provider: definition.Provider,
		})
		if outcome.Status == capability.StatusCompleted {
			valid(t, definition.Output, outcome.Value)
		}
		return outcome
	}
	t.Run("tests pass", func(t *testing.T) {
		got := invoke(t, "go.test", `{"module":"module"}`)
		if got.Status != capability.StatusCompleted || !strings.Contains(string(got.Value), `"failed":0,`) || !strings.Contains(string(got.Value), `"passed":5,`) {
			t.Errorf("outcome = %s %v %s, value %s", got.Status, got.Code, got.Message, got.Value)
		}
	})
	t.Run("a test fails", func(t *testing.T) {
		got := invoke(t, "go.test", `{"module":"failing"}`)
		if got.Status != capability.StatusCompleted || !strings.Contains(string(got.Value), `"failed":1,`) || !strings.Contains(string(got.Value), "TestForEverybody") {
			t.Errorf("outcome = %s %v %s, value %s", got.Status, got.Code, got.Message, got.Value)
		}
	})
	t.Run("changelog", func(t *testing.T) {
		got := invoke(t, "file.read", `{"path":"module/CHANGELOG.md"}`)
		if got.Status != capability.StatusCompleted || !strings.Contains(string(got.Value), `## 1.2.0`) {
			t.Errorf("outcome = %s %v %s, value %s", got.Status, got.Code, got.Message, got.Value)
		}
		if got := invoke(t, "file.read", `{"path":"../secret"}`); got.Status != capability.StatusFailed || !got.NotApplied {
			t.Errorf("outcome = %+v", got)
		}
	})
	t.Run("published once", func(t *testing.T) {
		first := invoke(t, "release.publish", `{"module":"module","version":"1.2.0"}`)
		again := invoke(t, "release.publish", `{"module":"module","version":"1.2.0"}`)
		if first.Status != capability.StatusCompleted || !bytes.Equal(first.Value, again.Value) {
			t.Errorf("first %s %v %s, again %s %s", first.Status, first.Code, first.Value, again.Status, again.Value)
		}
		ledger, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
		if err != nil || bytes.Count(ledger, []byte("\n")) != 1 || !bytes.Contains(ledger, []byte(`"action_id":"action-1"`)) {
			t.Errorf("ledger = %q, %v", ledger, err)
		}
		if got := invoke(t, "release.publish", `{"module":"module","version":"1.3.0"}`); got.Status != capability.StatusFailed || !got.NotApplied {
			t.Errorf("another release under the key: %+v", got)
		}
	})
}

// valid checks a value against a schema of the example.
func valid(t *testing.T, document events.JSON, value []byte) {
	t.Helper()
	compiled, err := schema.Compile(document)
	if err != nil {
		t.Fatal(err)
	}
	if problems := compiled.Validate(value); len(problems) > 0 {
		t.Errorf("%s does not follow its schema: %v", value, problems)
	}
}

// onlyExpected fails on a file that a capability left in the workspace.
func onlyExpected(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		source := filepath.Join(example(t), name)
		if _, err := os.Stat(source); err != nil && name != "ledger.jsonl" && filepath.Dir(name) != "bin" {
			t.Errorf("%s was left behind", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
