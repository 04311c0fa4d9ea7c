package schema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/mandate/internal/jsonvalue"
)

// Shape is what is known of a value before there is one.
type Shape struct {
	part *jsonschema.Schema
	// absent says that there may be no value.
	absent  bool
	dynamic bool
}

// Shape returns what the schema says about a whole value.
func (s *Schema) Shape() Shape { return Shape{part: s.compiled, dynamic: s.dynamic} }

// Constant is the shape of one parsed value.
func Constant(value any) Shape {
	return Shape{part: &jsonschema.Schema{DraftVersion: draft, Const: &value}}
}

// Object is the shape of an object with exactly these members.
func Object(members map[string]Shape) Shape {
	var object jsonschema.Types
	object.Add("object")
	out := Shape{part: &jsonschema.Schema{
		DraftVersion: draft, Types: &object, Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: false,
	}}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		member := members[name]
		out.part.Properties[name] = member.part
		out.part.Required = append(out.part.Required, name)
		out.absent, out.dynamic = out.absent || member.absent, out.dynamic || member.dynamic
	}
	return out
}

// At returns what the schema says about the value at a JSON Pointer into its
// values.
func (s *Schema) At(pointer string) Shape {
	sides := expand([]side{flatten(nil, s.compiled)})
	out := Shape{dynamic: s.dynamic}
	for _, step := range jsonvalue.Steps(pointer) {
		var next []side
		for _, a := range sides {
			inner, present := a.step(step)
			out.absent = out.absent || !present
			if inner != nil {
				next = append(next, *inner)
			}
		}
		sides = expand(next)
	}
	switch len(sides) {
	case 0:
		out.part = nothing
	case 1:
		out.part = sides[0].part()
	default:
		out.part = &jsonschema.Schema{DraftVersion: draft}
		for _, a := range sides {
			out.part.AnyOf = append(out.part.AnyOf, a.part())
		}
	}
	return out
}

// part returns a side as one part.
func (a side) part() *jsonschema.Schema {
	if len(a) == 1 {
		return a[0]
	}
	return &jsonschema.Schema{DraftVersion: draft, AllOf: a}
}

// expand replaces sides by their branches, as far as there are not too many.
func expand(sides []side) []side {
	for i := 0; i < len(sides); {
		branches := sides[i].branches()
		if branches == nil || len(sides)+len(branches) > maxBranches {
			i++
			continue
		}
		sides = slices.Replace(slices.Clone(sides), i, i+1, branches...)
	}
	return sides
}

// step goes one step into the values of a side, and says whether there is
// always such a value. It returns nil where there never is.
func (a side) step(step string) (*side, bool) {
	k := a.kinds()
	index, err := strconv.Atoi(step)
	isIndex := err == nil && index >= 0 && index < 1<<20 && strconv.Itoa(index) == step
	if !isIndex {
		k &^= kindArray
	}
	only := a.kinds() == k
	switch {
	case k&kindObject != 0 && k&kindArray != 0:
		return &side{}, false // it depends on what the value is
	case k&kindObject != 0:
		inner := a.property(step)
		if inner.kinds() == 0 {
			return nil, false
		}
		return &inner, only && k == kindObject && a.requires(step)
	case k&kindArray != 0:
		inner := a.item(index)
		high := a.atMost(func(s *jsonschema.Schema) *int { return s.MaxItems })
		if inner.kinds() == 0 || high >= 0 && index >= high {
			return nil, false
		}
		low := a.atLeast(func(s *jsonschema.Schema) *int { return s.MinItems })
		return &inner, k == kindArray && index < low
	}
	return nil, false
}

// Member returns what the schema wants of a member of its objects, as far as
// it says so whatever the other members are.
func (s *Schema) Member(name string) *Schema {
	var parts []*jsonschema.Schema
	for _, part := range flatten(nil, s.compiled) {
		parts = append(parts, propertyParts(part, name)...)
	}
	return &Schema{compiled: side(parts).part(), dynamic: s.dynamic}
}
