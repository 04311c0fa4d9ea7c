package e2e

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider/builtin"
	"example.org/mandate/internal/req"
)

// TestRevokedWhileItRuns revokes a capability while a call of it is under way:
// the call is told to end, nothing follows it, and the record verifies and
// replays.
func TestRevokedWhileItRuns(t *testing.T) {
	req.Covers(t, "OD-10.2.9", "OD-7.2.12")
	begun := make(chan struct{}, 8)
	functions := builtin.NewBuilder()
	wait := func(ctx context.Context, _ capability.Invocation) ([]byte, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	never := func(context.Context, capability.Invocation) ([]byte, error) {
		t.Error("the write was called")
		return nil, nil
	}
	for name, function := range map[string]builtin.Function{"look": wait, "write": never} {
		if err := functions.Register(name, function); err != nil {
			t.Fatal(err)
		}
	}
	o := app.DefaultOptions()
	o.HTTPListen, o.Builtin, o.DataDir, o.Logger = "127.0.0.1:0", functions.Build(), t.TempDir(), slog.New(slog.DiscardHandler)
	a, err := app.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := a.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	if _, err := a.Intake().Apply(ctx, tenant, ann, resources(), false); err != nil {
		t.Fatal(err)
	}
	nonce := ulid.Make().String()
	if err := submit(ctx, a, nonce, request(driveFound)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		select {
		case <-begun:
		case <-ctx.Done():
			t.Fatal("nothing was called")
		}
	}
	if err := a.Intake().Revoke(ctx, tenant, ann, "look", "it leaks"); err != nil {
		t.Fatal(err)
	}
	v, err := await(ctx, a, nonce, events.DecisionApprove)
	if err != nil {
		t.Fatal(err)
	}
	if v.Outcome != events.TagFailed || len(v.Diagnostics) == 0 || v.Diagnostics[0].Code != events.CodeCapabilityRevoked {
		t.Errorf("%s: %v", v.Outcome, v.Diagnostics)
	}
	data, err := bundle.Collect(ctx, a.BundleSource(), tenant, nonce, events.At(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	checkBundle(t, "revoked", data)
}
