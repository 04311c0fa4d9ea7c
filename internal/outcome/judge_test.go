package outcome_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/outcome"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// day is a day, for times of evidence.
const day = 86_400 * cases.Second

// result is a complete, valid result of a node with one observed piece of
// evidence.
func result(tb testing.TB, node, content string) outcome.Result {
	tb.Helper()
	value, err := jsonvalue.Parse([]byte(content), jsonvalue.DefaultLimits)
	if err != nil {
		tb.Fatal(err)
	}
	return outcome.Result{
		ResultRecord: events.ResultRecord{
			ID: "result-" + node, Run: cases.Run, Node: node, Action: "action-" + node, Producer: events.CapabilityRef{Name: "look", Version: 1},
			Status: events.ResultComplete, Valid: true, Evidence: []string{"evidence-" + node},
		},
		Content: value, Known: true,
	}
}

func evidence(node string, strength events.Strength) events.EvidenceRecord {
	return events.EvidenceRecord{
		ID: "evidence-" + node, Run: cases.Run, Scope: cases.Run, Node: node, Action: "action-" + node, Kind: "invocation", Method: "process-exit",
		Strength: strength, Observed: cases.Start,
	}
}

// facts are the results of a report and of a changelog, both observed.
func facts(tb testing.TB) outcome.Facts {
	tb.Helper()
	report := `{"failed":0,"ratio":0.5,"name":"suite","ok":true,"none":null,"size":{"value":3,"unit":"MB"},"list":[1,2]}`
	return outcome.Facts{
		Run: cases.Run, Input: map[string]any{"version": "1.2", "number": 7},
		Results: map[string]outcome.Result{
			"report": result(tb, "report", report), "log": result(tb, "log", `{"text":"Version 1.2: fixes.\n11.2 is another, 1.2.3 too. café-au-lait"}`),
		},
		Evidence: []events.EvidenceRecord{evidence("report", events.StrengthObserved), evidence("log", events.StrengthObserved)},
	}
}

// change changes the result of a node.
func change(f *outcome.Facts, node string, with func(*outcome.Result)) {
	r := f.Results[node]
	with(&r)
	f.Results[node] = r
}

func field(path, op, value string) events.Predicate {
	return events.Predicate{Field: &events.FieldPredicate{Result: "report", Path: path, Op: op, Value: events.JSON(value)}}
}

func contains(literal string) events.Predicate {
	return events.Predicate{Contains: &events.ContainsPredicate{Result: "log", Path: "/text", Text: events.Operand{Literal: events.JSON(literal)}}}
}

// newer asks whether the report was observed not before a time of the log.
func newer(than string) events.Predicate {
	return events.Predicate{Newer: &events.NewerPredicate{Left: events.TimeRef{Result: "report", Time: "observed"}, Right: events.TimeRef{Result: "log", Time: than}}}
}

func TestJudge(t *testing.T) {
	const met, unmet, unknown = events.VerdictMet, events.VerdictUnmet, events.VerdictUnknown
	for name, test := range map[string]struct {
		predicate events.Predicate
		change    func(*outcome.Facts)
		want      events.Verdict
		covers    []string
	}{
		"equal number":               {field("/failed", "eq", "0"), nil, met, nil},
		"another number":             {field("/failed", "eq", "1"), nil, unmet, nil},
		"the same number otherwise":  {field("/failed", "eq", "0.0"), nil, met, nil},
		"not equal":                  {field("/failed", "ne", "1"), nil, met, nil},
		"not equal but it is":        {field("/failed", "ne", "0"), nil, unmet, nil},
		"less":                       {field("/ratio", "lt", "0.6"), nil, met, nil},
		"not less":                   {field("/ratio", "lt", "0.5"), nil, unmet, nil},
		"at most":                    {field("/ratio", "le", "0.5"), nil, met, nil},
		"more than at most":          {field("/ratio", "le", "0.49"), nil, unmet, nil},
		"greater":                    {field("/ratio", "gt", "0.49"), nil, met, nil},
		"not greater":                {field("/ratio", "gt", "0.5"), nil, unmet, nil},
		"at least":                   {field("/ratio", "ge", "0.5"), nil, met, nil},
		"less than at least":         {field("/ratio", "ge", "0.51"), nil, unmet, nil},
		"text":                       {field("/name", "eq", `"suite"`), nil, met, nil},
		"text before":                {field("/name", "lt", `"z"`), nil, met, nil},
		"true":                       {field("/ok", "eq", "true"), nil, met, nil},
		"not false":                  {field("/ok", "ne", "false"), nil, met, nil},
		"false":                      {field("/ok", "eq", "false"), nil, unmet, nil},
		"order of booleans":          {field("/ok", "gt", "false"), nil, unknown, nil},
		"null":                       {field("/none", "eq", "null"), nil, met, nil},
		"element of a list":          {field("/list/1", "eq", "2"), nil, met, nil},
		"element after a list":       {field("/list/2", "eq", "2"), nil, unknown, []string{"OD-3.1.8"}},
		"text against a number":      {field("/name", "eq", "0"), nil, unknown, nil},
		"an object":                  {field("/size", "eq", "0"), nil, unknown, nil},
		"missing field":              {field("/errors", "eq", "0"), nil, unknown, []string{"OD-3.1.8"}},
		"missing field, negated":     {field("/errors", "ne", "0"), nil, unknown, []string{"OD-3.1.8"}},
		"unheard comparison":         {field("/failed", "like", "0"), nil, unknown, nil},
		"bound that is no JSON":      {field("/failed", "eq", "{"), nil, unknown, nil},
		"word":                       {contains(`"1.2"`), nil, met, nil},
		"word from the input":        {events.Predicate{Contains: &events.ContainsPredicate{Result: "log", Path: "/text", Text: events.Operand{Input: "/version"}}}, nil, met, nil},
		"input that is not there":    {events.Predicate{Contains: &events.ContainsPredicate{Result: "log", Path: "/text", Text: events.Operand{Input: "/ghost"}}}, nil, unknown, nil},
		"part of a word":             {contains(`"ersion"`), nil, unmet, nil},
		"part of a version":          {contains(`"2.3"`), nil, unmet, nil},
		"empty word":                 {contains(`""`), nil, unknown, nil},
		"no text there":              {events.Predicate{Contains: &events.ContainsPredicate{Result: "log", Path: "/ghost", Text: events.Operand{Literal: events.JSON(`"x"`)}}}, nil, unknown, nil},
		"a number is no text":        {events.Predicate{Contains: &events.ContainsPredicate{Result: "report", Path: "/failed", Text: events.Operand{Literal: events.JSON(`"0"`)}}}, nil, unknown, nil},
		"producer":                   {events.Predicate{Producer: &events.ProducerPredicate{Result: "log", Capability: events.CapabilityRef{Name: "look", Version: 1}}}, nil, met, nil},
		"another producer":           {events.Predicate{Producer: &events.ProducerPredicate{Result: "log", Capability: events.CapabilityRef{Name: "scan", Version: 1}}}, nil, unmet, []string{"OD-3.1.13"}},
		"another version of it":      {events.Predicate{Producer: &events.ProducerPredicate{Result: "log", Capability: events.CapabilityRef{Name: "look", Version: 2}}}, nil, unmet, nil},
		"there":                      {events.Predicate{Exists: &events.ExistsPredicate{Result: "report", Path: "/size/unit"}}, nil, met, nil},
		"there, as null":             {events.Predicate{Exists: &events.ExistsPredicate{Result: "report", Path: "/none"}}, nil, met, nil},
		"there as a whole":           {events.Predicate{Exists: &events.ExistsPredicate{Result: "report"}}, nil, met, nil},
		"not there":                  {events.Predicate{Exists: &events.ExistsPredicate{Result: "report", Path: "/ghost"}}, nil, unmet, nil},
		"unit":                       {events.Predicate{Unit: &events.UnitPredicate{Result: "report", Path: "/size", Unit: "MB"}}, nil, met, nil},
		"wrong unit":                 {events.Predicate{Unit: &events.UnitPredicate{Result: "report", Path: "/size", Unit: "MiB"}}, nil, unmet, []string{"OD-11.18"}},
		"unit in another case":       {events.Predicate{Unit: &events.UnitPredicate{Result: "report", Path: "/size", Unit: "mb"}}, nil, unmet, nil},
		"no unit":                    {events.Predicate{Unit: &events.UnitPredicate{Result: "report", Path: "/failed", Unit: "MB"}}, nil, unknown, []string{"OD-11.18"}},
		"no predicate":               {events.Predicate{}, nil, unknown, nil},
		"newer":                      {newer("observed"), at("report", "observed", cases.Start+day), met, nil},
		"of the same moment":         {newer("observed"), nil, met, nil},
		"older":                      {newer("observed"), at("log", "observed", cases.Start+day), unmet, []string{"OD-11.16"}},
		"older than its sources":     {newer("source_modified"), at("log", "source_modified", cases.Start+1), unmet, []string{"OD-11.17", "OD-3.1.12"}},
		"as new as its sources":      {newer("source_modified"), at("log", "source_modified", cases.Start), met, nil},
		"no source date":             {newer("source_modified"), nil, unknown, []string{"OD-11.13", "OD-10.2.8", "OD-3.4.3"}},
		"no publication date":        {newer("published"), nil, unknown, []string{"OD-11.13"}},
		"published later":            {newer("published"), at("log", "published", cases.Start+day), unmet, []string{"OD-3.4.2"}},
		"a time that nobody records": {newer("felt"), nil, unknown, nil},
		"date of unnamed evidence":   {newer("observed"), func(f *outcome.Facts) { change(f, "log", func(r *outcome.Result) { r.Evidence = nil }) }, unknown, nil},
		"no result":                  {field("/failed", "eq", "0"), func(f *outcome.Facts) { delete(f.Results, "report") }, unknown, []string{"OD-3.4.4"}},
		"result of another run":      {field("/failed", "eq", "0"), func(f *outcome.Facts) { change(f, "report", func(r *outcome.Result) { r.Run = "other" }) }, unknown, []string{"OD-3.6.10", "OD-3.6.11"}},
		"result that is not complete": {field("/failed", "eq", "0"), func(f *outcome.Facts) {
			change(f, "report", func(r *outcome.Result) { r.Status = events.ResultPartial })
		}, unknown, nil},
		"result that is not valid": {field("/failed", "eq", "0"), func(f *outcome.Facts) { change(f, "report", func(r *outcome.Result) { r.Valid = false }) }, unknown, nil},
		"content is lost":          {field("/failed", "eq", "0"), func(f *outcome.Facts) { change(f, "report", func(r *outcome.Result) { r.Known = false }) }, unknown, []string{"OD-3.4.4", "OD-10.2.12"}},
		"only asserted":            {field("/failed", "eq", "0"), func(f *outcome.Facts) { f.Evidence[0].Strength = events.StrengthAsserted }, unknown, []string{"OD-3.1.15", "OD-0.11"}},
		"an unheard strength":      {field("/failed", "eq", "0"), func(f *outcome.Facts) { f.Evidence[0].Strength = "certain" }, unknown, []string{"OD-3.1.8"}},
		"attested":                 {field("/failed", "eq", "0"), func(f *outcome.Facts) { f.Evidence[0].Strength = events.StrengthAttested }, met, []string{"OD-3.1.15"}},
		"no evidence":              {field("/failed", "eq", "0"), func(f *outcome.Facts) { f.Evidence = nil }, unknown, []string{"OD-3.1.15"}},
		"evidence not named":       {field("/failed", "eq", "0"), func(f *outcome.Facts) { change(f, "report", func(r *outcome.Result) { r.Evidence = nil }) }, unknown, nil},
		"evidence that is made up": {field("/failed", "eq", "0"), func(f *outcome.Facts) {
			change(f, "report", func(r *outcome.Result) { r.Evidence = []string{"evidence-x"} })
		}, unknown, []string{"OD-11.14"}},
		"evidence of another run":     {field("/failed", "eq", "0"), func(f *outcome.Facts) { f.Evidence[0].Run = "other" }, unknown, []string{"OD-3.6.10"}},
		"evidence for another run":    {field("/failed", "eq", "0"), func(f *outcome.Facts) { f.Evidence[0].Scope = "other" }, unknown, []string{"OD-3.6.11"}},
		"evidence of another action":  {field("/failed", "eq", "0"), func(f *outcome.Facts) { f.Evidence[0].Action = "action-x" }, unknown, []string{"OD-3.1.14", "OD-3.6.10"}},
		"unmet whatever the evidence": {field("/failed", "eq", "1"), func(f *outcome.Facts) { f.Evidence = nil }, unmet, nil},
		"one of two only asserted":    {newer("observed"), func(f *outcome.Facts) { f.Evidence[1].Strength = events.StrengthAsserted }, unknown, []string{"OD-3.1.15"}},
		"nothing is known":            {field("/failed", "eq", "0"), func(f *outcome.Facts) { *f = outcome.Facts{} }, unknown, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			f := facts(t)
			if test.change != nil {
				test.change(&f)
			}
			v := outcome.Judge(events.Requirement{ID: "r", Predicate: test.predicate, Strength: events.StrengthObserved}, f)
			if v.Verdict != test.want || v.Reason == "" || v.Method == "" {
				t.Fatalf("%+v, want %s", v, test.want)
			}
			if v.Verdict == met && (v.Strength.Rank() < events.StrengthObserved.Rank() || len(v.Results) == 0 || len(v.Evidence) == 0) {
				t.Fatalf("met on what? %+v", v)
			}
			if v.Verdict != met && v.Verdict != unknown && v.Strength != "" {
				t.Fatalf("a strength without a satisfaction: %+v", v)
			}
		})
	}
}

// at sets a time of the evidence of a node.
func at(node, which string, when events.Time) func(*outcome.Facts) {
	return func(f *outcome.Facts) {
		for i := range f.Evidence {
			if e := &f.Evidence[i]; e.Node == node {
				switch which {
				case "observed":
					e.Observed = when
				case "source_modified":
					e.SourceModified = when
				case "published":
					e.Published = when
				}
			}
		}
	}
}

// What is required is a minimum, and no requirement makes evidence better.
func TestStrengthIsAMinimum(t *testing.T) {
	req.Covers(t, "OD-3.1.15")
	scale := []events.Strength{events.StrengthAsserted, events.StrengthObserved, events.StrengthAttested}
	for have, got := range scale {
		for want, needed := range scale {
			f := facts(t)
			f.Evidence[0].Strength = got
			v := outcome.Judge(events.Requirement{Predicate: field("/failed", "eq", "0"), Strength: needed}, f)
			if (v.Verdict == events.VerdictMet) != (have >= want) || v.Strength != got {
				t.Errorf("%s for %s: %+v", got, needed, v)
			}
		}
	}
}

// Freshness, citation and identity are separate: what fails one can pass the
// others.
func TestRequirementsAreSeparate(t *testing.T) {
	req.Covers(t, "OD-3.1.11", "OD-3.1.12", "OD-3.1.13")
	f := facts(t)
	at("log", "source_modified", cases.Start+day)(&f)
	verdicts := map[string]events.Verdict{}
	for name, p := range map[string]events.Predicate{
		"citation": contains(`"1.2"`), "freshness": newer("source_modified"),
		"relevance": {Producer: &events.ProducerPredicate{Result: "log", Capability: events.CapabilityRef{Name: "changelog", Version: 1}}},
	} {
		verdicts[name] = outcome.Judge(events.Requirement{Predicate: p, Strength: events.StrengthObserved}, f).Verdict
	}
	if verdicts["citation"] != events.VerdictMet || verdicts["freshness"] != events.VerdictUnmet || verdicts["relevance"] != events.VerdictUnmet {
		t.Fatal(verdicts)
	}
}

func TestWholeWords(t *testing.T) {
	for _, test := range []struct {
		text, want string
		met        bool
	}{
		{"1.2", "1.2", true},
		{"v1.2", "1.2", false},
		{"1.2.3", "1.2", false},
		{"11.2", "1.2", false},
		{"1.2.", "1.2", true},
		{"1.2. It", "1.2", true},
		{"(1.2)", "1.2", true},
		{"1.2-rc1", "1.2", false},
		{"1.2 - rc1", "1.2", true},
		{"a-1.2", "1.2", false},
		{"11.2 and 1.2", "1.2", true},
		{"surpassed", "passed", false},
		{"passed", "passed", true},
		{"passed!", "passed", true},
		{"Passed", "passed", false},
		{"protests", "tests", false},
		{"tests", "tests", true},
		{"tests2", "tests", false},
		{"my_tests", "tests", false},
		{"überpassed", "passed", false},
		{"passedü", "passed", false},
		{"日passed", "passed", false},
		{"passed\npassed", "passed", true},
		{"aa aaa", "aa", true},
		{"aaa", "aa", false},
		{"", "a", false},
		{"\u00e9a", "a", false},
		{"-1.2", "1.2", true},
	} {
		f := facts(t)
		change(&f, "log", func(r *outcome.Result) { r.Content = map[string]any{"text": test.text} })
		v := outcome.Judge(events.Requirement{Predicate: contains(fmt.Sprintf("%q", test.want)), Strength: events.StrengthObserved}, f)
		if (v.Verdict == events.VerdictMet) != test.met {
			t.Errorf("%q in %q: %s", test.want, test.text, v.Verdict)
		}
	}
}

// A word between spaces is always found, and one inside letters never.
func TestWholeWordsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[a-zA-Z0-9éß日.-]*[a-zA-Z0-9é日]`).Draw(t, "word")
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		judge := func(text string) events.Verdict {
			f := outcome.Facts{Run: "r", Results: map[string]outcome.Result{"log": {
				ResultRecord: events.ResultRecord{ID: "x", Run: "r", Status: events.ResultComplete, Valid: true}, Known: true, Content: map[string]any{"text": text},
			}}}
			literal := cases.JSON(word)
			p := events.Predicate{Contains: &events.ContainsPredicate{Result: "log", Path: "/text", Text: events.Operand{Literal: literal}}}
			return outcome.Judge(events.Requirement{Predicate: p, Strength: events.StrengthAsserted}, f).Verdict
		}
		if got := judge(before + " " + word + " " + after); got != events.VerdictMet {
			t.Fatalf("%q between spaces: %s", word, got)
		}
		if got := judge("x" + word + "x"); got == events.VerdictMet {
			t.Fatalf("%q inside letters: %s", word, got)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	f := facts(b)
	r := events.Requirement{Predicate: field("/failed", "eq", "0"), Strength: events.StrengthObserved}
	for b.Loop() {
		if v := outcome.Judge(r, f); v.Verdict != events.VerdictMet {
			b.Fatal(v)
		}
	}
}

func ExampleJudge() {
	f := outcome.Facts{
		Run: "run",
		Results: map[string]outcome.Result{"test": {
			ResultRecord: events.ResultRecord{ID: "result-1", Run: "run", Action: "action-1", Status: events.ResultComplete, Valid: true},
			Content:      map[string]any{"text": "1.3 is out"}, Known: true,
		}},
	}
	p := events.Predicate{Contains: &events.ContainsPredicate{Result: "test", Path: "/text", Text: events.Operand{Literal: events.JSON(`"1.2"`)}}}
	v := outcome.Judge(events.Requirement{Predicate: p, Strength: events.StrengthAsserted}, f)
	fmt.Println(v.Verdict, v.Results)
	// Output: unmet [result-1]
}

// Evidence that is not of exactly this result and run is not named by a
// verdict, even where the strength does not matter.
func TestVerdictsNameOnlyTheirOwnEvidence(t *testing.T) {
	req.Covers(t, "OD-3.6.10", "OD-3.4.5")
	for name, change := range map[string]func(*events.EvidenceRecord){
		"another action": func(e *events.EvidenceRecord) { e.Action = "action-x" },
		"another run":    func(e *events.EvidenceRecord) { e.Run = "other" },
		"another scope":  func(e *events.EvidenceRecord) { e.Scope = "other" },
	} {
		f := facts(t)
		change(&f.Evidence[0])
		v := outcome.Judge(events.Requirement{Predicate: field("/failed", "eq", "0"), Strength: events.StrengthAsserted}, f)
		if v.Verdict != events.VerdictMet || v.Strength != events.StrengthAsserted || len(v.Evidence) > 0 {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
