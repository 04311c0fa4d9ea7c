package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
)

// use runs a command line and returns its exit code and what it wrote.
func use(t *testing.T, environment map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), Options{
		Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Environment: func(name string) (string, bool) { value, ok := environment[name]; return value, ok },
	})
	return code, out.String(), errs.String()
}

func walk(command *cobra.Command, visit func(*cobra.Command)) {
	visit(command)
	for _, inner := range command.Commands() {
		if inner.Name() != "help" && inner.Name() != "completion" {
			walk(inner, visit)
		}
	}
}

// TestEveryCommandExplainsItself checks what a person sees who asks for help.
func TestEveryCommandExplainsItself(t *testing.T) {
	root := (&cli{}).root()
	found := map[string]bool{}
	walk(root, func(command *cobra.Command) {
		found[command.CommandPath()] = true
		if command.Short == "" || command.Example == "" {
			t.Errorf("%s has no description or no example", command.CommandPath())
		}
		for line := range strings.Lines(command.Example) {
			if !strings.HasPrefix(line, "  mandate") {
				t.Errorf("%s: example %q", command.CommandPath(), line)
			}
		}
		if !command.Runnable() && command != root {
			t.Errorf("%s does nothing", command.CommandPath())
		}
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Usage == "" {
				t.Errorf("%s: flag %s has no description", command.CommandPath(), flag.Name)
			}
		})
		args := append(strings.Fields(command.CommandPath())[1:], "--help")
		if code, out, errs := use(t, nil, args...); code != 0 || errs != "" || !strings.Contains(out, "Usage:") {
			t.Errorf("%v: code %d, %q, %q", args, code, out, errs)
		}
	})
	for _, name := range []string{
		"up", "serve", "bootstrap", "check", "version", "apply", "get", "revoke capability", "submit", "runs", "run get", "run watch",
		"run cancel", "interactions", "approve", "deny", "events", "export", "verify", "replay", "rebuild",
	} {
		if !found["mandate "+name] {
			t.Errorf("there is no mandate %s", name)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, errs := use(t, nil, "completion", shell); code != 0 || errs != "" || len(out) < 500 {
			t.Errorf("%s: code %d, %d bytes, %q", shell, code, len(out), errs)
		}
	}
	for line, want := range map[string]string{"runs -o ": "markdown", "get ": "capabilities", "serve --target ": "executor", "": "submit"} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		if code, out, _ := use(t, nil, args...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%q: code %d, %q", line, code, out)
		}
	}
}

// TestMistakesAreOneLine checks that every mistake gives exit code 1 and one
// line with a code and what to do, and that nothing is written to standard
// output.
func TestMistakesAreOneLine(t *testing.T) {
	directory := t.TempDir()
	write := func(name, content string) string {
		file := filepath.Join(directory, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	bad := write("bad.yaml", "http: 127.0.0.1:0\nhttpp: x\n")
	worse := write("worse.yaml", "replicas: 3\n")
	worst := write("worst.yaml", "drain-timeout: soon\n")
	empty := write("empty.yaml", "")
	request := write("request.yaml", "apiVersion: mandate/v1\nkind: IntentRequest\nspec:\n  nope: 1\n")
	two := write("two.yaml", "apiVersion: mandate/v1\nkind: IntentRequest\nspec: {}\n---\napiVersion: mandate/v1\nkind: IntentRequest\nspec: {}\n")
	token := write("token", "\n")
	for name, c := range map[string]struct {
		args        []string
		environment map[string]string
		says        []string
	}{
		"unknown command":   {[]string{"frob"}, nil, []string{"MD-1903", "frob", "mandate --help"}},
		"unknown flag":      {[]string{"runs", "--nope"}, nil, []string{"MD-1903", "--nope", "mandate runs --help"}},
		"missing argument":  {[]string{"approve"}, nil, []string{"MD-1903", "mandate approve --help"}},
		"group":             {[]string{"run"}, nil, []string{"MD-1903", "mandate run --help"}},
		"unknown in group":  {[]string{"run", "frob"}, nil, []string{"MD-1903", "frob"}},
		"output":            {[]string{"runs", "-o", "xml"}, nil, []string{"MD-1903", "markdown"}},
		"kind":              {[]string{"get", "things"}, nil, []string{"MD-1903", "things", "agents"}},
		"server":            {[]string{"runs", "--server", "nowhere"}, nil, []string{"MD-1903", "--server nowhere"}},
		"nobody there":      {[]string{"runs", "--server", "http://127.0.0.1:1"}, nil, []string{"MD-1902", "mandate up"}},
		"environment":       {[]string{"runs"}, map[string]string{"MANDATE_LIMIT": "x"}, []string{"MD-1903", "MANDATE_LIMIT"}},
		"no file":           {[]string{"submit"}, nil, []string{"MD-1903", "-f"}},
		"missing file":      {[]string{"submit", "-f", filepath.Join(directory, "none")}, nil, []string{"MD-1903", "none"}},
		"empty file":        {[]string{"submit", "-f", empty}, nil, []string{"MD-1001", "empty.yaml", "no document"}},
		"request":           {[]string{"submit", "-f", request}, nil, []string{"MD-1001", "request.yaml:4", "nope"}},
		"two requests":      {[]string{"submit", "-f", two}, nil, []string{"MD-1001", "two.yaml:5"}},
		"not a resource":    {[]string{"apply", "-f", two}, nil, []string{"MD-1001", "two.yaml:1", "mandate submit"}},
		"directory":         {[]string{"apply", "-f", t.TempDir()}, nil, []string{"MD-1903", ".yaml"}},
		"token file":        {[]string{"runs", "--token-file", token}, nil, []string{"MD-1903", "token"}},
		"unknown setting":   {[]string{"check", "--config", bad}, nil, []string{"MD-1001", "bad.yaml:2", "httpp"}},
		"other's setting":   {[]string{"check", "--config", worse}, nil, []string{"MD-1001", "worse.yaml:1", "replicas"}},
		"value of setting":  {[]string{"check", "--config", worst}, nil, []string{"MD-1001", "worst.yaml:1", "soon"}},
		"no config":         {[]string{"up", "--config", filepath.Join(directory, "none")}, nil, []string{"MD-1903", "none"}},
		"workspace":         {[]string{"check", "--workspace", filepath.Join(directory, "none")}, nil, []string{"MD-1903", "workspace"}},
		"sync":              {[]string{"up", "--sync", "sometimes"}, nil, []string{"MD-1903", "always or default"}},
		"log level":         {[]string{"up", "--log-level", "loud"}, nil, []string{"MD-1903", "loud"}},
		"gateway's tokens":  {[]string{"check", "--token-file", token}, nil, []string{"MD-1903", "no tokens"}},
		"no target":         {[]string{"serve", "--nats", "nats://127.0.0.1:1"}, nil, []string{"MD-1903", "--target"}},
		"unknown target":    {[]string{"serve", "--nats", "nats://127.0.0.1:1", "--target", "x"}, nil, []string{"MD-1903", "executor"}},
		"no NATS":           {[]string{"serve", "--target", "all"}, nil, []string{"MD-1903", "--nats"}},
		"no key":            {[]string{"serve", "--target", "all", "--nats", "nats://127.0.0.1:1"}, nil, []string{"MD-1903", "key file"}},
		"no NATS to make":   {[]string{"bootstrap"}, nil, []string{"MD-1903", "--nats"}},
		"deny without why":  {[]string{"deny", "x"}, nil, []string{"MD-1903", "--reason"}},
		"bundle":            {[]string{"verify", empty}, nil, []string{"MD-1610"}},
		"bundle to replay":  {[]string{"replay", bad}, nil, []string{"MD-1609"}},
		"revoke of nothing": {[]string{"revoke"}, nil, []string{"MD-1903", "mandate revoke --help"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := use(t, c.environment, c.args...)
			if code != exitOther || out != "" {
				t.Errorf("code %d, output %q", code, out)
			}
			if strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "error: MD-") || !strings.HasSuffix(errs, "\n") {
				t.Errorf("not one line: %q", errs)
			}
			for _, text := range c.says {
				if !strings.Contains(errs, text) {
					t.Errorf("%q does not say %q", errs, text)
				}
			}
		})
	}
}

// TestPrecedence checks that a flag beats the environment, which beats a file,
// which beats the default.
func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte("sync: bad-in-file\nlog-format: bad-in-file\nhttp: 127.0.0.1:0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{"MANDATE_SYNC": "bad-in-environment", "MANDATE_CONFIG": file}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"check", "--sync", "bad-in-flag", "--log-format", "json"}, "bad-in-flag"},
		{[]string{"check", "--log-format", "json"}, "bad-in-environment"},
		{[]string{"check", "--sync", "always"}, "bad-in-file"},
	} {
		if code, _, errs := use(t, environment, c.args...); code != exitOther || !strings.Contains(errs, c.says) {
			t.Errorf("%v: code %d, %q does not say %q", c.args, code, errs, c.says)
		}
	}
	if code, out, errs := use(t, nil, "check"); code != 0 || !strings.Contains(out, "valid") {
		t.Errorf("code %d, %q, %q", code, out, errs)
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := use(t, nil, "version", "-o", "json")
	if code != 0 || !strings.Contains(out, `"version": "`+Version+`"`) || !strings.Contains(out, `"protocol": 1`) {
		t.Errorf("code %d, %q", code, out)
	}
	for output, want := range map[string]string{"yaml": "version: " + Version, "markdown": "| version | " + Version, "table": "version   " + Version} {
		if _, out, _ := use(t, nil, "version", "-o", output); !strings.Contains(out, want) {
			t.Errorf("%s: %q", output, out)
		}
	}
}

// TestExitCodes fixes the contract.
func TestExitCodes(t *testing.T) {
	req.Covers(t, "C3-RUN-005.g")
	want := map[events.Tag]int{
		events.TagCompleted: 0, events.TagRejected: 10, events.TagUnresolved: 11, events.TagUnsupported: 12,
		events.TagInconclusive: 13, events.TagFailed: 14, events.TagCancelled: 15, events.TagIndeterminate: 16,
	}
	if len(events.Tags()) != len(want) {
		t.Errorf("the outcomes are %v", events.Tags())
	}
	for _, tag := range events.Tags() {
		if got := exitOf(tag); got != want[tag] {
			t.Errorf("%s: %d instead of %d", tag, got, want[tag])
		}
	}
	if exitWaiting != 20 || exitTimeout != 21 || exitOther != 1 || exitOf("") != 1 {
		t.Error("another code changed")
	}
}

// TestTablesShowNoControlCharacters prints what others wrote.
func TestTablesShowNoControlCharacters(t *testing.T) {
	shown := table{columns: []string{"name", "text"}}
	shown.row("a|b", "\x1b[31mred\nnext *bold* <b>")
	if text := string(shown.text()); strings.ContainsRune(text, '\x1b') || strings.Count(text, "\n") != 2 {
		t.Errorf("text %q", text)
	}
	if text := string(shown.markdown()); strings.ContainsRune(text, '\x1b') || strings.Count(text, "\n") != 3 || !strings.Contains(text, `a\|b`) || strings.Contains(text, "<b>") {
		t.Errorf("markdown %q", text)
	}
}
