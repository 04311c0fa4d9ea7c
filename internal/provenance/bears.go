package provenance

import (
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// Bears reports whether an argument decides what an effect touches. Every
// argument of a write does whose definition does not say. Where the definition
// names some, so does each that its schema does not list: nobody said that it
// has none.
func Bears(c *events.Capability, argument string) bool {
	return listedBy(c).bears(c, argument)
}

// names are those that the input schema of a capability lists: of arguments, and
// of members anywhere.
type names struct{ arguments, anywhere map[string]bool }

func (n names) bears(c *events.Capability, argument string) bool {
	switch {
	case c.AuthorityArguments == nil:
		return c.Effect == events.EffectWrite
	case len(c.AuthorityArguments) == 0:
		return false
	}
	return slices.Contains(c.AuthorityArguments, argument) || !n.arguments[argument]
}

// listedBy reads the names in a schema. One that cannot be read lists none.
func listedBy(c *events.Capability) names {
	n := names{anywhere: map[string]bool{}}
	schema, err := jsonvalue.Parse(c.Input, jsonvalue.DefaultLimits)
	if err != nil {
		return n
	}
	list(schema, n.anywhere)
	n.arguments = n.anywhere // where another part of the schema lists them
	if root, is := schema.(map[string]any); is {
		if properties, own := root["properties"].(map[string]any); own {
			n.arguments = map[string]bool{}
			for name := range properties {
				n.arguments[name] = true
			}
		}
	}
	return n
}

// list adds the names of all properties in a schema.
func list(schema any, into map[string]bool) {
	switch v := schema.(type) {
	case map[string]any:
		for keyword, part := range v {
			if properties, is := part.(map[string]any); is && keyword == "properties" {
				for name := range properties {
					into[name] = true
				}
			}
			list(part, into)
		}
	case []any:
		for _, part := range v {
			list(part, into)
		}
	}
}
