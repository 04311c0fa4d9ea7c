// Package terminal renders a presentation document for a terminal, plain or
// with ANSI colors. Control characters and escape sequences in content are
// shown, never sent.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package terminal

import (
	"bytes"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/wording"
)

// Options says how to render. The zero Options are plain text of 80 columns
// without the sources of results that are shown as their own type.
type Options struct {
	Width  int  // columns; 0 means 80
	Color  bool // with ANSI escape sequences
	Source bool // also the exact source of what is shown as its own type
}

// Widths that can be rendered.
const (
	defaultWidth = 80
	minWidth     = 20
	maxWidth     = 1000
)

// Render returns d for a terminal.
func Render(d events.Document, o Options) []byte {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	w := &writer{o: o, width: min(max(o.Width, minWidth), maxWidth), numbers: wording.Numbers(&d)}
	w.prose(bold, wording.Line(d.Title), "")
	w.prose(dim, wording.Status(&d), "")
	w.blank()
	for i := range d.Blocks {
		w.block(&d.Blocks[i])
	}
	if d.OmittedBlocks > 0 {
		w.note("parts left out: " + strconv.Itoa(d.OmittedBlocks))
	}
	return append(bytes.TrimRight(w.out.Bytes(), "\n"), '\n')
}

// style is an ANSI escape sequence of this package; content has none.
type style string

const (
	plain  style = ""
	bold   style = "\x1b[1m"
	dim    style = "\x1b[2m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	reset  style = "\x1b[0m"
)

type writer struct {
	out     bytes.Buffer
	o       Options
	width   int
	numbers map[string]int
}

// put writes safe text in a style.
func (w *writer) put(s style, text string) {
	if !w.o.Color || s == plain || text == "" {
		w.out.WriteString(text)
		return
	}
	w.out.WriteString(string(s) + text + string(reset))
}

func (w *writer) blank() { w.out.WriteByte('\n') }

// prose writes text wrapped to the width, with an indent.
func (w *writer) prose(s style, text, indent string) {
	for _, current := range wrap(text, w.width-len(indent)) {
		w.out.WriteString(indent)
		w.put(s, current)
		w.blank()
	}
}

func (w *writer) note(parts ...string) {
	if note := wording.Join(parts...); note != "" {
		w.prose(dim, "("+note+")", "  ")
	}
}

// exact writes text line by line as it is, indented.
func (w *writer) exact(text string, styled func(string) style) {
	for current := range strings.Lines(wording.Text(text)) {
		current = strings.TrimSuffix(current, "\n")
		w.out.WriteString("  ")
		w.put(styled(current), current)
		w.blank()
	}
}

func unstyled(string) style { return plain }

func (w *writer) block(b *events.Block) {
	switch {
	case b.Heading != nil:
		w.prose(bold, strings.Repeat("#", min(max(b.Heading.Level, 1), 4))+" "+wording.Line(b.Heading.Text), "")
		if b.Result != nil {
			w.prose(dim, wording.Outcome(b.Result), "")
		}
	case b.Paragraph != nil:
		w.prose(plain, w.spans(b.Paragraph.Spans), "")
	case b.List != nil:
		w.list(b.List)
	case b.Table != nil:
		w.table(b.Table)
	case b.Code != nil:
		w.exact(b.Code.Text, unstyled)
		w.note(wording.Omitted(int64(len(b.Code.Text)), b.Code.TotalBytes, "bytes"))
	case b.TestReport != nil:
		w.report(b.TestReport)
	case b.Terminal != nil:
		w.exact(b.Terminal.Text, unstyled)
		w.note(wording.Omitted(int64(len(b.Terminal.Text)), b.Terminal.TotalBytes, "bytes"))
	case b.Callout != nil:
		w.callout(b.Callout)
	case b.Citations != nil:
		for i := range b.Citations.Entries {
			w.prose(dim, "["+strconv.Itoa(i+1)+"] "+wording.Citation(&b.Citations.Entries[i]), "")
		}
		w.note(wording.Omitted(int64(len(b.Citations.Entries)), int64(b.Citations.Total), "references"))
	case b.Diff != nil:
		w.exact(b.Diff.Text, diffStyle)
		w.note(wording.Omitted(int64(len(b.Diff.Text)), b.Diff.TotalBytes, "bytes"))
	case b.KeyValues != nil:
		w.keyValues(b.KeyValues)
	case b.Fallback != nil:
		w.prose(dim, wording.Source(b.Fallback), "")
		if !b.Fallback.Shown || w.o.Source {
			w.exact(b.Fallback.Text, unstyled)
		}
	}
	w.blank()
}

func diffStyle(current string) style {
	switch {
	case strings.HasPrefix(current, "+"):
		return green
	case strings.HasPrefix(current, "-"):
		return red
	}
	return plain
}

func (w *writer) spans(spans []events.Span) string {
	parts := make([]string, 0, len(spans))
	for i := range spans {
		text := wording.Line(spans[i].Text)
		if events.SafeLink(spans[i].Link) {
			text += " <" + spans[i].Link + ">"
		}
		if marks := wording.Marks(&spans[i], w.numbers); len(marks) > 0 {
			text += " [" + strings.Join(marks, ", ") + "]"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

func (w *writer) list(b *events.ListBlock) {
	for i := range b.Items {
		mark := "- "
		if b.Ordered {
			mark = strconv.Itoa(i+1) + ". "
		}
		w.prose(plain, mark+w.spans(b.Items[i].Spans), "  ")
	}
	w.note(wording.Omitted(int64(len(b.Items)), int64(b.Total), "entries"))
}

func (w *writer) callout(b *events.CalloutBlock) {
	s, mark := bold, "i"
	switch b.Kind {
	case events.CalloutWarning:
		s, mark = yellow, "!"
	case events.CalloutError:
		s, mark = red, "x"
	case events.CalloutInfo:
	}
	w.prose(s, "["+mark+"] "+wording.Line(b.Title), "")
	w.prose(plain, w.spans(b.Spans), "    ")
}

func (w *writer) report(b *events.TestReportBlock) {
	switch badge := b.Badge(); badge {
	case events.BadgePassed:
		w.prose(green, "PASSED", "")
	case events.BadgeFailed:
		w.prose(red, "FAILED", "")
	case events.BadgeEmpty:
		w.prose(yellow, "NO TESTS RAN", "")
	case events.BadgeNone:
	}
	w.prose(plain, wording.Report(b), "")
	rows := make([][]string, len(b.Tests))
	for i := range b.Tests {
		t := &b.Tests[i]
		rows[i] = []string{string(t.Status), t.Package, t.Name, strconv.FormatInt(t.ElapsedMillis, 10)}
	}
	w.grid([]events.Column{{Name: "status"}, {Name: "package"}, {Name: "test"}, {Name: "ms", Numeric: true}}, rows)
	w.note(wording.Omitted(int64(len(b.Tests)), int64(b.TotalTests), "tests"))
	for i := range b.Tests {
		if t := &b.Tests[i]; t.Output != "" {
			w.prose(bold, wording.Line(t.Package+" "+t.Name), "")
			w.exact(t.Output, unstyled)
		}
	}
}

func (w *writer) table(b *events.TableBlock) {
	if b.Caption != "" {
		w.prose(bold, wording.Line(b.Caption), "")
	}
	w.grid(b.Columns, b.Rows)
	w.note(wording.Omitted(int64(len(b.Rows)), int64(b.TotalRows), "rows"), wording.Cut(b.CutCells))
}

func (w *writer) keyValues(b *events.KeyValuesBlock) {
	if b.Caption != "" {
		w.prose(bold, wording.Line(b.Caption), "")
	}
	rows := make([][]string, len(b.Entries))
	for i, e := range b.Entries {
		rows[i] = []string{e.Key, e.Value}
	}
	w.grid([]events.Column{{}, {}}, rows)
	w.note(wording.Omitted(int64(len(b.Entries)), int64(b.Total), "values"), wording.Cut(b.CutCells))
}
