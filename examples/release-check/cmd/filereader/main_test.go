package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client returns a client of the server, run as main runs it.
func client(t *testing.T, arguments ...string) *mcp.ClientSession {
	t.Helper()
	near, far := mcp.NewInMemoryTransports()
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() { ended <- run(ctx, arguments, far) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	})
	return session
}

func TestReadFile(t *testing.T) {
	parent := t.TempDir()
	root := filepath.Join(parent, "root")
	if err := os.MkdirAll(filepath.Join(root, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"root/a.md": "# A – ready\n", "root/deep/b.md": "b", "root/big": strings.Repeat("x", 101), "root/image": "\xff\xfe", "secret": "s", "root/empty": "",
	} {
		if err := os.WriteFile(filepath.Join(parent, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"inside": "deep/b.md", "outside": "../secret", "absolute": filepath.Join(parent, "secret")} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	session := client(t, "-root", root, "-max-bytes", "100")
	tests := map[string]struct {
		path, text string
		refused    bool
	}{
		"file":          {"a.md", "# A – ready\n", false},
		"below":         {"deep/b.md", "b", false},
		"dots inside":   {"deep/../a.md", "# A – ready\n", false},
		"empty file":    {"empty", "", false},
		"link inside":   {"inside", "b", false},
		"too large":     {"big", "larger than 100 bytes", true},
		"not text":      {"image", "not a text file", true},
		"directory":     {"deep", "not a regular file", true},
		"pipe":          {"pipe", "not a regular file", true},
		"not there":     {"none", "no such file", true},
		"above":         {"../secret", "escapes", true},
		"above by link": {"outside", "escapes", true},
		"absolute link": {"absolute", "escapes", true},
		"absolute path": {filepath.Join(root, "a.md"), "escapes", true},
		"no path":       {"", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_file", Arguments: map[string]any{"path": test.path}})
			if err != nil {
				t.Fatal(err)
			}
			text, ok := result.Content[0].(*mcp.TextContent)
			if !ok || result.IsError != test.refused || len(result.Content) != 1 {
				t.Fatalf("error %v, content %+v", result.IsError, result.Content)
			}
			if test.refused && !strings.Contains(text.Text, test.text) || !test.refused && text.Text != test.text {
				t.Errorf("text = %q, want %q", text.Text, test.text)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	for _, arguments := range [][]string{nil, {"-root", ""}, {"-root", t.TempDir(), "extra"}, {"-root", t.TempDir(), "-max-bytes", "0"}, {"-root", "/none/such"}} {
		_, far := mcp.NewInMemoryTransports()
		if err := run(t.Context(), arguments, far); err == nil {
			t.Errorf("run(%q) did not fail", arguments)
		}
	}
}
