package wire

import (
	"slices"
	"strconv"
)

// Style is one of the two ways in which documents escape text. Both escape the quotation mark, the backslash, line feed,
// carriage return and tab shortly and other control characters below U+0020 as \u00xx.
type Style int

// The styles.
const (
	// StyleInput also escapes U+007F to U+009F. Documents, requests, results and receipts have it.
	StyleInput Style = iota
	// StyleRecord has short escapes for backspace and form feed too, and leaves U+007F to U+009F. Trace and Evidence have
	// it.
	StyleRecord
)

// Writer writes a document, or only counts what it would take. The zero value writes in StyleInput.
type Writer struct {
	style    Style
	counting bool
	out      []byte
	size     uint64
	escaped  uint64
	quoted   uint64
	scratch  [20]byte
}

// NewWriter returns a writer.
func NewWriter(style Style) *Writer { return &Writer{style: style} }

// NewSizedWriter returns a writer with room for size bytes.
func NewSizedWriter(style Style, size int) *Writer {
	return &Writer{style: style, out: make([]byte, 0, size)}
}

// NewCounter returns a writer that keeps nothing and counts.
func NewCounter(style Style) *Writer { return &Writer{style: style, counting: true} }

// Bytes returns what was written.
func (w *Writer) Bytes() []byte { return w.out }

// Size returns how many bytes were written.
func (w *Writer) Size() uint64 { return w.size }

// Escaped returns how many bytes the whole would take inside a string of StyleRecord, without quotation marks.
func (w *Writer) Escaped() uint64 { return w.escaped }

// Quoted returns how many bytes of it are strings that came in as values, with their quotation marks.
func (w *Writer) Quoted() uint64 { return w.quoted }

// Raw writes bytes that are JSON already.
func (w *Writer) Raw(literal string) { emit(w, literal) }

// RawBytes writes bytes that are JSON already.
func (w *Writer) RawBytes(literal []byte) { emit(w, literal) }

func emit[T string | []byte](w *Writer, literal T) {
	w.size += uint64(len(literal))
	if !w.counting {
		w.out = append(w.out, literal...)
		return
	}
	for i := range len(literal) {
		w.escaped += uint64(escapedSize(literal[i]))
	}
}

// escapedSize is how many bytes a byte takes in a string of StyleRecord.
func escapedSize(c byte) int {
	switch {
	case c == '"', c == '\\', c == '\b', c == '\f', c == '\n', c == '\r', c == '\t':
		return 2
	case c < 0x20:
		return 6
	}
	return 1
}

// Uint writes a number.
func (w *Writer) Uint(value uint64) { w.RawBytes(strconv.AppendUint(w.scratch[:0], value, 10)) }

// Bool writes true or false.
func (w *Writer) Bool(value bool) { w.Raw(strconv.FormatBool(value)) }

// Optional writes text, or null if it is empty.
func (w *Writer) Optional(text string) {
	if text == "" {
		w.Raw("null")
		return
	}
	w.Text(text)
}

// Text writes text as a string.
func (w *Writer) Text(text string) {
	before := w.size
	w.Raw(`"`)
	from := 0
	for at := 0; at < len(text); at++ {
		if c := text[at]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			continue // what most text is made of
		}
		escape, code, width := escapeAt(w.style, text, at)
		if escape == "" {
			continue
		}
		w.Raw(text[from:at])
		w.Raw(escape)
		if escape == unicodeEscape {
			w.Raw(hexDigits[code>>4 : code>>4+1])
			w.Raw(hexDigits[code&15 : code&15+1])
		}
		at += width - 1
		from = at + 1
	}
	w.Raw(text[from:])
	w.Raw(`"`)
	w.quoted += w.size - before
}

// Texts writes an array of strings.
func (w *Writer) Texts(texts []string) {
	w.Raw("[")
	for i, text := range texts {
		if i > 0 {
			w.Raw(",")
		}
		w.Text(text)
	}
	w.Raw("]")
}

// Constants writes an array of strings that are constants of the program and do not count as quoted.
func (w *Writer) Constants(texts []string) {
	quoted := w.quoted
	w.Texts(texts)
	w.quoted = quoted
}

const hexDigits = "0123456789abcdef"

// escapeAt returns how the character at at is escaped and how many bytes it has, or "" if it stands for itself. Of a
// control character it also returns the code, which is written as two digits after the escape.
func escapeAt(style Style, text string, at int) (escape string, code byte, width int) {
	c := text[at]
	switch c {
	case '"':
		return `\"`, 0, 1
	case '\\':
		return `\\`, 0, 1
	case '\n':
		return `\n`, 0, 1
	case '\r':
		return `\r`, 0, 1
	case '\t':
		return `\t`, 0, 1
	}
	if style == StyleRecord {
		switch c {
		case '\b':
			return `\b`, 0, 1
		case '\f':
			return `\f`, 0, 1
		}
	} else {
		if c == 0x7f {
			return unicodeEscape, c, 1
		}
		// U+0080 to U+009F are the two bytes C2 80 to C2 9F.
		if c == 0xc2 && at+1 < len(text) && text[at+1] >= 0x80 && text[at+1] <= 0x9f {
			return unicodeEscape, text[at+1], 2
		}
	}
	if c < 0x20 {
		return unicodeEscape, c, 1
	}
	return "", 0, 1
}

// unicodeEscape begins the escape of a control character; two more digits follow.
const unicodeEscape = `\u00`

// Same reports whether what was written is exactly data.
func (w *Writer) Same(data []byte) bool { return slices.Equal(w.out, data) }
