package host_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"example.org/mandate/internal/provider/internal/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workspace returns a workspace with a program, reached by a link too.
func workspace(t *testing.T) host.Workspace {
	t.Helper()
	base := t.TempDir()
	root := filepath.Join(base, "real")
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"real/bin/tool", "outside"} {
		if err := os.WriteFile(filepath.Join(base, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"link": "real", "real/bin/inside": "tool", "real/bin/outside": "../../outside", "real/loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := host.OpenWorkspace(filepath.Join(base, "link"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func TestProgram(t *testing.T) {
	w := workspace(t)
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(w.Root(), "bin", "tool")
	tests := map[string]struct {
		name, want string
		err        error
	}{
		"relative":        {"bin/tool", tool, nil},
		"link inside":     {"./bin/inside", tool, nil},
		"absolute":        {tool, tool, nil},
		"on the path":     {"sh", shell, nil},
		"link outside":    {"bin/outside", "", host.ErrOutside},
		"outside":         {"../outside", "", host.ErrOutside},
		"not there":       {"bin/none", "", host.ErrProgram},
		"absolute, none":  {filepath.Join(w.Root(), "none"), "", host.ErrProgram},
		"not on the path": {"no-such-program-anywhere", "", host.ErrProgram},
		"empty":           {"", "", host.ErrProgram},
		"NUL":             {"bin/tool\x00", "", host.ErrProgram},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := w.Program(test.name); got != test.want || !errors.Is(err, test.err) {
				t.Errorf("Program(%q) = %q, %v; want %q, %v", test.name, got, err, test.want, test.err)
			}
		})
	}
	if got, err := w.Directory("loop"); err == nil {
		t.Errorf("Directory of a loop = %q", got)
	}
}

func TestEnvironmentList(t *testing.T) {
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "host", "B": "host", "C": "host", "EMPTY": ""}[name]
		return value, ok
	}
	got, err := host.Environment{
		Pass: []string{"A", "B", "C", "EMPTY", "UNSET"}, Set: map[string]string{"B": "set", "C": "set", "D": "x=y"},
		Own: map[string]string{"C": "own"}, Lookup: lookup,
	}.List()
	if diff := cmp.Diff([]string{"A=host", "B=set", "C=own", "D=x=y", "EMPTY="}, got); diff != "" || err != nil {
		t.Errorf("error %v, list differs (-want +got):\n%s", err, diff)
	}
	if got, err := (host.Environment{Lookup: lookup}).List(); got == nil || len(got) != 0 || err != nil {
		t.Errorf("an empty environment is %v, %v", got, err)
	}
	for _, e := range []host.Environment{
		{Pass: []string{"A=B"}}, {Pass: []string{""}}, {Set: map[string]string{"A\x00": ""}}, {Own: map[string]string{"A": "\x00"}},
	} {
		e.Lookup = lookup
		if got, err := e.List(); !errors.Is(err, host.ErrVariable) {
			t.Errorf("%+v: %v, %v", e, got, err)
		}
	}
}

func TestGroup(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	start := func(script string) *host.Group {
		g, err := host.Start(&exec.Cmd{Path: shell, Args: []string{"sh", "-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	if g := start("exit 7"); g.ExitCode() != 7 || g.OutputCut() {
		t.Errorf("code %d, cut %v", g.ExitCode(), g.OutputCut())
	}
	g := start("trap '' TERM; while :; do sleep 1; done")
	g.Stop(50 * time.Millisecond)
	if g.ExitCode() != -1 {
		t.Errorf("code %d, want -1: killed", g.ExitCode())
	}
	// Stopping what has ended does nothing, at any time.
	g.Stop(time.Hour)
	if _, err := host.Start(&exec.Cmd{Path: filepath.Join(t.TempDir(), "none")}); !errors.Is(err, host.ErrProgram) {
		t.Errorf("error = %v", err)
	}
}
