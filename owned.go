package mandate

import (
	"errors"
	"fmt"
	"reflect"
)

// ErrHandle is returned for an input or output type that could hold a live
// handle (C3-RUN-001.u).
var ErrHandle = errors.New("the type is not owned, serializable data")

// owned reports why values of T could not be recorded: a channel, a function,
// an unsafe pointer, or an interface that could hold anything.
func owned[T any]() error { return ownedType(reflect.TypeFor[T](), map[reflect.Type]bool{}) }

func ownedType(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Uintptr:
		return fmt.Errorf("%w: %s", ErrHandle, t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%w: %s may hold a handle", ErrHandle, t)
		}
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return ownedType(t.Elem(), seen)
	case reflect.Map:
		return errors.Join(ownedType(t.Key(), seen), ownedType(t.Elem(), seen))
	case reflect.Struct:
		for field := range t.Fields() {
			if err := ownedType(field.Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}
