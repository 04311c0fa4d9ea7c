// Package wording turns parts of a presentation document into words, the same
// on every surface, and makes text from outside safe to look at: what would
// move a cursor, reorder or hide text becomes visible.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package wording

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/mandate/events"
)

// Text returns text with every control character and every invisible or
// reordering character made visible. Line feeds and tabs stay.
func Text(text string) string {
	start := firstUnsafe(text)
	if start < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 16)
	b.WriteString(text[:start])
	previous := none
	if start > 0 {
		previous, _ = utf8.DecodeLastRuneInString(text[:start])
	}
	for i := start; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		kept := false
		switch {
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"):
		case safe(previous, r, size):
			kept = true
			b.WriteString(text[i : i+size])
		case r == utf8.RuneError && size <= 1:
			b.WriteRune(utf8.RuneError)
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
		if previous = none; kept {
			previous = r
		}
		i += size
	}
	return b.String()
}

// Line returns text as one line, made safe as by [Text].
func Line(text string) string {
	return strings.TrimSpace(strings.NewReplacer("\n", " ", "\t", " ").Replace(Text(text)))
}

func firstUnsafe(text string) int {
	previous := none
	for i := 0; i < len(text); {
		if c := text[i]; c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' {
			previous = rune(c)
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if !safe(previous, r, size) {
			return i
		}
		previous = r
		i += size
	}
	return -1
}

// none is what is before the first character of a text.
const none rune = -1

// safe reports whether a character can be shown as it is after another one.
func safe(previous, r rune, size int) bool {
	switch {
	case r == '\n' || r == '\t':
		return true
	case r == utf8.RuneError && size <= 1, r < 0x20, r >= 0x7f && r < 0xa0:
		return false
	case r == 0xad, r == 0x61c, r == 0x180e, r == 0x200b, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e:
		return false
	case r >= 0x2060 && r <= 0x206f, r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r >= 0x1d173 && r <= 0x1d17a, r >= 0xe0000 && r <= 0xe0fff:
		return false
	case r == 0x200c, r == 0x200d:
		return shapes(previous)
	case unicode.Is(unicode.Variation_Selector, r):
		return unicode.In(previous, unicode.So, unicode.Sm)
	}
	return !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// shapes reports whether what is drawn after a character depends on a joiner:
// in scripts that are written so, and in pictures. Elsewhere nobody sees one.
func shapes(r rune) bool {
	return r >= 0x600 && r < 0x1d00 && (unicode.IsLetter(r) || unicode.IsMark(r)) || r == 0xfe0f || unicode.In(r, unicode.So, unicode.Sk)
}

// Outcome says how one result ended.
func Outcome(r *events.ResultOutcome) string {
	parts := []string{string(r.Status)}
	if r.Valid {
		parts = append(parts, "follows its schema")
	} else {
		parts = append(parts, "does not follow its schema")
	}
	switch r.Role {
	case events.RoleOutput:
		parts = append(parts, "the run's output")
	case events.RolePartial:
		parts = append(parts, "partial, not the run's output")
	case events.RoleSupporting:
	}
	parts = append(parts, fmt.Sprintf("by %s@%d", Line(r.Producer.Name), r.Producer.Version), Line(r.ResultID))
	return strings.Join(parts, " · ")
}

// Status says how a run ended.
func Status(d *events.Document) string {
	var parts []string
	if d.Tag != "" {
		parts = append(parts, "Outcome: "+Line(string(d.Tag)))
	}
	if d.Completion != "" {
		parts = append(parts, "completion: "+Line(string(d.Completion)))
	}
	return strings.Join(append(parts, "run "+Line(d.Run)), " · ")
}

// Omitted says what is left out, "" if nothing is.
func Omitted(shown, total int64, what string) string {
	if shown >= total {
		return ""
	}
	return fmt.Sprintf("%d of %d %s shown; %d left out", shown, total, what, total-shown)
}

// Cut says how many values are not shown whole, "" if none.
func Cut(cells int) string {
	if cells == 0 {
		return ""
	}
	return fmt.Sprintf("not shown whole: %d", cells)
}

// Join joins the notes that are not empty.
func Join(notes ...string) string {
	var kept []string
	for _, n := range notes {
		if n != "" {
			kept = append(kept, n)
		}
	}
	return strings.Join(kept, "; ")
}

// Report sums a test report up in a line. Only a report of tests that this
// system saw running says so.
func Report(b *events.TestReportBlock) string {
	line := fmt.Sprintf("%d passed, %d failed, %d skipped", b.Passed, b.Failed, b.Skipped)
	if b.BuildFailed {
		line += ", build failed"
	}
	packages := "packages"
	if b.Packages == 1 {
		packages = "package"
	}
	line = fmt.Sprintf("%s: %s, in %d %s", Line(b.Tool), line, b.Packages, packages)
	if b.Origin == events.ReportObserved {
		return line + " (observed, evidence " + Line(b.Source) + ")"
	}
	return line + " (imported from " + Line(b.Source) + ", not run by this system)"
}

// Source describes the exact source of a result.
func Source(b *events.FallbackBlock) string {
	line := "Exact source"
	if b.MediaType != "" {
		line += ", " + Line(b.MediaType)
	}
	line += fmt.Sprintf(", %d bytes", b.TotalBytes)
	if b.Encoding == events.EncodingBase64 {
		line += ", as base64"
	}
	if b.Commitment != "" {
		line += ", commitment " + Line(string(b.Commitment))
	}
	return Join(line, Omitted(b.ShownBytes, b.TotalBytes, "bytes"))
}

// Citation describes what a citation leads to.
func Citation(c *events.Citation) string {
	parts := []string{string(c.Kind) + " " + Line(c.ID), Line(c.What)}
	if c.Method != "" {
		parts = append(parts, "by "+Line(c.Method))
	}
	if c.Strength != "" {
		parts = append(parts, "strength "+Line(string(c.Strength)))
	}
	for _, t := range []struct {
		name string
		at   events.Time
	}{{"at", c.At}, {"observed at", c.Observed}, {"source modified", c.SourceModified}, {"published", c.Published}} {
		if t.at != 0 {
			parts = append(parts, t.name+" "+t.at.String())
		}
	}
	if c.Digest != "" {
		parts = append(parts, Line(string(c.Digest)))
	}
	return strings.Join(parts, "; ")
}

// Numbers gives what a document cites the numbers of its citations.
func Numbers(d *events.Document) map[string]int {
	numbers := map[string]int{}
	for i := range d.Blocks {
		if c := d.Blocks[i].Citations; c != nil {
			for j := range c.Entries {
				if _, known := numbers[c.Entries[j].ID]; !known {
					numbers[c.Entries[j].ID] = len(numbers) + 1
				}
			}
		}
	}
	return numbers
}

// Marks lists the numbers that a span cites, with "?" once for what the
// document does not resolve.
func Marks(s *events.Span, numbers map[string]int) []string {
	var marks []string
	unresolved := false
	for _, id := range s.Citations {
		if n, ok := numbers[id]; ok {
			marks = append(marks, strconv.Itoa(n))
		} else {
			unresolved = true
		}
	}
	if unresolved {
		marks = append(marks, "?")
	}
	return marks
}
