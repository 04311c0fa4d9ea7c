package wording_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"example.org/mandate/events"
	"example.org/mandate/internal/wording"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "",
		"plain\n\ttext é 日本":     "plain\n\ttext é 日本",
		"a\r\nb\rc":              "a\nb␍c",
		"\x1b[31mred\x07":        "␛[31mred␇",
		"\x00\x7f\u009b":         "␀␡⟨U+009B⟩",
		"a\u202eb\u2066c\u200bd": "a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d",
		"tag \U000e0041\ufeff":   "tag ⟨U+E0041⟩⟨U+FEFF⟩",
		// What nobody sees makes two texts look the same.
		"bob\u200d@x bob\u200c@y":      "bob⟨U+200D⟩@x bob⟨U+200C⟩@y",
		"\u200dbob":                    "⟨U+200D⟩bob",
		"a\u034fb\u115fc\u1160d":       "a⟨U+034F⟩b⟨U+115F⟩c⟨U+1160⟩d",
		"a\u3164b\uffa0c\ufe0f\u200dd": "a⟨U+3164⟩b⟨U+FFA0⟩c⟨U+FE0F⟩⟨U+200D⟩d",
		"a\ufe0fb\u17b4c\U0001d173d":   "a⟨U+FE0F⟩b⟨U+17B4⟩c⟨U+1D173⟩d",
		"⚠\ufe0f":                      "⚠\ufe0f",
		"\xff a \xc3":                  "\uFFFD a \uFFFD",
		"family 👩\u200d👧 می\u200cشود":  "family 👩\u200d👧 می\u200cشود",
	} {
		if got := wording.Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
	if got := wording.Line(" a\nb\tc\r"); got != "a b c␍" {
		t.Errorf("Line gives %q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := wording.Text(text)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("Text(%q) = %q", text, got)
		}
		if wording.Text(got) != got {
			t.Errorf("Text(%q) is not stable", text)
		}
	})
}

func TestWords(t *testing.T) {
	report := &events.TestReportBlock{Tool: "go test", Origin: events.ReportImported, Source: "a file", Passed: 1, Packages: 1}
	for got, want := range map[string]string{
		wording.Omitted(2, 2, "rows"):                   "",
		wording.Omitted(2, 5, "rows"):                   "2 of 5 rows shown; 3 left out",
		wording.Join("", "a", "", "b"):                  "a; b",
		wording.Report(report):                          "go test: 1 passed, 0 failed, 0 skipped, in 1 package (imported from a file, not run by this system)",
		wording.Source(&events.FallbackBlock{Text: ""}): "Exact source, 0 bytes",
		strings.Join(wording.Marks(&events.Span{Citations: []string{"a", "x", "y"}}, map[string]int{"a": 3}), " "): "3 ?",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
