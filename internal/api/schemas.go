package api

import (
	"encoding"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events"
)

// schemas makes JSON Schemas from Go types. Structs become components.
type schemas struct {
	components object
}

// of returns the schema of the type of value.
func (s *schemas) of(value any) (object, error) { return s.schema(reflect.TypeOf(value)) }

var textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()

func (s *schemas) schema(t reflect.Type) (object, error) {
	switch {
	case t == reflect.TypeFor[jsontext.Value]():
		return object{}, nil // any JSON
	case t == reflect.TypeFor[events.Time]():
		return object{"type": "string", "description": "RFC 3339 with nanoseconds; empty if not known"}, nil
	case t == reflect.TypeFor[[]byte]():
		return object{"type": "string", "contentEncoding": "base64"}, nil
	case t.Implements(textMarshaler):
		return object{"type": "string"}, nil
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}, nil
	case reflect.Bool:
		return object{"type": "boolean"}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return object{"type": "integer"}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer", "minimum": 0}, nil
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}, nil
	case reflect.Pointer:
		inner, err := s.schema(t.Elem())
		return object{"anyOf": []any{inner, object{"type": "null"}}}, err
	case reflect.Slice:
		items, err := s.schema(t.Elem())
		return object{"type": "array", "items": items}, err
	case reflect.Map:
		values, err := s.schema(t.Elem())
		return object{"type": "object", "additionalProperties": values}, err
	case reflect.Struct:
		return s.structure(t)
	}
	return nil, fmt.Errorf("type %s has no schema", t)
}

func (s *schemas) structure(t reflect.Type) (object, error) {
	name := path.Base(t.PkgPath()) + "." + t.Name()
	reference := object{"$ref": "#/components/schemas/" + name}
	if _, ok := s.components[name]; ok {
		return reference, nil
	}
	properties, required := object{}, []string{}
	s.components[name] = object{} // types may refer to themselves
	for field := range t.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || tag == "-" {
			continue
		}
		if tag == "" {
			return nil, fmt.Errorf("field %s of %s has no JSON name", field.Name, t)
		}
		schema, err := s.schema(field.Type)
		if err != nil {
			return nil, err
		}
		properties[tag] = schema
		if !strings.Contains(options, "omitzero") {
			required = append(required, tag)
		}
	}
	s.components[name] = object{"type": "object", "properties": properties, "required": required}
	return reference, nil
}
