package events

import "reflect"

// CheckShape reports why values of a type could not be written.
func CheckShape(t reflect.Type) error { return checkShape(t) }
