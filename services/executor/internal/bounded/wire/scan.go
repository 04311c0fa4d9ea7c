// Package wire is the byte level of the bounded profile's documents: one scan that checks a document before anything is
// built from it, a decoder that reads exactly the canonical form, a writer with the two ways to escape, and the digests.
package wire

import (
	"bytes"
	"unicode/utf8"
)

// MaxDepth is how deep a document may be nested: a scalar is 1, and each array or object adds 1.
const MaxDepth = 16

// hardDepth is where the scan stops: deeper than this is not looked at any more.
const hardDepth = 128

// Fault says what a scan found.
type Fault int

// The findings of a scan.
const (
	FaultNone Fault = iota
	// FaultSyntax: the bytes are not one line of compact JSON with one line feed.
	FaultSyntax
	// FaultDepth: the JSON is nested deeper than MaxDepth.
	FaultDepth
)

// ScanDocument checks that data is valid UTF-8 with one value of compact JSON and exactly one line feed, at its end, and
// nested at most MaxDepth deep. It allocates nothing, whatever data is.
func ScanDocument(data []byte) Fault {
	if !utf8.Valid(data) || len(data) == 0 || bytes.IndexByte(data, '\n') != len(data)-1 {
		return FaultSyntax
	}
	return scan(data[:len(data)-1], false)
}

// ScanValue checks that data is valid UTF-8 with one JSON value, blanks allowed, nested at most MaxDepth deep.
func ScanValue(data []byte) Fault {
	if !utf8.Valid(data) {
		return FaultSyntax
	}
	return scan(data, true)
}

// scanner walks JSON without building anything. The stack remembers which containers are objects.
type scanner struct {
	data   []byte
	at     int
	loose  bool
	depth  int
	stack  [hardDepth]bool
	deeper bool
}

func scan(data []byte, loose bool) Fault {
	s := scanner{data: data, loose: loose}
	if !s.run() {
		return FaultSyntax
	}
	if s.deeper {
		return FaultDepth
	}
	return FaultNone
}

// run reads one value and reports whether it is all there is.
func (s *scanner) run() bool {
	for {
		opened, ok := s.value()
		if !ok {
			return false
		}
		if opened {
			continue
		}
		for {
			if s.depth == 0 {
				s.blanks()
				return s.at == len(s.data)
			}
			closed, ok := s.after()
			if !ok {
				return false
			}
			if !closed {
				break
			}
		}
	}
}

// value reads a scalar, an empty container or the opening of a container up to where its first value begins.
func (s *scanner) value() (opened, ok bool) {
	if s.depth >= MaxDepth {
		s.deeper = true
	}
	s.blanks()
	switch c := s.peek(); {
	case c == '"':
		return false, s.text()
	case c == '-' || c >= '0' && c <= '9':
		return false, s.number()
	case c == 't':
		return false, s.word("true")
	case c == 'f':
		return false, s.word("false")
	case c == 'n':
		return false, s.word("null")
	case c == '[' || c == '{':
		return s.open(c == '{')
	}
	return false, false
}

func (s *scanner) open(object bool) (opened, ok bool) {
	s.at++
	s.blanks()
	if s.peek() == closing(object) {
		s.at++
		return false, true
	}
	if s.depth == hardDepth {
		return false, false
	}
	s.stack[s.depth] = object
	s.depth++
	return true, !object || s.name()
}

// after reads what may follow a value inside a container: a comma and, in an object, the next name; or the closing.
func (s *scanner) after() (closed, ok bool) {
	object := s.stack[s.depth-1]
	s.blanks()
	switch s.peek() {
	case ',':
		s.at++
		return false, !object || s.name()
	case closing(object):
		s.at++
		s.depth--
		return true, true
	}
	return false, false
}

func closing(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

// name reads the name of a member and its colon.
func (s *scanner) name() bool {
	s.blanks()
	if s.peek() != '"' || !s.text() {
		return false
	}
	s.blanks()
	if s.peek() != ':' {
		return false
	}
	s.at++
	return true
}

// text reads a string whose first byte is a quotation mark.
func (s *scanner) text() bool {
	end, ok := textEnd(s.data, s.at)
	s.at = end
	return ok
}

// textEnd returns where the string that begins at at is over, and whether it is a string.
func textEnd(data []byte, at int) (end int, ok bool) {
	for at++; at < len(data); at++ {
		switch c := data[at]; {
		case c == '"':
			return at + 1, true
		case c < 0x20:
			return at, false
		case c == '\\':
			at++
			if at == len(data) {
				return at, false
			}
			if data[at] == 'u' {
				if _, ok := hex4(data, at+1); !ok {
					return at, false
				}
				at += 4
			} else if bytes.IndexByte([]byte(`"\/bfnrt`), data[at]) < 0 {
				return at, false
			}
		}
	}
	return at, false
}

// hex4 reads four hexadecimal digits.
func hex4(data []byte, at int) (rune, bool) {
	if at+4 > len(data) {
		return 0, false
	}
	var value rune
	for _, c := range data[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		value = value<<4 | rune(c)
	}
	return value, true
}

func (s *scanner) number() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.peek() == '.' {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

func (s *scanner) word(word string) bool {
	if !bytes.HasPrefix(s.data[s.at:], []byte(word)) {
		return false
	}
	s.at += len(word)
	return true
}

// peek returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *scanner) blanks() {
	for s.loose {
		switch s.peek() {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}
