package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// runArgument makes the test binary the program itself.
const runArgument = "run-as-publish"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runArgument {
		// Not os.Exit, in which the race detector waits for a second.
		syscall.Exit(run(invocation{arguments: os.Args[2:], getenv: os.Getenv, now: time.Now, stdout: os.Stdout, stderr: os.Stderr}))
	}
	os.Exit(m.Run())
}

// start is when the tests' clock stands.
var start = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)

// try runs the program in this process.
func try(key, action string, arguments ...string) (code int, stdout, stderr string) {
	var out, diagnostics bytes.Buffer
	environment := map[string]string{"MANDATE_IDEMPOTENCY_KEY": key, "MANDATE_ACTION_ID": action}
	code = run(invocation{
		arguments: arguments, getenv: func(name string) string { return environment[name] },
		now: func() time.Time { return start }, stdout: &out, stderr: &diagnostics,
	})
	return code, out.String(), diagnostics.String()
}

// content returns the ledger, "" if there is none.
func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(data)
}

const firstLine = `{"module":"greeting","version":"1.2.0","idempotency_key":"k1","action_id":"a1","time":"2026-05-06T07:08:09Z"}` + "\n"

func TestPublish(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	flags := []string{"-ledger", ledger, "-module", "greeting", "-version", "1.2.0"}
	code, out, diagnostics := try("k1", "a1", flags...)
	if code != exitPublished || out != firstLine || content(t, ledger) != firstLine {
		t.Fatalf("code %d, output %q, diagnostics %q, ledger %q", code, out, diagnostics, content(t, ledger))
	}
	// The same key again, even by another action, prints the first entry.
	if code, out, _ := try("k1", "a2", flags...); code != exitPublished || out != firstLine || content(t, ledger) != firstLine {
		t.Errorf("code %d, output %q, ledger %q", code, out, content(t, ledger))
	}
	if code, _, _ := try("k2", "a2", flags...); code != exitPublished || strings.Count(content(t, ledger), "\n") != 2 {
		t.Errorf("code %d, ledger %q", code, content(t, ledger))
	}
	// A key stands for one release.
	before := content(t, ledger)
	code, out, _ = try("k1", "a3", "-ledger", ledger, "-module", "greeting", "-version", "1.3.0")
	if code != exitUnchanged || out != "" || content(t, ledger) != before {
		t.Errorf("code %d, output %q, ledger %q", code, out, content(t, ledger))
	}
}

func TestNothingIsChanged(t *testing.T) {
	tests := map[string]struct {
		key, action, ledger string
		arguments           []string
	}{
		"no key":            {"", "a", "", []string{"-module", "m", "-version", "1"}},
		"no action":         {"k", "", "", []string{"-module", "m", "-version", "1"}},
		"no module":         {"k", "a", "", []string{"-version", "1"}},
		"no version":        {"k", "a", "", []string{"-module", "m"}},
		"unknown flag":      {"k", "a", "", []string{"-module", "m", "-version", "1", "-force"}},
		"more arguments":    {"k", "a", "", []string{"-module", "m", "-version", "1", "x"}},
		"not an entry":      {"k", "a", "hello\n", []string{"-module", "m", "-version", "1"}},
		"incomplete entry":  {"k", "a", `{"module":"m"}` + "\n", []string{"-module", "m", "-version", "1"}},
		"unknown member":    {"k", "a", strings.Replace(firstLine, "{", `{"x":1,`, 1), []string{"-module", "m", "-version", "1"}},
		"duplicate members": {"k", "a", strings.Replace(firstLine, "{", `{"module":"m",`, 1), []string{"-module", "m", "-version", "1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
			if test.ledger != "" {
				if err := os.WriteFile(ledger, []byte(test.ledger), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			code, out, diagnostics := try(test.key, test.action, append([]string{"-ledger", ledger}, test.arguments...)...)
			if code != exitUnchanged || out != "" || diagnostics == "" || content(t, ledger) != test.ledger {
				t.Errorf("code %d, output %q, diagnostics %q, ledger %q", code, out, diagnostics, content(t, ledger))
			}
		})
	}
	t.Run("no directory", func(t *testing.T) {
		if code, _, _ := try("k", "a", "-ledger", filepath.Join(t.TempDir(), "none", "ledger"), "-module", "m", "-version", "1"); code != exitUnchanged {
			t.Errorf("code %d", code)
		}
	})
}

// An entry that was cut off at any byte was never published: it makes room.
func TestUnfinishedEntry(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	second := strings.NewReplacer("k1", "k2", "a1", "a2").Replace(firstLine)
	for cut := range len(second) {
		if err := os.WriteFile(ledger, []byte(firstLine+second[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, diagnostics := try("k2", "a2", "-ledger", ledger, "-module", "greeting", "-version", "1.2.0")
		if code != exitPublished || out != second || content(t, ledger) != firstLine+second {
			t.Fatalf("cut at %d: code %d, output %q, diagnostics %q, ledger %q", cut, code, out, diagnostics, content(t, ledger))
		}
	}
}

// Many processes publish under few keys at once: one entry for each key.
func TestConcurrentProcesses(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	var all sync.WaitGroup
	var mu sync.Mutex
	printed := map[string]map[string]bool{}
	for i := range 24 {
		all.Go(func() {
			key := "k" + strconv.Itoa(i%4)
			command := exec.CommandContext(t.Context(), executable, runArgument, "-ledger", ledger, "-module", "greeting", "-version", "1.2.0")
			command.Env = []string{"MANDATE_IDEMPOTENCY_KEY=" + key, "MANDATE_ACTION_ID=a" + strconv.Itoa(i)}
			out, err := command.Output()
			if err != nil {
				t.Errorf("publish: %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if printed[key] == nil {
				printed[key] = map[string]bool{}
			}
			printed[key][string(out)] = true
		})
	}
	all.Wait()
	lines := strings.SplitAfter(strings.TrimSuffix(content(t, ledger), "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d entries, want 4:\n%s", len(lines), content(t, ledger))
	}
	for _, line := range lines {
		var entry Entry
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if len(printed[entry.IdempotencyKey]) != 1 || !printed[entry.IdempotencyKey][strings.TrimSuffix(line, "\n")+"\n"] {
			t.Errorf("key %s printed %v, want %q", entry.IdempotencyKey, printed[entry.IdempotencyKey], line)
		}
	}
}
