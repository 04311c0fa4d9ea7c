package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/process"
	"example.org/mandate/internal/provider/providertest"
)

// program returns a command of the helper program.
func program(t *testing.T, arguments ...string) []string {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{executable, helperArgument}, arguments...)
}

// open returns a provider of a workspace that is closed with the test.
func open(t *testing.T, workspace string) *process.Provider {
	t.Helper()
	p, err := process.New(process.Options{Workspace: workspace, Grace: 200 * time.Millisecond, StderrBytes: 64 << 10})
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

// invocation returns an invocation of a binding with arguments.
func invocation(binding events.ProcessBinding, effect events.Effect, arguments string) capability.Invocation {
	i := providertest.Invocation(events.ProviderBinding{Process: &binding}, effect)
	i.Arguments = []byte(arguments)
	return i
}

func TestContract(t *testing.T) {
	bind := func(output string, arguments ...string) events.ProviderBinding {
		return events.ProviderBinding{Process: &events.ProcessBinding{Command: program(t, arguments...), Output: output}}
	}
	providertest.Run(t, providertest.Subject{
		New: func(t *testing.T) provider.Provider {
			t.Helper()
			p, err := process.New(process.Options{Workspace: t.TempDir(), Grace: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		Echo: bind("text", "print", "{message}"),
		EchoValue: func(message string) string {
			value, err := provider.TextValue(message)
			if err != nil {
				t.Error(err)
			}
			return string(value)
		},
		Fail: bind("text", "exit", "7"), Hang: bind("text", "hang"), Flood: bind("text", "flood"),
		Garbage: bind("json", "print", "{\"a\":"),
		Missing: events.ProviderBinding{Process: &events.ProcessBinding{Command: []string{"bin/none"}, Output: "text"}},
		Foreign: events.ProviderBinding{Builtin: &events.BuiltinBinding{Function: "f"}},
	})
}

func TestArguments(t *testing.T) {
	type outcome struct {
		arguments []string
		code      events.Code
	}
	tests := map[string]struct {
		template  []string
		arguments string
		want      outcome
	}{
		"one element each":   {[]string{"{a}", "x{b}y{c}"}, `{"a":"a b; $(c) 'd'","b":1.5,"c":true}`, outcome{arguments: []string{"a b; $(c) 'd'", "x1.5ytrue"}}},
		"empty":              {[]string{"{a}"}, `{"a":""}`, outcome{arguments: []string{""}}},
		"replaced once":      {[]string{"{a}"}, `{"a":"{b}","b":"no"}`, outcome{arguments: []string{"{b}"}}},
		"plain braces":       {[]string{"{}", "{ a }", `{"k":"{a}"}`, "{"}, `{"a":"v"}`, outcome{arguments: []string{"{}", "{ a }", `{"k":"v"}`, "{"}}},
		"dash after text":    {[]string{"--name={a}", "-{a}"}, `{"a":"-v"}`, outcome{arguments: []string{"--name=-v", "--v"}}},
		"dash by value":      {[]string{"{a}"}, `{"a":"-rf"}`, outcome{code: events.CodeArgumentsInvalid}},
		"dash by number":     {[]string{"{a}"}, `{"a":-1}`, outcome{code: events.CodeArgumentsInvalid}},
		"dash after nothing": {[]string{"{a}{b}"}, `{"a":"","b":"-x"}`, outcome{code: events.CodeArgumentsInvalid}},
		"dash uncovered":     {[]string{"{a}-x"}, `{"a":""}`, outcome{code: events.CodeArgumentsInvalid}},
		"missing":            {[]string{"{a}"}, `{"b":"x"}`, outcome{code: events.CodeArgumentsInvalid}},
		"NUL":                {[]string{"{a}"}, `{"a":"x\u0000y"}`, outcome{code: events.CodeArgumentsInvalid}},
		"null":               {[]string{"{a}"}, `{"a":null}`, outcome{code: events.CodeArgumentsInvalid}},
		"list":               {[]string{"{a}"}, `{"a":["x"]}`, outcome{code: events.CodeArgumentsInvalid}},
		"object":             {[]string{"{a}"}, `{"a":{}}`, outcome{code: events.CodeArgumentsInvalid}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := open(t, t.TempDir())
			binding := events.ProcessBinding{Command: append(program(t, "vector"), test.template...), Output: "json"}
			got := p.Invoke(t.Context(), invocation(binding, events.EffectWrite, test.arguments))
			if got.Code != test.want.code || (test.want.code != 0) != (got.Status == capability.StatusFailed && got.NotApplied) {
				t.Fatalf("outcome = %s, not applied %v, %v %s", got.Status, got.NotApplied, got.Code, got.Message)
			}
			if diff := cmp.Diff(test.want.arguments, vectorOf(t, got).Arguments); diff != "" {
				t.Errorf("arguments differ (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("program is fixed", func(t *testing.T) {
		binding := events.ProcessBinding{Command: []string{"{a}"}, Output: "text"}
		got := open(t, t.TempDir()).Invoke(t.Context(), invocation(binding, events.EffectRead, `{"a":"/bin/true"}`))
		if got.Code != events.CodeProviderFailed || !got.NotApplied {
			t.Errorf("outcome = %+v", got)
		}
	})
}

// vector is what the helper program tells about its start.
type vector struct {
	Arguments   []string `json:"arguments"`
	Directory   string   `json:"directory"`
	Environment []string `json:"environment"`
}

// vectorOf decodes the value of a completed outcome.
func vectorOf(t *testing.T, outcome capability.Outcome) vector {
	t.Helper()
	var v vector
	if outcome.Value == nil {
		return v
	}
	if err := json.Unmarshal(outcome.Value, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDirectory(t *testing.T) {
	workspace, outside := t.TempDir(), t.TempDir()
	for _, directory := range []string{"module", "deep/module"} {
		if err := os.MkdirAll(filepath.Join(workspace, directory), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"escape": outside, "within": "deep", "up": "deep/../.."} {
		if err := os.Symlink(target, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(workspace, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		directory, module string
		want              string
		code              events.Code
	}{
		"workspace":              {"", "x", ".", 0},
		"fixed":                  {"deep/module", "x", "deep/module", 0},
		"argument":               {"{module}", "module", "module", 0},
		"argument inside":        {"deep/{module}", "module", "deep/module", 0},
		"link inside":            {"{module}", "within/module", "deep/module", 0},
		"argument leaves":        {"{module}", "../other", "", events.CodeArgumentsInvalid},
		"argument leaves deep":   {"deep/{module}", "../../other", "", events.CodeArgumentsInvalid},
		"argument absolute":      {"{module}", outside, "", events.CodeArgumentsInvalid},
		"argument link leaves":   {"{module}", "escape", "", events.CodeArgumentsInvalid},
		"argument link leaves 2": {"{module}", "up", "", events.CodeArgumentsInvalid},
		"argument is a file":     {"{module}", "file", "", events.CodeArgumentsInvalid},
		"argument is nothing":    {"{module}", "", "", events.CodeArgumentsInvalid},
		"argument is not there":  {"{module}", "none", "", events.CodeArgumentsInvalid},
		"fixed leaves":           {"../x", "x", "", events.CodeProviderFailed},
		"fixed link leaves":      {"escape", "x", "", events.CodeProviderFailed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			binding := events.ProcessBinding{Command: program(t, "vector"), Directory: test.directory, Output: "json"}
			got := open(t, workspace).Invoke(t.Context(), invocation(binding, events.EffectWrite, `{"module":"`+test.module+`"}`))
			if got.Code != test.code {
				t.Fatalf("outcome = %s %v %s", got.Status, got.Code, got.Message)
			}
			if test.code != 0 {
				if got.Status != capability.StatusFailed || !got.NotApplied {
					t.Errorf("outcome = %+v", got)
				}
				return
			}
			if got := vectorOf(t, got).Directory; got != filepath.Join(root, test.want) {
				t.Errorf("ran in %s, want %s", got, filepath.Join(root, test.want))
			}
		})
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("MANDATE_TEST_SECRET", "leaked")
	t.Setenv("PASSED", "value")
	t.Setenv("FIXED", "host")
	binding := events.ProcessBinding{
		Command: program(t, "vector"), Output: "json",
		Environment: []string{"PASSED", "FIXED", "NOT_SET"}, Set: map[string]string{"FIXED": "definition"},
	}
	got := open(t, t.TempDir()).Invoke(t.Context(), invocation(binding, events.EffectRead, `{}`))
	want := []string{"FIXED=definition", "MANDATE_ACTION_ID=action-1", "MANDATE_IDEMPOTENCY_KEY=key-1", "MANDATE_RUN=run-1", "PASSED=value"}
	have := slices.DeleteFunc(vectorOf(t, got).Environment, func(v string) bool { return strings.HasPrefix(v, "PWD=") })
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("environment differs (-want +got):\n%s", diff)
	}
	for _, set := range []map[string]string{{"MANDATE_ACTION_ID": "forged"}, {"A=B": "x"}, {"": "x"}, {"A": "x\x00"}} {
		binding.Set = set
		if got := open(t, t.TempDir()).Invoke(t.Context(), invocation(binding, events.EffectRead, `{}`)); got.Code != events.CodeProviderFailed || !got.NotApplied {
			t.Errorf("%v: outcome = %+v", set, got)
		}
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		code       string
		effect     events.Effect
		status     capability.Status
		notApplied bool
		want       events.Code
	}{
		{"0", events.EffectWrite, capability.StatusCompleted, false, 0},
		{"3", events.EffectWrite, capability.StatusCompleted, false, 0},
		{"4", events.EffectWrite, capability.StatusFailed, true, events.CodeActionFailed},
		{"4", events.EffectRead, capability.StatusFailed, true, events.CodeActionFailed},
		{"5", events.EffectWrite, capability.StatusUncertain, false, events.CodeActionUncertain},
		{"5", events.EffectRead, capability.StatusFailed, true, events.CodeActionFailed},
		{"5", events.EffectNone, capability.StatusFailed, true, events.CodeActionFailed},
	}
	for _, test := range tests {
		t.Run(test.code+" "+string(test.effect), func(t *testing.T) {
			binding := events.ProcessBinding{
				Command: program(t, "exit", test.code), Output: "text",
				SuccessExitCodes: []int{0, 3}, NotAppliedExitCodes: []int{4},
			}
			got := open(t, t.TempDir()).Invoke(t.Context(), invocation(binding, test.effect, `{}`))
			if got.Status != test.status || got.NotApplied != test.notApplied || got.Code != test.want || got.Receipt != "exit "+test.code {
				t.Errorf("outcome = %s, not applied %v, %v, %q", got.Status, got.NotApplied, got.Code, got.Receipt)
			}
			if test.want != 0 && !strings.Contains(got.Message, "exit code "+test.code+",") {
				t.Errorf("the message %q does not say how it ended", got.Message)
			}
			content := string(got.Evidence[0].Content)
			if got.Evidence[0].Method != "process-exit" || !strings.Contains(content, `"exit_code":`+test.code) || !strings.Contains(content, `"argv_digest":"sha256:`) {
				t.Errorf("evidence = %s %s", got.Evidence[0].Method, content)
			}
			if got.Evidence[1].Kind != "diagnostics" || string(got.Evidence[1].Content) != "ending as told\n" {
				t.Errorf("diagnostics = %+v", got.Evidence[1])
			}
		})
	}
	t.Run("default", func(t *testing.T) {
		binding := events.ProcessBinding{Command: program(t, "exit", "1"), Output: "text"}
		if got := open(t, t.TempDir()).Invoke(t.Context(), invocation(binding, events.EffectWrite, `{}`)); got.Status != capability.StatusUncertain {
			t.Errorf("outcome = %+v", got)
		}
	})
}

func TestStderrLimit(t *testing.T) {
	binding := events.ProcessBinding{Command: program(t, "flood-stderr"), Output: "text"}
	got := open(t, t.TempDir()).Invoke(t.Context(), invocation(binding, events.EffectRead, `{}`))
	if got.Code != events.CodeOutputTooLarge || len(got.Evidence[1].Content) > 16<<10 {
		t.Errorf("outcome = %v, %d bytes of diagnostics", got.Code, len(got.Evidence[1].Content))
	}
}

// Whatever a program starts ends with it.
func TestNothingIsLeft(t *testing.T) {
	tests := map[string]struct {
		helper  string
		timeout time.Duration
		want    capability.Status
	}{
		"a family that ignores SIGTERM": {"family", time.Second, capability.StatusUncertain},
		"a child left behind":           {"orphan", 20 * time.Second, capability.StatusCompleted},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			note := filepath.Join(t.TempDir(), "pids")
			binding := events.ProcessBinding{Command: program(t, test.helper, note), Output: "text"}
			ctx, stop := context.WithTimeout(t.Context(), test.timeout)
			defer stop()
			got := open(t, t.TempDir()).Invoke(ctx, invocation(binding, events.EffectWrite, `{}`))
			if got.Status != test.want {
				t.Errorf("outcome = %s %v", got.Status, got.Code)
			}
			var parent, child int
			data, err := os.ReadFile(note)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(string(data), &parent, &child); err != nil {
				t.Fatal(err)
			}
			for _, pid := range []int{parent, child} {
				waitGone(t, pid)
			}
		})
	}
}

// A process that leaves its group with the output of the program cannot hold
// the invocation up, and what could not be read is not taken for all.
func TestRunaway(t *testing.T) {
	note := filepath.Join(t.TempDir(), "pids")
	binding := events.ProcessBinding{Command: program(t, "runaway", note), Output: "text"}
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	got := open(t, t.TempDir()).Invoke(ctx, invocation(binding, events.EffectWrite, `{}`))
	if got.Status != capability.StatusUncertain || got.Code != events.CodeOutputInvalid {
		t.Errorf("outcome = %s %v", got.Status, got.Code)
	}
	data, err := os.ReadFile(note)
	if err != nil {
		t.Fatal(err)
	}
	var parent, child int
	if _, err := fmt.Sscan(string(data), &parent, &child); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, syscall.SIGKILL); err != nil {
		t.Errorf("the child is gone: %v", err)
	}
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

func TestNew(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]process.Options{
		"no workspace":   {},
		"not there":      {Workspace: filepath.Join(t.TempDir(), "none")},
		"not a folder":   {Workspace: file},
		"negative grace": {Workspace: t.TempDir(), Grace: -1},
		"negative limit": {Workspace: t.TempDir(), StderrBytes: -1},
	} {
		if p, err := process.New(options); err == nil {
			t.Errorf("%s: New = %v, want an error", name, p)
		}
	}
}
