package gotest

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// reader collects the events of one stream.
type reader struct {
	limits   Limits
	packages map[string]*packageState
	order    []*packageState
	tests    int
	result   Report
	// builds holds the end of the compiler's output, by import path.
	builds map[string]string
}

// packageState is what is known of one package so far.
type packageState struct {
	name        string
	status      Status // "" while it runs
	elapsed     int64
	output      string
	failedBuild string
	latest      map[string]*testState // the latest execution by name
	all         []*testState
}

// testState is one execution of one test.
type testState struct {
	name    string
	status  Status // "" while it runs
	elapsed int64
	output  string
}

// newReader returns a reader of one stream.
func newReader(limits Limits) *reader {
	return &reader{
		limits:   limits,
		packages: make(map[string]*packageState),
		builds:   make(map[string]string),
		result:   Report{Tool: Tool, Packages: []Package{}, Tests: []Test{}},
	}
}

// take takes in one event. Actions without a bearing on the result ("pause",
// "cont", "attr" and any that a newer tool adds) change nothing.
func (r *reader) take(e event) error {
	r.result.Newest = max(r.result.Newest, e.Time)
	switch e.Action {
	case "build-output":
		return r.takeBuild(e)
	case "build-fail":
		r.result.BuildFailed = true
		return r.takeBuild(e)
	}
	p, err := r.inPackage(e.Package)
	if err != nil {
		return err
	}
	if e.Test == "" {
		return r.takePackage(p, e)
	}
	return r.takeTest(p, e)
}

// takeBuild keeps the compiler's output.
func (r *reader) takeBuild(e event) error {
	if _, known := r.builds[e.ImportPath]; !known && len(r.builds) >= r.limits.Packages {
		return fmt.Errorf("%w: more than %d builds", ErrLimit, r.limits.Packages)
	}
	r.builds[e.ImportPath] = r.tail(r.builds[e.ImportPath], e.Output)
	return nil
}

// inPackage returns the state of a package, which is new at its first event.
func (r *reader) inPackage(name string) (*packageState, error) {
	if p, ok := r.packages[name]; ok {
		return p, nil
	}
	if len(r.packages) >= r.limits.Packages {
		return nil, fmt.Errorf("%w: more than %d packages", ErrLimit, r.limits.Packages)
	}
	p := &packageState{name: name, latest: make(map[string]*testState)}
	r.packages[name] = p
	r.order = append(r.order, p)
	return p, nil
}

// takePackage takes in an event about the package as a whole.
func (r *reader) takePackage(p *packageState, e event) error {
	status, terminal := statusOf(e.Action)
	switch {
	case e.Action == "output":
		p.output = r.tail(p.output, e.Output)
		// Tools before "build-fail" existed tell it in words only.
		if strings.HasPrefix(e.Output, "FAIL\t") &&
			(strings.HasSuffix(e.Output, " [build failed]\n") || strings.HasSuffix(e.Output, " [setup failed]\n")) {
			r.result.BuildFailed = true
		}
		return nil
	case !terminal:
		return nil
	case p.status != "":
		return fmt.Errorf("%w: a package ended twice", ErrContradiction)
	}
	p.status, p.elapsed, p.failedBuild = status, millis(e.Elapsed), e.FailedBuild
	if e.FailedBuild != "" {
		r.result.BuildFailed = true
	}
	return nil
}

// takeTest takes in an event about one test.
func (r *reader) takeTest(p *packageState, e event) error {
	status, terminal := statusOf(e.Action)
	test := p.latest[e.Test]
	// A test that runs again, as with -count, is another execution.
	if test == nil || (e.Action == "run" && test.status != "") {
		if r.tests >= r.limits.Tests {
			return fmt.Errorf("%w: more than %d tests", ErrLimit, r.limits.Tests)
		}
		r.tests++
		test = &testState{name: e.Test}
		p.latest[e.Test] = test
		p.all = append(p.all, test)
	}
	switch {
	case e.Action == "output":
		test.output = r.tail(test.output, e.Output)
	case terminal && test.status != "" && test.status != status:
		return fmt.Errorf("%w: a test ended in two ways", ErrContradiction)
	case terminal:
		test.status, test.elapsed = status, millis(e.Elapsed)
	}
	return nil
}

// statusOf returns the status that an action ends a test or package with.
func statusOf(action string) (Status, bool) {
	switch action {
	case "pass", "bench":
		return StatusPassed, true
	case "fail":
		return StatusFailed, true
	case "skip":
		return StatusSkipped, true
	}
	return "", false
}

// millis turns seconds into whole milliseconds.
func millis(seconds float64) int64 { return int64(math.Round(seconds * 1000)) }

// tail appends output to kept and cuts the front off at the limit, between two
// characters.
func (r *reader) tail(kept, output string) string {
	kept += output
	cut := len(kept) - r.limits.OutputBytes
	if cut <= 0 {
		return kept
	}
	for cut < len(kept) && !utf8.RuneStart(kept[cut]) {
		cut++
	}
	return strings.Clone(kept[cut:])
}

// report returns the verdict, or an error where there is none.
func (r *reader) report() (Report, error) {
	if len(r.order) == 0 {
		return Report{}, fmt.Errorf("%w: no package", ErrIncomplete)
	}
	for _, p := range r.order {
		if err := r.conclude(p); err != nil {
			return Report{}, err
		}
	}
	if r.result.BuildFailed && !r.anyFailed() {
		return Report{}, fmt.Errorf("%w: a build failed and no package did", ErrContradiction)
	}
	r.result.count()
	r.boundOutput()
	r.result.Complete = true
	return r.result, nil
}

// anyFailed reports whether a package failed.
func (r *reader) anyFailed() bool {
	for _, p := range r.result.Packages {
		if p.Status == StatusFailed {
			return true
		}
	}
	return false
}

// conclude adds one package and its tests to the report.
func (r *reader) conclude(p *packageState) error {
	if p.status == "" {
		return fmt.Errorf("%w: a package did not end", ErrIncomplete)
	}
	failures := 0
	for _, test := range p.all {
		switch {
		case test.status == "" && p.status == StatusFailed:
			// The test was running when its package failed: it did not pass.
			test.status = StatusFailed
		case test.status == "":
			return fmt.Errorf("%w: a test did not end but its package did not fail", ErrContradiction)
		case test.status == StatusFailed && p.status != StatusFailed:
			return fmt.Errorf("%w: a test failed but its package did not", ErrContradiction)
		}
		entry := Test{Package: p.name, Name: test.name, Status: test.status, ElapsedMillis: test.elapsed}
		if test.status != StatusPassed {
			entry.Output = test.output
		}
		if test.status == StatusFailed {
			failures++
		}
		r.result.Tests = append(r.result.Tests, entry)
	}
	if p.status == StatusFailed && failures == 0 {
		r.result.Tests = append(r.result.Tests, Test{
			Package: p.name, Name: PackageEntry, Status: StatusFailed, ElapsedMillis: p.elapsed,
			Output: r.tail(r.builds[p.failedBuild], p.output),
		})
	}
	r.result.Packages = append(r.result.Packages, Package{Name: p.name, Status: p.status, ElapsedMillis: p.elapsed})
	return nil
}

// boundOutput drops the outputs beyond the total, in the order of the report.
func (r *reader) boundOutput() {
	left := r.limits.TotalOutputBytes
	for i := range r.result.Tests {
		test := &r.result.Tests[i]
		if len(test.Output) > left {
			test.Output = ""
		}
		left -= len(test.Output)
	}
}
