package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/mcp"
	"example.org/mandate/internal/provider/providertest"
)

// bind returns the binding of a tool of the helper server.
func bind(t *testing.T, tool, output string, flags ...string) events.ProviderBinding {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return events.ProviderBinding{MCP: &events.MCPBinding{
		Command: append([]string{executable, helperArgument}, flags...), Tool: tool, Output: output,
	}}
}

// open returns a provider that is closed with the test.
func open(t *testing.T) *mcp.Provider {
	t.Helper()
	p, err := mcp.New(mcp.Options{Workspace: t.TempDir(), Grace: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

func TestContract(t *testing.T) {
	providertest.Run(t, providertest.Subject{
		New: func(t *testing.T) provider.Provider {
			t.Helper()
			p, err := mcp.New(mcp.Options{Workspace: t.TempDir(), Grace: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Echo: bind(t, "echo", "text"),
		EchoValue: func(message string) string {
			value, err := provider.TextValue(message)
			if err != nil {
				t.Error(err)
			}
			return string(value)
		},
		Fail: bind(t, "fail", "text"), Hang: bind(t, "hang", "text"), Flood: bind(t, "flood", "text"),
		Garbage: bind(t, "two texts", "structured"), Missing: bind(t, "no such tool", "text"),
		Foreign: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: "f"}},
	})
}

func TestResults(t *testing.T) {
	tests := map[string]struct {
		tool, output string
		effect       events.Effect
		status       capability.Status
		notApplied   bool
		code         events.Code
		value        string
	}{
		"joined":               {"two texts", "text", events.EffectRead, capability.StatusCompleted, false, 0, `{"text":"a\nb"}`},
		"no text":              {"image", "text", events.EffectRead, capability.StatusFailed, true, events.CodeOutputInvalid, ""},
		"no text of a write":   {"image", "text", events.EffectWrite, capability.StatusUncertain, false, events.CodeOutputInvalid, ""},
		"error of a read":      {"fail", "text", events.EffectRead, capability.StatusFailed, true, events.CodeActionFailed, ""},
		"error of a write":     {"fail", "text", events.EffectWrite, capability.StatusFailed, false, events.CodeActionFailed, ""},
		"error with structure": {"fail", "structured", events.EffectWrite, capability.StatusFailed, false, events.CodeActionFailed, ""},
		"refusal":              {"protocol error", "text", events.EffectRead, capability.StatusFailed, true, events.CodeActionFailed, ""},
		"refusal of a write":   {"protocol error", "text", events.EffectWrite, capability.StatusUncertain, false, events.CodeActionFailed, ""},
		"slightly too much":    {"much", "text", events.EffectRead, capability.StatusFailed, true, events.CodeOutputTooLarge, ""},
		"too much of a write":  {"much", "text", events.EffectWrite, capability.StatusUncertain, false, events.CodeOutputTooLarge, ""},
		"unknown output":       {"echo", "pdf", events.EffectWrite, capability.StatusFailed, true, events.CodeProviderMissing, ""},
		// The server claims that the tool only reads; the capability says what it is.
		"dies in a read":  {"die", "text", events.EffectRead, capability.StatusFailed, true, events.CodeActionLost, ""},
		"dies in a write": {"die", "text", events.EffectWrite, capability.StatusUncertain, false, events.CodeActionLost, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := open(t).Invoke(t.Context(), providertest.Invocation(bind(t, test.tool, test.output), test.effect))
			if got.Status != test.status || got.NotApplied != test.notApplied || got.Code != test.code || string(got.Value) != test.value {
				t.Errorf("outcome = %s, not applied %v, %v %s, value %q", got.Status, got.NotApplied, got.Code, got.Message, got.Value)
			}
		})
	}
	t.Run("error keeps its text", func(t *testing.T) {
		got := open(t).Invoke(t.Context(), providertest.Invocation(bind(t, "fail", "text"), events.EffectRead))
		if string(got.Raw) != "sentinel-5d1f is wrong" || got.Evidence[0].Method != "mcp-tool-result" || string(got.Evidence[0].Content) != `{"is_error":true,"tool":"fail"}` {
			t.Errorf("raw %q, evidence %+v", got.Raw, got.Evidence)
		}
	})
}

func TestWhatAServerGets(t *testing.T) {
	t.Setenv("MANDATE_TEST_SECRET", "leaked")
	t.Setenv("PASSED", "value")
	binding := bind(t, "arguments", "structured")
	binding.MCP.Environment, binding.MCP.Set = []string{"PASSED"}, map[string]string{"FIXED": "definition"}
	binding.MCP.Arguments = map[string]string{"path": "file", "file": "other", "absent": "none"}
	invocation := providertest.Invocation(binding, events.EffectWrite)
	invocation.Arguments = []byte(`{"file":"a","other":"b","same":[1]}`)
	got := open(t).Invoke(t.Context(), invocation)
	var value struct {
		Arguments   json.RawMessage
		Meta        map[string]any
		Environment []string
	}
	if err := json.Unmarshal(got.Value, &value); err != nil {
		t.Fatalf("outcome = %+v: %v", got, err)
	}
	if want := `{"file":"b","path":"a","same":[1]}`; string(value.Arguments) != want {
		t.Errorf("arguments = %s, want %s", value.Arguments, want)
	}
	if value.Meta["mandate/action_id"] != "action-1" || value.Meta["mandate/idempotency_key"] != "key-1" {
		t.Errorf("meta = %v", value.Meta)
	}
	var environment []string
	for _, variable := range value.Environment {
		if !strings.HasPrefix(variable, "PWD=") {
			environment = append(environment, variable)
		}
	}
	if diff := cmp.Diff([]string{"FIXED=definition", "PASSED=value"}, environment); diff != "" {
		t.Errorf("environment differs (-want +got):\n%s", diff)
	}
	t.Run("two arguments of one name", func(t *testing.T) {
		invocation.Arguments = []byte(`{"file":"a","path":"b"}`)
		if got := open(t).Invoke(t.Context(), invocation); got.Code != events.CodeArgumentsInvalid || !got.NotApplied {
			t.Errorf("outcome = %+v", got)
		}
	})
}

// starts returns the process numbers of the starts of a server.
func starts(t *testing.T, file string) []int {
	t.Helper()
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for line := range strings.Lines(string(data)) {
		var pid int
		if _, err := fmt.Sscan(line, &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func TestOneServerPerDefinition(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	p := open(t)
	var all sync.WaitGroup
	for _, tool := range []string{"echo", "two texts", "echo", "echo"} {
		all.Go(func() {
			if got := p.Invoke(t.Context(), providertest.Invocation(bind(t, tool, "text", "-starts", file), events.EffectRead)); got.Status != capability.StatusCompleted {
				t.Errorf("%s: outcome = %+v", tool, got)
			}
		})
	}
	all.Wait()
	if got := starts(t, file); len(got) != 1 {
		t.Errorf("%d starts, want 1", len(got))
	}
	other := bind(t, "echo", "text", "-starts", file)
	other.MCP.Set = map[string]string{"A": "b"}
	if got := p.Invoke(t.Context(), providertest.Invocation(other, events.EffectRead)); got.Status != capability.StatusCompleted {
		t.Errorf("outcome = %+v", got)
	}
	if got := starts(t, file); len(got) != 2 {
		t.Errorf("%d starts, want 2: another definition is another server", len(got))
	}
}

// A server that dies is started again, each time later.
func TestRestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	p := open(t)
	started := time.Now()
	for range 3 {
		if got := p.Invoke(t.Context(), providertest.Invocation(bind(t, "die", "text", "-starts", file), events.EffectRead)); got.Code != events.CodeActionLost {
			t.Errorf("outcome = %+v", got)
		}
	}
	if got := p.Invoke(t.Context(), providertest.Invocation(bind(t, "echo", "text", "-starts", file), events.EffectRead)); got.Status != capability.StatusCompleted {
		t.Errorf("outcome = %+v", got)
	}
	if got := starts(t, file); len(got) != 4 {
		t.Errorf("%d starts, want 4", len(got))
	}
	if elapsed := time.Since(started); elapsed < 700*time.Millisecond {
		t.Errorf("four starts in %v; the back-off alone is 100+200+400 ms", elapsed)
	}
}

// A server that is killed between two calls is noticed before the next.
func TestKilledWhileIdle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "starts")
	p := open(t)
	invocation := providertest.Invocation(bind(t, "echo", "text", "-starts", file), events.EffectWrite)
	if got := p.Invoke(t.Context(), invocation); got.Status != capability.StatusCompleted {
		t.Fatalf("outcome = %+v", got)
	}
	if err := syscall.Kill(starts(t, file)[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	// The call can still meet the dying server; it never claims too much.
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		got := p.Invoke(t.Context(), invocation)
		if got.Status == capability.StatusCompleted && len(starts(t, file)) == 2 {
			return
		}
		if got.Status == capability.StatusFailed && !got.NotApplied {
			t.Fatalf("outcome = %+v", got)
		}
	}
	t.Error("the server was not started again")
}

// A server that cannot be used is a failure without effect, in time.
func TestUnusableServers(t *testing.T) {
	for _, flag := range []string{"-exit", "-deaf", "-endless"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "starts")
			p, err := mcp.New(mcp.Options{Workspace: t.TempDir(), Grace: 200 * time.Millisecond, StartTimeout: 2 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := p.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			got := p.Invoke(t.Context(), providertest.Invocation(bind(t, "echo", "text", flag, "-starts", file), events.EffectWrite))
			if got.Status != capability.StatusFailed || !got.NotApplied || got.Code != events.CodeProviderFailed {
				t.Errorf("outcome = %+v", got)
			}
			for _, pid := range starts(t, file) {
				waitGone(t, pid)
			}
		})
	}
}

// A server that leaves a call unanswered is ended with all it has started.
func TestUnansweredCallEndsTheServer(t *testing.T) {
	p := open(t)
	got := p.Invoke(t.Context(), providertest.Invocation(bind(t, "family", "text"), events.EffectRead))
	var server, child int
	if _, err := fmt.Sscan(string(got.Raw), &server, &child); err != nil {
		t.Fatalf("outcome = %+v: %v", got, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if got := p.Invoke(ctx, providertest.Invocation(bind(t, "hang", "text"), events.EffectWrite)); got.Status != capability.StatusUncertain || got.Code != events.CodeTimeout {
		t.Errorf("outcome = %+v", got)
	}
	waitGone(t, server)
	waitGone(t, child)
	if got := p.Invoke(t.Context(), providertest.Invocation(bind(t, "echo", "text"), events.EffectRead)); got.Status != capability.StatusCompleted {
		t.Errorf("outcome = %+v", got)
	}
}

// Closing ends the servers with all they have started.
func TestCloseEndsServers(t *testing.T) {
	p, err := mcp.New(mcp.Options{Workspace: t.TempDir(), Grace: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	got := p.Invoke(t.Context(), providertest.Invocation(bind(t, "family", "text"), events.EffectRead))
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	var server, child int
	if _, err := fmt.Sscan(string(got.Raw), &server, &child); err != nil {
		t.Fatalf("outcome = %+v: %v", got, err)
	}
	waitGone(t, server)
	waitGone(t, child)
}

// waitGone waits until no process has the number; an ended one whose new
// parent has not looked yet counts as gone.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") Z ") {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

func TestMalformedDefinitions(t *testing.T) {
	tests := map[string]struct {
		change func(*events.MCPBinding)
		code   events.Code
	}{
		"no command":        {func(b *events.MCPBinding) { b.Command = nil }, events.CodeProviderFailed},
		"NUL":               {func(b *events.MCPBinding) { b.Command = append(b.Command, "\x00") }, events.CodeProviderFailed},
		"no such program":   {func(b *events.MCPBinding) { b.Command = []string{"bin/none"} }, events.CodeProviderMissing},
		"program outside":   {func(b *events.MCPBinding) { b.Command = []string{"../bin/none"} }, events.CodeProviderFailed},
		"directory outside": {func(b *events.MCPBinding) { b.Directory = ".." }, events.CodeProviderFailed},
		"bad variable":      {func(b *events.MCPBinding) { b.Set = map[string]string{"A=B": "c"} }, events.CodeProviderFailed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			binding := bind(t, "echo", "text")
			test.change(binding.MCP)
			got := open(t).Invoke(t.Context(), providertest.Invocation(binding, events.EffectWrite))
			if got.Status != capability.StatusFailed || !got.NotApplied || got.Code != test.code {
				t.Errorf("outcome = %+v", got)
			}
		})
	}
}

func TestNew(t *testing.T) {
	for name, options := range map[string]mcp.Options{
		"no workspace": {}, "negative grace": {Workspace: t.TempDir(), Grace: -1}, "negative start": {Workspace: t.TempDir(), StartTimeout: -1},
	} {
		if p, err := mcp.New(options); err == nil {
			t.Errorf("%s: New = %v, want an error", name, p)
		}
	}
}
