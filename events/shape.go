package events

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A shape says how a struct is written: its members sorted by name, with the
// fields of embedded structs as its own, and where unknown members are kept.
type shape struct {
	members []member
	byName  map[string]int
	extra   []int // index path of the Extra field, nil if the struct is closed
	// required is how many members are always written.
	required int
}

type member struct {
	name     string
	index    []int
	omitZero bool
}

var (
	extraType = reflect.TypeFor[Extra]()
	shapes    sync.Map // reflect.Type -> *shape
)

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape) //nolint:errcheck,forcetypeassert // only shapes are stored
	}
	s := &shape{byName: map[string]int{}}
	s.collect(t, nil)
	slices.SortFunc(s.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	for i, m := range s.members {
		s.byName[m.name] = i
		if !m.omitZero {
			s.required++
		}
	}
	stored, _ := shapes.LoadOrStore(t, s)
	return stored.(*shape) //nolint:errcheck,forcetypeassert // only shapes are stored
}

func (s *shape) collect(t reflect.Type, path []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(path), i)
		switch {
		case f.Type == extraType:
			s.extra = index
		case f.Anonymous:
			s.collect(f.Type, index)
		case f.IsExported():
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			s.members = append(s.members, member{name: name, index: index, omitZero: strings.Contains(options, "omitzero")})
		}
	}
}

// isZero reports whether v is left out of a member marked omitzero: a zero
// value, or an empty slice or map.
func isZero(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		if v.Type() == bodyType {
			// The commitment comes first. A body that still has to be sealed is
			// there too, and an error for who writes it.
			return v.Field(0).Len() == 0 && !v.FieldByName("open").Bool()
		}
	}
	return v.IsZero()
}

// checkShape reports why values of t could not be written, for tests.
func checkShape(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Uint16, reflect.Uint64:
		return nil
	case reflect.Slice, reflect.Pointer:
		if t.Elem().Kind() == reflect.Uint8 {
			return nil
		}
		return checkShape(t.Elem())
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("events: map key of %s", t)
		}
		return checkShape(t.Elem())
	case reflect.Struct:
		for _, m := range shapeOf(t).members {
			if m.name == "" {
				return fmt.Errorf("events: field of %s without a name", t)
			}
			if err := checkShape(t.FieldByIndex(m.index).Type); err != nil {
				return err
			}
		}
		return nil
	default:
		return fmt.Errorf("events: %s cannot be written", t)
	}
}
