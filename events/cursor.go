package events

import (
	"bytes"
	"fmt"
	"math"
	"reflect"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// A cursor reads values out of bytes that passed the guard: what it reads is
// whole, in the one canonical form, and within the limits. Binary values are
// parts of these bytes, not copies: whoever hands bytes in does not change them
// any more.
type cursor struct {
	data []byte
	at   int
	// types are the event types that the headers name, in order, nil if they
	// name none. They let data be read before its type is reached.
	types []string
}

// next returns the encoded value at the cursor without its children, and where
// it began.
func (d *cursor) next() (item, byte, error) {
	if d.at >= len(d.data) {
		return item{}, 0, malformed(d.at, "truncated")
	}
	code := d.data[d.at]
	i, err := readItem(d.data, d.at)
	if err != nil {
		return item{}, 0, err
	}
	d.at = i.end
	return i, code, nil
}

// text reads a string without copying it.
func (d *cursor) text() ([]byte, error) {
	i, _, err := d.next()
	if err != nil {
		return nil, err
	}
	if !i.isString {
		return nil, malformed(i.body, "not a string")
	}
	return d.data[i.body:i.end], nil
}

func (d *cursor) string() (string, error) {
	text, err := d.text()
	return string(text), err
}

// open reads the head of a map or an array and returns how many members or
// elements follow.
func (d *cursor) open(isMap bool) (int, error) {
	i, code, err := d.next()
	if err != nil {
		return 0, err
	}
	if isMap {
		if !i.isMap {
			return 0, malformed(i.end, "not a map")
		}
		return int(i.children / 2), nil
	}
	if i.isMap || !msgpcode.IsFixedArray(code) && code != msgpcode.Array16 && code != msgpcode.Array32 {
		return 0, malformed(i.end, "not an array")
	}
	return int(i.children), nil
}

// raw returns the next value with its children, encoded. It does not copy.
func (d *cursor) raw() ([]byte, error) {
	start := d.at
	for left := uint64(1); left > 0; left-- {
		i, _, err := d.next()
		if err != nil {
			return nil, err
		}
		left += i.children
	}
	return d.data[start:d.at], nil
}

// The names of an event's members, sorted as they are written.
var eventMembers = [...]string{"data", "dataschema", "id", "source", "subject", "time", "type"}

func (d *cursor) commit(c *Commit) error {
	n, err := d.open(true)
	if err != nil {
		return err
	}
	seen := 0
	for range n {
		name, err := d.text()
		if err != nil {
			return err
		}
		switch string(name) {
		case "events":
			seen++
			err = d.events(c)
		case "bodies":
			seen++
			err = d.value(reflect.ValueOf(&c.Sealed).Elem())
		default:
			err = d.keep(&c.Extra, string(name))
		}
		if err != nil {
			return err
		}
	}
	if seen != 2 {
		return fmt.Errorf("%w: events or bodies missing", ErrMalformed)
	}
	return nil
}

func (d *cursor) keep(extra *Extra, name string) error {
	raw, err := d.raw()
	if err != nil {
		return err
	}
	if *extra == nil {
		*extra = Extra{}
	}
	(*extra)[name] = bytes.Clone(raw)
	return nil
}

// room bounds what is reserved before elements are read: a length alone costs
// nothing.
func room(n int) int { return min(n, 64) }

func (d *cursor) events(c *Commit) error {
	n, err := d.open(false)
	if err != nil {
		return err
	}
	c.Events = make([]Event, 0, room(n))
	if d.types != nil && n != len(d.types) {
		return fmt.Errorf("%w: the header names %d events of %d", ErrMalformed, len(d.types), n)
	}
	for i := range n {
		hint := ""
		if d.types != nil {
			hint = d.types[i]
		}
		e, err := d.event(hint)
		if err != nil {
			return err
		}
		c.Events = append(c.Events, e)
	}
	return nil
}

// event reads one event. Its data comes first in sorted order and its type
// last: with a hint the data is read at once, else it is passed over until the
// type is known. A hint that turns out wrong is an error.
func (d *cursor) event(hint string) (Event, error) {
	n, err := d.open(true)
	if err != nil {
		return Event{}, err
	}
	if n != len(eventMembers) {
		return Event{}, fmt.Errorf("%w: event with %d members", ErrMalformed, n)
	}
	var e Event
	var raw, schema, eventType []byte
	for _, want := range eventMembers {
		name, err := d.text()
		if err != nil || string(name) != want {
			return Event{}, fmt.Errorf("%w: event member %.40q, want %q", ErrMalformed, name, want)
		}
		switch want {
		case "data":
			if hint != "" {
				e.Data, err = d.payload(hint)
			} else {
				raw, err = d.raw()
			}
		case "dataschema":
			schema, err = d.text()
		case "id":
			e.ID, err = d.string()
		case "source":
			e.Source, err = d.string()
		case "subject":
			e.Subject, err = d.string()
		case "time":
			err = d.value(reflect.ValueOf(&e.Time).Elem())
		case "type":
			eventType, err = d.text()
		}
		if err != nil {
			return Event{}, fmt.Errorf("event %s: %w", want, err)
		}
	}
	if rest, ok := bytes.CutPrefix(schema, []byte(dataSchemaPrefix)); !ok || !bytes.Equal(rest, eventType) {
		return Event{}, fmt.Errorf("%w: dataschema of %.80q", ErrMalformed, eventType)
	}
	if hint != "" {
		if string(eventType) != hint {
			return Event{}, fmt.Errorf("%w: the header names %.80q and the event is %.80q", ErrMalformed, hint, eventType)
		}
		return e, nil
	}
	inner := cursor{data: raw}
	e.Data, err = inner.payload(string(eventType))
	return e, err
}

func (d *cursor) payload(eventType string) (Payload, error) {
	p, err := New(eventType)
	if err != nil {
		return nil, err
	}
	if u, ok := p.(*Unknown); ok {
		raw, err := d.raw()
		if err != nil {
			return nil, err
		}
		u.Raw = bytes.Clone(raw)
		return u, nil
	}
	if err := d.value(reflect.ValueOf(p).Elem()); err != nil {
		return nil, fmt.Errorf("%s: %w", eventType, err)
	}
	return types.current(p), nil
}

func (d *cursor) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		i, code, err := d.next()
		if err != nil {
			return err
		}
		if code != msgpcode.True && code != msgpcode.False {
			return malformed(i.end, "not a boolean")
		}
		v.SetBool(code == msgpcode.True)
		return nil
	case reflect.String:
		text, err := d.string()
		if err != nil {
			return err
		}
		v.SetString(text)
		return nil
	case reflect.Int, reflect.Int64, reflect.Uint16, reflect.Uint64:
		return d.integer(v)
	case reflect.Slice:
		return d.slice(v)
	case reflect.Map:
		return d.mapping(v)
	case reflect.Pointer:
		return d.pointer(v)
	case reflect.Struct:
		return d.structure(v)
	default:
		return fmt.Errorf("%w: cannot read %s", ErrMalformed, v.Type())
	}
}

// number reads an integer: its magnitude as written, or its value if it is
// negative.
func (d *cursor) number() (magnitude uint64, negative int64, err error) {
	start := d.at
	_, code, err := d.next()
	if err != nil {
		return 0, 0, err
	}
	if code <= msgpcode.PosFixedNumHigh {
		return uint64(code), 0, nil
	}
	if code >= msgpcode.NegFixedNumLow {
		return 0, int64(int8(code)), nil
	}
	var n uint64
	digits := d.data[start+1 : d.at]
	for _, b := range digits {
		n = n<<8 | uint64(b)
	}
	switch code {
	case msgpcode.Uint8, msgpcode.Uint16, msgpcode.Uint32, msgpcode.Uint64:
		return n, 0, nil
	case msgpcode.Int8, msgpcode.Int16, msgpcode.Int32, msgpcode.Int64:
		shift := 64 - 8*len(digits)
		return 0, int64(n<<shift) >> shift, nil
	}
	return 0, 0, malformed(start, "not an integer")
}

func (d *cursor) integer(v reflect.Value) error {
	start := d.at
	magnitude, negative, err := d.number()
	if err != nil {
		return err
	}
	if v.CanUint() {
		if negative < 0 || v.OverflowUint(magnitude) {
			return malformed(start, "integer out of range")
		}
		v.SetUint(magnitude)
		return nil
	}
	signed := negative
	if negative == 0 {
		if magnitude > math.MaxInt64 {
			return malformed(start, "integer out of range")
		}
		signed = int64(magnitude)
	}
	if v.OverflowInt(signed) {
		return malformed(start, "integer out of range")
	}
	v.SetInt(signed)
	return nil
}

func (d *cursor) slice(v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		i, code, err := d.next()
		if err != nil {
			return err
		}
		if code != msgpcode.Bin8 && code != msgpcode.Bin16 && code != msgpcode.Bin32 {
			return malformed(i.end, "not binary")
		}
		v.SetBytes(d.data[i.body:i.end:i.end])
		return nil
	}
	n, err := d.open(false)
	if err != nil {
		return err
	}
	out := reflect.MakeSlice(v.Type(), 0, room(n))
	zero := reflect.Zero(v.Type().Elem())
	for i := range n {
		out = reflect.Append(out, zero)
		if err := d.value(out.Index(i)); err != nil {
			return err
		}
	}
	v.Set(out)
	return nil
}

func (d *cursor) mapping(v reflect.Value) error {
	n, err := d.open(true)
	if err != nil {
		return err
	}
	out := reflect.MakeMapWithSize(v.Type(), room(n))
	for range n {
		key := reflect.New(v.Type().Key()).Elem()
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(key); err != nil {
			return err
		}
		if err := d.value(element); err != nil {
			return err
		}
		out.SetMapIndex(key, element)
	}
	v.Set(out)
	return nil
}

func (d *cursor) pointer(v reflect.Value) error {
	if d.at < len(d.data) && d.data[d.at] == msgpcode.Nil {
		d.at++
		v.SetZero()
		return nil
	}
	target := reflect.New(v.Type().Elem())
	if err := d.value(target.Elem()); err != nil {
		return err
	}
	v.Set(target)
	return nil
}

func (d *cursor) structure(v reflect.Value) error {
	s := shapeOf(v.Type())
	n, err := d.open(true)
	if err != nil {
		return fmt.Errorf("%s: %w", v.Type().Name(), err)
	}
	required, next := s.required, 0
	for range n {
		name, err := d.text()
		if err != nil {
			return err
		}
		// Members come in the order of their names, so the next one is nearly
		// always it.
		i, known := next, next < len(s.members) && s.members[next].name == string(name)
		if !known {
			i, known = s.byName[string(name)]
		}
		next = i + 1
		if !known {
			next = 0
			if s.extra == nil {
				return fmt.Errorf("%w: %s has no member %.40q", ErrMalformed, v.Type().Name(), name)
			}
			if err := d.keep(v.FieldByIndex(s.extra).Addr().Interface().(*Extra), string(name)); err != nil { //nolint:errcheck,forcetypeassert // found by its type
				return err
			}
			continue
		}
		field := v.FieldByIndex(s.members[i].index)
		if err := d.value(field); err != nil {
			return fmt.Errorf("%s: %w", s.members[i].name, err)
		}
		if !s.members[i].omitZero {
			required--
		} else if isZero(field) {
			return fmt.Errorf("%w: %s.%s is zero and should be absent", ErrMalformed, v.Type().Name(), s.members[i].name)
		}
	}
	if required != 0 {
		return fmt.Errorf("%w: %s lacks a required member", ErrMalformed, v.Type().Name())
	}
	return nil
}
