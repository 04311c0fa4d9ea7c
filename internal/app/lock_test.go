package app_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/internal/app"
)

// start starts an App over a data directory that serves nothing to the outside.
func start(t *testing.T, directory string) (*app.App, error) {
	t.Helper()
	o := app.DefaultOptions()
	o.DataDir, o.HTTPListen, o.Logger = directory, "", slog.New(slog.DiscardHandler)
	a, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.WithoutCancel(t.Context())) })
	return a, a.Start(t.Context())
}

func TestDataDirIsUsedOnce(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	first, err := start(t, directory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, directory); err == nil || !strings.Contains(err.Error(), "another process uses it") {
		t.Errorf("a second server over the same data: %v", err)
	}
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, directory); err != nil {
		t.Errorf("after the first one stopped: %v", err)
	}
}

func TestDataDirThatIsNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := start(t, file); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file as data directory: %v", err)
	}
}
