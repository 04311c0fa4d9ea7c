// Package markdown renders a presentation document as GitHub-flavored
// Markdown. Content cannot become markup: running text is escaped, and exact
// text stands in a fence that is longer than any in the text.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package markdown

import (
	"bytes"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/wording"
)

// Render returns d as Markdown.
func Render(d events.Document) []byte {
	w := &writer{numbers: wording.Numbers(&d)}
	w.paragraph("# " + escape(d.Title))
	w.paragraph(escape(wording.Status(&d)))
	for i := range d.Blocks {
		w.block(&d.Blocks[i])
	}
	if d.OmittedBlocks > 0 {
		w.note("parts left out: " + strconv.Itoa(d.OmittedBlocks))
	}
	return append(bytes.TrimRight(w.out.Bytes(), "\n"), '\n')
}

type writer struct {
	out     bytes.Buffer
	numbers map[string]int
}

// paragraph writes one line of markup and ends the block.
func (w *writer) paragraph(markup string) {
	w.out.WriteString(markup)
	w.out.WriteString("\n\n")
}

func (w *writer) note(parts ...string) {
	if note := wording.Join(parts...); note != "" {
		w.paragraph("*" + escape(note) + "*")
	}
}

func (w *writer) block(b *events.Block) {
	switch {
	case b.Heading != nil:
		w.paragraph(strings.Repeat("#", min(max(b.Heading.Level, 1), 4)+1) + " " + escape(b.Heading.Text))
		if b.Result != nil {
			w.note(wording.Outcome(b.Result))
		}
	case b.Paragraph != nil:
		w.paragraph(w.spans(b.Paragraph.Spans))
	case b.List != nil:
		w.list(b.List)
	case b.Table != nil:
		w.table(b.Table)
	case b.Code != nil:
		w.fence(language(b.Code.Language), b.Code.Text)
		w.note(wording.Omitted(int64(len(b.Code.Text)), b.Code.TotalBytes, "bytes"))
	case b.TestReport != nil:
		w.report(b.TestReport)
	case b.Terminal != nil:
		w.fence("text", b.Terminal.Text)
		w.note(wording.Omitted(int64(len(b.Terminal.Text)), b.Terminal.TotalBytes, "bytes"))
	case b.Callout != nil:
		w.callout(b.Callout)
	case b.Citations != nil:
		w.citations(b.Citations)
	case b.Diff != nil:
		w.fence("diff", b.Diff.Text)
		w.note(wording.Omitted(int64(len(b.Diff.Text)), b.Diff.TotalBytes, "bytes"))
	case b.KeyValues != nil:
		w.keyValues(b.KeyValues)
	case b.Fallback != nil:
		w.paragraph(escape(wording.Source(b.Fallback)))
		if b.Fallback.Text != "" {
			w.fence("", b.Fallback.Text)
		}
	}
}

// escape returns text as one line that is only text to every reader of
// CommonMark and of GitHub's extensions.
func escape(text string) string {
	text = wording.Line(text)
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	digits := 0 // how many characters so far are digits, if all are
	for i := range len(text) {
		c := text[i]
		if special(text, i, digits == i) {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		if digits == i && c >= '0' && c <= '9' {
			digits++
		}
	}
	return b.String()
}

// special reports whether the character at i could be markup. first says that
// only digits stand before it.
func special(text string, i int, first bool) bool {
	switch text[i] {
	case '\\', '`', '*', '_', '{', '}', '[', ']', '<', '>', '#', '|', '~', '&', '@', '$', '^':
		return true
	case '!':
		return i+1 < len(text) && text[i+1] == '['
	case '-', '+', '=':
		return i == 0
	case '.':
		return first && i > 0 || i >= 3 && strings.EqualFold(text[i-3:i], "www")
	case ')':
		return first && i > 0
	case ':':
		return first || strings.HasPrefix(text[i:], "://") || strings.HasSuffix(strings.ToLower(text[max(0, i-6):i]), "mailto") || strings.HasSuffix(strings.ToLower(text[max(0, i-4):i]), "xmpp")
	}
	return false
}

func (w *writer) spans(spans []events.Span) string {
	parts := make([]string, 0, len(spans))
	for i := range spans {
		s := &spans[i]
		text := escape(s.Text)
		switch {
		case s.Code:
			text = inline(s.Text)
		case events.SafeLink(s.Link):
			text = "[" + text + "](<" + s.Link + ">)"
		}
		if marks := wording.Marks(s, w.numbers); len(marks) > 0 {
			text += ` \[` + strings.Join(marks, ", ") + `\]`
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// inline returns text as a code span.
func inline(text string) string {
	text = wording.Line(text)
	if text == "" {
		return ""
	}
	ticks := strings.Repeat("`", longestRun(text)+1)
	return ticks + " " + text + " " + ticks
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// fence writes text exactly. The fence is longer than any run of backticks in
// it, so that nothing in it ends the block.
func (w *writer) fence(language, text string) {
	text = wording.Text(text)
	ticks := strings.Repeat("`", max(3, longestRun(text)+1))
	w.out.WriteString(ticks + language + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		w.out.WriteByte('\n')
	}
	w.paragraph(ticks)
}

// language returns the name of a language if it is nothing but a name.
func language(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789+-") != "" {
		return ""
	}
	return name
}

func (w *writer) list(b *events.ListBlock) {
	for i := range b.Items {
		mark := "- "
		if b.Ordered {
			mark = strconv.Itoa(i+1) + ". "
		}
		w.out.WriteString(mark + w.spans(b.Items[i].Spans) + "\n")
	}
	w.out.WriteByte('\n')
	w.note(wording.Omitted(int64(len(b.Items)), int64(b.Total), "entries"))
}

func (w *writer) row(cells []string) {
	w.out.WriteByte('|')
	for _, text := range cells {
		w.out.WriteString(" " + escape(text) + " |")
	}
	w.out.WriteByte('\n')
}

func (w *writer) table(b *events.TableBlock) {
	if b.Caption != "" {
		w.paragraph("**" + escape(b.Caption) + "**")
	}
	names := make([]string, len(b.Columns))
	rules := make([]string, len(b.Columns))
	for i, c := range b.Columns {
		names[i], rules[i] = c.Name, "---"
		if c.Numeric {
			rules[i] = "---:"
		}
	}
	w.row(names)
	w.out.WriteString("| " + strings.Join(rules, " | ") + " |\n")
	for _, row := range b.Rows {
		w.row(row)
	}
	w.out.WriteByte('\n')
	w.note(wording.Omitted(int64(len(b.Rows)), int64(b.TotalRows), "rows"), wording.Cut(b.CutCells))
}

func (w *writer) report(b *events.TestReportBlock) {
	badge := ""
	if b.Badge() != events.BadgeNone {
		badge = "**" + string(b.Badge()) + "** "
	}
	w.paragraph(badge + escape(wording.Report(b)))
	w.row([]string{"status", "package", "test", "ms"})
	w.out.WriteString("| --- | --- | --- | ---: |\n")
	for i := range b.Tests {
		t := &b.Tests[i]
		w.row([]string{string(t.Status), t.Package, t.Name, strconv.FormatInt(t.ElapsedMillis, 10)})
	}
	w.out.WriteByte('\n')
	w.note(wording.Omitted(int64(len(b.Tests)), int64(b.TotalTests), "tests"))
	for i := range b.Tests {
		if t := &b.Tests[i]; t.Output != "" {
			w.paragraph(escape(t.Package + " " + t.Name + ":"))
			w.fence("text", t.Output)
		}
	}
}

func (w *writer) callout(b *events.CalloutBlock) {
	kind := "NOTE"
	switch b.Kind {
	case events.CalloutWarning:
		kind = "WARNING"
	case events.CalloutError:
		kind = "CAUTION"
	case events.CalloutInfo:
	}
	w.out.WriteString("> [!" + kind + "]\n> **" + escape(b.Title+".") + "** ")
	w.paragraph(w.spans(b.Spans))
}

func (w *writer) citations(b *events.CitationsBlock) {
	for i := range b.Entries {
		w.out.WriteString(strconv.Itoa(i+1) + ". " + escape(wording.Citation(&b.Entries[i])) + "\n")
	}
	w.out.WriteByte('\n')
	w.note(wording.Omitted(int64(len(b.Entries)), int64(b.Total), "references"))
}

func (w *writer) keyValues(b *events.KeyValuesBlock) {
	w.row([]string{b.Caption, ""})
	w.out.WriteString("| --- | --- |\n")
	for _, e := range b.Entries {
		w.row([]string{e.Key, e.Value})
	}
	w.out.WriteByte('\n')
	w.note(wording.Omitted(int64(len(b.Entries)), int64(b.Total), "values"), wording.Cut(b.CutCells))
}
