// Package schema checks JSON values against JSON Schemas (2020-12).
//
// Schemas come from outside too: they are bounded, may not refer to anything
// but themselves, and are compiled once when a resource is registered.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package schema

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	document any
	// dynamic says that what a part of it refers to depends on who refers to it.
	dynamic bool
}

const root = "mandate:///schema"

// Compile compiles a schema document. References to other documents are
// refused.
func Compile(document events.JSON) (*Schema, error) {
	if err := jsonvalue.Scan(document, jsonvalue.Limits{Bytes: 64 << 10, Depth: jsonvalue.DefaultLimits.Depth, Tokens: 10_000}); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	compiler.AssertFormat()
	if err := compiler.AddResource(root, value); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := compiler.Compile(root)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if err := checkCost(compiled); err != nil {
		return nil, err
	}
	return &Schema{compiled: compiled, document: value, dynamic: dynamic(compiled, map[*jsonschema.Schema]bool{})}, nil
}

// Problem is one way in which a value does not follow its schema. It names
// places and keywords, never values.
type Problem struct {
	Pointer string
	Keyword string
}

// Validate checks one JSON value within the default limits. It returns the
// problems, at most eight, none if the value is valid.
func (s *Schema) Validate(data []byte) []Problem {
	if err := jsonvalue.Scan(data, jsonvalue.DefaultLimits); err != nil {
		return []Problem{{Keyword: scanKeyword(err)}}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return []Problem{{Keyword: "json"}}
	}
	var invalid *jsonschema.ValidationError
	if err := s.compiled.Validate(value); errors.As(err, &invalid) {
		return leaves(invalid, nil)
	} else if err != nil {
		return []Problem{{Keyword: "schema"}}
	}
	return nil
}

func scanKeyword(err error) string {
	switch {
	case errors.Is(err, jsonvalue.ErrTooLarge):
		return "size"
	case errors.Is(err, jsonvalue.ErrTooDeep):
		return "depth"
	case errors.Is(err, jsonvalue.ErrInexact):
		return "number"
	}
	return "json"
}

func leaves(e *jsonschema.ValidationError, found []Problem) []Problem {
	if len(found) == 8 {
		return found
	}
	if len(e.Causes) == 0 {
		keyword := "schema"
		if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
			keyword = path[len(path)-1]
		}
		var pointer strings.Builder
		for _, step := range e.InstanceLocation {
			pointer.WriteByte('/')
			pointer.WriteString(strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
		}
		return append(found, Problem{Pointer: pointer.String(), Keyword: keyword})
	}
	for _, cause := range e.Causes {
		found = leaves(cause, found)
	}
	return found
}

// Closed reports whether the schema is of an object that lists its properties
// and allows no others, and whether name is one of them.
func (s *Schema) Closed(name string) (closed, listed bool) {
	object, ok := s.document.(map[string]any)
	if !ok {
		return false, false
	}
	properties, _ := object["properties"].(map[string]any)
	_, listed = properties[name]
	return object["additionalProperties"] == false, listed
}

// Required returns the names that the schema requires of an object at its
// root.
func (s *Schema) Required() []string {
	object, ok := s.document.(map[string]any)
	if !ok {
		return nil
	}
	list, _ := object["required"].([]any)
	var names []string
	for _, one := range list {
		if name, ok := one.(string); ok {
			names = append(names, name)
		}
	}
	return names
}
