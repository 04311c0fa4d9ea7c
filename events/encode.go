package events

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
)

// ErrTooLarge is returned for a commit over [MaxCommitBytes], or with more in it
// than is decoded.
var ErrTooLarge = errors.New("events: commit too large")

// DataSchema returns the identifier of the JSON Schema of an event type.
func DataSchema(eventType string) string { return dataSchemaPrefix + eventType }

const dataSchemaPrefix = "urn:mandate:schema:"

// Encode returns the canonical body bytes of c and sets c.Digest to its chain
// digest. Bodies that have no commitment yet are an error: seal first.
func Encode(c *Commit) ([]byte, error) {
	var buffer bytes.Buffer
	w := writer{msgpack.NewEncoder(&buffer)}
	w.UseCompactInts(true)
	if err := w.commit(c); err != nil {
		return nil, fmt.Errorf("encode commit %s: %w", c.ID, err)
	}
	if buffer.Len() > MaxCommitBytes {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, buffer.Len())
	}
	// What no reader would take must not get into a stream.
	if err := guard(buffer.Bytes()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	c.Digest = ChainDigest(c, buffer.Bytes())
	return buffer.Bytes(), nil
}

// EncodePayload returns the canonical bytes of an event's data alone.
func EncodePayload(p Payload) ([]byte, error) {
	var buffer bytes.Buffer
	w := writer{msgpack.NewEncoder(&buffer)}
	w.UseCompactInts(true)
	if err := w.payload(p); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

type writer struct{ *msgpack.Encoder }

func (w writer) commit(c *Commit) error {
	return w.object(c.Extra, map[string]func() error{
		"events": func() error {
			if err := w.EncodeArrayLen(len(c.Events)); err != nil {
				return err
			}
			for i := range c.Events {
				if err := w.event(&c.Events[i]); err != nil {
					return err
				}
			}
			return nil
		},
		"bodies": func() error { return w.value(reflect.ValueOf(c.Sealed)) },
	})
}

func (w writer) event(e *Event) error {
	if err := w.EncodeMapLen(7); err != nil {
		return err
	}
	eventType := e.Type()
	if err := w.pairString("data", func() error { return w.payload(e.Data) }); err != nil {
		return err
	}
	for _, attribute := range [...][2]string{
		{"dataschema", DataSchema(eventType)}, {"id", e.ID}, {"source", e.Source}, {"subject", e.Subject},
	} {
		if err := w.EncodeString(attribute[0]); err != nil {
			return err
		}
		if err := w.EncodeString(attribute[1]); err != nil {
			return err
		}
	}
	if err := w.pairString("time", func() error { return w.EncodeInt(int64(e.Time)) }); err != nil {
		return err
	}
	return w.pairString("type", func() error { return w.EncodeString(eventType) })
}

func (w writer) pairString(name string, value func() error) error {
	if err := w.EncodeString(name); err != nil {
		return err
	}
	return value()
}

func (w writer) payload(p Payload) error {
	if u, ok := p.(*Unknown); ok {
		return w.raw(u.Raw)
	}
	v := reflect.ValueOf(p)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("%w: payload %T", ErrMalformed, p)
	}
	return w.value(v.Elem())
}

func (w writer) raw(data []byte) error { return w.Encode(msgpack.RawMessage(data)) }

// object writes named members and extra ones, sorted by name.
func (w writer) object(extra Extra, members map[string]func() error) error {
	names := slices.Sorted(maps.Keys(members))
	for name := range extra {
		if _, known := members[name]; !known {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if err := w.EncodeMapLen(len(names)); err != nil {
		return err
	}
	for _, name := range names {
		write := members[name]
		if write == nil {
			write = func() error { return w.raw(extra[name]) }
		}
		if err := w.pairString(name, write); err != nil {
			return err
		}
	}
	return nil
}

func (w writer) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		return w.EncodeBool(v.Bool())
	case reflect.String:
		return w.EncodeString(v.String())
	case reflect.Int, reflect.Int64:
		return w.EncodeInt(v.Int())
	case reflect.Uint16, reflect.Uint64:
		return w.EncodeUint(v.Uint())
	case reflect.Slice:
		return w.slice(v)
	case reflect.Map:
		return w.mapping(v)
	case reflect.Pointer:
		if v.IsNil() {
			return w.EncodeNil()
		}
		return w.value(v.Elem())
	case reflect.Struct:
		return w.structure(v)
	default:
		return fmt.Errorf("%w: cannot write %s", ErrMalformed, v.Type())
	}
}

func (w writer) slice(v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		data := v.Bytes()
		if data == nil {
			data = []byte{} // nil would be written as nil
		}
		return w.EncodeBytes(data)
	}
	if err := w.EncodeArrayLen(v.Len()); err != nil {
		return err
	}
	for i := range v.Len() {
		if err := w.value(v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func (w writer) mapping(v reflect.Value) error {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		return bytes.Compare([]byte(a.String()), []byte(b.String()))
	})
	if err := w.EncodeMapLen(len(keys)); err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.EncodeString(key.String()); err != nil {
			return err
		}
		if err := w.value(v.MapIndex(key)); err != nil {
			return err
		}
	}
	return nil
}

func (w writer) structure(v reflect.Value) error {
	if v.Type() == bodyType {
		if b, ok := reflect.TypeAssert[Body](v); ok && b.Commitment == "" && b.open {
			return fmt.Errorf("%w: body without commitment", ErrMalformed)
		}
	}
	s := shapeOf(v.Type())
	var extra Extra
	if s.extra != nil {
		extra = v.FieldByIndex(s.extra).Interface().(Extra) //nolint:errcheck,forcetypeassert // found by its type
	}
	present := make([]int, 0, len(s.members))
	for i, m := range s.members {
		if !m.omitZero || !isZero(v.FieldByIndex(m.index)) {
			present = append(present, i)
		}
	}
	unknown := slices.Sorted(maps.Keys(extra))
	if err := w.EncodeMapLen(len(present) + len(unknown)); err != nil {
		return err
	}
	for len(present) > 0 || len(unknown) > 0 {
		if len(present) == 0 || len(unknown) > 0 && unknown[0] < s.members[present[0]].name {
			if err := w.pairString(unknown[0], func() error { return w.raw(extra[unknown[0]]) }); err != nil {
				return err
			}
			unknown = unknown[1:]
			continue
		}
		m := s.members[present[0]]
		if err := w.EncodeString(m.name); err != nil {
			return err
		}
		if err := w.value(v.FieldByIndex(m.index)); err != nil {
			return err
		}
		present = present[1:]
	}
	return nil
}
