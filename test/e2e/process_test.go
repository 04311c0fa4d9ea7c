package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/provider/builtin"
)

// processVariable makes the test binary a Mandate process: its value is the
// JSON of a plan.
const processVariable = "MANDATE_TEST_PROCESS"

// plan is what a process of the test binary does.
type plan struct {
	Dir     string   // data directory, and where the ledger of effects is
	NATSURL string   // instead of an embedded server
	KeyFile string   // with NATSURL
	Targets []string // empty means all
	// CrashAt kills the process at an append, counting from 1, before or after
	// it is stored; 0 is never.
	CrashAt    int64
	CrashAfter bool
	// Drive submits a request of a kind under a nonce, decides what waits, and
	// ends the process when the document is there.
	Drive string
	Nonce string
}

func TestMain(m *testing.M) {
	text := os.Getenv(processVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var p plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "process:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func (p plan) run() error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	a, err := p.start(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("ready http=%s nats=%s\n", a.HTTPAddr(), a.NATSURL())
	if p.Drive != "" {
		err = drive(ctx, a, p)
	} else {
		select {
		case <-ctx.Done():
		case <-a.Failed().Done():
			err = context.Cause(a.Failed())
		}
	}
	return errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
}

func (p plan) start(ctx context.Context) (*app.App, error) {
	functions := builtin.NewBuilder()
	if err := errors.Join(functions.Register("look", p.look), functions.Register("write", p.write)); err != nil {
		return nil, err
	}
	o := app.DefaultOptions()
	o.HTTPListen, o.Builtin, o.DrainTimeout = "127.0.0.1:0", functions.Build(), 5*time.Second
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	if p.NATSURL == "" {
		o.DataDir = p.Dir
	} else {
		o.NATSURL, o.KeyFile = p.NATSURL, p.KeyFile
	}
	if len(p.Targets) > 0 {
		targets, err := app.ParseTargets(strings.Join(p.Targets, ","))
		if err != nil {
			return nil, err
		}
		o.Targets = targets
	}
	if p.CrashAt > 0 {
		o.WrapJournal = func(j journal.Journal) journal.Journal { return &crashing{Journal: j, plan: p} }
	}
	a, err := app.New(o)
	if err != nil {
		return nil, err
	}
	return a, a.Start(ctx)
}

// look is a read. A word "bad" makes it find a failure.
func (p plan) look(_ context.Context, i capability.Invocation) ([]byte, error) {
	if err := p.note(i); err != nil {
		return nil, err
	}
	if bytes.Contains(i.Arguments, []byte("bad")) {
		return []byte(`{"failed":1}`), nil
	}
	return []byte(`{"failed":0}`), nil
}

// write is a write: its effect is the line in the ledger.
func (p plan) write(_ context.Context, i capability.Invocation) ([]byte, error) {
	return []byte(`{"failed":0}`), p.note(i)
}

var ledger sync.Mutex

// note appends the action to the ledger and syncs it.
func (p plan) note(i capability.Invocation) error {
	ledger.Lock()
	defer ledger.Unlock()
	file, err := os.OpenFile(filepath.Join(p.Dir, "ledger"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "%s %s %s\n", i.Run, i.Name, i.Action)
	return errors.Join(err, file.Sync(), file.Close())
}

// crashing kills the process at one append.
type crashing struct {
	journal.Journal
	plan    plan
	appends atomic.Int64
}

func (c *crashing) Append(ctx context.Context, commit *events.Commit, data []byte, after journal.Position) (journal.Position, error) {
	if commit.Subject.Owner == events.OwnerRegistry {
		return c.Journal.Append(ctx, commit, data, after)
	}
	n := c.appends.Add(1)
	if n == c.plan.CrashAt && !c.plan.CrashAfter {
		kill()
	}
	position, err := c.Journal.Append(ctx, commit, data, after)
	if n == c.plan.CrashAt {
		kill()
	}
	return position, err
}

// kill ends the process as kill -9 does.
func kill() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

// process is a running child.
type process struct {
	command *exec.Cmd
	stderr  *bytes.Buffer
	output  *bufio.Reader
	ready   string
}

// launch starts the test binary as a process. It is killed when the test ends.
func launch(t *testing.T, p plan) *process {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), processVariable+"="+string(text))
	pr := &process{command: c, stderr: new(bytes.Buffer)}
	c.Stderr = pr.stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	pr.output = bufio.NewReader(out)
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return pr
}

// waitReady reads the one line that says that the process serves.
func (p *process) waitReady(t *testing.T) {
	t.Helper()
	line, err := p.output.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		t.Fatalf("process is not ready: %q %v\n%s", line, err, p.stderr)
	}
	p.ready = line
}

// wait returns when the process ended: whether it was killed, and its error.
func (p *process) wait() (killed bool, err error) {
	_, readErr := io.Copy(io.Discard, p.output)
	err = p.command.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
			return true, nil
		}
		return false, fmt.Errorf("%w\n%s", err, p.stderr)
	}
	return false, errors.Join(err, readErr)
}
