package gotest_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/internal/evidence/gotest"
	"example.org/mandate/internal/req"
)

// verdict is what a test compares: the counts and how the packages ended.
type verdict struct {
	Passed, Failed, Skipped int
	BuildFailed             bool
	Packages                map[string]gotest.Status
}

func verdictOf(r gotest.Report) verdict {
	v := verdict{Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped, BuildFailed: r.BuildFailed, Packages: map[string]gotest.Status{}}
	for _, p := range r.Packages {
		v.Packages[p.Name] = p.Status
	}
	return v
}

func TestParseRecorded(t *testing.T) {
	const reports = "_/home/user/git/test-reporter/reports/go"
	tests := map[string]verdict{
		"dorny-golang-json.jsonl": {
			Passed: 5, Failed: 6, Skipped: 1,
			Packages: map[string]gotest.Status{reports: gotest.StatusFailed},
		},
		// The race was found after the test had passed: the failure is the package's own.
		"gotestsum-panic-race-1.jsonl": {
			Passed: 1, Failed: 1,
			Packages: map[string]gotest.Status{"github.com/mafredri/test": gotest.StatusFailed},
		},
		// The test was running when the package failed.
		"gotestsum-panic-race-2.jsonl": {
			Failed:   1,
			Packages: map[string]gotest.Status{"gotest.tools/gotestsum/example": gotest.StatusFailed},
		},
		"gotestsum-setup-failed.jsonl": {
			Failed: 2, BuildFailed: true,
			Packages: map[string]gotest.Status{
				"example.com/internal/cacher": gotest.StatusFailed, "example.com/internal/cacher/subpkg": gotest.StatusFailed,
			},
		},
		"gotestsum-with-attributes.jsonl": {
			Passed:   1,
			Packages: map[string]gotest.Status{"gotest.tools/gotestsum/testjson/internal/withattributes": gotest.StatusPassed},
		},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := gotest.Parse(recorded(t, name), gotest.DefaultLimits())
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(want, verdictOf(report)); diff != "" {
				t.Errorf("verdict differs (-want +got):\n%s", diff)
			}
			if !report.Complete || report.Tool != gotest.Tool || report.Newest == 0 && name != "gotestsum-setup-failed.jsonl" {
				t.Errorf("report = complete %v, tool %q, newest %v", report.Complete, report.Tool, report.Newest)
			}
			if got, want := report.Succeeded(), want.Failed == 0; got != want {
				t.Errorf("Succeeded = %v, want %v", got, want)
			}
			for _, test := range report.Tests {
				if (test.Status == gotest.StatusFailed) != (test.Output != "") && test.Status != gotest.StatusSkipped {
					t.Errorf("test %s is %s with output %q", test.Name, test.Status, test.Output)
				}
			}
		})
	}
}

// Every recorded output of the shared collection either agrees with the
// events counted independently or has no verdict.
func TestParseCollection(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "..", "shared", "data", "test-reports", "reports.jsonl")
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Logf("the collection of test reports is not at %s", path)
		t.Skip("NOT TESTED: the shared collection of test reports is absent")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	type counts struct{ Run, Pass, Fail, Skip int }
	type row struct {
		ID, Format, Content string
		Counted             struct {
			Tests    counts
			Packages map[string]int
		} `json:"counted_events"`
	}
	seen, verdicts := 0, 0
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var r row
		if err := json.Unmarshal(scanner.Bytes(), &struct {
			*row
		}{&r}); err != nil || r.Format != "go-test-json" {
			continue // rows of other formats count otherwise
		}
		seen++
		report, err := gotest.Parse([]byte(r.Content), gotest.DefaultLimits())
		if err != nil {
			t.Logf("%s: no verdict: %v", r.ID, err)
			if report.Complete || !strings.Contains(r.ID, "missing-test-events") {
				t.Errorf("%s: unexpected: complete=%v err=%v", r.ID, report.Complete, err)
			}
			continue
		}
		verdicts++
		unfinished := r.Counted.Tests.Run - r.Counted.Tests.Pass - r.Counted.Tests.Fail - r.Counted.Tests.Skip
		own := 0
		for _, test := range report.Tests {
			if test.Name == gotest.PackageEntry {
				own++
			}
		}
		got := counts{Run: len(report.Tests) - own, Pass: report.Passed, Fail: report.Failed - own - unfinished, Skip: report.Skipped}
		if diff := cmp.Diff(r.Counted.Tests, got); diff != "" {
			t.Errorf("%s (-counted +report):\n%s", r.ID, diff)
		}
		if r.Counted.Packages["fail"] > 0 && (report.Failed == 0 || report.Succeeded()) {
			t.Errorf("%s: %d packages failed and the report shows no failure", r.ID, r.Counted.Packages["fail"])
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	if seen == 0 || verdicts == 0 {
		t.Fatalf("saw %d go-test-json files with %d verdicts", seen, verdicts)
	}
}

// TestParseNoVerdict shows that nothing broken is ever read as a success.
func TestParseNoVerdict(t *testing.T) {
	req.Covers(t, "OD-7.1.15")
	const start = `{"Action":"start","Package":"p"}` + "\n"
	const run = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n"
	const pass = `{"Action":"pass","Package":"p"}` + "\n"
	tests := map[string]struct {
		stream string
		want   error
	}{
		"empty":                 {"", gotest.ErrIncomplete},
		"blank":                 {"\n \n", gotest.ErrIncomplete},
		"text":                  {"ok  \tp\t0.1s\n", gotest.ErrMalformed},
		"package unfinished":    {start, gotest.ErrIncomplete},
		"test unfinished":       {start + run + pass, gotest.ErrContradiction},
		"failed in passed":      {start + run + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + pass, gotest.ErrContradiction},
		"two ends":              {start + pass + `{"Action":"fail","Package":"p"}` + "\n", gotest.ErrContradiction},
		"test with two ends":    {start + run + `{"Action":"fail","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n", gotest.ErrContradiction},
		"cut line":              {start + pass[:20], gotest.ErrMalformed},
		"array":                 {"[1]\n", gotest.ErrMalformed},
		"two values in a line":  {`{"Action":"start","Package":"p"}{"Action":"pass","Package":"p"}` + "\n", gotest.ErrMalformed},
		"no action":             {`{"Package":"p"}` + "\n", gotest.ErrMalformed},
		"duplicate member":      {`{"Action":"pass","Action":"fail","Package":"p"}` + "\n", gotest.ErrMalformed},
		"negative elapsed":      {`{"Action":"pass","Package":"p","Elapsed":-1}` + "\n", gotest.ErrMalformed},
		"huge elapsed":          {`{"Action":"pass","Package":"p","Elapsed":1e300}` + "\n", gotest.ErrMalformed},
		"wrong type":            {`{"Action":"pass","Package":7}` + "\n", gotest.ErrMalformed},
		"build without package": {`{"Action":"build-fail","ImportPath":"p"}` + "\n" + pass, gotest.ErrContradiction},
		"deep":                  {`{"Action":"pass","Package":"p","X":` + strings.Repeat("[", 5) + strings.Repeat("]", 5) + "}\n", gotest.ErrLimit},
		"very deep":             {`{"Action":"pass","Package":"p","X":` + strings.Repeat("[", 100_000) + "\n", gotest.ErrLimit},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := gotest.Parse([]byte(test.stream), gotest.DefaultLimits())
			if !errors.Is(err, test.want) {
				t.Errorf("error = %v, want %v", err, test.want)
			}
			if report.Complete || report.Succeeded() {
				t.Errorf("a verdict all the same: %+v", report)
			}
		})
	}
	t.Run("missing events", func(t *testing.T) {
		if _, err := gotest.Parse(recorded(t, "gotestsum-missing-test-events.jsonl"), gotest.DefaultLimits()); !errors.Is(err, gotest.ErrContradiction) {
			t.Errorf("error = %v, want %v", err, gotest.ErrContradiction)
		}
	})
}

// Cutting a stream of one package anywhere before its end leaves no verdict.
func TestParseTruncated(t *testing.T) {
	data := bytes.TrimSpace(recorded(t, "gotestsum-with-attributes.jsonl"))
	for end := range len(data) {
		if report, err := gotest.Parse(data[:end], gotest.DefaultLimits()); err == nil || report.Complete {
			t.Fatalf("cut at %d of %d gives a verdict: %+v", end, len(data), report)
		}
	}
}

func TestParseLimits(t *testing.T) {
	req.Covers(t, "OD-10.3.4")
	var stream strings.Builder
	for i := range 20 {
		name := strconv.Itoa(i)
		stream.WriteString(`{"Action":"run","Package":"p` + name + `","Test":"TestA"}` + "\n")
		stream.WriteString(`{"Action":"output","Package":"p` + name + `","Test":"TestA","Output":"` + strings.Repeat("é", 200) + `"}` + "\n")
		stream.WriteString(`{"Action":"fail","Package":"p` + name + `","Test":"TestA"}` + "\n")
		stream.WriteString(`{"Action":"fail","Package":"p` + name + `"}` + "\n")
	}
	changes := map[string]func(*gotest.Limits){
		"bytes":    func(l *gotest.Limits) { l.Bytes = stream.Len() - 1 },
		"line":     func(l *gotest.Limits) { l.LineBytes = 100 },
		"lines":    func(l *gotest.Limits) { l.Lines = 79 },
		"packages": func(l *gotest.Limits) { l.Packages = 19 },
		"tests":    func(l *gotest.Limits) { l.Tests = 19 },
		"depth":    func(l *gotest.Limits) { l.Depth = 0 },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			limits := gotest.DefaultLimits()
			change(&limits)
			if _, err := gotest.Parse([]byte(stream.String()), limits); !errors.Is(err, gotest.ErrLimit) {
				t.Errorf("error = %v, want %v", err, gotest.ErrLimit)
			}
		})
	}
	t.Run("output", func(t *testing.T) {
		limits := gotest.DefaultLimits()
		limits.OutputBytes, limits.TotalOutputBytes = 101, 1000
		report, err := gotest.Parse([]byte(stream.String()), limits)
		if err != nil {
			t.Fatal(err)
		}
		total := 0
		for _, test := range report.Tests {
			if test.Output != "" && test.Output != strings.Repeat("é", 50) {
				t.Errorf("output %q is not the end between two characters", test.Output)
			}
			total += len(test.Output)
		}
		if total != 1000 {
			t.Errorf("%d bytes of output kept, want 1000", total)
		}
	})
}

// A test that runs twice counts twice, whatever became of the first.
func TestParseRepeated(t *testing.T) {
	stream := `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0.25}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.0004}
{"Action":"fail","Package":"p","Elapsed":1.5}
`
	report, err := gotest.Parse([]byte(stream), gotest.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	want := gotest.Report{
		Tool: gotest.Tool, Packages: []gotest.Package{{Name: "p", Status: gotest.StatusFailed, ElapsedMillis: 1500}},
		Passed: 1, Failed: 1, Complete: true,
		Tests: []gotest.Test{
			{Package: "p", Name: "TestA", Status: gotest.StatusFailed, ElapsedMillis: 250},
			{Package: "p", Name: "TestA", Status: gotest.StatusPassed},
		},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report differs (-want +got):\n%s", diff)
	}
}

// The tool as it is installed, on a package that does not compile: its real
// output is a report with a failed build.
func TestParseInstalledTool(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.org/broken\n\ngo 1.26\n")
	write("a_test.go", "package broken\n\nfunc broken( {\n")
	command := exec.CommandContext(t.Context(), "go", "test", "-json", "./...")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	output, err := command.Output()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		t.Fatalf("go test: %v", err)
	}
	report, err := gotest.Parse(output, gotest.DefaultLimits())
	if err != nil {
		t.Fatalf("Parse: %v\n%s", err, output)
	}
	if !report.BuildFailed || report.Failed != 1 || report.Succeeded() || !strings.Contains(report.Tests[0].Output, "a_test.go:3") {
		t.Errorf("report = %+v", report)
	}
}

func FuzzParse(f *testing.F) {
	// Short seeds: the fuzzer spends its time on making long ones shorter.
	const start, end = `{"Action":"start","Package":"p"}` + "\n", `{"Action":"pass","Package":"p","Elapsed":0.5}`
	const run = `{"Action":"run","Package":"p","Test":"TestA"}` + "\n"
	for _, seed := range []string{
		start + end,
		start + run + `{"Action":"output","Package":"p","Test":"TestA","Output":"a\u00e9\n"}` + "\n" + `{"Time":"2026-01-02T03:04:05Z","Action":"pass","Package":"p","Test":"TestA"}` + "\n" + end,
		start + run + `{"Action":"fail","Package":"p"}`,
		`{"ImportPath":"p","Action":"build-output","Output":"x"}` + "\n" + `{"ImportPath":"p","Action":"build-fail"}` + "\n" + `{"Action":"fail","Package":"p","FailedBuild":"p"}`,
		`{"Action":"skip","Package":"p"}`,
	} {
		f.Add([]byte(seed))
	}
	limits := gotest.DefaultLimits()
	limits.Bytes = 1 << 20
	f.Fuzz(func(t *testing.T, data []byte) {
		report, err := gotest.Parse(data, limits)
		if (err == nil) != report.Complete {
			t.Fatalf("complete=%v with error %v", report.Complete, err)
		}
		if err != nil {
			return
		}
		if len(report.Packages) == 0 || report.Passed+report.Failed+report.Skipped != len(report.Tests) {
			t.Fatalf("counts do not add up: %+v", report)
		}
		for _, p := range report.Packages {
			if p.Status == gotest.StatusFailed && report.Failed == 0 {
				t.Fatalf("a failed package and no failure: %+v", report)
			}
		}
	})
}

// recorded returns a file of testdata.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
