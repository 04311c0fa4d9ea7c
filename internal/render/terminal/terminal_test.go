package terminal_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"example.org/mandate/events"
	"example.org/mandate/internal/render/rendertest"
	"example.org/mandate/internal/render/terminal"
)

// own lists every sequence that the renderer may send.
var own = strings.NewReplacer("\x1b[0m", "", "\x1b[1m", "", "\x1b[2m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "")

func check(t *testing.T, text string) {
	t.Helper()
	for _, o := range []terminal.Options{{}, {Color: true, Source: true}, {Width: 1}, {Width: 20, Color: true}} {
		out := string(terminal.Render(rendertest.Hostile(text), o))
		if o.Color {
			out = own.Replace(out)
		}
		if !utf8.ValidString(out) {
			t.Fatalf("%q: the output is not UTF-8", text)
		}
		for _, r := range out {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
				t.Fatalf("%q with %+v sends %U", text, o, r)
			}
		}
	}
}

func TestHostileTextSendsNoSequence(t *testing.T) {
	for _, text := range rendertest.Hostiles() {
		check(t, text)
	}
	t.Run("scripts", func(t *testing.T) {
		for _, text := range rendertest.Shared(t, "json-robustness/xss.jsonl", "payload") {
			check(t, text)
		}
	})
	t.Run("strings", func(t *testing.T) {
		for _, text := range rendertest.Shared(t, "json-robustness/blns.jsonl", "value") {
			check(t, text)
		}
	})
}

func TestTablesFitTheWidth(t *testing.T) {
	d := rendertest.Sample()
	d.Title, d.Run = "t", "r"
	rows := [][]string{{"id", strings.Repeat("many words in a cell ", 20), "12"}, {strings.Repeat("unbroken", 30), "日本語の文", "7"}}
	d.Blocks = []events.Block{{Table: &events.TableBlock{
		Caption: "c", Columns: []events.Column{{Name: "a"}, {Name: "b"}, {Name: "n", Numeric: true}}, Rows: rows, TotalRows: 2,
	}}}
	for _, width := range []int{20, 40, 80, 200} {
		out := string(terminal.Render(d, terminal.Options{Width: width}))
		for current := range strings.Lines(out) {
			columns := 0
			for _, r := range strings.TrimSuffix(current, "\n") {
				if columns++; r > 0x2e80 {
					columns++
				}
			}
			if columns > width {
				t.Errorf("line of %d columns, want at most %d: %q", columns, width, current)
			}
		}
		if strings.Count(out, "k") != 30 || strings.Count(out, "words") != 20 {
			t.Errorf("width %d loses words:\n%s", width, out)
		}
	}
}

func TestGolden(t *testing.T) {
	rendertest.Golden(t, "sample.txt", terminal.Render(rendertest.Sample(), terminal.Options{}))
	rendertest.Golden(t, "sample.ansi", terminal.Render(rendertest.Sample(), terminal.Options{Color: true, Source: true, Width: 100}))
}

func TestPresentedGolden(t *testing.T) {
	for name, d := range rendertest.Presented(t) {
		rendertest.Golden(t, name+".txt", terminal.Render(d, terminal.Options{Width: 100}))
	}
}

func FuzzRender(f *testing.F) {
	for _, text := range rendertest.Hostiles() {
		f.Add(text)
	}
	f.Fuzz(check)
}

func BenchmarkRender(b *testing.B) {
	for _, size := range []int{1 << 18, 1 << 19, 1 << 20} {
		b.Run(strings.Repeat("=", size>>18), func(b *testing.B) {
			d := rendertest.Wide(size)
			b.SetBytes(int64(size))
			for b.Loop() {
				terminal.Render(d, terminal.Options{})
			}
		})
	}
}
