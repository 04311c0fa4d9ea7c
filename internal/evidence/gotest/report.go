package gotest

import (
	"cmp"
	"slices"

	"example.org/mandate/events"
)

// Tool is the name of the tool in a report.
const Tool = "go test"

// PackageEntry is the name under which a package's own failure stands among
// the tests. No test function can have it.
const PackageEntry = "(package)"

// Status is how a test or a package ended.
type Status string

// The statuses.
const (
	StatusPassed  Status = "passed"
	StatusFailed  Status = "failed"
	StatusSkipped Status = "skipped"
)

// Report is what one execution of "go test" showed.
type Report struct {
	Tool     string    `json:"tool"`
	Packages []Package `json:"packages"`
	// Passed, Failed and Skipped count the entries of Tests by status.
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Tests lists every execution of a test or subtest, by package and name. A
	// package that failed without a failing test of its own stands here too,
	// as PackageEntry, so that a failure of any kind is counted.
	Tests []Test `json:"tests"`
	// BuildFailed means that something did not compile.
	BuildFailed bool `json:"build_failed"`
	// Complete means that every package that was started also ended. The
	// counts mean nothing without it.
	Complete bool `json:"complete"`

	// Newest is the newest time that the tool itself wrote, zero if none.
	Newest events.Time `json:"-"`
}

// Succeeded reports whether the report is a complete one without any failure.
func (r Report) Succeeded() bool {
	return r.Complete && r.Failed == 0 && !r.BuildFailed
}

// Package is the result of one package.
type Package struct {
	Name          string `json:"name"`
	Status        Status `json:"status"`
	ElapsedMillis int64  `json:"elapsed_millis"`
}

// Test is the result of one execution of a test or subtest.
type Test struct {
	Package       string `json:"package"`
	Name          string `json:"name"`
	Status        Status `json:"status"`
	ElapsedMillis int64  `json:"elapsed_millis"`
	// Output is the end of what a test printed that did not pass, bounded.
	Output string `json:"output,omitzero"`
}

// count sets the totals of r from its tests and puts its lists in order.
func (r *Report) count() {
	for _, test := range r.Tests {
		switch test.Status {
		case StatusPassed:
			r.Passed++
		case StatusFailed:
			r.Failed++
		case StatusSkipped:
			r.Skipped++
		}
	}
	slices.SortStableFunc(r.Packages, func(a, b Package) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.Tests, func(a, b Test) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Name, b.Name))
	})
}
