package req_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/internal/req"
)

// recorder is a testing.TB that only notes what Covers does to it.
type recorder struct {
	testing.TB
	logs, errors []string
}

func (r *recorder) Helper() {}

func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }

func TestCoversLogsEachKnownID(t *testing.T) {
	r := &recorder{TB: t}
	req.Covers(r, "C3-RUN-001.r", "X2")
	if diff := cmp.Diff([]string{"req: covers C3-RUN-001.r", "req: covers X2"}, r.logs); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if len(r.errors) != 0 {
		t.Errorf("errors: %q", r.errors)
	}
}

func TestCoversFailsOnAnUnknownID(t *testing.T) {
	r := &recorder{TB: t}
	req.Covers(r, "C3-RUN-999.zz", "IK-5.8.1")
	req.Covers(r)
	if len(r.errors) != 2 || !strings.Contains(r.errors[0], "C3-RUN-999.zz") {
		t.Errorf("errors = %q, want one for the unknown ID and one for the empty call", r.errors)
	}
	for _, line := range r.logs {
		if strings.Contains(line, "C3-RUN-999.zz") {
			t.Errorf("an unknown ID was logged: %q", line)
		}
	}
}

func TestCoversWorksAfterTheWorkingDirectoryChanged(t *testing.T) {
	t.Chdir(t.TempDir())
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "docs", "requirements.md")); err != nil {
		t.Error(err)
	}
}

// The list is fixed: a line that goes missing would silently stop being asked for.
func TestRequirementsFileIsComplete(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	list, err := req.LoadFile(filepath.Join(root, "docs", "requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	owners := map[string]bool{
		"int": true, "adm": true, "exe": true, "eva": true, "pre": true,
		"evt": true, "prj": true, "bnd": true, "lib": true, "doc": true,
	}
	for _, requirement := range list {
		prefix := requirement.ID
		for _, known := range []string{"C3-RUN", "IK", "OD", "BNAR", "X"} {
			if strings.HasPrefix(requirement.ID, known) {
				prefix = known
			}
		}
		got[prefix]++
		if requirement.Text == "" || requirement.Title == "" {
			t.Errorf("%s: empty text or title", requirement.ID)
		}
		if requirement.Area != req.ContradictionArea && !owners[requirement.Owner] {
			t.Errorf("%s: owner %q is not one of ours", requirement.ID, requirement.Owner)
		}
		if requirement.Area != req.ContradictionArea && !strings.HasPrefix(requirement.ID, requirement.Area+".") {
			t.Errorf("%s is in the table of %s", requirement.ID, requirement.Area)
		}
	}
	want := map[string]int{"C3-RUN": 187, "IK": 135, "OD": 476, "BNAR": 160, "X": 20}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines per specification (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an_empty_file":   "",
		"a_duplicate":     "### IK-1 Words\n| IK-1.1 | a | adm |\n| IK-1.1 | b | adm |\n",
		"a_missing_cell":  "### IK-1 Words\n| IK-1.1 | a |\n",
		"a_mistyped_name": "### IK-1 Words\n| IK1.1 | a | adm |\n",
		"a_bare_bar":      "### IK-1 Words\n| IK-1.1 | a | b | adm |\n",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := req.Parse(text); !errors.Is(err, req.ErrMalformed) {
				t.Errorf("Parse = %v, want ErrMalformed", err)
			}
		})
	}
}

func TestParseKeepsEscapedBars(t *testing.T) {
	got, err := req.Parse("## Specification\n\n### IK-1 Some words\n\n| ID | requirement | owner |\n|---|---|---|\n| IK-1.1 | `a\\|b` | adm |\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []req.Requirement{{ID: "IK-1.1", Area: "IK-1", Title: "Some words", Text: "`a|b`", Owner: "adm"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse (-want +got):\n%s", diff)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("### IK-1 Words\n| IK-1.1 | a | adm |\n")
	f.Add("### X\n| X1 | \\| | |")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := req.Parse(text)
		if (err == nil) != (len(list) > 0) {
			t.Errorf("%d requirements and error %v", len(list), err)
		}
	})
}

const sampleList = `
### IK-1 One
| ID | requirement | owner |
|---|---|---|
| IK-1.1 | a | adm |
| IK-1.2 | b | exe |
| IK-1.3 | c | adm |
### IK-2 Two
| IK-2.1 | d | eva |
| IK-2.2 | e | eva |
| IK-2.3 | f | eva |
### X Contradictions
| X1 | g | h |
`

// output is one line of `go test -json` with the given test output.
func output(test, text string) string {
	return fmt.Sprintf("{\"Action\":\"output\",\"Package\":\"p\",\"Test\":%q,\"Output\":%q}\n", test, text)
}

// end is the line that ends a test.
func end(test, action string) string {
	return fmt.Sprintf("{\"Action\":%q,\"Package\":\"p\",\"Test\":%q}\n", action, test)
}

func TestOnlyPassingTestsDecide(t *testing.T) {
	input := strings.Join([]string{
		output("TestPass", "    a_test.go:1: req: covers IK-1.1\n"), end("TestPass", "pass"),
		output("TestFail", "    a_test.go:2: req: covers IK-1.2\n"), end("TestFail", "fail"),
		output("TestSkip", "    a_test.go:3: req: covers IK-1.3\n"), end("TestSkip", "skip"),
		output("TestDies", "    a_test.go:4: req: covers IK-2.1\n"),
		// The subtest that claimed passed; its parent failed for another reason.
		output("TestParent/sub", "        a_test.go:5: req: covers IK-2.2\n"), end("TestParent/sub", "pass"), end("TestParent", "fail"),
		// Twice with -count=2: once failed is failed.
		output("TestFlaky", "    a_test.go:6: req: covers IK-2.3\n"), end("TestFlaky", "pass"),
		output("TestFlaky", "    a_test.go:6: req: covers IK-2.3\n"), end("TestFlaky", "fail"),
		// A line may arrive in pieces.
		output("TestPieces", "    a_test.go:7: req: cov"), output("TestPieces", "ers X1\n"), end("TestPieces", "pass"),
		// Printing the words is not a claim.
		output("TestPrints", "req: covers IK-1.2\n"), output("TestPrints", "note: req: covers IK-1.2\n"), end("TestPrints", "pass"),
		"# some build message\n",
		"{\"Action\":\"fail\",\"Package\":\"p\"}\n",
		"{\"Action\":\"fail\",\"Package\":\"q\"}\n",
	}, "")
	results, err := req.ReadTestJSON(strings.NewReader(input))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"IK-1.1": {"p.TestPass"},
		"IK-2.2": {"p.TestParent/sub"},
		"X1":     {"p.TestPieces"},
	}
	if diff := cmp.Diff(want, results.DecidedBy()); diff != "" {
		t.Errorf("DecidedBy (-want +got):\n%s", diff)
	}
	totals := []int{results.Passed, results.Failed, results.Open, results.Other}
	// Failed: three tests and package q, which failed without one; p failed because of its tests.
	if diff := cmp.Diff([]int{4, 4, 1, 1}, totals); diff != "" {
		t.Errorf("passed, failed, open, other (-want +got):\n%s", diff)
	}
}

func TestReadTestJSONRefusesDamagedJSON(t *testing.T) {
	if _, err := req.ReadTestJSON(strings.NewReader("{}\n{\"Action\":")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("err = %v, want one that names line 2", err)
	}
}

func TestReport(t *testing.T) {
	list, err := req.Parse(sampleList)
	if err != nil {
		t.Fatal(err)
	}
	results, err := req.ReadTestJSON(strings.NewReader(
		output("TestA", "    a_test.go:1: req: covers IK-1.1\n") +
			output("TestA", "    a_test.go:1: req: covers X1\n") +
			output("TestA", "    a_test.go:1: req: covers OD-9.9\n") + end("TestA", "pass")))
	if err != nil {
		t.Fatal(err)
	}
	report := req.NewReport(list, results)
	var got bytes.Buffer
	if err := report.WriteMarkdown(&got); err != nil {
		t.Fatal(err)
	}
	want := `# Requirements decided by passing tests

1 of 6 (16%)

Tests passed: 1, failed: 0, never ended: 0.
Claimed but not listed: OD-9.9

| area | decided | lines | |
|---|---:|---:|---:|
| IK-1 One | 1 | 3 | 33% |
| IK-2 Two | 0 | 3 | 0% |
| X Contradictions | 1 | 1 | 100% |

| owner | decided | lines | |
|---|---:|---:|---:|
| adm | 1 | 2 | 50% |
| exe | 0 | 1 | 0% |
| eva | 0 | 3 | 0% |

## Decided

- IK-1.1: p.TestA
- X1: p.TestA

## Not decided

- IK-1: 2 3
- IK-2: 1 2 3
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

// TestRealTestOutput checks the whole path against the real `go test -json`, so that a change of its format shows.
func TestRealTestOutput(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-json", "-count=1", "-run=^TestClaimForReport$", "./internal/req")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "MANDATE_REQ_CLAIM=1")
	out, err := cmd.Output()
	if err == nil {
		t.Fatal("the subtest that fails on purpose passed")
	}
	results, err := req.ReadTestJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"C3-RUN-001.a": {"example.org/mandate/internal/req.TestClaimForReport/passes"}}
	if diff := cmp.Diff(want, results.DecidedBy()); diff != "" {
		t.Errorf("DecidedBy (-want +got):\n%s\n%s", diff, out)
	}
}

// TestClaimForReport is run by TestRealTestOutput only.
func TestClaimForReport(t *testing.T) {
	if os.Getenv("MANDATE_REQ_CLAIM") == "" {
		t.Skip("run by TestRealTestOutput")
	}
	t.Run("passes", func(t *testing.T) { req.Covers(t, "C3-RUN-001.a") })
	t.Run("fails", func(t *testing.T) {
		req.Covers(t, "C3-RUN-001.b")
		t.Error("on purpose")
	})
}
