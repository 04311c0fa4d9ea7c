package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/req"
)

// TestKillAtEveryAppend kills the whole process before and after each append
// of a run with two reads and a confirmed write, starts it again, and looks at
// what is left.
func TestKillAtEveryAppend(t *testing.T) {
	req.Covers(t, "C3-RUN-006.f", "C3-RUN-006.g", "C3-RUN-006.h", "C3-RUN-001.o", "C3-RUN-001.p",
		"IK-5.8.1", "IK-5.8.2", "IK-5.8.3", "OD-10.1.6", "OD-10.1.7", "OD-10.1.11", "OD-10.1.12", "OD-10.1.13", "OD-10.1.14")
	for name, walk := range map[string]plan{
		"before": {Drive: driveWrite}, "after": {Drive: driveWrite, CrashAfter: true},
		"before, confirmed at dispatch": {Drive: driveFound}, "after, confirmed at dispatch": {Drive: driveFound, CrashAfter: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := map[events.Tag]int{}
			for at := int64(1); ; at++ {
				killed := killOnce(t, at, walk, seen)
				if t.Failed() {
					return
				}
				if !killed {
					t.Logf("%d appends; outcomes %v", at-1, seen)
					if at < 12 {
						t.Errorf("only %d appends were walked", at-1)
					}
					if seen[events.TagCompleted] == 0 || seen[events.TagIndeterminate] == 0 {
						t.Errorf("outcomes %v: the walk does not reach both a repeatable and an uncertain point", seen)
					}
					return
				}
			}
		})
	}
}

// killOnce runs one request with a kill at one append and without, and reports
// whether the process was killed at all.
func killOnce(t *testing.T, at int64, p plan, seen map[events.Tag]int) bool {
	t.Helper()
	p.Dir, p.Nonce, p.CrashAt = t.TempDir(), ulid.Make().String(), at
	killed, err := launch(t, p).wait()
	if err != nil {
		t.Fatalf("append %d: %v", at, err)
	}
	if !killed {
		return false
	}
	p.CrashAt = 0
	second := launch(t, p)
	if killed, err := second.wait(); err != nil || killed {
		t.Fatalf("append %d: the second start: killed %v, %v", at, killed, err)
	}
	tag, err := inspect(p)
	if err != nil {
		t.Errorf("append %d, after %v: %v", at, p.CrashAfter, err)
	}
	seen[tag]++
	return true
}

// inspect checks the bundle and the ledger of a run that was killed once.
func inspect(p plan) (events.Tag, error) {
	data, err := os.ReadFile(filepath.Join(p.Dir, "bundle.json"))
	if err != nil {
		return "", err
	}
	report, err := bundle.Verify(data)
	if err != nil {
		return "", err
	}
	if !report.Holds() || !report.Complete {
		return "", fmt.Errorf("complete %v, findings %v", report.Complete, report.Findings)
	}
	ledger, err := os.ReadFile(filepath.Join(p.Dir, "ledger"))
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	calls := map[string]int{}
	writes := 0
	for line := range strings.Lines(string(ledger)) {
		fields := strings.Fields(line)
		if calls[fields[2]]++; calls[fields[2]] > 1 {
			return "", fmt.Errorf("action %s was called twice", fields[2])
		}
		if fields[1] == "write" {
			writes++
		}
	}
	tag := events.Tag(report.Outcome)
	switch {
	case writes > 1:
		return tag, fmt.Errorf("the write took effect %d times", writes)
	case tag == events.TagCompleted && writes != 1:
		return tag, fmt.Errorf("completed with %d writes", writes)
	case tag != events.TagCompleted && tag != events.TagIndeterminate:
		return tag, fmt.Errorf("outcome %s", tag)
	}
	return tag, nil
}
