package protocoldoc

import (
	"fmt"
	"reflect"
	"strings"

	"example.org/mandate/events"
)

// object is a JSON object.
type object = map[string]any

const (
	dialect       = "https://json-schema.org/draft/2020-12/schema"
	digestPattern = "^sha256:[0-9a-f]{64}$"
	documentURN   = "urn:mandate:schema:document."
)

// documents are what bodies hold, by name.
func documents() map[string]any {
	return map[string]any{
		"agent": events.Agent{}, "capability": events.Capability{}, "document": events.Document{},
		"intent-request": events.IntentRequest{}, "outcome-spec": events.OutcomeSpec{}, "package": events.Package{},
		"plan": events.Plan{}, "policy": events.Policy{}, "routes": events.Routes{},
	}
}

// schemas writes one schema: the structs that it refers to become definitions.
type schemas struct {
	source      *source
	definitions object
}

// schemaOf returns the whole schema of a struct.
func (s *source) schemaOf(id, title string, t reflect.Type) (object, error) {
	w := schemas{source: s, definitions: object{}}
	out, err := w.structure(t)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", id, err)
	}
	out["$schema"], out["$id"], out["title"] = dialect, id, title
	if len(w.definitions) > 0 {
		out["$defs"] = w.definitions
	}
	return out, nil
}

func (w *schemas) schema(t reflect.Type) (object, error) {
	switch t {
	case reflect.TypeFor[events.JSON]():
		return object{"description": "Any JSON value."}, nil
	case reflect.TypeFor[events.Time]():
		return object{
			"description": "RFC 3339 with nanoseconds, in UTC; empty if not known.",
			"type":        "string", "anyOf": []any{object{"format": "date-time", "minLength": 20}, object{"const": ""}},
		}, nil
	case reflect.TypeFor[events.Digest]():
		return object{"type": "string", "pattern": digestPattern}, nil
	case reflect.TypeFor[events.Code]():
		return object{"type": "string", "pattern": "^MD-[0-9]{4,5}$", "description": w.source.types["Code"]}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return w.vocabulary(t), nil
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.Int, reflect.Int64:
		return object{"type": "integer"}, nil
	case reflect.Uint16, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}, nil
	case reflect.Pointer:
		return w.schema(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "contentEncoding": "base64"}, nil
		}
		items, err := w.schema(t.Elem())
		return object{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := w.schema(t.Elem())
		return object{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return w.reference(t)
	}
	return nil, fmt.Errorf("%s has no schema", t)
}

// vocabulary names the values that are known today. More may be added within a
// version, so they are examples.
func (w *schemas) vocabulary(t reflect.Type) object {
	out := object{"type": "string"}
	if values := w.source.values[t.Name()]; len(values) > 0 {
		out["examples"] = values
	}
	return out
}

func (w *schemas) reference(t reflect.Type) (object, error) {
	name := t.Name()
	if _, ok := w.definitions[name]; !ok {
		w.definitions[name] = nil // ends a reference to itself
		definition, err := w.structure(t)
		if err != nil {
			return nil, err
		}
		w.definitions[name] = definition
	}
	return object{"$ref": "#/$defs/" + name}, nil
}

func (w *schemas) structure(t reflect.Type) (object, error) {
	properties, required, open := object{}, []string{}, false
	if err := w.members(t, properties, &required, &open); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Name(), err)
	}
	out := object{"type": "object", "properties": properties}
	if comment := w.source.types[t.Name()]; comment != "" {
		out["description"] = comment
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if !open {
		out["additionalProperties"] = false
	}
	return out, nil
}

// members adds the members of a struct. It is open to members that are added
// later if it keeps unknown ones.
func (w *schemas) members(t reflect.Type, properties object, required *[]string, open *bool) error {
	for f := range t.Fields() {
		switch {
		case f.Type == reflect.TypeFor[events.Extra]():
			*open = true
		case f.Anonymous:
			if err := w.members(f.Type, properties, required, open); err != nil {
				return err
			}
		case f.IsExported():
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			property, err := w.schema(f.Type)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			if comment := w.source.fields[t.Name()][f.Name]; comment != "" {
				property["description"] = comment
			}
			optional := strings.Contains(options, "omitzero")
			if !optional && f.Type.Kind() == reflect.Pointer {
				property = object{"anyOf": []any{property, object{"type": "null"}}}
			}
			properties[name] = property
			if !optional {
				*required = append(*required, name)
			}
		}
	}
	return nil
}
