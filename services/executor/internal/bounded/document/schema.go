package document

import (
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Field is one field of a closed object of scalars.
type Field struct {
	Name     string
	Type     string
	Required bool
	MaxBytes uint64
}

// Schema is the closed schema of a tool's arguments or result.
type Schema struct {
	Fields []Field
}

// The types of a field, and how many bytes the types of fixed size declare.
const (
	typeString  = "string"
	typeInteger = "integer"
	typeBoolean = "boolean"

	integerBytes   = 20
	booleanBytes   = 5
	maxStringBytes = 1 << 20
)

const (
	schemaStart = `{"type":"object","fields":[`
	schemaEnd   = `],"additional_properties":false}`
)

// decode reads a schema.
func (s *Schema) decode(d *wire.Decoder) {
	d.Expect(`{"type":"object","fields":`)
	d.Each(func() {
		var f Field
		d.Expect(`{"name":`)
		f.Name = d.Text()
		d.Expect(`,"type":`)
		f.Type = d.Text()
		d.Expect(`,"required":`)
		f.Required = d.Bool()
		d.Expect(`,"max_bytes":`)
		f.MaxBytes = d.Uint()
		d.Expect("}")
		switch f.Type {
		case typeString, typeInteger, typeBoolean:
		default:
			d.Fail()
		}
		s.Fields = append(s.Fields, f)
	})
	d.Expect(schemaEnd[1:])
}

// write writes a schema.
func (s *Schema) write(w *wire.Writer) {
	w.Raw(schemaStart)
	for i := range s.Fields {
		f := &s.Fields[i]
		if i > 0 {
			w.Raw(",")
		}
		w.Raw(`{"name":`)
		w.Text(f.Name)
		w.Raw(`,"type":`)
		w.Text(f.Type)
		w.Raw(`,"required":`)
		w.Bool(f.Required)
		w.Raw(`,"max_bytes":`)
		w.Uint(f.MaxBytes)
		w.Raw("}")
	}
	w.Raw(schemaEnd)
}

// valid reports whether the fields are named, ordered and bounded as they must be.
func (s *Schema) valid() bool {
	for i := range s.Fields {
		f := &s.Fields[i]
		if !Identifier(f.Name) || i > 0 && f.Name <= s.Fields[i-1].Name {
			return false
		}
		switch f.Type {
		case typeString:
			if f.MaxBytes == 0 || f.MaxBytes > maxStringBytes {
				return false
			}
		case typeInteger:
			if f.MaxBytes != integerBytes {
				return false
			}
		case typeBoolean:
			if f.MaxBytes != booleanBytes {
				return false
			}
		}
	}
	return true
}

// Fit writes the members as the canonical object of the schema. It reports false if a member is not of the schema, has
// another type, is longer than declared, or is missing though required.
func (s *Schema) Fit(members []wire.Member, w *wire.Writer) bool {
	used := 0
	w.Raw("{")
	for i := range s.Fields {
		f := &s.Fields[i]
		m := find(members, f.Name)
		if m == nil {
			if f.Required {
				return false
			}
			continue
		}
		if used > 0 {
			w.Raw(",")
		}
		used++
		w.Text(f.Name)
		w.Raw(":")
		if !f.write(m, w) {
			return false
		}
	}
	w.Raw("}")
	return used == len(members)
}

// write writes one member and reports whether it is of its field.
func (f *Field) write(m *wire.Member, w *wire.Writer) bool {
	switch {
	case f.Type == typeString && m.Kind == wire.KindText:
		before := w.Size()
		w.Text(m.Text)
		// The bound holds for the text and for how it is written between its quotation marks.
		return uint64(len(m.Text)) <= f.MaxBytes && w.Size()-before <= f.MaxBytes+2
	case f.Type == typeInteger && m.Kind == wire.KindInteger, f.Type == typeBoolean && m.Kind == wire.KindBoolean:
		w.Raw(m.Text)
		return true
	}
	return false
}

func find(members []wire.Member, name string) *wire.Member {
	for i := range members {
		if members[i].Name == name {
			return &members[i]
		}
	}
	return nil
}
