package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/req"
)

// TestConcurrentDuplicates submits one request 64 times at once.
func TestConcurrentDuplicates(t *testing.T) {
	req.Covers(t, "C3-RUN-001.n", "C3-RUN-001.o", "C3-RUN-001.p", "C3-RUN-001.r", "C3-RUN-001.t")
	p := plan{Dir: t.TempDir()}
	a, err := p.start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop(t, a)
	ctx := t.Context()
	if _, err := a.Intake().Apply(ctx, tenant, ann, resources(), false); err != nil {
		t.Fatal(err)
	}
	nonce := ulid.Make().String()
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		first  int
		joined int
	)
	for range 64 {
		wait.Go(func() {
			s, err := a.Intake().Submit(ctx, tenant, nonce, ann, request(driveReads))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil || s.Run != nonce:
				t.Errorf("submit: %+v %v", s, err)
			case s.Joined:
				joined++
			default:
				first++
			}
		})
	}
	wait.Wait()
	if first != 1 || joined != 63 {
		t.Errorf("%d recorded and %d joined, want 1 and 63", first, joined)
	}
	if _, err := await(ctx, a, nonce, events.DecisionApprove); err != nil {
		t.Fatal(err)
	}
	_, err = a.Intake().Submit(ctx, tenant, nonce, ann, request(driveWrite))
	var refused *intake.Error
	if !errors.As(err, &refused) || refused.Diagnostics[0].Code != events.CodeNonceConflict {
		t.Errorf("the nonce with other content: %v, want %s", err, events.CodeNonceConflict)
	}
	data, err := bundle.Collect(ctx, a.BundleSource(), tenant, nonce, events.At(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	checkBundle(t, "duplicates", data)
	ledger, err := os.ReadFile(filepath.Join(p.Dir, "ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(ledger), "\n"); n != 2 {
		t.Errorf("%d calls, want 2:\n%s", n, ledger)
	}
}
