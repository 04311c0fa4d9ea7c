// Package text renders a presentation document as concise text for a channel
// that shows no more: how it ended, the sentences, and one line per result; of
// what waits for an answer also everything that is to be decided on.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package text

import (
	"bytes"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/wording"
)

// Render returns the concise text of d.
func Render(d events.Document) []byte {
	var out bytes.Buffer
	put := func(line string) {
		if line != "" {
			out.WriteString(line + "\n")
		}
	}
	put(wording.Line(d.Title))
	put(wording.Status(&d))
	notShown := d.OmittedBlocks
	for i := range d.Blocks {
		b := &d.Blocks[i]
		switch {
		case b.Callout != nil:
			put(wording.Line(b.Callout.Title) + ": " + sentences(b.Callout.Spans))
		case b.Paragraph != nil:
			put(sentences(b.Paragraph.Spans))
		case b.TestReport != nil:
			put(wording.Report(b.TestReport))
		case b.Heading != nil && b.Result != nil:
			put("- " + wording.Line(b.Heading.Text) + ": " + wording.Outcome(b.Result))
		case d.Tag == "" && b.KeyValues != nil:
			for _, e := range b.KeyValues.Entries {
				put(wording.Line(e.Key) + ": " + wording.Line(e.Value))
			}
		case d.Tag == "" && b.Table != nil:
			for _, row := range b.Table.Rows {
				put("- " + wording.Line(strings.Join(row, " | ")))
			}
		case b.Heading == nil:
			notShown++
		}
	}
	if notShown > 0 {
		put("parts that are only in the full document: " + strconv.Itoa(notShown))
	}
	return out.Bytes()
}

func sentences(spans []events.Span) string {
	parts := make([]string, 0, len(spans))
	for i := range spans {
		parts = append(parts, wording.Line(spans[i].Text))
	}
	return strings.Join(parts, " ")
}
