// Package html renders a presentation document as an HTML fragment.
//
// The fragment has headings, tables with headers and captions, and classes;
// it has no script, style, handler, form or image and fetches nothing. All
// text is escaped where it is written; there is no other way to write text.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package html

import (
	"bytes"
	"html"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/wording"
)

// Render returns d as an HTML fragment.
func Render(d events.Document) []byte {
	w := &writer{numbers: wording.Numbers(&d)}
	w.open("article", "document")
	w.element("h2", "title", wording.Line(d.Title))
	w.element("p", "status", wording.Status(&d))
	for i := range d.Blocks {
		w.block(&d.Blocks[i])
	}
	if d.OmittedBlocks > 0 {
		w.element("p", "note", "parts left out: "+strconv.Itoa(d.OmittedBlocks))
	}
	w.close("article")
	return w.out.Bytes()
}

// writer writes elements. The names of elements, classes and attributes are
// constants of this package; everything else goes through text.
type writer struct {
	out     bytes.Buffer
	numbers map[string]int
}

func (w *writer) open(element, class string) {
	w.out.WriteString("<" + element + ` class="md-` + class + `">`)
}

func (w *writer) close(element string) { w.out.WriteString("</" + element + ">\n") }

func (w *writer) text(text string) { w.out.WriteString(html.EscapeString(wording.Text(text))) }

func (w *writer) element(element, class, text string) {
	w.open(element, class)
	w.text(text)
	w.close(element)
}

// note writes a remark unless it is empty.
func (w *writer) note(parts ...string) {
	if note := wording.Join(parts...); note != "" {
		w.element("p", "note", note)
	}
}

func (w *writer) block(b *events.Block) {
	switch {
	case b.Heading != nil:
		w.heading(b)
	case b.Paragraph != nil:
		w.open("p", "prose")
		w.spans(b.Paragraph.Spans)
		w.close("p")
	case b.List != nil:
		w.list(b.List)
	case b.Table != nil:
		w.table(b.Table)
	case b.Code != nil:
		w.pre("code", b.Code.Text, b.Code.TotalBytes)
	case b.TestReport != nil:
		w.report(b.TestReport)
	case b.Terminal != nil:
		w.pre("terminal", b.Terminal.Text, b.Terminal.TotalBytes)
	case b.Callout != nil:
		w.callout(b.Callout)
	case b.Citations != nil:
		w.citations(b.Citations)
	case b.Diff != nil:
		w.diff(b.Diff)
	case b.KeyValues != nil:
		w.keyValues(b.KeyValues)
	case b.Fallback != nil:
		w.fallback(b.Fallback)
	}
}

// heading writes headings below the title, which is an h2.
func (w *writer) heading(b *events.Block) {
	element := "h" + strconv.Itoa(min(max(b.Heading.Level, 1), 4)+2)
	w.element(element, "heading", wording.Line(b.Heading.Text))
	if b.Result != nil {
		w.element("p", "outcome", wording.Outcome(b.Result))
	}
}

func (w *writer) spans(spans []events.Span) {
	for i := range spans {
		s := &spans[i]
		if i > 0 {
			w.out.WriteByte(' ')
		}
		switch {
		case events.SafeLink(s.Link):
			w.out.WriteString(`<a class="md-link" rel="noopener noreferrer nofollow" href="` + html.EscapeString(s.Link) + `">`)
			w.text(s.Text)
			w.out.WriteString("</a>")
		case s.Code:
			w.out.WriteString(`<code class="md-inline">`)
			w.text(s.Text)
			w.out.WriteString("</code>")
		default:
			w.text(s.Text)
		}
		if marks := wording.Marks(s, w.numbers); len(marks) > 0 {
			w.out.WriteString(`<sup class="md-cites">`)
			w.text("[" + strings.Join(marks, ", ") + "]")
			w.out.WriteString("</sup>")
		}
	}
}

func (w *writer) list(b *events.ListBlock) {
	element := "ul"
	if b.Ordered {
		element = "ol"
	}
	w.open(element, "list")
	for i := range b.Items {
		w.out.WriteString("<li>")
		w.spans(b.Items[i].Spans)
		w.close("li")
	}
	w.close(element)
	w.note(wording.Omitted(int64(len(b.Items)), int64(b.Total), "entries"))
}

func (w *writer) table(b *events.TableBlock) {
	w.open("table", "table")
	w.element("caption", "caption", wording.Line(b.Caption))
	w.out.WriteString("<thead><tr>")
	for _, c := range b.Columns {
		w.out.WriteString(`<th scope="col">`)
		w.text(wording.Line(c.Name))
		w.out.WriteString("</th>")
	}
	w.out.WriteString("</tr></thead>\n<tbody>\n")
	for _, row := range b.Rows {
		w.out.WriteString("<tr>")
		for i, text := range row {
			if i < len(b.Columns) && b.Columns[i].Numeric {
				w.out.WriteString(`<td class="md-number">`)
			} else {
				w.out.WriteString("<td>")
			}
			w.text(text)
			w.out.WriteString("</td>")
		}
		w.close("tr")
	}
	w.out.WriteString("</tbody></table>\n")
	w.note(wording.Omitted(int64(len(b.Rows)), int64(b.TotalRows), "rows"), wording.Cut(b.CutCells))
}

// pre writes text exactly, in a fixed-width face.
func (w *writer) pre(class, text string, total int64) {
	w.out.WriteString(`<pre class="md-` + class + `"><code>`)
	w.text(text)
	w.out.WriteString("</code></pre>\n")
	w.note(wording.Omitted(int64(len(text)), total, "bytes"))
}

func (w *writer) report(b *events.TestReportBlock) {
	w.open("div", "tests")
	w.open("p", "summary")
	switch badge := b.Badge(); badge {
	case events.BadgePassed:
		w.out.WriteString(`<strong class="md-badge md-passed">passed</strong> `)
	case events.BadgeFailed:
		w.out.WriteString(`<strong class="md-badge md-failed">failed</strong> `)
	case events.BadgeEmpty:
		w.out.WriteString(`<strong class="md-badge md-empty">no tests ran</strong> `)
	case events.BadgeNone:
	}
	w.text(wording.Report(b))
	w.close("p")
	w.open("table", "table")
	w.out.WriteString(`<caption class="md-caption">Tests</caption><thead><tr>` +
		`<th scope="col">status</th><th scope="col">package</th><th scope="col">test</th><th scope="col">ms</th></tr></thead>` + "\n<tbody>\n")
	for i := range b.Tests {
		t := &b.Tests[i]
		w.out.WriteString("<tr><td>")
		w.text(string(t.Status))
		w.out.WriteString("</td><td>")
		w.text(wording.Line(t.Package))
		w.out.WriteString(`</td><th scope="row">`)
		w.text(wording.Line(t.Name))
		w.out.WriteString(`</th><td class="md-number">` + strconv.FormatInt(t.ElapsedMillis, 10) + "</td>")
		w.close("tr")
		if t.Output != "" {
			w.out.WriteString(`<tr><td colspan="4"><pre class="md-terminal"><code>`)
			w.text(t.Output)
			w.out.WriteString("</code></pre></td></tr>\n")
		}
	}
	w.out.WriteString("</tbody></table>\n")
	w.note(wording.Omitted(int64(len(b.Tests)), int64(b.TotalTests), "tests"))
	w.close("div")
}

func (w *writer) callout(b *events.CalloutBlock) {
	class := "callout md-info"
	switch b.Kind {
	case events.CalloutWarning:
		class = "callout md-warning"
	case events.CalloutError:
		class = "callout md-error"
	case events.CalloutInfo:
	}
	w.open("div", class)
	w.element("p", "callout-title", wording.Line(b.Title))
	w.open("p", "prose")
	w.spans(b.Spans)
	w.close("p")
	w.close("div")
}

func (w *writer) citations(b *events.CitationsBlock) {
	w.open("ol", "citations")
	for i := range b.Entries {
		w.element("li", "citation", wording.Citation(&b.Entries[i]))
	}
	w.close("ol")
	w.note(wording.Omitted(int64(len(b.Entries)), int64(b.Total), "references"))
}

func (w *writer) diff(b *events.DiffBlock) {
	w.out.WriteString(`<pre class="md-diff"><code>`)
	for current := range strings.Lines(b.Text) {
		switch {
		case strings.HasPrefix(current, "+"):
			w.out.WriteString(`<span class="md-added">`)
		case strings.HasPrefix(current, "-"):
			w.out.WriteString(`<span class="md-removed">`)
		default:
			w.out.WriteString(`<span class="md-same">`)
		}
		w.text(current)
		w.out.WriteString("</span>")
	}
	w.out.WriteString("</code></pre>\n")
	w.note(wording.Omitted(int64(len(b.Text)), b.TotalBytes, "bytes"))
}

func (w *writer) keyValues(b *events.KeyValuesBlock) {
	w.open("table", "values")
	w.element("caption", "caption", wording.Line(b.Caption))
	w.out.WriteString("<tbody>\n")
	for _, e := range b.Entries {
		w.out.WriteString(`<tr><th scope="row">`)
		w.text(wording.Line(e.Key))
		w.out.WriteString("</th><td>")
		w.text(e.Value)
		w.out.WriteString("</td>")
		w.close("tr")
	}
	w.out.WriteString("</tbody></table>\n")
	w.note(wording.Omitted(int64(len(b.Entries)), int64(b.Total), "values"), wording.Cut(b.CutCells))
}

func (w *writer) fallback(b *events.FallbackBlock) {
	if b.Text == "" {
		w.element("p", "source", wording.Source(b))
		return
	}
	if b.Shown {
		w.open("details", "source")
	} else {
		w.out.WriteString(`<details class="md-source" open>`)
	}
	w.element("summary", "summary", wording.Source(b))
	w.out.WriteString("<pre><code>")
	w.text(b.Text)
	w.out.WriteString("</code></pre>")
	w.close("details")
}
