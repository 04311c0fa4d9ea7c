package kubernetes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// startLimit is how long a process may take until it is ready; a busy machine is slow.
const startLimit = 60 * time.Second

// build compiles the binary that the image holds.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "mandate")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/mandate")
	cmd.Dir = root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// mandateContainers returns the containers that run our binary, by the name of their workload.
func mandateContainers(t *testing.T, overlay string) map[string]container {
	t.Helper()
	found := map[string]container{}
	for _, workload := range workloads(parse(t, render(t, overlay))) {
		for _, c := range workload.Spec.Template.Spec.Containers {
			if strings.HasPrefix(c.Image, "mandate.local/mandate:") {
				found[workload.Metadata.Name] = c
			}
		}
	}
	if len(found) == 0 {
		t.Fatalf("%s runs no container of ours", overlay)
	}
	return found
}

// withArgs returns the arguments with the values of some flags replaced.
func withArgs(args []string, values map[string]string) []string {
	out := append([]string{}, args...)
	for i, arg := range out {
		if value, ok := values[arg]; ok && i+1 < len(out) {
			out[i+1] = value
		}
	}
	return out
}

// hasFlag reports whether a help text describes the flag.
func hasFlag(help, flag string) bool {
	return regexp.MustCompile(`(?m)^\s.*` + regexp.QuoteMeta(flag) + `(\s|$)`).MatchString(help)
}

// TestBinaryHasTheCommandsAndFlags asks the binary for help on what the manifests use.
func TestBinaryHasTheCommandsAndFlags(t *testing.T) {
	binary := build(t)
	for _, overlay := range overlays {
		for name, c := range mandateContainers(t, overlay) {
			t.Run(overlay+"/"+name, func(t *testing.T) {
				out, err := exec.CommandContext(t.Context(), binary, c.Args[0], "--help").CombinedOutput()
				if err != nil {
					t.Fatalf("mandate %s --help: %v\n%s", c.Args[0], err, out)
				}
				if hasFlag(string(out), "--no-such-flag") {
					t.Fatal("any flag is found")
				}
				for _, arg := range c.Args[1:] {
					if strings.HasPrefix(arg, "--") && !hasFlag(string(out), arg) {
						t.Errorf("mandate %s has no flag %s", c.Args[0], arg)
					}
				}
			})
		}
	}
}

// TestPortsAgree compares the address that each container is told with the port that it declares.
func TestPortsAgree(t *testing.T) {
	for _, overlay := range overlays {
		for name, c := range mandateContainers(t, overlay) {
			if len(c.Ports) == 0 {
				continue
			}
			want := fmt.Sprintf("0.0.0.0:%d", c.Ports[0].ContainerPort)
			if args := withArgs(c.Args, map[string]string{"--http": want}); strings.Join(args, " ") != strings.Join(c.Args, " ") {
				t.Errorf("%s/%s: declares port %d, but runs %q", overlay, name, c.Ports[0].ContainerPort, c.Args)
			}
		}
	}
}

// process is a running binary.
type process struct {
	cmd  *exec.Cmd
	http string // address that it serves
	done chan error
}

// start runs the binary until it says that it is ready; the test's end stops it and checks that it drains.
func start(t *testing.T, binary string, args []string) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &process{cmd: exec.CommandContext(ctx, binary, args...), done: make(chan error, 1)}
	var stderr strings.Builder
	p.cmd.Stderr = &stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			if line, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
				ready <- line
				break
			}
		}
		_, _ = io.Copy(io.Discard, stdout) // so that it never waits for a reader
		p.done <- p.cmd.Wait()
	}()
	t.Cleanup(func() {
		defer cancel()
		p.stop(t, &stderr)
	})
	select {
	case line := <-ready:
		for field := range strings.FieldsSeq(line) {
			if address, ok := strings.CutPrefix(field, "http="); ok {
				p.http = strings.TrimPrefix(address, "http://")
			}
		}
		if p.http == "" {
			t.Fatalf("ready line without an address: %q", line)
		}
	case err := <-p.done:
		p.done <- err
		t.Fatalf("%q ended before it was ready: %v\n%s", args, err, stderr.String())
	case <-time.After(startLimit):
		t.Fatalf("%q is not ready", args)
	}
	return p
}

// stop asks the process to end as Kubernetes does, and expects it to end well.
func (p *process) stop(t *testing.T, stderr fmt.Stringer) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Logf("signal: %v", err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("%q: %v\n%s", p.cmd.Args, err, stderr)
		}
	case <-time.After(startLimit):
		t.Errorf("%q did not end", p.cmd.Args)
	}
}

// checkProbes asks what the kubelet would ask until all of it is well.
func checkProbes(t *testing.T, address string, c container) {
	t.Helper()
	for _, p := range []*probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
		var last error
		for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if last = get(t.Context(), "http://"+address+p.HTTPGet.Path); last == nil {
				break
			}
		}
		if last != nil {
			t.Errorf("%s: %v", p.HTTPGet.Path, last)
		}
	}
	// A server that answers anything would pass the above.
	if get(t.Context(), "http://"+address+"/no-such-probe") == nil {
		t.Error("a path that does not exist is well")
	}
}

// get returns an error unless the answer is 200.
func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	return nil
}

// tokens is a file of tokens, as the Secret of a deployment has it.
func tokens(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(strings.Repeat("0f", 32)+" admin roles=owner"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestSingleRuns starts what the pod of the single overlay runs.
func TestSingleRuns(t *testing.T) {
	c := mandateContainers(t, "single")["mandate"]
	p := start(t, build(t), withArgs(c.Args, map[string]string{
		"--data-dir": t.TempDir(), "--http": "127.0.0.1:0", "--nats": "127.0.0.1:0", "--token-file": tokens(t),
	}))
	checkProbes(t, p.http, c)
}

// TestSplitRuns bootstraps a server and starts what each pod of the split overlay runs against it.
func TestSplitRuns(t *testing.T) {
	binary := build(t)
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(),
		SyncAlways: true, NoSigs: true, NoLog: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(func() {
		broker.Shutdown()
		broker.WaitForShutdown()
	})
	if !broker.ReadyForConnections(startLimit) {
		t.Fatal("the NATS server is not ready")
	}
	containers := mandateContainers(t, "split")
	key := filepath.Join(t.TempDir(), "wrapping.key")
	if err := os.WriteFile(key, []byte(strings.Repeat("0f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"--nats": broker.ClientURL(), "--http": "127.0.0.1:0", "--replicas": "1", "--key-file": key, "--token-file": tokens(t)}
	for range 2 { // a Job may run again
		out, err := exec.CommandContext(t.Context(), binary, withArgs(containers["bootstrap"].Args, values)...).CombinedOutput()
		if err != nil {
			t.Fatalf("bootstrap: %v\n%s", err, out)
		}
	}
	for name, c := range containers {
		if name == "bootstrap" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			checkProbes(t, start(t, binary, withArgs(c.Args, values)).http, c)
		})
	}
}
