package req

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxLine bounds one line of `go test -json`; a test may print a long line, but not without end.
const maxLine = 8 << 20

// TestResults says what a `go test -json` run claimed and how its tests ended.
type TestResults struct {
	claims map[testName]*claim
	Passed int // tests and subtests that passed every time they ran
	Failed int // tests and subtests that failed, and packages that failed on their own
	Open   int // tests that claimed something and never ended, for example because the process died
	Other  int // lines that were not JSON
}

// testName identifies a test or subtest.
type testName struct {
	pkg, test string
}

// claim is what one test said and how it ended.
type claim struct {
	ids     []string
	partial string // output that has not ended with a newline yet
	passed  bool
	failed  bool
	skipped bool
}

// testEvent is the part of a `go test -json` line that matters here; see `go doc test2json`.
type testEvent struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// ReadTestJSON reads the output of `go test -json`. Lines that are not JSON are counted and otherwise passed over:
// build tools write them when something goes wrong.
func ReadTestJSON(r io.Reader) (*TestResults, error) {
	results := &TestResults{claims: map[testName]*claim{}}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	for number := 1; scanner.Scan(); number++ {
		line := scanner.Bytes()
		if len(line) == 0 || line[0] != '{' {
			results.Other++
			continue
		}
		var event testEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("read test output: line %d: %w", number, err)
		}
		results.add(event)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read test output: %w", err)
	}
	results.count()
	return results, nil
}

// add takes in one event.
func (r *TestResults) add(event testEvent) {
	name := testName{event.Package, event.Test}
	entry := r.claims[name]
	if entry == nil {
		entry = &claim{}
		r.claims[name] = entry
	}
	switch event.Action {
	case "output":
		if event.Test != "" {
			entry.read(event.Output)
		}
	case "pass":
		entry.passed = true
	case "skip":
		entry.skipped = true
	case "fail", "build-fail":
		entry.failed = true
	}
}

// read collects claims from a piece of output, which may end in the middle of a line.
func (c *claim) read(output string) {
	text := c.partial + output
	for {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			c.partial = line
			return
		}
		if id, ok := claimed(line); ok && !slices.Contains(c.ids, id) {
			c.ids = append(c.ids, id)
		}
		text = rest
	}
}

// claimed returns the ID that a log line claims. Only the form that t.Logf gives counts (indentation, file:line:, text),
// so that a test that prints some other program's output claims nothing by accident.
func claimed(line string) (string, bool) {
	position, id, ok := strings.Cut(line, ": "+marker)
	if !ok || !strings.HasPrefix(position, " ") || !idPattern.MatchString(id) {
		return "", false
	}
	file, number, ok := strings.Cut(strings.TrimSpace(position), ":")
	if !ok || !strings.HasSuffix(file, ".go") || strings.Trim(number, "0123456789") != "" {
		return "", false
	}
	return id, true
}

// count fills in the totals once everything is read.
func (r *TestResults) count() {
	for name, entry := range r.claims {
		switch {
		case entry.failed:
			r.Failed++
		case name.test == "":
		case entry.passed:
			r.Passed++
		case !entry.skipped && len(entry.ids) > 0:
			r.Open++
		}
	}
	// A package also fails when one of its tests does; count it only when none did.
	for name, entry := range r.claims {
		if name.test == "" && entry.failed && r.hasFailedTest(name.pkg) {
			r.Failed--
		}
	}
}

// hasFailedTest reports whether a test of the package failed.
func (r *TestResults) hasFailedTest(pkg string) bool {
	for name, entry := range r.claims {
		if name.pkg == pkg && name.test != "" && entry.failed {
			return true
		}
	}
	return false
}

// DecidedBy returns, for each requirement ID, the sorted names of the tests that claimed it and passed. A test that
// failed once decides nothing, however often it passed; nor does one that was skipped or never ended.
func (r *TestResults) DecidedBy() map[string][]string {
	decided := map[string][]string{}
	for name, entry := range r.claims {
		if !entry.passed || entry.failed {
			continue
		}
		for _, id := range entry.ids {
			decided[id] = append(decided[id], name.pkg+"."+name.test)
		}
	}
	for _, tests := range decided {
		slices.Sort(tests)
	}
	return decided
}
