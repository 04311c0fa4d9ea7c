package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
)

// boundedFixture returns the name of a known document of the bounded profile.
func boundedFixture(t *testing.T, name string) string {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "services", "executor", "internal", "bounded", "testdata", name+".json")
}

// TestBoundedRun runs the fixture, finds the known answers in the files, and verifies them.
func TestBoundedRun(t *testing.T) {
	req.Covers(t, "BNAR-8.5", "BNAR-8.6")
	out := filepath.Join(t.TempDir(), "new", "records")
	run := []string{"bounded", "run", "--profile", boundedFixture(t, "profile"), "--task", boundedFixture(t, "task"), "--out", out}
	code, stdout, stderr := use(t, nil, append(run, "--fixture")...)
	if code != exitOK || stderr != "" || !strings.Contains(stdout, "completed") {
		t.Fatalf("code %d, %q, %q", code, stdout, stderr)
	}
	for name, want := range map[string]string{
		"trace.json":              "b418408ff16de76251e0b40eb2c7b68dd408bbae66b96e734138ad64f6f70eab",
		"evidence.json":           "45da26349aa89514ca3066a0f14076d4220cb03560589b9f959f97e9564bd6ad",
		"accounting-receipt.json": "dfe72270800a5d00e18603a052f7cbdee24437f9f0e0a01c96d8b11c01e06d1a",
	} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s: %x, want %s", name, sum, want)
		}
	}
	verify := []string{"bounded", "verify", "--trace", filepath.Join(out, "trace.json"), "--evidence", filepath.Join(out, "evidence.json")}
	all := append(verify, "--profile", boundedFixture(t, "profile"), "--task", boundedFixture(t, "task"),
		"--message", filepath.Join(out, "final-message.txt"), "--receipt", filepath.Join(out, "accounting-receipt.json"))
	for _, args := range [][]string{verify, all} {
		if code, stdout, stderr := use(t, nil, args...); code != exitOK || stderr != "all of it holds\n" {
			t.Errorf("%v: code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	// Nothing is written over.
	code, stdout, stderr = use(t, nil, append(run, "--fixture")...)
	if code != exitOther || stdout != "" || !strings.Contains(stderr, "MD-1903") || !strings.Contains(stderr, "is there already") {
		t.Errorf("again: code %d, %q, %q", code, stdout, stderr)
	}
	// One byte of any file is noticed.
	for i, name := range []string{"trace.json", "evidence.json"} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		changed := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(changed, bytes.Replace(data, []byte(`"last_turn":2`), []byte(`"last_turn":3`), 1+i), 0o600); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.WriteFile(changed, bytes.Replace(data, []byte(`"index":3`), []byte(`"index":4`), 1), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := append([]string{}, verify...)
		args[3+2*i] = changed
		code, _, stderr := use(t, nil, args...)
		if code != exitOther || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "error: MD-1609 SPX-G209: ") {
			t.Errorf("%s: code %d, %q", name, code, stderr)
		}
	}
}

// TestBoundedMistakes are refused in one line that says what to do, and nothing is written.
func TestBoundedMistakes(t *testing.T) {
	profile, task := boundedFixture(t, "profile"), boundedFixture(t, "task")
	out := filepath.Join(t.TempDir(), "records")
	for name, test := range map[string]struct {
		args []string
		want []string
	}{
		"no host":          {[]string{"run", "--profile", profile, "--task", task, "--out", out}, []string{"MD-1407", "needs a host", "--fixture", "Go program"}},
		"no profile":       {[]string{"run", "--task", task, "--out", out, "--fixture"}, []string{"MD-1903", "--profile is missing"}},
		"no task":          {[]string{"run", "--profile", profile, "--out", out, "--fixture"}, []string{"--task is missing"}},
		"no directory":     {[]string{"run", "--profile", profile, "--task", task, "--fixture"}, []string{"--out is missing"}},
		"both standard in": {[]string{"run", "--profile", "-", "--task", "-", "--out", out, "--fixture"}, []string{"cannot both"}},
		"no such file":     {[]string{"run", "--profile", profile + "x", "--task", task, "--out", out, "--fixture"}, []string{"MD-1903", "cannot be read"}},
		"task as profile":  {[]string{"run", "--profile", task, "--task", task, "--out", out, "--fixture"}, []string{"MD-1001", "SPX-G204: Agent Runtime profile is not canonical"}},
		"profile as task":  {[]string{"run", "--profile", profile, "--task", profile, "--out", out, "--fixture"}, []string{"MD-1001", "SPX-G204: Agent Runtime task is not canonical"}},
		"nothing":          {nil, []string{"needs one of its commands"}},
		"verify nothing":   {[]string{"verify"}, []string{"--trace and --evidence are needed"}},
		"verify a task":    {[]string{"verify", "--trace", task, "--evidence", task}, []string{"MD-1609", "SPX-G209"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := use(t, nil, append([]string{"bounded"}, test.args...)...)
			if code != exitOther || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "error: MD-") {
				t.Errorf("code %d, %q, %q", code, stdout, stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("%q is not in %q", want, stderr)
				}
			}
			if _, err := os.Stat(out); err == nil {
				t.Error("the directory was made")
			}
		})
	}
}

// TestBoundedExit has an exit code for every status, and no other is a success.
func TestBoundedExit(t *testing.T) {
	for status, want := range map[string]int{
		"completed": exitOK, "cancelled": exitCancelled, "policy_rejected": exitRejected, "deadline_exceeded": exitFailed,
		"budget_exhausted": exitFailed, "provider_failed": exitFailed, "tool_failed": exitFailed, "": exitFailed,
	} {
		if got := boundedExit(status); got != want {
			t.Errorf("%q: %d, want %d", status, got, want)
		}
	}
}
