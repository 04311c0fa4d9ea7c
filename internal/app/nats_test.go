package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// A process whose server cannot store any more ends; it does not stay and take
// requests that it never finishes.
func TestServerThatCannotStore(t *testing.T) {
	o := DefaultOptions()
	o.DataDir, o.HTTPListen, o.Logger = t.TempDir(), "", slog.New(slog.DiscardHandler)
	o.DrainTimeout = time.Second
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Stop(context.WithoutCancel(t.Context())) })
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The server does the same when it may not write its files.
	if err := a.embedded.ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.Failed().Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the process goes on with a server that cannot store")
	}
	if cause := context.Cause(a.Failed()); !strings.Contains(cause.Error(), "cannot store") {
		t.Errorf("the cause of the end is %v", cause)
	}
}
