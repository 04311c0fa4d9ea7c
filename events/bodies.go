package events

import (
	"reflect"
	"sync"
)

var (
	bodyType = reflect.TypeFor[Body]()
	holders  sync.Map // reflect.Type -> bool: whether a value can hold a Body
)

// Bodies returns every body that the payload names, in a fixed order, so that
// they can be sealed and opened in place.
func Bodies(p Payload) []*Body {
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	var found []*Body
	collectBodies(v.Elem(), &found)
	return found
}

// Same reports whether two documents of one type say the same, member by
// member.
func Same[D OutcomeSpec | Plan](a, b D) bool { return reflect.DeepEqual(a, b) }

func collectBodies(v reflect.Value, found *[]*Body) {
	if !holdsBody(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == bodyType {
			if b, ok := reflect.TypeAssert[*Body](v.Addr()); ok && !b.IsZero() {
				*found = append(*found, b)
			}
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				collectBodies(v.Field(i), found)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			collectBodies(v.Index(i), found)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			collectBodies(v.Elem(), found)
		}
	}
}

// holdsBody reports whether a value of t can hold a body. No type of the
// catalogue refers to itself.
func holdsBody(t reflect.Type) bool {
	if known, ok := holders.Load(t); ok {
		return known == true
	}
	holds := false
	switch t.Kind() {
	case reflect.Struct:
		holds = t == bodyType
		for i := 0; i < t.NumField() && !holds; i++ {
			holds = t.Field(i).IsExported() && holdsBody(t.Field(i).Type)
		}
	case reflect.Slice, reflect.Pointer:
		holds = holdsBody(t.Elem())
	}
	holders.Store(t, holds)
	return holds
}
