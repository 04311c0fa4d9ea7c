package req

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// A Report says which requirements are decided by tests that passed.
type Report struct {
	list    []Requirement
	decided map[string][]string
	results *TestResults
}

// NewReport compares the requirements with what a test run decided.
func NewReport(list []Requirement, results *TestResults) *Report {
	return &Report{list: list, decided: results.DecidedBy(), results: results}
}

// Totals returns how many requirements are decided and how many there are; contradictions are not counted.
func (r *Report) Totals() (decided, all int) {
	for _, requirement := range r.list {
		if requirement.Area == ContradictionArea {
			continue
		}
		all++
		if len(r.decided[requirement.ID]) > 0 {
			decided++
		}
	}
	return decided, all
}

// Unknown returns the IDs that tests claimed and the list does not have, sorted.
func (r *Report) Unknown() []string {
	known := map[string]bool{}
	for _, requirement := range r.list {
		known[requirement.ID] = true
	}
	var unknown []string
	for _, id := range slices.Sorted(maps.Keys(r.decided)) {
		if !known[id] {
			unknown = append(unknown, id)
		}
	}
	return unknown
}

// WriteMarkdown writes the report: totals, one table per area and one per owner, then the decided lines with their
// tests and the lines that are left.
func (r *Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	decided, all := r.Totals()
	fmt.Fprintf(&b, "# Requirements decided by passing tests\n\n%d of %d (%s)\n", decided, all, percent(decided, all))
	fmt.Fprintf(&b, "\nTests passed: %d, failed: %d, never ended: %d.\n", r.results.Passed, r.results.Failed, r.results.Open)
	if r.results.Other > 0 {
		fmt.Fprintf(&b, "Lines of input that were not test output: %d.\n", r.results.Other)
	}
	for _, id := range r.Unknown() {
		fmt.Fprintf(&b, "Claimed but not listed: %s\n", id)
	}
	r.writeTally(&b, "area", func(q Requirement) string { return q.Area + " " + q.Title })
	r.writeTally(&b, "owner", func(q Requirement) string { return q.Owner })
	b.WriteString("\n## Decided\n\n")
	for _, requirement := range r.list {
		if tests := r.decided[requirement.ID]; len(tests) > 0 {
			fmt.Fprintf(&b, "- %s: %s\n", requirement.ID, strings.Join(tests, ", "))
		}
	}
	b.WriteString("\n## Not decided\n")
	r.writeOpen(&b)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// writeTally writes one table of counts, grouped by key, in the order in which the keys appear.
func (r *Report) writeTally(b *strings.Builder, name string, key func(Requirement) string) {
	var order []string
	decided, all := map[string]int{}, map[string]int{}
	for _, requirement := range r.list {
		k := key(requirement)
		if k == "" {
			continue
		}
		if all[k] == 0 {
			order = append(order, k)
		}
		all[k]++
		if len(r.decided[requirement.ID]) > 0 {
			decided[k]++
		}
	}
	fmt.Fprintf(b, "\n| %s | decided | lines | |\n|---|---:|---:|---:|\n", name)
	for _, k := range order {
		fmt.Fprintf(b, "| %s | %d | %d | %s |\n", k, decided[k], all[k], percent(decided[k], all[k]))
	}
}

// writeOpen lists the undecided IDs, one line per area.
func (r *Report) writeOpen(b *strings.Builder) {
	area := ""
	for _, requirement := range r.list {
		if len(r.decided[requirement.ID]) > 0 {
			continue
		}
		if requirement.Area != area {
			area = requirement.Area
			fmt.Fprintf(b, "\n- %s:", area)
		}
		fmt.Fprintf(b, " %s", strings.TrimPrefix(requirement.ID, area+"."))
	}
	b.WriteString("\n")
}

// percent formats a share, rounded down so that 100% means all.
func percent(part, whole int) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%d%%", part*100/whole)
}
