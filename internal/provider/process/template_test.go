package process

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Whatever a value is, it stays inside its element and is never an option.
func FuzzExpand(f *testing.F) {
	for _, seed := range [][2]string{
		{"{a}", "-rf"}, {"--name={a}", "x y"}, {"{a}{a}", "{a}"}, {"{", "}"}, {"{ a }{a", "x"}, {"-{a}", ""}, {"{b}", "x"}, {"x{a}", "\x00"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, element, value string) {
		quoted, err := jsontext.AppendQuote(nil, value)
		if err != nil {
			return // not text
		}
		got, err := expand(element, map[string]jsontext.Value{"a": quoted})
		if err != nil {
			if !errors.Is(err, errArgument) || got != "" {
				t.Fatalf("expand(%q) = %q, %v", element, got, err)
			}
			return
		}
		if strings.ContainsRune(got, 0) || strings.HasPrefix(got, "-") && !strings.HasPrefix(element, "-") {
			t.Fatalf("expand(%q) with %q = %q", element, value, got)
		}
		if !strings.Contains(element, "{") && got != element {
			t.Fatalf("expand(%q) without a placeholder = %q", element, got)
		}
		if want := strings.ReplaceAll(element, "{a}", value); got != want {
			t.Fatalf("expand(%q) with %q = %q, want %q", element, value, got, want)
		}
	})
}
