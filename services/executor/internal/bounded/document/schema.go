package document

import (
	"strings"

	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Field is one field of a closed object of scalars. It is small, because a profile may have very many.
type Field struct {
	Name     string
	MaxBytes uint32
	Type     wire.Kind
	Required bool
}

// Schema is the closed schema of a tool's arguments or result.
type Schema struct {
	Fields []Field
	// beyond says that some field declares more bytes than can be kept, which is more than it may.
	beyond bool
}

// typeNames are the types that a field can have, with how they are written.
func typeNames() []struct {
	kind wire.Kind
	text string
} {
	return []struct {
		kind wire.Kind
		text string
	}{{wire.KindText, `"string"`}, {wire.KindInteger, `"integer"`}, {wire.KindBoolean, `"boolean"`}}
}

// How many bytes the types of fixed size declare, and the most that a string may.
const (
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
		f.Type = decodeType(d)
		d.Expect(`,"required":`)
		f.Required = d.Bool()
		d.Expect(`,"max_bytes":`)
		most := d.Uint()
		d.Expect("}")
		if f.MaxBytes = uint32(most); uint64(f.MaxBytes) != most { //nolint:gosec // looked at right here
			s.beyond, f.MaxBytes = true, 0
		}
		s.Fields = append(s.Fields, f)
	})
	d.Expect(schemaEnd[1:])
}

// decodeType reads the type of a field.
func decodeType(d *wire.Decoder) wire.Kind {
	for _, name := range typeNames() {
		if d.Skip(name.text) {
			return name.kind
		}
	}
	d.Fail()
	return wire.KindOther
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
		f.writeType(w)
		w.Raw(`,"required":`)
		w.Bool(f.Required)
		w.Raw(`,"max_bytes":`)
		w.Uint(uint64(f.MaxBytes))
		w.Raw("}")
	}
	w.Raw(schemaEnd)
}

// writeType writes the type of a field, which counts as a string that came in as a value.
func (f *Field) writeType(w *wire.Writer) {
	for _, name := range typeNames() {
		if name.kind == f.Type {
			w.Text(strings.Trim(name.text, `"`))
		}
	}
}

// valid reports whether the fields are named, ordered and bounded as they must be.
func (s *Schema) valid() bool {
	for i := range s.Fields {
		f := &s.Fields[i]
		if !Identifier(f.Name) || i > 0 && f.Name <= s.Fields[i-1].Name {
			return false
		}
		most, least := uint32(integerBytes), uint32(integerBytes)
		switch f.Type {
		case wire.KindText:
			most, least = maxStringBytes, 1
		case wire.KindBoolean:
			most, least = booleanBytes, booleanBytes
		case wire.KindInteger, wire.KindOther:
		}
		if f.MaxBytes < least || f.MaxBytes > most {
			return false
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
	if m.Kind != f.Type {
		return false
	}
	if f.Type != wire.KindText {
		w.Raw(m.Text)
		return true
	}
	before, most := w.Size(), uint64(f.MaxBytes)
	w.Text(m.Text)
	// The bound holds for the text and for how it is written between its quotation marks.
	return uint64(len(m.Text)) <= most && w.Size()-before <= most+2
}

func find(members []wire.Member, name string) *wire.Member {
	for i := range members {
		if members[i].Name == name {
			return &members[i]
		}
	}
	return nil
}
