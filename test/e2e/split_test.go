package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit"
)

var driven = []string{driveReads, driveWrite, driveUnmet, driveDenied, driveInvalid, driveCycle, driveFound}

// wantTags are the outcomes of what is driven.
var wantTags = map[string]events.Tag{
	driveReads: events.TagCompleted, driveWrite: events.TagCompleted, driveUnmet: events.TagFailed,
	driveDenied: events.TagRejected, driveInvalid: events.TagRejected, driveCycle: events.TagRejected,
	driveFound: events.TagCompleted,
}

// TestOneProcessAndFive drives the same requests through one process with an
// embedded server, and through five services and a gateway in processes of
// their own against a server, and compares what is in the streams.
func TestOneProcessAndFive(t *testing.T) {
	req.Covers(t, "IK-2.10", "OD-0.2", "C3-RUN-005.c", "C3-RUN-005.d", "C3-RUN-005.f")
	one := recordOne(t)
	five := recordFive(t)
	for _, kind := range driven {
		if diff := cmp.Diff(one[kind], five[kind]); diff != "" {
			t.Errorf("%s: one process and five differ (-one +five):\n%s", kind, diff)
		}
	}
}

func recordOne(t *testing.T) map[string][]string {
	t.Helper()
	p := plan{Dir: t.TempDir()}
	a, err := p.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	return record(t, a)
}

func stop(t *testing.T, a *app.App) {
	t.Helper()
	if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

func recordFive(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("0f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	broker := testkit.StartServer(t, testkit.ServerOptions{Configure: func(o *server.Options) {
		o.DontListen, o.Host, o.Port = false, "127.0.0.1", server.RANDOM_PORT
	}})
	url := broker.ClientURL()
	o := app.DefaultOptions()
	o.NATSURL, o.Logger, o.PartitionGroups = url, slog.New(slog.DiscardHandler), 1
	if err := app.Bootstrap(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var services []*process
	for _, target := range app.Targets() {
		if target != app.TargetGateway {
			services = append(services, launch(t, plan{Dir: dir, NATSURL: url, KeyFile: key, Targets: []string{string(target)}}))
		}
	}
	for _, s := range services {
		s.waitReady(t)
	}
	gateway := plan{Dir: dir, NATSURL: url, KeyFile: key, Targets: []string{string(app.TargetGateway)}}
	a, err := gateway.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	return record(t, a)
}

// record drives every kind of request and returns what was recorded, without
// identities and times.
func record(t *testing.T, a *app.App) map[string][]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	if _, err := a.Intake().Apply(ctx, tenant, ann, resources(), false); err != nil {
		t.Fatal(err)
	}
	recorded := map[string][]string{}
	for _, kind := range driven {
		nonce := ulid.Make().String()
		if err := submit(ctx, a, nonce, request(kind)); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		decision := events.DecisionApprove
		if kind == driveDenied {
			decision = events.DecisionDeny
		}
		v, err := await(ctx, a, nonce, decision)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		if v.Outcome != wantTags[kind] {
			t.Errorf("%s: outcome %s, want %s", kind, v.Outcome, wantTags[kind])
		}
		data, err := bundle.Collect(ctx, a.BundleSource(), tenant, nonce, events.At(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		checkBundle(t, kind, data)
		recorded[kind] = strip(t, data)
	}
	return recorded
}

func checkBundle(t *testing.T, kind string, data []byte) {
	t.Helper()
	report, err := bundle.Verify(data)
	if err != nil || !report.Holds() || !report.Complete {
		t.Errorf("%s: verify: %+v %v", kind, report, err)
	}
	replayed, err := app.Replay(data)
	if err != nil || !replayed.Holds() || len(replayed.Skipped) > 0 || replayed.Decisions == 0 {
		t.Errorf("%s: replay: %+v %v", kind, replayed, err)
	}
}

var identities = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), "DIGEST"},
	{regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{26}\b`), "$1-ID"},
	{regexp.MustCompile(`\b[0-9A-HJKMNP-TV-Z]{26}\b`), "ULID"},
	{regexp.MustCompile(`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]*"`), `"TIME"`},
	{regexp.MustCompile(`"elapsed_millis":[0-9]+`), `"elapsed_millis":0`},
	{regexp.MustCompile(`"epoch":[0-9]+`), `"epoch":0`},
	{regexp.MustCompile(`"size":[0-9]+`), `"size":0`},
}

// strip lists every event of a bundle without identities, sorted within its
// owner: calls of one level may end in any order.
func strip(t *testing.T, data []byte) []string {
	t.Helper()
	b, err := bundle.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	byOwner := map[events.Owner][]string{}
	for _, r := range b.Records {
		c, err := events.Decode(events.Record{Stream: r.Stream, Subject: r.Subject, Header: r.Header, Data: r.Data})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range c.Events {
			text, err := json.Marshal(e.Data)
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("%s %s %s", c.Subject.Owner, events.ShortType(e.Type()), text)
			for _, identity := range identities {
				line = identity.pattern.ReplaceAllString(line, identity.with)
			}
			byOwner[c.Subject.Owner] = append(byOwner[c.Subject.Owner], line)
		}
	}
	var lines []string
	for _, owner := range events.Owners() {
		slices.Sort(byOwner[owner])
		lines = append(lines, byOwner[owner]...)
	}
	return lines
}
