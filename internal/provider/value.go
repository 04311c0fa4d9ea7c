package provider

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events/canon"
)

// MaxDepth is how deep a result value may be nested.
const MaxDepth = 16

// ErrValue is returned for output that is not one acceptable JSON value.
var ErrValue = errors.New("provider: not one JSON value within the limits")

// CanonicalValue returns the canonical form of exactly one JSON value that is
// nested at most MaxDepth deep. Duplicate names and invalid UTF-8 are errors.
func CanonicalValue(data []byte) ([]byte, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return nil, fmt.Errorf("%w: syntax", ErrValue)
		}
		depth := decoder.StackDepth()
		if depth > MaxDepth {
			return nil, fmt.Errorf("%w: nested more than %d deep", ErrValue, MaxDepth)
		}
		if depth == 0 {
			break
		}
	}
	value, err := canon.Canonicalize(data)
	if err != nil {
		return nil, fmt.Errorf("%w: syntax", ErrValue)
	}
	return value, nil
}

// TextValue returns the canonical {"text": …}; invalid UTF-8 is replaced.
func TextValue(text string) ([]byte, error) {
	return canon.JSON(map[string]string{"text": strings.ToValidUTF8(text, "\uFFFD")})
}

// DecodeArguments returns the members of the arguments object. No bytes at all
// mean no arguments.
func DecodeArguments(data []byte) (map[string]jsontext.Value, error) {
	arguments := make(map[string]jsontext.Value)
	if len(data) == 0 {
		return arguments, nil
	}
	if _, err := CanonicalValue(data); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &arguments); err != nil {
		return nil, fmt.Errorf("%w: not an object", ErrValue)
	}
	return arguments, nil
}
