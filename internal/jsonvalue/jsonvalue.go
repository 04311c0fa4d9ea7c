// Package jsonvalue reads JSON from outside within limits, and finds and
// compares values in it.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package jsonvalue

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events/canon"
)

// Limits of one JSON value.
type Limits struct {
	Bytes  int // of the text
	Depth  int // of nesting; a scalar has depth 1
	Tokens int // names, values and brackets
}

// DefaultLimits are used for documents from people and capabilities.
var DefaultLimits = Limits{Bytes: 1 << 20, Depth: 16, Tokens: 100_000}

// Errors of Scan. They are wrapped.
var (
	ErrTooLarge  = errors.New("too large")
	ErrTooDeep   = errors.New("too deep")
	ErrMalformed = errors.New("malformed JSON")
	// ErrInexact: a number whose value canonical JSON cannot keep.
	ErrInexact = errors.New("number outside the exact range; write it as a string")
)

// Scan checks that data is exactly one JSON value within limits, without
// duplicate names, with valid UTF-8, and with integers that a double holds
// exactly.
func Scan(data []byte, limits Limits) error {
	_, err := read(data, limits, false)
	return err
}

// reader reads one value, token by token.
type reader struct {
	decoder *jsontext.Decoder
	limits  Limits
	tokens  int
	build   bool // else nothing is made of what is read
}

// read reads exactly one value within limits, and returns it if build is set.
func read(data []byte, limits Limits, build bool) (any, error) {
	if len(data) > limits.Bytes {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), limits.Bytes)
	}
	// The decoder reads a buffer in place and copies what any other reader has.
	r := reader{decoder: jsontext.NewDecoder(bytes.NewBuffer(data)), limits: limits, build: build}
	value, err := r.value()
	if err != nil {
		return nil, err
	}
	if rest := bytes.TrimLeft(data[r.decoder.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("%w: more than one value", ErrMalformed)
	}
	return value, nil
}

// token reads a token. The limits are those of everything read so far.
func (r *reader) token() (jsontext.Token, error) {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return token, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if r.tokens++; r.tokens > r.limits.Tokens {
		return token, fmt.Errorf("%w: more than %d tokens", ErrTooLarge, r.limits.Tokens)
	}
	if r.decoder.StackDepth() > r.limits.Depth {
		return token, fmt.Errorf("%w: more than %d levels", ErrTooDeep, r.limits.Depth)
	}
	return token, nil
}

func (r *reader) value() (any, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '0':
		number := token.String()
		if !exact(number) {
			return nil, fmt.Errorf("%w: at %s", ErrInexact, r.decoder.StackPointer())
		}
		if r.build {
			return stdjson.Number(number), nil
		}
	case '"':
		if r.build {
			return token.String(), nil
		}
	case 't', 'f':
		return token.Kind() == 't', nil
	}
	return nil, nil
}

func (r *reader) object() (any, error) {
	var members map[string]any
	if r.build {
		members = map[string]any{}
	}
	for r.decoder.PeekKind() != '}' {
		token, err := r.token()
		if err != nil {
			return nil, err
		}
		var name string
		if r.build {
			name = token.String()
		}
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		if r.build {
			members[name] = value
		}
	}
	if _, err := r.token(); err != nil {
		return nil, err
	}
	return members, nil
}

func (r *reader) array() (any, error) {
	var items []any
	if r.build {
		items = []any{}
	}
	for r.decoder.PeekKind() != ']' {
		value, err := r.value()
		if err != nil {
			return nil, err
		}
		if r.build {
			items = append(items, value)
		}
	}
	if _, err := r.token(); err != nil {
		return nil, err
	}
	return items, nil
}

// exact reports whether a number keeps its value as a double, as canonical
// JSON needs: integers within 2^53; other numbers are decimal approximations
// by nature and only have to be finite.
func exact(number string) bool {
	if len(number) > 64 {
		return false
	}
	if len(number) <= 15 && strings.Trim(number, "-0123456789") == "" {
		return true // at most fifteen digits
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	if strings.ContainsAny(number, ".eE") {
		return true
	}
	return f >= -(1<<53) && f <= 1<<53 && !tooLong(number)
}

func tooLong(number string) bool {
	i, ok := new(big.Int).SetString(number, 10)
	return !ok || i.CmpAbs(new(big.Int).Lsh(big.NewInt(1), 53)) > 0
}

// Canonical scans data and returns its canonical form.
func Canonical(data []byte, limits Limits) ([]byte, error) {
	if err := Scan(data, limits); err != nil {
		return nil, err
	}
	return canon.Canonicalize(data)
}

// Parse scans data and returns it as nil, bool, json.Number, string, []any or
// map[string]any.
func Parse(data []byte, limits Limits) (any, error) {
	return read(data, limits, true)
}

// Format returns the canonical JSON of a value as Parse returns it.
func Format(value any) ([]byte, error) {
	data, err := stdjson.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("format JSON: %w", err)
	}
	return canon.Canonicalize(data)
}

// ValidPointer reports whether text is a JSON Pointer (RFC 6901).
func ValidPointer(text string) bool {
	if text == "" {
		return true
	}
	if text[0] != '/' || len(text) > 512 || strings.Count(text, "/") > DefaultLimits.Depth {
		return false
	}
	for i := 0; i < len(text); i++ {
		if text[i] == '~' && (i+1 == len(text) || text[i+1] != '0' && text[i+1] != '1') {
			return false
		}
	}
	return true
}

// Steps returns the unescaped steps of a valid pointer.
func Steps(pointer string) []string {
	if pointer == "" {
		return nil
	}
	steps := strings.Split(pointer[1:], "/")
	for i, s := range steps {
		steps[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return steps
}

// At returns the value at pointer, and whether there is one.
func At(value any, pointer string) (any, bool) {
	if !ValidPointer(pointer) {
		return nil, false
	}
	for _, step := range Steps(pointer) {
		switch v := value.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			value = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) || step != strconv.Itoa(i) {
				return nil, false
			}
			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// Compare orders two scalars of the same kind: numbers by exact value, strings
// by bytes. It reports false for anything else, and for booleans and null
// unless they are equal.
func Compare(a, b any) (order int, ok bool) {
	switch x := a.(type) {
	case stdjson.Number:
		y, isNumber := b.(stdjson.Number)
		if !isNumber {
			return 0, false
		}
		p, okP := rational(x)
		q, okQ := rational(y)
		if !okP || !okQ {
			return 0, false
		}
		return p.Cmp(q), true
	case string:
		y, isString := b.(string)
		if !isString {
			return 0, false
		}
		return strings.Compare(x, y), true
	case bool:
		y, isBool := b.(bool)
		return 0, isBool && x == y
	case nil:
		return 0, b == nil
	}
	return 0, false
}

func rational(n stdjson.Number) (*big.Rat, bool) {
	text := n.String()
	if len(text) > 64 {
		return nil, false
	}
	if digits, _, _ := strings.Cut(strings.ToLower(text), "e"); strings.Trim(digits, "-0.") == "" {
		return new(big.Rat), true // whatever the exponent
	}
	if f, err := n.Float64(); err != nil || f > 1e100 || f < -1e100 || f < 1e-100 && f > -1e-100 {
		return nil, false // exact arithmetic on it would take too much memory
	}
	return new(big.Rat).SetString(text)
}
