// Package browser tests the pages of the gateway in a headless browser. It is
// a module of its own: the browser driver is no dependency of the product.
package browser

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds how long anything may take; a busy machine is slow.
const patience = 60 * time.Second

// binary is the one to test: MANDATE, as tools/browser-test.sh sets it.
func binary(t *testing.T) string {
	t.Helper()
	name := os.Getenv("MANDATE")
	if name == "" {
		t.Skip("MANDATE names no binary; run make browser-test")
	}
	return name
}

// mandate runs a command, which must end with a code, and returns its output.
func mandate(t *testing.T, server string, code int, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary(t), args...)
	command.Env = append(os.Environ(), "MANDATE_SERVER="+server)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if command.ProcessState == nil || command.ProcessState.ExitCode() != code {
		t.Fatalf("mandate %v: %v, not %d\n%s\n%s", args, err, code, out, stderr.String())
	}
	return string(out)
}

// up starts the example's workspace and a gateway for it, and returns its
// address.
func up(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	workspace := t.TempDir()
	for _, module := range []string{"module", "failing"} {
		if err := os.CopyFS(filepath.Join(workspace, module), os.DirFS(filepath.Join(root, "examples", "release-check", module))); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"filereader", "publish"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(workspace, "bin", program), "./examples/release-check/cmd/"+program)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	command := exec.CommandContext(ctx, binary(t), "up", "--data-dir", t.TempDir(), "--http", "127.0.0.1:0", "--workspace", workspace)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = patience
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = command.Wait() // its end is another test's matter
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("mandate up: %v", err)
	}
	match := regexp.MustCompile(`http=(\S+)`).FindStringSubmatch(line)
	if match == nil {
		t.Fatalf("ready line %q", line)
	}
	mandate(t, match[1], 0, "apply", "-f", filepath.Join(root, "examples", "release-check", "agent.yaml"))
	return match[1]
}

// submit submits a request of the example and returns the run.
func submit(t *testing.T, server, name string) string {
	t.Helper()
	return strings.TrimSpace(mandate(t, server, 0, "submit", "-f", filepath.Join("..", "..", "examples", "release-check", name)))
}

// tab is a tab of a browser, and what went wrong in it.
type tab struct {
	context.Context
	t        *testing.T
	mu       sync.Mutex
	problems []string
}

func open(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()))
	if name := os.Getenv("MANDATE_BROWSER"); name != "" {
		options = append(options, chromedp.ExecPath(name))
	}
	limited, end := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	allocated, release := chromedp.NewExecAllocator(limited, options...)
	ctx, closeTab := chromedp.NewContext(allocated)
	b := &tab{Context: ctx, t: t}
	t.Cleanup(func() { closeTab(); release(); end() })
	b.do(chromedp.Navigate("about:blank"))
	err := chromedp.Listen(ctx, func(event any) {
		b.mu.Lock()
		defer b.mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			b.problems = append(b.problems, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		case *runtime.EventExceptionThrown:
			b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// is evaluates a condition in the page.
func (b *tab) is(expression string) bool {
	b.t.Helper()
	ok, err := chromedp.Run(b, chromedp.Evaluate[bool](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return ok
}

// await waits until a condition holds in the page.
func (b *tab) await(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if b.is(expression) {
			return
		}
	}
	text, _ := chromedp.Run(b, chromedp.Evaluate[string]("document.body.innerText"))
	b.t.Fatalf("it never holds: %s\n%s", expression, text)
}

func (b *tab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, problem := range b.problems {
		if !strings.Contains(problem, "favicon.ico") {
			b.t.Error(problem)
		}
	}
}

// TestPagesAreLive opens the list before anything was asked and a run while it
// waits for a person. Both show what happens without being loaded again.
func TestPagesAreLive(t *testing.T) {
	server := up(t)
	list := open(t)
	list.do(chromedp.Navigate(server + "/"))
	list.await(`document.getElementById("live").textContent === "live"`)
	list.is(`window.same = true`)
	run := submit(t, server, "request-b.yaml")
	list.await(`document.body.innerText.includes("` + run + `") && document.body.innerText.includes("waits for a person")`)

	page := open(t)
	page.do(chromedp.Navigate(server + "/runs/" + run))
	page.await(`document.getElementById("live").textContent === "live"`)
	page.await(`document.body.innerText.includes("Approval needed") && document.body.innerText.includes("release.publish@1")`)
	page.is(`window.same = true`)
	text, err := chromedp.Run(page, chromedp.Evaluate[string](`document.querySelector("main").innerText`))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`mandate approve (approval-[0-9a-f]+)`).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("the page does not say how to approve:\n%s", text)
	}
	mandate(t, server, 0, "approve", match[1])
	page.await(`document.querySelector(".phase").textContent === "completed" && document.title.startsWith("completed")`)
	page.await(`document.body.innerText.includes("5 passed, 0 failed") && document.body.innerText.includes("run-concluded")`)
	list.await(`document.querySelector(".phase").textContent === "completed"`)
	for name, b := range map[string]*tab{"list": list, "run": page} {
		if !b.is(`window.same === true`) {
			t.Errorf("the page of the %s was loaded again", name)
		}
		b.clean()
	}
}

// TestPagesKeepTheirStructure checks what people who do not see a page rely on.
func TestPagesKeepTheirStructure(t *testing.T) {
	server := up(t)
	run := submit(t, server, "request-a.yaml")
	mandate(t, server, 0, "run", "watch", run, "--timeout", "50s")
	b := open(t)
	for _, path := range []string{"/", "/?outcome=completed", "/runs/" + run, "/runs/nothing"} {
		b.do(chromedp.Navigate(server + path))
		for _, expression := range []string{
			`document.documentElement.lang === "en"`,
			`document.title.length > 5`,
			`document.querySelectorAll("h1").length === 1 && document.querySelectorAll("main").length === 1`,
			`[...document.querySelectorAll("table")].every(t => t.caption && t.querySelector("th[scope]"))`,
			`[...document.querySelectorAll("select, input:not([type=hidden])")].every(e => e.labels.length > 0)`,
			`[...document.querySelectorAll("a, button")].every(e => e.textContent.trim() !== "")`,
			`[...document.querySelectorAll("[id]")].length === new Set([...document.querySelectorAll("[id]")].map(e => e.id)).size`,
			`document.querySelectorAll("script").length === 1 && document.querySelectorAll("[style], style").length === 0`,
			`document.documentElement.scrollWidth <= window.innerWidth`,
		} {
			if !b.is(expression) {
				t.Errorf("%s: %s does not hold", path, expression)
			}
		}
	}
	// A link of the list leads to the run.
	b.do(chromedp.Navigate(server+"/"), chromedp.Click("tbody a"))
	b.await(`location.pathname === "/runs/` + run + `"`)
}
