package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// kinds is a set of the kinds of values that are told apart. A number is an
// integer or a fraction.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindFraction
	kindString
	kindArray
	kindObject

	kindAny = kindNull | kindBoolean | kindInteger | kindFraction | kindString | kindArray | kindObject
)

// each lists the kinds of a set.
func (k kinds) each() (list []kinds) {
	for one := kindNull; one <= kindObject; one <<= 1 {
		if k&one != 0 {
			list = append(list, one)
		}
	}
	return list
}

// kindsOf returns the kinds that a part allows by its type.
func kindsOf(s *jsonschema.Schema) kinds {
	if s.Bool != nil && !*s.Bool {
		return 0
	}
	allowed := kindAny
	if s.Types != nil && !s.Types.IsEmpty() {
		allowed = 0
		for _, t := range s.Types.ToStrings() {
			allowed |= kindNamed(t)
		}
	}
	if s.MultipleOf != nil && s.MultipleOf.IsInt() {
		allowed &^= kindFraction
	}
	return allowed
}

func kindNamed(name string) kinds {
	switch name {
	case "null":
		return kindNull
	case "boolean":
		return kindBoolean
	case "integer":
		return kindInteger
	case "number":
		return kindInteger | kindFraction
	case "string":
		return kindString
	case "array":
		return kindArray
	case "object":
		return kindObject
	}
	return 0
}

// kindOf returns the kind of a parsed value.
func kindOf(value any) kinds {
	switch v := value.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case json.Number:
		if r, ok := new(big.Rat).SetString(v.String()); ok && r.IsInt() {
			return kindInteger
		}
		return kindFraction
	case string:
		return kindString
	case []any:
		return kindArray
	}
	return kindObject
}

// side is what is known of the values that a schema allows: each follows all
// of these parts. A value that follows them all may still not be allowed.
type side []*jsonschema.Schema

// flatten adds a part and all that it applies to the same value always.
func flatten(into side, part *jsonschema.Schema) side {
	if part == nil || slices.Contains(into, part) {
		return into
	}
	into = append(into, part)
	into = flatten(into, part.Ref)
	for _, next := range part.AllOf {
		into = flatten(into, next)
	}
	return into
}

// branches lists the sides that together are a, where a part of it names
// alternatives, and nothing where none does.
func (a side) branches() []side {
	for i, part := range a {
		list := part.AnyOf
		if len(list) == 0 {
			list = part.OneOf
		}
		if len(list) == 0 || len(list) > maxBranches {
			continue
		}
		rest := *part
		if len(part.AnyOf) > 0 {
			rest.AnyOf = nil
		} else {
			rest.OneOf = nil
		}
		branches := make([]side, len(list))
		for j, next := range list {
			branches[j] = slices.Clone(a)
			branches[j][i] = &rest
			branches[j] = flatten(branches[j], next)
		}
		return branches
	}
	return nil
}

func (a side) kinds() kinds {
	all := kindAny
	for _, part := range a {
		all &= kindsOf(part)
	}
	return all
}

func (a side) has(holds func(*jsonschema.Schema) bool) bool { return slices.ContainsFunc(a, holds) }

// allows reports whether a value follows every part.
func (a side) allows(value any) bool {
	return !a.has(func(part *jsonschema.Schema) bool { return part.Validate(value) != nil })
}

// finite lists every value that is allowed, where a part lists them or there
// are few by nature.
func (a side) finite() (values []any, ok bool) {
	for _, part := range a {
		switch {
		case part.Const != nil:
			values, ok = []any{*part.Const}, true
		case part.Enum != nil && len(part.Enum.Values) <= maxFinite && (!ok || len(part.Enum.Values) < len(values)):
			values, ok = part.Enum.Values, true
		}
	}
	if k := a.kinds(); !ok && k != 0 && k&^(kindNull|kindBoolean) == 0 {
		values, ok = []any{nil, false, true}, true
	}
	var allowed []any
	for _, value := range values {
		if a.allows(value) {
			allowed = append(allowed, value)
		}
	}
	return allowed, ok
}

// nothing is the part that no value follows. It is never changed.
var nothing = &jsonschema.Schema{DraftVersion: draft, Bool: new(bool)}

// draft is the version that the parts made here follow.
const draft = 2020

// orNever returns the part that a keyword holds, which may be true or false
// instead; nil is no condition.
func orNever(value any) *jsonschema.Schema {
	switch v := value.(type) {
	case *jsonschema.Schema:
		return v
	case bool:
		if !v {
			return nothing
		}
	}
	return nil
}

// propertyParts lists what a part applies to a property.
func propertyParts(part *jsonschema.Schema, name string) (parts []*jsonschema.Schema) {
	if next, ok := part.Properties[name]; ok {
		parts = append(parts, next)
	}
	for pattern, next := range part.PatternProperties {
		if pattern.MatchString(name) {
			parts = append(parts, next)
		}
	}
	if next := orNever(part.AdditionalProperties); len(parts) == 0 && next != nil {
		parts = append(parts, next)
	}
	return parts
}

// itemPart is what a part applies to the item at an index, or nil.
func itemPart(part *jsonschema.Schema, index int) *jsonschema.Schema {
	if part.DraftVersion >= draft {
		if index < len(part.PrefixItems) {
			return part.PrefixItems[index]
		}
		return part.Items2020
	}
	switch items := part.Items.(type) {
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if index < len(items) {
			return items[index]
		}
	}
	return orNever(part.AdditionalItems)
}

// indexes is how many items a part tells apart by their place.
func indexes(part *jsonschema.Schema) int {
	n := len(part.PrefixItems)
	if items, ok := part.Items.([]*jsonschema.Schema); ok {
		n = max(n, len(items))
	}
	return n
}

func (a side) property(name string) (out side) {
	for _, part := range a {
		for _, next := range propertyParts(part, name) {
			out = flatten(out, next)
		}
	}
	return out
}

func (a side) item(index int) (out side) {
	for _, part := range a {
		out = flatten(out, itemPart(part, index))
	}
	return out
}

// requires reports whether every allowed object has a property.
func (a side) requires(name string) bool {
	return a.has(func(part *jsonschema.Schema) bool { return slices.Contains(part.Required, name) })
}

// atLeast and atMost return the strongest of the limits that a keyword of the
// parts sets; atMost is negative where there is none.
func (a side) atLeast(keyword func(*jsonschema.Schema) *int) (limit int) {
	for _, part := range a {
		if n := keyword(part); n != nil {
			limit = max(limit, *n)
		}
	}
	return limit
}

func (a side) atMost(keyword func(*jsonschema.Schema) *int) int {
	limit := -1
	for _, part := range a {
		if n := keyword(part); n != nil && (limit < 0 || *n < limit) {
			limit = *n
		}
	}
	return limit
}

func escape(step string) string {
	return strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1")
}
