package bounded_test

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/bounded"
)

func testdata(t *testing.T, name string) []byte {
	t.Helper()
	return []byte(document(t, "services", "executor", "internal", "bounded", "testdata", name+".json"))
}

// TestPublicKnownAnswers runs the fixture through the public package, and leaves the working directory as it was.
func TestPublicKnownAnswers(t *testing.T) {
	req.Covers(t, "BNAR-6.22", "BNAR-1.21", "BNAR-8.5", "BNAR-8.6", "BNAR-7.1")
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("TMPDIR", dir)
	agent, err := bounded.New(testdata(t, "profile"), bounded.NewFixture(), bounded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := bounded.Run(t.Context(), agent, testdata(t, "task"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(run.Trace(), testdata(t, "trace")) || !bytes.Equal(run.Evidence(), testdata(t, "evidence")) || !bytes.Equal(run.Receipt(), testdata(t, "accounting_receipt.derived")) {
		t.Error("other records than the known ones")
	}
	records := bounded.Records{Trace: run.Trace(), Evidence: run.Evidence(), Profile: testdata(t, "profile"), Task: testdata(t, "task"), Message: new("done"), Receipt: run.Receipt()}
	if err := bounded.Verify(records); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestSurfaceIsOpaque lists all that can be had of a run, and that nothing of the closed types can be set from outside.
func TestSurfaceIsOpaque(t *testing.T) {
	req.Covers(t, "BNAR-7.1", "BNAR-7.3", "BNAR-7.4", "BNAR-7.5", "BNAR-7.6", "BNAR-3.11")
	var methods []string
	for run := reflect.TypeFor[*bounded.AgentRun](); len(methods) < run.NumMethod(); {
		methods = append(methods, run.Method(len(methods)).Name)
	}
	want := []string{"Evidence", "EvidenceDigest", "Receipt", "ReceiptDigest", "Status", "Trace", "TraceDigest", "UntrustedFinalMessage"}
	if !slices.Equal(methods, want) {
		t.Errorf("a run has %q, want %q", methods, want)
	}
	for _, closed := range []reflect.Type{
		reflect.TypeFor[bounded.Agent](), reflect.TypeFor[bounded.AgentRun](), reflect.TypeFor[bounded.Attempt](), reflect.TypeFor[bounded.Usage](),
		reflect.TypeFor[bounded.Cancellation](), reflect.TypeFor[bounded.ProviderSink](), reflect.TypeFor[bounded.ToolSink](),
	} {
		for field := range closed.Fields() {
			if field.IsExported() {
				t.Errorf("%s shows %s", closed, field.Name)
			}
		}
	}
	for _, sink := range []reflect.Type{reflect.TypeFor[*bounded.ProviderSink](), reflect.TypeFor[*bounded.ToolSink]()} {
		if sink.NumMethod() != 1 || sink.Method(0).Name != "Push" {
			t.Errorf("%s has more than Push", sink)
		}
	}
	// Nothing takes a receipt in order to act on it: the one function that reads records gives back an error or nothing.
	if verify := reflect.TypeOf(bounded.Verify); verify.NumOut() != 1 {
		t.Errorf("Verify is %s", verify)
	}
}

// TestCancellationIsMonotonic has no way back.
func TestCancellationIsMonotonic(t *testing.T) {
	req.Covers(t, "BNAR-7.2")
	var methods []string
	for c := reflect.TypeFor[*bounded.Cancellation](); len(methods) < c.NumMethod(); {
		methods = append(methods, c.Method(len(methods)).Name)
	}
	if !slices.Equal(methods, []string{"Cancel", "Cancelled"}) {
		t.Errorf("a cancellation has %q", methods)
	}
	c := bounded.NewCancellation()
	agents := make([]*bounded.Agent, 2) // share it
	for i := range agents {
		agent, err := bounded.New(testdata(t, "profile"), bounded.NewFixture(), bounded.Options{Cancellation: c})
		if err != nil {
			t.Fatal(err)
		}
		agents[i] = agent
	}
	agents[0].Cancellation().Cancel()
	for _, agent := range agents {
		for range 2 {
			if _, err := agent.Run(testdata(t, "task")); err == nil || err.Error() != "SPX-I220: Agent Runtime run was cancelled" {
				t.Errorf("ran: %v", err)
			}
		}
	}
}

// TestContextCancels ends a run when its context ends.
func TestContextCancels(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	agent, err := bounded.New(testdata(t, "profile"), bounded.NewFixture(), bounded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = bounded.Run(ctx, agent, testdata(t, "task"))
	if d, ok := errors.AsType[*bounded.Diagnostic](err); !ok || d.Code != "SPX-I220" {
		t.Errorf("ran: %v", err)
	}
}

// forbidden is what the core may import nothing of, by what it would be for.
var forbidden = map[string][]string{
	"BNAR-1.17": {"net", "net/http"},
	"BNAR-1.18": {"github.com/", "google.golang.org/", "cloud.google.com/"},
	"BNAR-1.19": {"os/exec", "syscall", "golang.org/x/sys"},
	"BNAR-1.20": {"os", "os/user"},
	"BNAR-1.21": {"os", "io/ioutil", "path/filepath"},
	"BNAR-1.22": {"database/sql", "example.org/mandate/internal/journal"},
	"BNAR-1.23": {"crypto/ecdsa", "crypto/ed25519", "crypto/rsa", "crypto/x509"},
}

// TestCoreImportsNoWorld reads every import of the core. internal/archtest allows only what is pure; this names what each
// absence means.
func TestCoreImportsNoWorld(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	imports := map[string]bool{}
	err = filepath.WalkDir(filepath.Join(root, "services", "executor", "internal", "bounded"), func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files++
		ast.Inspect(parsed, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s starts a goroutine", name)
			}
			return true
		})
		for _, spec := range parsed.Imports {
			imports[strings.Trim(spec.Path.Value, `"`)] = true
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("%d files, %v", files, err)
	}
	for id, paths := range forbidden {
		t.Run(id, func(t *testing.T) {
			req.Covers(t, id)
			for path := range imports {
				for _, not := range paths {
					if path == not || strings.HasPrefix(path, strings.TrimSuffix(not, "/")+"/") {
						t.Errorf("the core imports %s", path)
					}
				}
			}
		})
	}
}

// TestClock goes forward only.
func TestClock(t *testing.T) {
	now := time.Unix(100, 0)
	clock := bounded.NewClock(func() time.Time { return now })
	for after, want := range map[time.Duration]uint64{0: 0, 1999 * time.Microsecond: 1, time.Second: 1000, -time.Second: 0} {
		now = time.Unix(100, 0).Add(after)
		if got := clock.ElapsedMillis(); got != want {
			t.Errorf("%s: %d, want %d", after, got, want)
		}
	}
	if bounded.NewClock(nil).ElapsedMillis() > 60_000 {
		t.Error("the system's clock is far off")
	}
}

// TestInvokeFits has results that are just as long as they may be.
func TestInvokeFits(t *testing.T) {
	arguments, err := json.Marshal(map[string]string{"profile": string(testdata(t, "profile")), "task": string(testdata(t, "task"))})
	if err != nil {
		t.Fatal(err)
	}
	completed := 0
	for most := int64(50_000); most < 130_000; most += 997 {
		value, err := bounded.Invoke(t.Context(), bounded.Invocation{Host: bounded.NewFixture(), Arguments: arguments, OutputBytes: most})
		if err != nil {
			if d, ok := errors.AsType[*bounded.Diagnostic](err); !ok || d.Code != "SPX-G208" {
				t.Errorf("%d: %v", most, err)
			}
			continue
		}
		completed++
		if int64(len(value)) > most {
			t.Errorf("%d bytes, %d are allowed", len(value), most)
		}
	}
	if completed == 0 {
		t.Error("nothing fits")
	}
}
