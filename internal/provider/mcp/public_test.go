package mcp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider/mcp"
	"example.org/mandate/internal/provider/providertest"
)

// publicServer is the filesystem server of the protocol's own project.
const publicServer = "@modelcontextprotocol/server-filesystem@2026.8.31"

// TestPublicFilesystemServer reads a file through a server that others wrote,
// in the place of the example's own.
func TestPublicFilesystemServer(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: installing the public server takes a while")
	}
	t.Parallel()
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Log("npm is not installed")
		t.Skip("NOT TESTED: the public filesystem server needs npm")
	}
	workspace := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	install := exec.CommandContext(ctx, npm, "install", "--prefix", workspace, "--cache", filepath.Join(t.TempDir(), "cache"),
		"--no-audit", "--no-fund", "--ignore-scripts", publicServer)
	if output, err := install.CombinedOutput(); err != nil {
		t.Logf("npm install: %v\n%s", err, output)
		t.Skip("NOT TESTED: the public filesystem server cannot be installed here")
	}
	files := filepath.Join(workspace, "module")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "CHANGELOG.md"), []byte("# 1.2.0 – ready\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := mcp.New(mcp.Options{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	invoke := func(tool, path string) capability.Outcome {
		invocation := providertest.Invocation(events.ProviderBinding{MCP: &events.MCPBinding{
			Command:     []string{"node", "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", "."},
			Environment: []string{"PATH"}, Tool: tool, Output: "text",
		}}, events.EffectRead)
		invocation.Arguments = []byte(`{"path":"` + path + `"}`)
		return p.Invoke(ctx, invocation)
	}
	if got := invoke("read_file", "module/CHANGELOG.md"); got.Status != capability.StatusCompleted || string(got.Value) != `{"text":"# 1.2.0 – ready\n"}` {
		t.Errorf("outcome = %s %v %s, value %s", got.Status, got.Code, got.Message, got.Value)
	}
	if got := invoke("read_file", "../secret.md"); got.Status != capability.StatusFailed || got.Code != events.CodeActionFailed || !strings.Contains(string(got.Raw), "denied") {
		t.Errorf("outcome = %s %v %s, raw %s", got.Status, got.Code, got.Message, got.Raw)
	}
	if got := invoke("no_such_tool", "module/CHANGELOG.md"); got.Code != events.CodeProviderMissing {
		t.Errorf("outcome = %s %v %s", got.Status, got.Code, got.Message)
	}
}
