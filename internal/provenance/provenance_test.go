package provenance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/provenance"
	"example.org/mandate/internal/req"
)

const text = `Send 25 to "bob@mail.example" on 2024-05-13, and say: see you. It's 1,000 or -3.50€`

func span(t *testing.T, words string) events.WordSpan {
	t.Helper()
	at := strings.Index(text, words)
	if at < 0 {
		t.Fatalf("%q is not in the text", words)
	}
	return events.WordSpan{Start: at, End: at + len(words)}
}

func TestStands(t *testing.T) {
	for _, test := range []struct {
		words  string
		scalar any
		want   bool
	}{
		{"bob@mail.example", "bob@mail.example", true},
		{"bob@mail.example", "Bob@mail.example", false},
		{"bob", "bob", false}, // a part of an address
		{"mail.example", "mail.example", false},
		{"25", "25", true},
		{"25", json.Number("25"), true},
		{"25", json.Number("25.0"), true},
		{"25", json.Number("26"), false},
		{"13", "13", false}, // a part of a date
		{"2024-05-13", "2024-05-13", true},
		{"2024", json.Number("2024"), false},
		{"end", "end", false}, // a part of a word
		{"see you", "see you", true},
		{"you", "you", true},           // a full stop ends it
		{"1", json.Number("1"), false}, // a part of 1,000
		{"-3.50", json.Number("-3.5"), true},
		{"3.50", json.Number("3.5"), false}, // the sign belongs to it
		{"25", true, false},
		{"25", nil, false},
		{" ", " ", false}, // a blank is nobody's word
	} {
		if got := provenance.Stands(text, span(t, test.words), test.scalar); got != test.want {
			t.Errorf("%q as %v (%T): %v, want %v", test.words, test.scalar, test.scalar, got, test.want)
		}
	}
	for _, outside := range []events.WordSpan{{Start: -1, End: 3}, {Start: 3, End: 3}, {Start: 5, End: 4}, {Start: 0, End: len(text) + 1}, {Start: len(text), End: len(text) + 2}} {
		if provenance.Stands(text, outside, "Sen") {
			t.Errorf("%+v stands", outside)
		}
	}
}

// What stands in a text as a part of something longer is another value.
func TestPartsDoNotStand(t *testing.T) {
	for _, test := range []struct {
		text, words string
		scalar      any
		want        bool
	}{
		// Paths and addresses are whole, also where a part ends in punctuation.
		{"look at /home/ann/notes.txt", "/", "/", false},
		{"look at /home/ann/notes.txt", "/home/", "/home/", false},
		{"look at /home/ann/notes.txt", "/home/ann/notes.txt", "/home/ann/notes.txt", true},
		{"never delete ../backup", "backup", "backup", false},
		{"list /etc now", "etc", "etc", false},
		{"list https://bob.example now", "bob.example", "bob.example", false},
		{"list https://bob.example now", "https", "https", false},
		{"mail bob@co.example", "bob@co.", "bob@co.", false},
		{`open C:\data\bob`, "bob", "bob", false},
		{"remove tmp* soon", "tmp", "tmp", false},
		{"remove tmp~ soon", "tmp", "tmp", false},
		{"find http://a.example/?q=1", "http://a.example/", "http://a.example/", false},
		{"Delete notes.txt.", ".", ".", false},
		{"Wait ... and see", ".", ".", false},
		{"Delete notes.txt.", "notes.txt", "notes.txt", true},
		{"change to / and stay", "/", "/", true},
		{"Ask 'bob', <ann@x.example> or (eve)!", "bob", "bob", true},
		{"Ask 'bob', <ann@x.example> or (eve)!", "ann@x.example", "ann@x.example", true},
		{"Ask 'bob', <ann@x.example> or (eve)!", "eve", "eve", true},
		{"post in #general, please", "#general", "#general", true},
		{"a  b", "  ", "  ", false},
		// Numbers.
		{"pay .5 now", "5", json.Number("5"), false},
		{"pay $.50 now", "50", json.Number("50"), false},
		{"pay -$5 now", "5", json.Number("5"), false},
		{"pay –5 now", "5", json.Number("5"), false},
		{"pay ‒5 now", "5", json.Number("5"), false},
		{"pay 1 000 now", "1", json.Number("1"), false},
		{"pay 1 000 now", " 000", " 000", false},
		{"pay 12\u00a0000 now", "12", json.Number("12"), false},
		{"pay 1\u066c000 now", "1", json.Number("1"), false},
		{"pay 2½ now", "2", json.Number("2"), false},
		{"pay 10² now", "10", json.Number("10"), false},
		{"pay 2^10 now", "10", json.Number("10"), false},
		{"pay 1\u20442 now", "2", json.Number("2"), false},
		{"on 2024\u201105\u201113", "13", json.Number("13"), false},
		{"pay $5 now", "5", json.Number("5"), true},
		{"raise by 5%.", "5", json.Number("5"), true},
		{"June 13 2024", "13", json.Number("13"), true},
		{"1e3 now", "1e3", json.Number("1000"), true},
		{"025 now", "025", json.Number("25"), false},
		{"-0 now", "-0", json.Number("0"), true},
		{"1e999999999 now", "1e999999999", json.Number("1"), false},
		// Characters that are a part of the one before, or that nobody sees.
		{"ask Rene\u0301 now", "Rene", "Rene", false},
		{"ask bob\u200dby now", "bob", "bob", false},
		{"ask bob\u200b now", "bob", "bob", false},
		{"ask \u202ebob now", "bob", "bob", false},
		{"ask bob＠x.example now", "bob", "bob", false},
		{"ask böb now", "bo\u0308b", "bo\u0308b", false},
	} {
		at := strings.Index(test.text, test.words)
		got := at >= 0 && provenance.Stands(test.text, events.WordSpan{Start: at, End: at + len(test.words)}, test.scalar)
		if got != test.want {
			t.Errorf("%q in %q as %v: %v, want %v", test.words, test.text, test.scalar, got, test.want)
		}
	}
}

// The names of an object are values too, unless the schema gives them.
func TestNamesAreValues(t *testing.T) {
	c := capability(nil)
	c.Input = events.JSON(`{"type":"object","properties":{"to":{"type":"object","properties":{"amount":{}},"additionalProperties":{"type":["integer","null","object"]}}}}`)
	for literal, want := range map[string]bool{
		`{"amount":25}`:                    true,
		`{"mallory@evil.example":25}`:      false,
		`{"mallory@evil.example":null}`:    false,
		`{"mallory@evil.example":{}}`:      false,
		`{"amount":25,"mallory":[]}`:       false,
		`[{"amount":25},{"mallory":null}]`: false,
	} {
		a := events.Argument{Literal: events.JSON(literal)}
		for _, path := range []string{"/amount", "/mallory@evil.example", "/0/amount"} {
			s := span(t, "25")
			s.Path = path
			a.Words = append(a.Words, s)
		}
		n := &events.PlanNode{Arguments: map[string]events.Argument{"to": a}}
		got, ok := provenance.Of(n, provenance.Facts{Text: text, Plan: &events.Plan{}, Capability: c})
		if !ok || provenance.Accepted(got) != want {
			t.Errorf("%s: %+v", literal, got)
		}
	}
}

func capability(accepts map[string][]string) *events.Capability {
	return &events.Capability{
		Effect: events.EffectWrite, AuthoritySources: accepts, Input: events.JSON(`{"properties":{"to":{"properties":{"amount":{},"iban":{}}},"cc":{}}}`),
	}
}

func TestOf(t *testing.T) {
	req.Covers(t, "C3-RUN-003.h")
	pointer := "/to"
	words := func(literal string, spans ...events.WordSpan) events.Argument {
		return events.Argument{Literal: events.JSON(literal), Words: spans}
	}
	at := func(path, of string) events.WordSpan {
		s := span(t, of)
		s.Path = path
		return s
	}
	producer := events.CapabilityRef{Name: "lookup", Version: 2}
	plan := &events.Plan{Nodes: []events.PlanNode{{ID: "l", Capability: producer}}}
	for name, test := range map[string]struct {
		argument events.Argument
		own      bool
		accepts  map[string][]string
		want     []events.ArgumentSource
	}{
		"the principal's own plan": {argument: words(`["x","y"]`), own: true, want: []events.ArgumentSource{{Kind: events.SourceRequest, Accepted: true}}},
		"the input":                {argument: events.Argument{Input: &pointer}, want: []events.ArgumentSource{{Kind: events.SourceInput, From: "/to", Accepted: true}}},
		"made up":                  {argument: words(`"mallory"`), want: []events.ArgumentSource{{Kind: events.SourceModel}}},
		"a list, half made up": {
			argument: words(`["bob@mail.example","mallory"]`, at("/0", "bob@mail.example"), at("/1", "bob@mail.example")),
			want: []events.ArgumentSource{
				{Path: "/0", Kind: events.SourceWords, From: "12-28", Accepted: true}, {Path: "/1", Kind: events.SourceModel},
			},
		},
		"an object: names may be private": {
			argument: words(`{"amount":25,"iban":"mallory"}`, at("/amount", "25")),
			want:     []events.ArgumentSource{{Path: "/0", Kind: events.SourceWords, From: "5-7", Accepted: true}, {Path: "/1", Kind: events.SourceModel}},
		},
		"a word for the whole list": {
			argument: words(`["mallory"]`, at("", "25")), want: []events.ArgumentSource{{Path: "/0", Kind: events.SourceModel}},
		},
		"an output": {
			argument: events.Argument{Output: &events.OutputRef{Node: "l", Path: "/id"}},
			want:     []events.ArgumentSource{{Kind: events.SourceOutput, From: "l/id", Producer: &producer}},
		},
		"an output that is accepted": {
			argument: events.Argument{Output: &events.OutputRef{Node: "l", Path: "/id"}}, accepts: map[string][]string{"to": {"output:lookup"}},
			want: []events.ArgumentSource{{Kind: events.SourceOutput, From: "l/id", Producer: &producer, Accepted: true}},
		},
		"an output of another than is accepted": {
			argument: events.Argument{Output: &events.OutputRef{Node: "l", Path: "/id"}}, accepts: map[string][]string{"to": {"output:look", "model"}, "other": {"output"}},
			want: []events.ArgumentSource{{Kind: events.SourceOutput, From: "l/id", Producer: &producer}},
		},
		"any output accepted": {
			argument: events.Argument{Output: &events.OutputRef{Node: "ghost"}}, accepts: map[string][]string{"to": {"output"}},
			want: []events.ArgumentSource{{Kind: events.SourceOutput, From: "ghost", Accepted: true}},
		},
		"a model accepted, and an output not": {
			argument: words(`"x"`), accepts: map[string][]string{"to": {"model"}}, want: []events.ArgumentSource{{Kind: events.SourceModel, Accepted: true}},
		},
		"truth is no word": {argument: words(`true`, at("", "25")), want: []events.ArgumentSource{{Kind: events.SourceModel}}},
	} {
		t.Run(name, func(t *testing.T) {
			n := &events.PlanNode{ID: "n", Arguments: map[string]events.Argument{"to": test.argument}}
			got, ok := provenance.Of(n, provenance.Facts{Own: test.own, Text: text, Plan: plan, Capability: capability(test.accepts)})
			for i := range test.want {
				test.want[i].Argument, test.want[i].Authority = "to", true
			}
			if diff := cmp.Diff(test.want, got); diff != "" || !ok {
				t.Error(diff)
			}
		})
	}
	t.Run("nothing names nothing", func(t *testing.T) {
		for _, literal := range []string{`null`, `[]`, `{}`, `[null]`} {
			n := &events.PlanNode{Arguments: map[string]events.Argument{"cc": words(literal)}}
			got, _ := provenance.Of(n, provenance.Facts{Text: text, Plan: plan, Capability: capability(nil)})
			if len(got) != 1 || got[0].Authority || !provenance.Accepted(got) {
				t.Errorf("%s: %+v", literal, got)
			}
		}
	})
	t.Run("more values than can be followed", func(t *testing.T) {
		n := &events.PlanNode{Arguments: map[string]events.Argument{"to": words("[" + strings.Repeat("1,", provenance.MaxSources) + "1]")}}
		if got, ok := provenance.Of(n, provenance.Facts{Text: text, Plan: plan, Capability: capability(nil)}); ok || got != nil {
			t.Errorf("%d sources", len(got))
		}
	})
}

func TestBears(t *testing.T) {
	for _, test := range []struct {
		effect    events.Effect
		authority []string
		want      bool
	}{
		{events.EffectWrite, nil, true},
		{events.EffectRead, nil, false},
		{events.EffectNone, nil, false},
		{events.EffectWrite, []string{}, false},
		{events.EffectWrite, []string{"to"}, true},
		{events.EffectRead, []string{"to"}, true},
		{events.EffectWrite, []string{"from"}, false},
	} {
		c := &events.Capability{Effect: test.effect, AuthorityArguments: test.authority, Input: events.JSON(`{"properties":{"to":{},"from":{"properties":{"deep":{}}}}}`)}
		if got := provenance.Bears(c, "to"); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
		// One that the schema does not list is not among those that somebody
		// said to bear none.
		for _, other := range []string{"To", "bcc", "deep", ""} {
			if got := provenance.Bears(c, other); got != (len(test.authority) > 0 || test.want) {
				t.Errorf("%+v: %v of %q", test, got, other)
			}
		}
	}
}

// No claim of a plan makes a value the principal's own that the text does not
// have, and a value that was accepted stays so whatever else is in the plan.
func TestClaimsProveNothing(t *testing.T) {
	req.Covers(t, "C3-RUN-004.u", "IK-1.6")
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.StringOf(rapid.RuneFrom([]rune("ab1 .,-é\""))).Draw(t, "text")
		value := rapid.StringOf(rapid.RuneFrom([]rune("ab1 .,-é\""))).Draw(t, "value")
		s := events.WordSpan{Start: rapid.IntRange(-2, 20).Draw(t, "start"), End: rapid.IntRange(-2, 20).Draw(t, "end")}
		stands := provenance.Stands(said, s, value)
		if stands && !strings.Contains(said, value) {
			t.Fatalf("%q stands in %q", value, said)
		}
		if stands && s.Start > 0 {
			before, first := []rune(said[:s.Start]), []rune(value)[0]
			if last := before[len(before)-1]; alnum(last) && alnum(first) {
				t.Fatalf("%q is a part of a word in %q", value, said)
			}
		}
	})
}

func alnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func FuzzOf(f *testing.F) {
	f.Add(`{"a":[1,"x",null,true]}`, text, "/a/1", 3, 9)
	f.Add(`"bob@mail.example"`, text, "", 12, 28)
	f.Fuzz(func(t *testing.T, literal, said, path string, start, end int) {
		n := &events.PlanNode{Arguments: map[string]events.Argument{"to": {Literal: events.JSON(literal), Words: []events.WordSpan{{Path: path, Start: start, End: end}}}}}
		got, ok := provenance.Of(n, provenance.Facts{Text: said, Plan: &events.Plan{}, Capability: capability(nil)})
		if !ok {
			return
		}
		if len(got) == 0 {
			t.Fatal("no source at all")
		}
		for _, s := range got {
			switch {
			case s.Kind == events.SourceWords && (start < 0 || end > len(said) || s.From != fmt.Sprintf("%d-%d", start, end)):
				t.Fatalf("%+v of %q", s, said)
			case s.Kind != events.SourceWords && s.Kind != events.SourceModel:
				t.Fatalf("%+v", s)
			case s.Kind == events.SourceModel && s.Authority && s.Accepted:
				t.Fatalf("accepted: %+v", s)
			}
		}
	})
}

func TestWordsAndKinds(t *testing.T) {
	producer := &events.CapabilityRef{Name: "lookup", Version: 1}
	sources := []events.ArgumentSource{
		{Argument: "a", Kind: events.SourceWords, From: "3-7"},
		{Argument: "a", Kind: events.SourceModel},
		{Argument: "b", Kind: events.SourceOutput, From: "l/id", Producer: producer},
		{Argument: "c", Kind: events.SourceInput, From: "/x"},
		{Argument: "d", Kind: events.SourceRequest},
		{Argument: "e", Kind: events.SourceChoice},
		{Argument: "f", Kind: events.SourceOutput, From: "g"},
	}
	for argument, want := range map[string][2]string{
		"a": {"model", "the request's own words at 3-7; made up by whoever proposed the plan"},
		"b": {"output:lookup", "the output of lookup at l/id"}, "c": {"input", "request input /x"},
		"d": {"request", "written in the request's plan"}, "e": {"choice", "chosen by a person"}, "f": {"output", "the output of g"},
		"unknown": {"model", ""},
	} {
		if kind, words := provenance.Kind(sources, argument), provenance.Words(sources, argument); kind != want[0] || words != want[1] {
			t.Errorf("%s: %q and %q", argument, kind, words)
		}
	}
	if all := provenance.AllWords(sources); len(all) != 6 || all["c"] != "request input /x" {
		t.Errorf("%v", all)
	}
	for text, want := range map[string]bool{"model": true, "output": true, "output:x": true, "output:": false, "words": false, "": false, "inputs": false} {
		if provenance.ValidAccept(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
