package markdown_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	gmtext "github.com/yuin/goldmark/text"
	xhtml "golang.org/x/net/html"

	"example.org/mandate/events"
	"example.org/mandate/internal/render/markdown"
	"example.org/mandate/internal/render/rendertest"
	"example.org/mandate/internal/wording"
)

func reader() goldmark.Markdown {
	return goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))
}

// shape lists what a reader of GitHub's Markdown finds, and fails on markup
// that content must never become.
func shape(t *testing.T, source []byte) string {
	t.Helper()
	var b strings.Builder
	err := ast.Walk(reader().Parser().Parse(gmtext.NewReader(source)), func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n.Kind() {
		case ast.KindRawHTML, ast.KindHTMLBlock, ast.KindImage, ast.KindAutoLink:
			t.Errorf("%s in\n%s", n.Kind(), source)
		case ast.KindLink:
			if link, ok := n.(*ast.Link); ok && !events.SafeLink(string(link.Destination)) {
				t.Errorf("link to %q", link.Destination)
			}
			return ast.WalkContinue, nil
		case ast.KindText, ast.KindString:
			return ast.WalkContinue, nil
		}
		b.WriteString(n.Kind().String() + " ")
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// title returns the words of the first heading after rendering.
func title(t *testing.T, source []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := reader().Convert(source, &out); err != nil {
		t.Fatal(err)
	}
	root, err := xhtml.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type != xhtml.ElementNode || n.Data != "h1" {
			continue
		}
		var b strings.Builder
		for d := range n.Descendants() {
			if d.Type == xhtml.TextNode {
				b.WriteString(d.Data)
			}
		}
		return b.String()
	}
	return ""
}

func TestHostileTextStaysText(t *testing.T) {
	plain := shape(t, markdown.Render(rendertest.Hostile("plain words")))
	try := func(t *testing.T, texts []string) {
		t.Helper()
		for _, text := range texts {
			source := markdown.Render(rendertest.Hostile(text))
			got := shape(t, source)
			if t.Failed() {
				t.Fatalf("text %q", text)
			}
			if wording.Line(text) == "" {
				continue
			}
			if got != plain {
				t.Fatalf("%q changes the structure:\n%s\nwant\n%s\nin\n%s", text, got, plain, source)
			}
			if shown := title(t, source); shown != wording.Line(text) {
				t.Fatalf("the title is shown as %q, want %q", shown, wording.Line(text))
			}
		}
	}
	t.Run("own", func(t *testing.T) { try(t, rendertest.Hostiles()) })
	t.Run("scripts", func(t *testing.T) { try(t, rendertest.Shared(t, "json-robustness/xss.jsonl", "payload")) })
	t.Run("strings", func(t *testing.T) { try(t, rendertest.Shared(t, "json-robustness/blns.jsonl", "value")) })
	t.Run("markdown", func(t *testing.T) { try(t, rendertest.Shared(t, "json-robustness/commonmark.jsonl", "markdown")) })
	t.Run("extensions", func(t *testing.T) { try(t, rendertest.Shared(t, "json-robustness/gfm-extensions.jsonl", "markdown")) })
}

func TestGolden(t *testing.T) {
	rendertest.Golden(t, "sample.md", markdown.Render(rendertest.Sample()))
}

func TestPresentedGolden(t *testing.T) {
	for name, d := range rendertest.Presented(t) {
		rendertest.Golden(t, name+".md", markdown.Render(d))
	}
}

func FuzzRender(f *testing.F) {
	plain := ""
	for _, text := range rendertest.Hostiles() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if plain == "" {
			plain = shape(t, markdown.Render(rendertest.Hostile("plain words")))
		}
		if got := shape(t, markdown.Render(rendertest.Hostile(text))); wording.Line(text) != "" && got != plain {
			t.Errorf("%q changes the structure:\n%s\nwant\n%s", text, got, plain)
		}
	})
}

func BenchmarkRender(b *testing.B) {
	for _, size := range []int{1 << 18, 1 << 19, 1 << 20} {
		b.Run(strings.Repeat("=", size>>18), func(b *testing.B) {
			d := rendertest.Wide(size)
			b.SetBytes(int64(size))
			for b.Loop() {
				markdown.Render(d)
			}
		})
	}
}
