// Package rendertest holds documents and hostile texts for the tests of every
// renderer.
package rendertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
)

var update = flag.Bool("update", false, "write the golden files")

// Golden compares got with a file of the test's testdata folder, or writes it
// with -update.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update and review):\n%s", path, got)
	}
}

// Presented returns the documents that the presenter's own tests keep, by
// name.
func Presented(t *testing.T) map[string]events.Document {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string]events.Document{}
	for _, name := range []string{"document", "failed", "approval"} {
		data, err := os.ReadFile(filepath.Join(root, "services", "presenter", "testdata", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if documents[name], err = events.ParseDocument(data); err != nil {
			t.Fatal(err)
		}
	}
	return documents
}

// Sample returns a document with every kind of block.
func Sample() events.Document { return build("plain words", "https://example.org/a?b=1&c=2") }

// Hostile returns a document with text in every place that holds text.
func Hostile(text string) events.Document {
	return build(text, text)
}

func build(text, link string) events.Document {
	outcome := &events.ResultOutcome{
		ResultID: "result-1" + text, Node: text, Type: text, Role: events.RoleOutput,
		Producer: events.CapabilityRef{Name: text, Version: 1}, Status: events.ResultComplete, Valid: true,
	}
	spans := []events.Span{
		{Text: text, Citations: []string{"evaluation-1" + text}},
		{Text: text, Code: true, Citations: []string{"nowhere"}},
		{Text: text, Link: link},
	}
	size := int64(len(text))
	return events.Document{
		SchemaVersion: 1, Title: text, Run: "run-1" + text, Tag: events.TagCompleted, Completion: events.CompletionComplete, OmittedBlocks: 2,
		Blocks: []events.Block{
			{Callout: &events.CalloutBlock{Kind: events.CalloutInfo, Title: text, Spans: spans}},
			{Callout: &events.CalloutBlock{Kind: events.CalloutWarning, Title: text, Spans: spans}},
			{Callout: &events.CalloutBlock{Kind: events.CalloutError, Title: text}},
			{Heading: &events.HeadingBlock{Level: 1, Text: text}},
			{Result: outcome, Heading: &events.HeadingBlock{Level: 2, Text: text}},
			{Paragraph: &events.ParagraphBlock{Spans: spans}},
			{List: &events.ListBlock{Items: []events.ListItem{{Spans: spans}}, Total: 3}},
			{List: &events.ListBlock{Ordered: true, Items: []events.ListItem{{Spans: spans}, {Spans: spans}}, Total: 2}},
			{Table: &events.TableBlock{
				Caption: text, Columns: []events.Column{{Name: text}, {Name: text, Numeric: true}},
				Rows: [][]string{{text, text}, {"", text}}, TotalRows: 9, CutCells: 1,
			}},
			{Code: &events.CodeBlock{Language: "json", Text: text, TotalBytes: size + 5}},
			{Result: outcome, TestReport: &events.TestReportBlock{
				Tool: "go test", Origin: events.ReportObserved, Source: "evidence-1" + text, Packages: 1, Passed: 1, Failed: 1, Skipped: 1, TotalTests: 3,
				Tests: []events.TestEntry{
					{Package: text, Name: text, Status: events.TestFailed, ElapsedMillis: 12, Output: text},
					{Package: text, Name: text, Status: events.TestPassed},
				},
			}},
			{Result: outcome, TestReport: &events.TestReportBlock{Tool: text, Origin: events.ReportImported, Source: text, Passed: 1, TotalTests: 1}},
			{Result: outcome, Terminal: &events.TerminalBlock{Text: text + "\n" + text, TotalBytes: 2*size + 1}},
			{Result: outcome, Diff: &events.DiffBlock{Text: "--- a\n+++ b\n@@ -1 +1 @@\n-" + text + "\n+" + text + "\n", TotalBytes: 2*size + 27}},
			{KeyValues: &events.KeyValuesBlock{Caption: text, Entries: []events.KeyValue{{Key: text, Value: text}}, Total: 2}},
			{Result: outcome, Fallback: &events.FallbackBlock{
				Text: text, Encoding: events.EncodingUTF8, MediaType: text, Shown: true, ShownBytes: size, TotalBytes: size, Commitment: events.Digest(text),
			}},
			{Result: outcome, Fallback: &events.FallbackBlock{Text: text, Encoding: events.EncodingUTF8, ShownBytes: size, TotalBytes: size + 1}},
			{Citations: &events.CitationsBlock{Entries: []events.Citation{{
				ID: "evaluation-1" + text, Kind: events.CiteEvaluation, What: text, Method: text, Strength: events.StrengthObserved,
				At: 1_700_000_000_000_000_000, Digest: events.Digest(text),
			}}, Total: 1}},
		},
	}
}

// Wide returns a document with a table of about size bytes.
func Wide(size int) events.Document {
	table := &events.TableBlock{Caption: "wide", Columns: []events.Column{{Name: "a"}, {Name: "b"}}}
	cell := strings.Repeat("word <&| ", 100)
	for n := 0; n < size; n += 2 * len(cell) {
		table.Rows = append(table.Rows, []string{cell, cell})
	}
	table.TotalRows = len(table.Rows)
	return events.Document{SchemaVersion: 1, Title: "wide", Run: "run-1", Blocks: []events.Block{{Table: table}}}
}

// Hostiles lists texts that try to become markup, scripts or commands.
func Hostiles() []string {
	return []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `</code></pre><iframe src=//x>`,
		`javascript:alert(1)`, `https://user@example.org/`, "https://example.org/\" onclick=\"x", `<a href="data:text/html,x">x</a>`,
		"\x1b[2J\x1b]0;owned\x07", "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", "a\rb\x00c\x7f\u009b31m", "\u202etxt.exe\u2066x\u2069", "\xff\xfe",
		"```\n# owned\n```", "~~~\n<b>", "| a | b |\n|---|---|\n| c | d |", "](http://evil) ![x](http://evil/p.png)", "[x]: http://evil", "# owned", "> quote",
		"- item", "1. item", "2) item", "=====", "-----", "***", "_x_ *y* ~~z~~", "<http://evil>", "www.evil.example", "http://evil.example", "a@evil.example",
		"&lt;script&gt; &#x3c;", "\\", "\\\\|", "`", "`` ` ``", "|", "a\n\n# b", "a\n===", "    code", "\tcode", "[^1]: note", "<!-- x", "<![CDATA[x]]>", "<?php", "{{.}}", "$x$",
		"mailto:a@b.example", "xmpp:a@b.example", "- [x] done", "[!NOTE]", ":smile:", "", " ", "\n", "日本語の文 e\u0301", strings.Repeat("x", 3000), strings.Repeat("`", 50),
	}
}

// Shared returns the strings under the given members of every row of a file of
// the shared collection of hostile texts. It skips the test where that is
// absent.
func Shared(t *testing.T, file string, members ...string) []string {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "..", "shared", "data", filepath.FromSlash(file)))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("NOT TESTED: the shared collection of hostile texts is absent")
	}
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	row := 0
	for current := range bytes.Lines(data) {
		if row++; row%every != 0 {
			continue
		}
		var values map[string]any
		if err := json.Unmarshal(current, &values); err != nil {
			t.Fatal(fmt.Errorf("%s: %w", file, err))
		}
		for _, member := range members {
			if text, ok := values[member].(string); ok {
				texts = append(texts, text)
			}
		}
	}
	if len(texts) == 0 {
		t.Fatalf("%s holds no text", file)
	}
	t.Logf("%d texts of %s", len(texts), file)
	return texts
}
