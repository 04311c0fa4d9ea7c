// Package eventstest makes events for tests: deterministic payloads with every
// field set, commits around them, and records as a stream holds them.
package eventstest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
)

// Payload returns a payload of a type with every field set. It is the same for
// every call.
func Payload(tb testing.TB, eventType string) events.Payload {
	tb.Helper()
	p, err := events.New(eventType)
	if err != nil {
		tb.Fatal(err)
	}
	if _, unknown := p.(*events.Unknown); unknown {
		tb.Fatalf("event type %q is unknown", eventType)
	}
	if err := Fill(p); err != nil {
		tb.Fatal(err)
	}
	return p
}

// Fill sets every exported field below the pointer target to a value that
// follows from the field's name and place. Two fields of a type differ.
// Lists and maps get two elements, [events.Extra] none.
func Fill(target any) error {
	v := reflect.ValueOf(target)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("eventstest: %T is not a pointer", target)
	}
	f := filler{}
	return f.fill(v.Elem(), "example")
}

// words are values of the closed vocabularies, so that a filled document reads
// as one that could be.
var words = map[string]string{
	"Tag": "completed", "Phase": "executing", "Effect": "read", "Completion": "complete", "Owner": "admission",
	"ResultStatus": "complete", "Verdict": "met", "Strength": "observed", "Importance": "must", "Origin": "explicit",
	"Decision": "approve", "BoundStatus": "enforced", "HaltCause": "failed", "ActionStatus": "completed",
	"PrincipalKind": "person", "InteractionKind": "approval", "Class": "result", "Confirmation": "required",
	"PolicyOperation": "submit", "PolicyVerdict": "allow", "ApprovalWay": "person", "SourceKind": "words", "ConfirmTime": "at_dispatch",
}

// secondOwner is the key of a map's second element where keys are owners.
const secondOwner = string(events.OwnerExecutor)

type filler struct{ count int64 }

func (f *filler) next() int64 {
	f.count++
	return f.count
}

// started is the moment of the first filled time: 2026-01-02 03:04:05 UTC.
const started = 1767323045_000000007

func (f *filler) fill(v reflect.Value, name string) error {
	switch target := v.Addr().Interface().(type) {
	case *events.Digest:
		*target = canon.Sum("example", []byte(fmt.Sprint(name, f.next())))
		return nil
	case *events.Time:
		*target = events.Time(started + f.next()*1_000_000_000)
		return nil
	case *events.Body:
		n := f.next()
		*target = events.Body{
			Commitment: canon.Sum("example", []byte(fmt.Sprint(name, n))), Size: n * 100,
			MediaType: events.MediaJSON, Class: events.ClassResult,
		}
		return nil
	case *events.JSON:
		*target = events.JSON(fmt.Sprintf(`{"%s":%d}`, name, f.next()))
		return nil
	case *events.Code:
		*target = events.CodeRequestMalformed
		return nil
	case *events.Extra:
		return nil
	}
	return f.kind(v, name)
}

func (f *filler) kind(v reflect.Value, name string) error {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		if word, ok := words[v.Type().Name()]; ok {
			v.SetString(word)
			return nil
		}
		v.SetString(fmt.Sprintf("%s-%d", name, f.next()))
	case reflect.Int, reflect.Int64:
		v.SetInt(f.next())
	case reflect.Uint16, reflect.Uint64:
		v.SetUint(uint64(f.next()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.fill(v.Elem(), name)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(fmt.Appendf(nil, "%s-%d", name, f.next()))
			return nil
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			if err := f.fill(v.Index(i), name); err != nil {
				return err
			}
		}
	case reflect.Map:
		return f.mapping(v, name)
	case reflect.Struct:
		return f.structure(v)
	default:
		return fmt.Errorf("eventstest: cannot fill %s", v.Type())
	}
	return nil
}

func (f *filler) mapping(v reflect.Value, name string) error {
	v.Set(reflect.MakeMap(v.Type()))
	for i := range 2 {
		key := reflect.New(v.Type().Key()).Elem()
		element := reflect.New(v.Type().Elem()).Elem()
		if err := f.fill(key, name); err != nil {
			return err
		}
		if i == 1 && v.MapIndex(key).IsValid() {
			key.SetString(secondOwner)
		}
		if err := f.fill(element, name); err != nil {
			return err
		}
		v.SetMapIndex(key, element)
	}
	return nil
}

func (f *filler) structure(v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			name = strings.ToLower(field.Name)
		}
		if err := f.fill(v.Field(i), name); err != nil {
			return fmt.Errorf("%s: %w", field.Name, err)
		}
	}
	return nil
}
