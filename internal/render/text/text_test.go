package text_test

import (
	"strings"
	"testing"
	"unicode"

	"example.org/mandate/internal/render/rendertest"
	"example.org/mandate/internal/render/text"
)

func check(t *testing.T, words string) {
	t.Helper()
	for _, r := range string(text.Render(rendertest.Hostile(words))) {
		if unicode.IsControl(r) && r != '\n' {
			t.Fatalf("%q sends %U", words, r)
		}
	}
}

func TestHostileTextSendsNothing(t *testing.T) {
	for _, words := range rendertest.Hostiles() {
		check(t, words)
	}
}

func TestConcise(t *testing.T) {
	out := string(text.Render(rendertest.Sample()))
	rendertest.Golden(t, "sample.txt", []byte(out))
	for _, want := range []string{"Outcome: completed", "1 passed, 1 failed", "imported from", "only in the full document"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

func TestPresentedGolden(t *testing.T) {
	for name, d := range rendertest.Presented(t) {
		rendertest.Golden(t, name+".txt", text.Render(d))
	}
}

func FuzzRender(f *testing.F) {
	for _, words := range rendertest.Hostiles() {
		f.Add(words)
	}
	f.Fuzz(check)
}
