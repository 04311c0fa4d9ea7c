package commandline

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds how long anything may take; a busy machine is slow.
const patience = 90 * time.Second

func root(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built struct {
	sync.Once
	directory string
	err       error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.directory != "" {
		_ = os.RemoveAll(built.directory) // in the system's directory for that
	}
	os.Exit(code)
}

// binaries builds mandate and the programs of the example once, and returns
// the directory that holds them.
func binaries(t *testing.T) string {
	t.Helper()
	built.Do(func() {
		//nolint:usetesting // it outlives the test that comes first
		if built.directory, built.err = os.MkdirTemp("", "mandate-binaries-"); built.err != nil {
			return
		}
		command := exec.Command("go", "build", "-o", built.directory+string(filepath.Separator),
			"./cmd/mandate", "./examples/release-check/cmd/filereader", "./examples/release-check/cmd/publish")
		command.Dir = root(t)
		if out, err := command.CombinedOutput(); err != nil {
			t.Logf("%s", out)
			built.err = err
		}
	})
	if built.err != nil {
		t.Fatalf("build: %v", built.err)
	}
	return built.directory
}

// workspace lays out what the example's capabilities work in.
func workspace(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for _, module := range []string{"module", "failing"} {
		if err := os.CopyFS(filepath.Join(directory, module), os.DirFS(filepath.Join(root(t), "examples", "release-check", module))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(directory, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{"filereader", "publish"} {
		// A link would lead out of the workspace.
		data, err := os.ReadFile(filepath.Join(binaries(t), program))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, "bin", program), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func example(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(root(t), "examples", "release-check", name)
}

// result is what a command did.
type result struct {
	code   int
	stdout string
	stderr string
}

// mandate runs a command against a server, "" for none.
func mandate(t *testing.T, server, stdin string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(binaries(t), "mandate"), args...)
	command.Env = append(os.Environ(), "MANDATE_SERVER="+server)
	if server == "" {
		command.Env = os.Environ()
	}
	command.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	if command.ProcessState == nil {
		t.Fatalf("%v: %v", args, err)
	}
	return result{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// server is a running mandate up.
type server struct {
	address string
	ready   string
	command *exec.Cmd
	output  *bytes.Buffer // further lines of standard output
	stderr  *bytes.Buffer
	ended   chan error
}

// up starts mandate up and waits until it is ready.
func up(t *testing.T, args ...string) *server {
	t.Helper()
	args = append([]string{"up", "--http", "127.0.0.1:0"}, args...)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &server{
		command: exec.CommandContext(ctx, filepath.Join(binaries(t), "mandate"), args...),
		output:  &bytes.Buffer{}, stderr: &bytes.Buffer{}, ended: make(chan error, 1),
	}
	s.command.Stderr = s.stderr
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		s.ended <- <-s.ended
	})
	first := make(chan string, 1)
	go func() {
		reader := bufio.NewReader(stdout)
		line, _ := reader.ReadString('\n')
		first <- line
		_, _ = io.Copy(s.output, reader) // it ends with the process
		s.ended <- s.command.Wait()
	}()
	select {
	case s.ready = <-first:
	case <-time.After(patience):
		t.Fatal("mandate up is not ready")
	}
	for field := range strings.FieldsSeq(s.ready) {
		if address, ok := strings.CutPrefix(field, "http="); ok {
			s.address = address
		}
	}
	if !strings.HasPrefix(s.ready, "ready http=http://127.0.0.1:") || s.address == "" {
		t.Fatalf("ready line %q, standard error %s", s.ready, s.stderr)
	}
	return s
}

// stop sends a signal and returns how the process ended.
func (s *server) stop(t *testing.T, signal os.Signal) error {
	t.Helper()
	if err := s.command.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		s.ended <- err
		return err
	case <-time.After(patience):
		t.Fatal("it does not end")
		return nil
	}
}

func (r result) want(t *testing.T, code int, says ...string) result {
	t.Helper()
	if r.code != code {
		t.Fatalf("exit code %d instead of %d\n%s\n%s", r.code, code, r.stdout, r.stderr)
	}
	for _, text := range says {
		if !strings.Contains(r.stdout, text) {
			t.Errorf("%q is not in the output:\n%s", text, r.stdout)
		}
	}
	return r
}

var interrupt = []os.Signal{syscall.SIGTERM, syscall.SIGINT}
