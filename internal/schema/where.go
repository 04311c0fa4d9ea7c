package schema

import (
	"encoding/json"
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// made returns a schema that was not compiled from a document.
func made(part *jsonschema.Schema) *Schema { return &Schema{compiled: part} }

// typed returns a part that allows one type.
func typed(name string) *jsonschema.Schema {
	var types jsonschema.Types
	types.Add(name)
	return &jsonschema.Schema{DraftVersion: draft, Types: &types}
}

// Anything is the schema of every value.
func Anything() *Schema { return made(&jsonschema.Schema{DraftVersion: draft}) }

// Text is the schema of texts that are not empty.
func Text() *Schema {
	part := typed("string")
	one := 1
	part.MinLength = &one
	return made(part)
}

// Where is the schema of the values that a comparison with a scalar holds for:
// eq, ne, lt, le, gt or ge. Values of another kind than the scalar are neither
// equal nor different, so that no comparison holds for them.
func Where(op string, value any) *Schema {
	same := &jsonschema.Schema{DraftVersion: draft, Const: &value}
	switch v := value.(type) {
	case json.Number:
		if at, ok := new(big.Rat).SetString(v.String()); ok {
			return made(numbers(op, same, at))
		}
		return Anything()
	case string:
		return made(scalars(op, typed("string"), same, true))
	case bool:
		return made(scalars(op, typed("boolean"), same, false))
	case nil:
		return made(scalars(op, typed("null"), same, false))
	}
	return made(nothing)
}

func numbers(op string, same *jsonschema.Schema, at *big.Rat) *jsonschema.Schema {
	part := typed("number")
	switch op {
	case "eq":
		return same
	case "ne":
		part.Not = same
	case "lt":
		part.ExclusiveMaximum = at
	case "le":
		part.Maximum = at
	case "gt":
		part.ExclusiveMinimum = at
	case "ge":
		part.Minimum = at
	}
	return part
}

// scalars is for values that schemas do not order: ordered says whether one of
// them can be below another at all.
func scalars(op string, part, same *jsonschema.Schema, ordered bool) *jsonschema.Schema {
	switch op {
	case "eq":
		return same
	case "ne":
		part.Not = same
	case "lt", "gt":
		if !ordered {
			return nothing
		}
	case "le", "ge":
		if !ordered {
			return same
		}
	}
	return part
}
