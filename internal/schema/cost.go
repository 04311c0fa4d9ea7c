package schema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/mandate/internal/jsonvalue"
)

// MaxCost bounds how often parts of a schema can be applied on the way to one
// place of a value: a few references, each used twice by the next, would
// otherwise keep a check busy for years.
const MaxCost = 1_000_000

var errCost = errors.New("the schema applies its own parts too often")

// checkCost refuses a schema whose parts multiply.
func checkCost(root *jsonschema.Schema) error {
	c := counter{known: map[place]int{}, open: map[place]bool{}}
	if c.cost(root, jsonvalue.DefaultLimits.Depth) > MaxCost {
		return fmt.Errorf("schema: %w: more than %d times", errCost, MaxCost)
	}
	return nil
}

// place is a part of a schema applied to a value that nests so much deeper.
type place struct {
	part  *jsonschema.Schema
	depth int
}

type counter struct {
	known map[place]int
	open  map[place]bool
}

// cost is how often parts are applied from a part on: to the same value, and
// to one value inside it. A part that is applied to the same value within
// itself has no end.
func (c *counter) cost(part *jsonschema.Schema, depth int) int {
	if part == nil || depth == 0 {
		return 0
	}
	at := place{part, depth}
	if n, ok := c.known[at]; ok {
		return n
	}
	if c.open[at] {
		return MaxCost + 1
	}
	c.open[at] = true
	n := 1
	for _, same := range applied(part) {
		n = add(n, c.cost(same, depth))
	}
	for _, inner := range within(part) {
		n = add(n, c.cost(inner, depth-1))
	}
	// Of these, one value inside meets at most one.
	most := 0
	for _, inner := range part.Properties {
		most = max(most, c.cost(inner, depth-1))
	}
	n = add(n, most)
	c.open[at] = false
	c.known[at] = n
	return n
}

func add(a, b int) int { return min(a+b, MaxCost+1) }

// applied lists the parts that are applied to the same value.
func applied(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		parts = append(parts, s.DynamicRef.Ref)
	}
	parts = append(append(append(parts, s.AllOf...), s.AnyOf...), s.OneOf...)
	for _, part := range s.DependentSchemas {
		parts = append(parts, part)
	}
	for _, value := range s.Dependencies {
		parts = append(parts, schemas(value)...)
	}
	return parts
}

// within lists the parts that are applied to values inside.
func within(s *jsonschema.Schema) []*jsonschema.Schema {
	parts := []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems, s.ContentSchema}
	for _, part := range s.PatternProperties {
		parts = append(parts, part)
	}
	parts = append(parts, s.PrefixItems...)
	for _, value := range []any{s.AdditionalProperties, s.Items, s.AdditionalItems} {
		parts = append(parts, schemas(value)...)
	}
	return parts
}

func schemas(value any) []*jsonschema.Schema {
	switch v := value.(type) {
	case *jsonschema.Schema:
		return []*jsonschema.Schema{v}
	case []*jsonschema.Schema:
		return v
	}
	return nil
}

// dynamic reports whether a part has a reference that depends on who refers to
// it.
func dynamic(part *jsonschema.Schema, seen map[*jsonschema.Schema]bool) bool {
	if part == nil || seen[part] {
		return false
	}
	seen[part] = true
	if part.DynamicRef != nil || part.RecursiveRef != nil {
		return true
	}
	inner := append(applied(part), within(part)...)
	for _, next := range part.Properties {
		inner = append(inner, next)
	}
	return slices.ContainsFunc(inner, func(next *jsonschema.Schema) bool { return dynamic(next, seen) })
}
