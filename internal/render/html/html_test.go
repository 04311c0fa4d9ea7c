package html_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	xhtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"example.org/mandate/events"
	"example.org/mandate/internal/render/html"
	"example.org/mandate/internal/render/rendertest"
	"example.org/mandate/internal/wording"
)

// parse reads a fragment as a browser does.
func parse(t *testing.T, fragment []byte) *xhtml.Node {
	t.Helper()
	body := &xhtml.Node{Type: xhtml.ElementNode, DataAtom: atom.Body, Data: "body"}
	nodes, err := xhtml.ParseFragment(bytes.NewReader(fragment), body)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		body.AppendChild(n)
	}
	return body
}

var elements = strings.Fields("article h2 h3 h4 h5 h6 p a code sup ul ol li table caption thead tbody tr th td pre strong div span details summary")

// check fails on everything that a fragment must not have, and returns it.
func check(t *testing.T, fragment []byte) *xhtml.Node {
	t.Helper()
	root := parse(t, fragment)
	for n := range root.Descendants() {
		switch n.Type {
		case xhtml.TextNode:
			continue
		case xhtml.ElementNode:
		default:
			t.Fatalf("node of type %d: %.80q", n.Type, n.Data)
		}
		if !slices.Contains(elements, n.Data) {
			t.Fatalf("element %q", n.Data)
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "class":
				for name := range strings.FieldsSeq(a.Val) {
					if strings.Trim(strings.TrimPrefix(name, "md-"), "abcdefghijklmnopqrstuvwxyz-") != "" {
						t.Fatalf("class %q", name)
					}
				}
			case "scope", "colspan", "open", "rel":
			case "href":
				if n.Data != "a" || !events.SafeLink(a.Val) {
					t.Fatalf("address %q of %s", a.Val, n.Data)
				}
			default:
				t.Fatalf("attribute %s=%q of %s", a.Key, a.Val, n.Data)
			}
		}
	}
	return root
}

// shape lists the elements of a fragment in order.
func shape(root *xhtml.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == xhtml.ElementNode && n.Data != "a" && n.Data != "span" {
			b.WriteString(n.Data + " ")
		}
	}
	return b.String()
}

func words(n *xhtml.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == xhtml.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func find(n *xhtml.Node, element string) *xhtml.Node {
	for d := range n.Descendants() {
		if d.Type == xhtml.ElementNode && d.Data == element {
			return d
		}
	}
	return nil
}

func TestHostileTextStaysText(t *testing.T) {
	plain := shape(check(t, html.Render(rendertest.Hostile("plain words"))))
	try := func(t *testing.T, texts []string) {
		t.Helper()
		for _, text := range texts {
			root := check(t, html.Render(rendertest.Hostile(text)))
			if got := shape(root); text != "" && got != plain {
				t.Fatalf("%q changes the elements:\n%s\nwant\n%s", text, got, plain)
			}
			if got := words(find(root, "h2")); got != wording.Line(text) {
				t.Fatalf("the title is shown as %q, want %q", got, wording.Line(text))
			}
		}
	}
	t.Run("own", func(t *testing.T) { try(t, rendertest.Hostiles()) })
	t.Run("scripts", func(t *testing.T) { try(t, rendertest.Shared(t, "json-robustness/xss.jsonl", "payload")) })
	t.Run("strings", func(t *testing.T) { try(t, rendertest.Shared(t, "json-robustness/blns.jsonl", "value")) })
	t.Run("markdown", func(t *testing.T) {
		try(t, rendertest.Shared(t, "json-robustness/commonmark.jsonl", "markdown", "html"))
	})
}

// The text between the marks of every element is exactly what the document
// holds where nothing had to be made visible.
func TestExactTextIsExact(t *testing.T) {
	const text = "\n  a <b> & \"c\" 'd'\n\n\te \\ `f`\n"
	d := rendertest.Hostile("x")
	d.Blocks = []events.Block{{Code: &events.CodeBlock{Text: text, TotalBytes: int64(len(text))}}}
	if got := words(find(parse(t, html.Render(d)), "code")); got != text {
		t.Errorf("got %q, want %q", got, text)
	}
}

func TestAccessible(t *testing.T) {
	root := parse(t, html.Render(rendertest.Sample()))
	tables := 0
	for n := range root.Descendants() {
		if n.Type != xhtml.ElementNode || n.Data != "table" {
			continue
		}
		tables++
		if n.FirstChild == nil || n.FirstChild.Data != "caption" {
			t.Error("a table does not begin with a caption")
		}
		header := find(n, "th")
		if header == nil || len(header.Attr) == 0 || header.Attr[0].Key != "scope" {
			t.Error("a table has no header with a scope")
		}
	}
	if tables != 4 {
		t.Errorf("%d tables, want 4", tables)
	}
	link := find(root, "a")
	if link == nil {
		t.Fatal("an http address is no link")
	}
	for _, a := range link.Attr {
		if a.Key == "rel" && strings.Contains(a.Val, "noopener") {
			return
		}
	}
	t.Error("the link has no rel=noopener")
}

// Only an observed report without failures looks passed.
func TestBadges(t *testing.T) {
	d := rendertest.Sample()
	for _, test := range []struct {
		report events.TestReportBlock
		want   events.Badge
		class  string
	}{
		{events.TestReportBlock{Origin: events.ReportObserved, Passed: 2}, events.BadgePassed, "md-passed"},
		{events.TestReportBlock{Origin: events.ReportObserved, Passed: 2, Failed: 1}, events.BadgeFailed, "md-failed"},
		{events.TestReportBlock{Origin: events.ReportObserved, Passed: 2, BuildFailed: true}, events.BadgeFailed, "md-failed"},
		{events.TestReportBlock{Origin: events.ReportObserved}, events.BadgeEmpty, "md-empty"},
		{events.TestReportBlock{Origin: events.ReportImported, Passed: 2}, events.BadgeNone, ""},
		{events.TestReportBlock{Passed: 2}, events.BadgeNone, ""},
	} {
		d.Blocks = []events.Block{{Result: &events.ResultOutcome{}, TestReport: &test.report}}
		out := string(html.Render(d))
		if got := test.report.Badge(); got != test.want || strings.Contains(out, "md-badge") != (test.class != "") || !strings.Contains(out, test.class) {
			t.Errorf("%+v: badge %q in\n%s", test.report, got, out)
		}
		if test.report.Origin == events.ReportImported && !strings.Contains(out, "not run by this system") {
			t.Errorf("an imported report does not say so:\n%s", out)
		}
	}
}

func TestGolden(t *testing.T) {
	out := html.Render(rendertest.Sample())
	check(t, out)
	rendertest.Golden(t, "sample.html", out)
}

func TestPresentedGolden(t *testing.T) {
	for name, d := range rendertest.Presented(t) {
		rendertest.Golden(t, name+".html", html.Render(d))
	}
}

func FuzzRender(f *testing.F) {
	for _, text := range rendertest.Hostiles() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, html.Render(rendertest.Hostile(text))) })
}

func BenchmarkRender(b *testing.B) {
	for _, size := range []int{1 << 18, 1 << 19, 1 << 20} {
		b.Run(strings.Repeat("=", size>>18), func(b *testing.B) {
			d := rendertest.Wide(size)
			b.SetBytes(int64(size))
			for b.Loop() {
				html.Render(d)
			}
		})
	}
}
