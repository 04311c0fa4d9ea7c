package presenter_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/req"
)

const adapter = "adapter:go-test-json"

// Every single thing that is missing takes the test report away.
func TestTestReportNeedsAnObservedExecution(t *testing.T) {
	whole := func(t *testing.T) *fixture {
		t.Helper()
		f := newFixture(t, events.TagCompleted)
		f.result("test", "test.report", report(t, 0), adapter, "process-exit")
		return f
	}
	t.Run("observed", func(t *testing.T) {
		s := whole(t).present()
		coverage, decision := s.recipe(t, "result-test")
		if s.reports() != 1 || !coverage.Native || coverage.Recipe != "test-report@1" || decision.Selected != "test-report@1" {
			t.Fatalf("shown by %+v", coverage)
		}
		for _, b := range s.of("result-test") {
			if r := b.TestReport; r != nil && (r.Badge() != events.BadgePassed || r.Passed != 2 || r.TotalTests != 2 || r.Source != "evidence-test-0" || r.Origin != events.ReportObserved) {
				t.Errorf("report %+v", r)
			}
		}
	})
	other := func(change func(e *events.EvidenceRecord)) func(*testing.T, *fixture) {
		return func(_ *testing.T, f *fixture) { change(&f.c.Evidence[0]) }
	}
	value := func(v string) func(*testing.T, *fixture) {
		return func(t *testing.T, f *fixture) {
			t.Helper()
			f.c.Results[0].Value = body(t, v)
		}
	}
	for name, test := range map[string]struct {
		change func(*testing.T, *fixture)
		covers []string
	}{
		"no evidence":             {func(_ *testing.T, f *fixture) { f.c.Evidence = nil }, []string{"OD-3.3.4"}},
		"evidence not named":      {func(_ *testing.T, f *fixture) { f.c.Results[0].Evidence = nil }, nil},
		"of another action":       {other(func(e *events.EvidenceRecord) { e.Action = "action-other" }), []string{"OD-6.12"}},
		"of another run":          {other(func(e *events.EvidenceRecord) { e.Run = "other" }), nil},
		"of another scope":        {other(func(e *events.EvidenceRecord) { e.Scope = "other" }), nil},
		"only asserted":           {other(func(e *events.EvidenceRecord) { e.Strength = events.StrengthAsserted }), []string{"OD-6.5"}},
		"no strength":             {other(func(e *events.EvidenceRecord) { e.Strength = "" }), nil},
		"exit status alone":       {other(func(e *events.EvidenceRecord) { e.Method = "process-exit" }), []string{"OD-6.14"}},
		"method alike":            {other(func(e *events.EvidenceRecord) { e.Method += "-like" }), nil},
		"other type":              {func(_ *testing.T, f *fixture) { f.c.Results[0].Type = "test.reports" }, nil},
		"not valid":               {func(_ *testing.T, f *fixture) { f.c.Results[0].Valid = false }, []string{"OD-6.4"}},
		"not complete":            {func(_ *testing.T, f *fixture) { f.c.Results[0].Status = events.ResultPartial }, nil},
		"result of another run":   {func(_ *testing.T, f *fixture) { f.c.Results[0].Run = "other" }, nil},
		"value cannot be opened":  {func(_ *testing.T, f *fixture) { f.c.Results[0].Value = closed(f.c.Results[0].Value) }, nil},
		"flat object":             {value(`{"failed":0,"passed":9}`), nil},
		"other tool":              {value(strings.Replace(report(t, 0), `"go test"`, `"model"`, 1)), nil},
		"unknown member":          {value(strings.Replace(report(t, 0), `"tool"`, `"badge":"ok","tool"`, 1)), nil},
		"duplicate member":        {value(strings.Replace(report(t, 0), `"tool"`, `"tool":"go test","tool"`, 1)), nil},
		"counts do not add up":    {value(strings.Replace(report(t, 0), `"passed":2`, `"passed":3`, 1)), nil},
		"hidden failure":          {value(strings.Replace(report(t, 1), `"failed":1`, `"failed":0`, 1)), nil},
		"unknown status":          {value(strings.Replace(report(t, 0), `"status":"passed"`, `"status":"ok"`, 1)), nil},
		"incomplete":              {value(strings.Replace(report(t, 0), `"complete":true`, `"complete":false`, 1)), []string{"OD-6.33"}},
		"a text about tests":      {value(`{"text":"ok example.org/m PASS: all tests passed"}`), nil},
		"a list of test results":  {value(`[{"name":"TestA","status":"passed"}]`), nil},
		"words instead of a list": {value(strings.Replace(report(t, 0), `"tests":[`, `"tests":"passed","x":[`, 1)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			f := whole(t)
			test.change(t, f)
			s := f.present()
			coverage, decision := s.recipe(t, "result-test")
			if s.reports() != 0 || coverage.Recipe == "test-report@1" {
				t.Fatalf("shown as a test report: %+v", coverage)
			}
			if !slices.ContainsFunc(decision.Alternatives, func(r events.Rejected) bool { return r.Option == "test-report@1" && r.Reason != "" }) {
				t.Errorf("no reason is recorded: %+v", decision)
			}
			said := strings.Contains(s.text(), "says that it is a test report")
			if claims := f.c.Results[0].Type == "test.report"; claims != said {
				t.Errorf("the claim of the result is marked: %v, want %v", said, claims)
			}
		})
	}
}

// The report of a failed test says so, and failures are not what is cut.
func TestFailuresComeFirst(t *testing.T) {
	f := newFixture(t, events.TagCompleted)
	f.result("test", "test.report", report(t, 1), adapter)
	s := f.present()
	for _, b := range s.of("result-test") {
		if b.TestReport == nil {
			continue
		}
		if r := b.TestReport; r.Badge() != events.BadgeFailed || r.Tests[0].Status != events.TestFailed || r.Tests[0].Output == "" {
			t.Errorf("report %+v", r)
		}
		return
	}
	t.Error("no report")
}

// recipes shows one result and returns the recipe.
func recipeOf(t *testing.T, resultType, value string, methods ...string) (string, shown) {
	t.Helper()
	f := newFixture(t, events.TagCompleted)
	f.result("r", resultType, value, methods...)
	s := f.present()
	coverage, _ := s.recipe(t, "result-r")
	return coverage.Recipe, s
}

func TestRecipesFollowShapeAndEvidence(t *testing.T) {
	diff := `{"text":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}`
	for name, test := range map[string]struct {
		resultType, value, method, want string
		covers                          []string
	}{
		"command output":         {"text.document", `{"text":"PASS ok: 12 tests passed"}`, "process-exit", "terminal@1", []string{"OD-6.13", "OD-6.15"}},
		"text":                   {"text.document", `{"text":"a"}`, "mcp-tool-result", "text@1", nil},
		"text of any type":       {"note", `{"text":"a"}`, "", "text@1", nil},
		"diff":                   {"text.diff", diff, "", "diff@1", nil},
		"diff in another type":   {"text.document", diff, "", "text@1", nil},
		"no diff":                {"text.diff", `{"text":"+++ --- @@"}`, "", "text@1", nil},
		"flat list":              {"x", `[{"a":1,"b":"x"},{"a":2,"c":null}]`, "", "table@1", nil},
		"nested list":            {"x", `[{"a":1},{"a":[2]}]`, "", "source@1", nil},
		"list of numbers":        {"x", `[1,2]`, "", "source@1", nil},
		"mixed list":             {"x", `[{"a":1},2]`, "", "source@1", nil},
		"empty list":             {"x", `[]`, "", "source@1", nil},
		"list of empty objects":  {"x", `[{}]`, "", "source@1", nil},
		"flat object":            {"x", `{"a":1,"b":true}`, "", "key-values@1", nil},
		"nested object":          {"x", `{"a":{"b":1}}`, "", "source@1", nil},
		"empty object":           {"x", `{}`, "", "source@1", nil},
		"number":                 {"x", `1`, "", "source@1", nil},
		"numbers for no chart":   {"chart", `{"values":[1,2]}`, "", "source@1", nil},
		"many columns":           {"x", `[{` + columns(40) + `}]`, "", "source@1", nil},
		"not JSON":               {"x", `{`, "", "source@1", nil},
		"number beyond exact":    {"x", `{"a":9007199254740993}`, "", "source@1", nil},
		"a test report by shape": {"x", `{"passed":5,"failed":0}`, adapter, "key-values@1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			var methods []string
			if test.method != "" {
				methods = []string{test.method}
			}
			got, s := recipeOf(t, test.resultType, test.value, methods...)
			if got != test.want {
				t.Errorf("shown by %s, want %s", got, test.want)
			}
			if s.reports() != 0 {
				t.Error("shown as a test report")
			}
			source(t, s.of("result-r"), test.value, test.want != "source@1")
		})
	}
}

func columns(n int) string {
	var names []string
	for i := range n {
		names = append(names, `"c`+strings.Repeat("x", i)+`":1`)
	}
	return strings.Join(names, ",")
}

// source checks that the exact source of a result is there, last.
func source(t *testing.T, blocks []events.Block, want string, native bool) {
	t.Helper()
	req.Covers(t, "OD-6.10")
	last := blocks[len(blocks)-1].Fallback
	if last == nil || last.Text != want || last.TotalBytes != int64(len(want)) || last.ShownBytes != last.TotalBytes || last.Shown != native {
		t.Errorf("source %+v, want %q", last, want)
	}
}

func TestSourceIsBoundedAndReferenced(t *testing.T) {
	large := `{"text":"` + strings.Repeat("é\\n", 100_000) + `"}`
	_, s := recipeOf(t, "text.document", large)
	blocks := s.of("result-r")
	f := blocks[len(blocks)-1].Fallback
	if f == nil || f.TotalBytes != int64(len(large)) || f.ShownBytes >= f.TotalBytes || f.ShownBytes < 1000 || f.Commitment != body(t, large).Commitment || !strings.HasPrefix(large, f.Text) {
		t.Fatalf("source %.200v", f)
	}
	for _, b := range blocks {
		if b.Code != nil && b.Code.TotalBytes != 300_000 {
			t.Errorf("the text says it has %d bytes", b.Code.TotalBytes)
		}
	}
}

func TestBinarySourceIsExact(t *testing.T) {
	f := newFixture(t, events.TagCompleted)
	r := f.result("r", "x", "")
	raw, _ := events.NewBody(events.ClassResult, events.MediaRaw, []byte{0xff, 0, 1}).Committed([]byte("key"))
	r.Value, r.Raw = events.Body{}, raw
	s := f.present()
	blocks := s.of("result-r")
	if f := blocks[len(blocks)-1].Fallback; f == nil || f.Text != "/wAB" || f.Encoding != events.EncodingBase64 || f.MediaType != events.MediaRaw {
		t.Errorf("source %+v", f)
	}
}

func TestClosedContentIsShownAsUnavailable(t *testing.T) {
	f := newFixture(t, events.TagCompleted)
	r := f.result("r", "text.document", `{"text":"secret words"}`)
	size, commitment := r.Value.Size, r.Value.Commitment
	r.Value = closed(r.Value)
	f.c.Spec, f.c.Request = closed(f.c.Spec), closed(f.c.Request)
	s := f.present()
	coverage, decision := s.recipe(t, "result-r")
	if coverage.Native || coverage.Recipe != "unavailable@1" || coverage.Reason == "" || decision.Selected != "unavailable@1" {
		t.Errorf("coverage %+v", coverage)
	}
	blocks := s.of("result-r")
	if f := blocks[len(blocks)-1].Fallback; f == nil || f.Text != "" || f.TotalBytes != size || f.Commitment != commitment {
		t.Errorf("source %+v", f)
	}
	if !strings.Contains(s.text(), "not available") {
		t.Error("nobody is told")
	}
}

// Selection takes the first eligible recipe and records why no other one.
func TestDecisionsAreRecorded(t *testing.T) {
	req.Covers(t, "OD-6.8", "OD-6.38", "OD-5.1.11")
	_, s := recipeOf(t, "x", `[{"a":1}]`)
	coverage, d := s.recipe(t, "result-r")
	var options []string
	for _, a := range d.Alternatives {
		options = append(options, a.Option)
		if a.Reason == "" {
			t.Errorf("%s was rejected without a reason", a.Option)
		}
	}
	if want := []string{"test-report@1", "diff@1", "terminal@1", "text@1", "key-values@1"}; !slices.Equal(options, want) {
		t.Errorf("alternatives %v, want %v", options, want)
	}
	if d.Algorithm != "presenter.select@1" || d.Selected != "table@1" || d.Disposition == "" || !coverage.Native || coverage.Recipe != "table@1" {
		t.Errorf("decision %+v, coverage %+v", d, coverage)
	}
}

// Texts by people, with the words of test reports in them, are never shown as
// test reports, whatever produced them.
func TestTextsAreNoTestReports(t *testing.T) {
	try := func(t *testing.T, path string, every int) {
		t.Helper()
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			t.Skip("NOT TESTED: the shared collection of texts is absent")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		tried := 0
		for row := 0; lines.Scan(); row++ {
			if row%every != 0 {
				continue
			}
			var article struct{ ID, Text string }
			if err := json.Unmarshal(lines.Bytes(), &article); err != nil {
				t.Fatal(err)
			}
			value, err := canon.JSON(map[string]string{"text": article.Text})
			if err != nil {
				t.Fatal(err)
			}
			if got, s := recipeOf(t, "text.document", string(value), "mcp-tool-result"); got != "text@1" || s.reports() != 0 {
				t.Fatalf("%s is shown by %s", article.ID, got)
			}
			if got, s := recipeOf(t, "test.report", string(value), adapter); got != "text@1" || s.reports() != 0 {
				t.Fatalf("%s is shown by %s", article.ID, got)
			}
			tried++
		}
		if tried == 0 {
			t.Fatal("no text")
		}
		t.Logf("%d texts", tried)
	}
	t.Run("kept", func(t *testing.T) { try(t, filepath.Join("testdata", "texts.jsonl"), 1) })
	t.Run("shared", func(t *testing.T) {
		root, err := req.ModuleRoot()
		if err != nil {
			t.Fatal(err)
		}
		try(t, filepath.Join(root, "..", "shared", "data", "news", "texts.jsonl"), 5)
	})
}
