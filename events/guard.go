package events

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Limits of what is decoded. They bound memory before anything is allocated.
const (
	MaxDepth    = 16
	MaxElements = 20000
)

// ErrMalformed is returned for bytes that are not canonical msgpack within
// the limits.
var ErrMalformed = errors.New("events: malformed")

func malformed(at int, what string) error {
	return fmt.Errorf("%w: %s at byte %d", ErrMalformed, what, at)
}

// frame is one open array or map.
type frame struct {
	left     uint64 // elements to come; for maps keys and values both count
	isMap    bool
	previous []byte // last key seen
}

// guard walks data without recursion or allocation and refuses everything
// that is not the one canonical form: depth, element count, lengths beyond the
// data, extension types, floats, integers or lengths not in their shortest
// form, invalid UTF-8, map keys that are not strings in strictly rising order,
// and trailing bytes.
func guard(data []byte) error {
	var stack [MaxDepth + 1]frame
	stack[0] = frame{left: 1}
	depth, elements, i := 0, 0, 0
	for {
		for stack[depth].left == 0 {
			if depth == 0 {
				if i != len(data) {
					return malformed(i, "trailing bytes")
				}
				return nil
			}
			depth--
		}
		f := &stack[depth]
		isKey := f.isMap && f.left%2 == 0
		f.left--
		if elements++; elements > MaxElements {
			return malformed(i, "too many elements")
		}
		if i >= len(data) {
			return malformed(i, "truncated")
		}
		item, err := readItem(data, i)
		if err != nil {
			return err
		}
		if isKey {
			key := data[item.body:item.end]
			if !item.isString {
				return malformed(i, "map key that is not a string")
			}
			if f.previous != nil && bytes.Compare(f.previous, key) >= 0 {
				return malformed(i, "map keys not in rising order")
			}
			f.previous = key
			if f.previous == nil {
				f.previous = []byte{}
			}
		}
		i = item.end
		if item.children > 0 {
			if depth+1 > MaxDepth {
				return malformed(i, "too deep")
			}
			if item.children > uint64(len(data)-i) {
				return malformed(i, "length beyond the data")
			}
			depth++
			stack[depth] = frame{left: item.children, isMap: item.isMap}
		}
	}
}

// item is one encoded value without its children.
type item struct {
	body, end int // of strings and binaries: their bytes
	children  uint64
	isMap     bool
	isString  bool
}

func readItem(data []byte, at int) (item, error) {
	code := data[at]
	next := at + 1
	switch {
	case code <= msgpcode.PosFixedNumHigh, code >= msgpcode.NegFixedNumLow,
		code == msgpcode.Nil, code == msgpcode.True, code == msgpcode.False:
		return item{body: next, end: next}, nil
	case msgpcode.IsFixedMap(code):
		return item{end: next, children: 2 * uint64(code&msgpcode.FixedMapMask), isMap: true}, nil
	case msgpcode.IsFixedArray(code):
		return item{end: next, children: uint64(code & msgpcode.FixedArrayMask)}, nil
	case msgpcode.IsFixedString(code):
		return readBytes(data, next, uint64(code&msgpcode.FixedStrMask), true)
	}
	width, least, ok := lengthForm(code)
	if !ok {
		return item{}, malformed(at, "type that is not allowed")
	}
	if len(data)-next < width {
		return item{}, malformed(at, "truncated")
	}
	var n uint64
	for _, b := range data[next : next+width] {
		n = n<<8 | uint64(b)
	}
	next += width
	switch code {
	case msgpcode.Int8, msgpcode.Int16, msgpcode.Int32, msgpcode.Int64:
		if !shortestNegative(n, width) {
			return item{}, malformed(at, "integer not in shortest form")
		}
		return item{body: next, end: next}, nil
	case msgpcode.Uint8, msgpcode.Uint16, msgpcode.Uint32, msgpcode.Uint64:
		if n < least {
			return item{}, malformed(at, "integer not in shortest form")
		}
		return item{body: next, end: next}, nil
	}
	if n < least {
		return item{}, malformed(at, "length not in shortest form")
	}
	switch code {
	case msgpcode.Str8, msgpcode.Str16, msgpcode.Str32:
		return readBytes(data, next, n, true)
	case msgpcode.Bin8, msgpcode.Bin16, msgpcode.Bin32:
		return readBytes(data, next, n, false)
	case msgpcode.Map16, msgpcode.Map32:
		return item{end: next, children: 2 * n, isMap: true}, nil
	default:
		return item{end: next, children: n}, nil
	}
}

// lengthForm returns the width of the number after code, and the least number
// for which that width is the shortest form.
func lengthForm(code byte) (width int, least uint64, ok bool) {
	switch code {
	case msgpcode.Uint8:
		return 1, 1 << 7, true
	case msgpcode.Uint16, msgpcode.Str16, msgpcode.Bin16:
		return 2, 1 << 8, true
	case msgpcode.Uint32, msgpcode.Str32, msgpcode.Bin32, msgpcode.Array32, msgpcode.Map32:
		return 4, 1 << 16, true
	case msgpcode.Uint64:
		return 8, 1 << 32, true
	case msgpcode.Int8:
		return 1, 0, true
	case msgpcode.Int16:
		return 2, 0, true
	case msgpcode.Int32:
		return 4, 0, true
	case msgpcode.Int64:
		return 8, 0, true
	case msgpcode.Str8:
		return 1, 32, true
	case msgpcode.Bin8:
		return 1, 0, true
	case msgpcode.Array16, msgpcode.Map16:
		return 2, 16, true
	}
	return 0, 0, false
}

// shortestNegative reports whether the two's complement number n of width
// bytes is negative and needs that width: non-negative integers use the
// unsigned forms.
func shortestNegative(n uint64, width int) bool {
	switch width {
	case 1:
		return int8(n) < -32
	case 2:
		return int16(n) < -1<<7
	case 4:
		return int32(n) < -1<<15
	default:
		return int64(n) < -1<<31
	}
}

func readBytes(data []byte, at int, n uint64, isString bool) (item, error) {
	if n > uint64(len(data)-at) {
		return item{}, malformed(at, "length beyond the data")
	}
	end := at + int(n)
	if isString && !utf8.Valid(data[at:end]) {
		return item{}, malformed(at, "string that is not UTF-8")
	}
	return item{body: at, end: end, isString: isString}, nil
}
