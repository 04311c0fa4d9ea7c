package presenter

import (
	stdjson "encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/evidence/gotest"
)

// Result types and acquisition methods that recipes ask for.
const (
	typeTestReport = "test.report"
	typeDiff       = "text.diff"
	typeText       = "text.document"

	methodGoTest      = "adapter:go-test-json"
	methodProcessExit = "process-exit"
)

// buildTestReport shows a test report only where a test execution was
// observed: the report's own action has evidence by the adapter that reads the
// tool's output, and the value has the adapter's shape. A name, a word or an
// exit status is not enough.
func buildTestReport(c *candidate) (events.Block, string) {
	if c.record.Type != typeTestReport {
		return events.Block{}, "the result type is not " + typeTestReport
	}
	if c.record.Status != events.ResultComplete {
		return events.Block{}, "the result is not complete"
	}
	i := slices.IndexFunc(c.evidence, func(e events.EvidenceRecord) bool {
		return e.Method == methodGoTest && e.Strength.Rank() >= events.StrengthObserved.Rank()
	})
	if i < 0 {
		return events.Block{}, "no observed test execution stands behind the result"
	}
	var report gotest.Report
	if err := json.Unmarshal(c.content, &report, json.RejectUnknownMembers(true)); err != nil || !soundReport(&report) {
		return events.Block{}, "the value is not a complete test report"
	}
	block := &events.TestReportBlock{
		Tool: report.Tool, Origin: events.ReportObserved, Source: line(c.evidence[i].ID, wordBytes), Packages: len(report.Packages),
		Passed: report.Passed, Failed: report.Failed, Skipped: report.Skipped, BuildFailed: report.BuildFailed,
		Tests: []events.TestEntry{}, TotalTests: len(report.Tests),
	}
	// What failed is never what is left out.
	for _, status := range []gotest.Status{gotest.StatusFailed, gotest.StatusSkipped, gotest.StatusPassed} {
		for _, test := range report.Tests {
			if test.Status == status && len(block.Tests) < maxTests {
				block.Tests = append(block.Tests, entryOf(&test))
			}
		}
	}
	return events.Block{TestReport: block}, ""
}

func entryOf(test *gotest.Test) events.TestEntry {
	entry := events.TestEntry{Package: line(test.Package, wordBytes), Name: line(test.Name, wordBytes), Status: events.TestStatus(test.Status), ElapsedMillis: test.ElapsedMillis}
	if test.Status == gotest.StatusFailed {
		entry.Output, _ = cell(test.Output, outputBytes)
	}
	return entry
}

// soundReport reports whether a report is complete and adds up.
func soundReport(r *gotest.Report) bool {
	if r.Tool != gotest.Tool || !r.Complete || r.Packages == nil || r.Tests == nil {
		return false
	}
	count := map[gotest.Status]int{}
	for i := range r.Tests {
		t := &r.Tests[i]
		if t.Name == "" || t.ElapsedMillis < 0 || t.ElapsedMillis > 1<<53 {
			return false
		}
		count[t.Status]++
	}
	for i := range r.Packages {
		switch r.Packages[i].Status {
		case gotest.StatusPassed, gotest.StatusFailed, gotest.StatusSkipped:
		default:
			return false
		}
	}
	return count[gotest.StatusPassed] == r.Passed && count[gotest.StatusFailed] == r.Failed && count[gotest.StatusSkipped] == r.Skipped &&
		r.Passed+r.Failed+r.Skipped == len(r.Tests)
}

// textOf returns the text of a value that is exactly {"text": …}.
func textOf(c *candidate) (string, bool) {
	object, ok := c.value.(map[string]any)
	if !ok || len(object) != 1 {
		return "", false
	}
	text, ok := object["text"].(string)
	return text, ok
}

const notText = "the value is not a text"

// buildDiff shows a unified diff.
func buildDiff(c *candidate) (events.Block, string) {
	if c.record.Type != typeDiff {
		return events.Block{}, "the result type is not " + typeDiff
	}
	text, ok := textOf(c)
	if !ok {
		return events.Block{}, notText
	}
	if !unifiedDiff(text) {
		return events.Block{}, "the text is not a unified diff"
	}
	return events.Block{Diff: &events.DiffBlock{Text: prefix(text, nativeBytes), TotalBytes: int64(len(text))}}, ""
}

// unifiedDiff reports whether text has the headers of a file and a hunk.
func unifiedDiff(text string) bool {
	previous, file := "", false
	for current := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(current, "+++ ") && strings.HasPrefix(previous, "--- "):
			file = true
		case file && strings.HasPrefix(current, "@@ -"):
			return true
		}
		previous = current
	}
	return false
}

// buildTerminal shows the output of a program as what it is, whatever words
// are in it and however the program ended.
func buildTerminal(c *candidate) (events.Block, string) {
	text, ok := textOf(c)
	if !ok {
		return events.Block{}, notText
	}
	if !slices.ContainsFunc(c.evidence, func(e events.EvidenceRecord) bool { return e.Method == methodProcessExit }) {
		return events.Block{}, "no program run stands behind the result"
	}
	return events.Block{Terminal: &events.TerminalBlock{Text: prefix(text, nativeBytes), TotalBytes: int64(len(text))}}, ""
}

// buildText shows a text exactly.
func buildText(c *candidate) (events.Block, string) {
	text, ok := textOf(c)
	if !ok {
		return events.Block{}, notText
	}
	return events.Block{Code: &events.CodeBlock{Language: "text", Text: prefix(text, nativeBytes), TotalBytes: int64(len(text))}}, ""
}

// scalar returns the words for a value that is not nested.
func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "null", true
	case bool:
		return strconv.FormatBool(v), true
	case stdjson.Number:
		return v.String(), true
	case string:
		return v, true
	}
	return "", false
}

// buildTable shows a flat list of flat objects.
func buildTable(c *candidate) (events.Block, string) {
	const notFlat = "the value is not a flat list of flat objects"
	list, ok := c.value.([]any)
	if !ok || len(list) == 0 {
		return events.Block{}, notFlat
	}
	numeric := map[string]bool{}
	for _, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			return events.Block{}, notFlat
		}
		for name, value := range object {
			if _, ok := scalar(value); !ok {
				return events.Block{}, notFlat
			}
			_, number := value.(stdjson.Number)
			before, seen := numeric[name]
			numeric[name] = number && (before || !seen)
		}
		if len(numeric) > events.MaxTableColumns {
			return events.Block{}, "the table has too many columns"
		}
	}
	if len(numeric) == 0 {
		return events.Block{}, notFlat
	}
	names := slices.Sorted(maps.Keys(numeric))
	g := newGrid("Records")
	for _, name := range names {
		header, cut := cell(name, wordBytes)
		if cut {
			g.table.CutCells++
		}
		g.table.Columns = append(g.table.Columns, events.Column{Name: header, Numeric: numeric[name]})
	}
	g.fill(list, names)
	return g.block(), ""
}

func (g *grid) fill(list []any, names []string) {
	g.table.TotalRows = max(0, len(list)-maxRows)
	for _, item := range list[:min(len(list), maxRows)] {
		object, _ := item.(map[string]any)
		cells := make([]string, len(names))
		for i, name := range names {
			if value, present := object[name]; present {
				cells[i], _ = scalar(value)
			}
		}
		g.row(cells...)
	}
}

// buildKeyValues shows a flat object.
func buildKeyValues(c *candidate) (events.Block, string) {
	object, ok := c.value.(map[string]any)
	if !ok || len(object) == 0 {
		return events.Block{}, "the value is not a flat object"
	}
	block := &events.KeyValuesBlock{Caption: "Values", Entries: []events.KeyValue{}, Total: len(object)}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		text, ok := scalar(object[name])
		if !ok {
			return events.Block{}, "the value is not a flat object"
		}
		if len(block.Entries) == maxEntries {
			continue
		}
		key, keyCut := cell(name, wordBytes)
		value, valueCut := cell(text, events.MaxCellBytes)
		if keyCut || valueCut {
			block.CutCells++
		}
		block.Entries = append(block.Entries, events.KeyValue{Key: key, Value: value})
	}
	return events.Block{KeyValues: block}, ""
}
