package wire

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Decoder reads a document that a scan has passed, in the one order that its canonical form has. The first thing that
// is not as expected makes it fail; what it returns after that is empty. It builds nothing that was not asked for.
type Decoder struct {
	data   []byte
	at     int
	loose  bool
	failed bool
}

// NewDecoder returns a decoder of a document, without its line feed.
func NewDecoder(document []byte) *Decoder {
	return &Decoder{data: bytes.TrimSuffix(document, []byte("\n"))}
}

// NewValueDecoder returns a decoder of one value in which blanks are allowed.
func NewValueDecoder(value []byte) *Decoder { return &Decoder{data: value, loose: true} }

// Failed reports whether something was not as expected.
func (d *Decoder) Failed() bool { return d.failed }

// Fail makes the decoder fail.
func (d *Decoder) Fail() { d.failed = true }

// End fails unless everything was read.
func (d *Decoder) End() {
	d.blanks()
	if d.at != len(d.data) {
		d.Fail()
	}
}

// Expect reads exactly these bytes.
func (d *Decoder) Expect(literal string) {
	if d.failed || !bytes.HasPrefix(d.data[d.at:], []byte(literal)) {
		d.Fail()
		return
	}
	d.at += len(literal)
}

// Skip reads these bytes if they are next.
func (d *Decoder) Skip(literal string) bool {
	if d.failed || !bytes.HasPrefix(d.data[d.at:], []byte(literal)) {
		return false
	}
	d.at += len(literal)
	return true
}

// Uint reads a natural number without a sign, fraction, exponent or leading zero.
func (d *Decoder) Uint() uint64 {
	literal := d.token()
	value, err := strconv.ParseUint(literal, 10, 64)
	if err != nil || literal[0] == '+' || len(literal) > 1 && literal[0] == '0' {
		d.Fail()
		return 0
	}
	return value
}

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	if d.Skip("true") {
		return true
	}
	d.Expect("false")
	return false
}

// Optional reads a string, or null as the empty string.
func (d *Decoder) Optional() string {
	if d.Skip("null") {
		return ""
	}
	value := d.Text()
	if value == "" { // null and "" would be the same from here on
		d.Fail()
	}
	return value
}

// Text reads a string.
func (d *Decoder) Text() string {
	d.blanks()
	if d.failed || d.at >= len(d.data) || d.data[d.at] != '"' {
		d.Fail()
		return ""
	}
	end, ok := textEnd(d.data, d.at)
	if !ok {
		d.Fail()
		return ""
	}
	inner := d.data[d.at+1 : end-1]
	d.at = end
	value, ok := unescape(inner)
	if !ok {
		d.Fail()
	}
	return value
}

// Texts reads an array of strings. It keeps at most one more than most, so that a longer one is seen and not kept.
func (d *Decoder) Texts(most int) []string {
	values := []string{}
	d.Each(func() {
		if value := d.Text(); len(values) <= most {
			values = append(values, value)
		}
	})
	return values
}

// Each reads an array and calls element where each element begins.
func (d *Decoder) Each(element func()) {
	d.Expect("[")
	if d.Skip("]") {
		return
	}
	for !d.failed {
		element()
		if !d.Skip(",") {
			d.Expect("]")
			return
		}
	}
}

// token reads up to the next byte that cannot be part of a number or a word.
func (d *Decoder) token() string {
	d.blanks()
	from := d.at
	for d.at < len(d.data) && strings.IndexByte("+-.0123456789aelfnrstuE", d.data[d.at]) >= 0 {
		d.at++
	}
	if d.failed || d.at == from {
		d.Fail()
		return "0"
	}
	return string(d.data[from:d.at])
}

func (d *Decoder) blanks() {
	for d.loose && d.at < len(d.data) && strings.IndexByte(" \t\r\n", d.data[d.at]) >= 0 {
		d.at++
	}
}

// unescape returns the text of a string's inside.
func unescape(inner []byte) (string, bool) {
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	out := make([]byte, 0, len(inner))
	for at := 0; at < len(inner); at++ {
		c := inner[at]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		at++
		if simple := strings.IndexByte(`"\/bfnrt`, inner[at]); simple >= 0 {
			out = append(out, "\"\\/\b\f\n\r\t"[simple])
			continue
		}
		value, ok := hex4(inner, at+1)
		if !ok {
			return "", false
		}
		at += 4
		if utf16.IsSurrogate(value) {
			if at+2 >= len(inner) || inner[at+1] != '\\' || inner[at+2] != 'u' {
				return "", false
			}
			second, ok := hex4(inner, at+3)
			value = utf16.DecodeRune(value, second)
			if !ok || value == utf8.RuneError {
				return "", false
			}
			at += 6
		}
		out = utf8.AppendRune(out, value)
	}
	return string(out), true
}
