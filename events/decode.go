package events

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"
)

// Decode reads a stored commit. It checks the subject, the headers, the limits
// and the one canonical form, and computes the chain digest; whether the chain
// holds is for [CheckNext]. Bodies are not opened.
func Decode(r Record) (Commit, error) {
	c, err := DecodeHeader(r)
	if err != nil {
		return Commit{}, err
	}
	if len(r.Data) > MaxCommitBytes {
		return Commit{}, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(r.Data))
	}
	if err := guard(r.Data); err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", c.ID, err)
	}
	d := reader{msgpack.NewDecoder(bytes.NewReader(r.Data))}
	if err := d.commit(&c); err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", c.ID, err)
	}
	return c, nil
}

// DecodeHeader reads what the subject and the headers of a record say, and
// computes the chain digest over the body bytes without decoding them.
func DecodeHeader(r Record) (Commit, error) {
	subject, err := ParseSubject(r.Subject)
	if err != nil {
		return Commit{}, err
	}
	c := Commit{
		ID: r.Header[HeaderCommit], Subject: subject,
		Previous:    Digest(r.Header[HeaderPrevious]),
		Cause:       Cause{Commit: r.Header[HeaderCause], Event: r.Header[HeaderCauseEvent]},
		Correlation: r.Header[HeaderCorrelation], Writer: r.Header[HeaderWriter],
		Traceparent: r.Header[HeaderTrace],
	}
	if c.Number, err = strconv.ParseUint(r.Header[HeaderNumber], 10, 64); err != nil || c.Number == 0 {
		return Commit{}, fmt.Errorf("%w: commit number %.40q", ErrMalformed, r.Header[HeaderNumber])
	}
	if c.Protocol, err = strconv.Atoi(r.Header[HeaderSchema]); err != nil || c.Protocol < 1 {
		return Commit{}, fmt.Errorf("%w: protocol version %.40q", ErrMalformed, r.Header[HeaderSchema])
	}
	if c.Protocol > Protocol {
		return Commit{}, fmt.Errorf("%w: protocol %d, this build reads up to %d", ErrVersion, c.Protocol, Protocol)
	}
	if c.ID == "" {
		return Commit{}, fmt.Errorf("%w: commit without ID", ErrMalformed)
	}
	c.Digest = ChainDigest(&c, r.Data)
	return c, nil
}

// Header returns the headers of c, ready to be stored beside its body.
func (c *Commit) Header() map[string]string {
	var names []byte
	for i, e := range c.Events {
		if i > 0 {
			names = append(names, ',')
		}
		names = append(names, e.Type()...)
	}
	header := map[string]string{
		HeaderCommit: c.ID,
		HeaderTypes:  string(names),
		HeaderNumber: strconv.FormatUint(c.Number, 10),
		HeaderSchema: strconv.Itoa(c.Protocol),
	}
	for name, value := range map[string]string{
		HeaderPrevious: string(c.Previous), HeaderCause: c.Cause.Commit, HeaderCauseEvent: c.Cause.Event,
		HeaderCorrelation: c.Correlation, HeaderWriter: c.Writer, HeaderTrace: c.Traceparent,
	} {
		if value != "" {
			header[name] = value
		}
	}
	return header
}

// DecodePayload reads the data of an event of a given type, in canonical form.
func DecodePayload(eventType string, data []byte) (Payload, error) {
	if err := guard(data); err != nil {
		return nil, err
	}
	d := reader{msgpack.NewDecoder(bytes.NewReader(data))}
	return d.payload(eventType)
}

type reader struct{ *msgpack.Decoder }

// The names of an event's members, sorted as they are written.
var eventMembers = [...]string{"data", "dataschema", "id", "source", "subject", "time", "type"}

func (d reader) commit(c *Commit) error {
	n, err := d.DecodeMapLen()
	if err != nil {
		return fmt.Errorf("%w: not a map", ErrMalformed)
	}
	seen := 0
	for range n {
		name, err := d.DecodeString()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		switch name {
		case "events":
			seen++
			err = d.events(c)
		case "bodies":
			seen++
			err = d.value(reflect.ValueOf(&c.Sealed).Elem())
		default:
			err = d.keep(&c.Extra, name)
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

func (d reader) keep(extra *Extra, name string) error {
	raw, err := d.DecodeRaw()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if *extra == nil {
		*extra = Extra{}
	}
	(*extra)[name] = bytes.Clone(raw)
	return nil
}

func (d reader) events(c *Commit) error {
	n, err := d.DecodeArrayLen()
	if err != nil || n < 0 {
		return fmt.Errorf("%w: events are not an array", ErrMalformed)
	}
	c.Events = make([]Event, 0, min(n, 64))
	for range n {
		e, err := d.event()
		if err != nil {
			return err
		}
		c.Events = append(c.Events, e)
	}
	return nil
}

// event reads one event. Its data comes first in sorted order and its type
// last, so the data is kept encoded until the type is known.
func (d reader) event() (Event, error) {
	n, err := d.DecodeMapLen()
	if err != nil || n != len(eventMembers) {
		return Event{}, fmt.Errorf("%w: event with %d members", ErrMalformed, n)
	}
	var e Event
	var raw []byte
	var schema, eventType string
	for _, want := range eventMembers {
		name, err := d.DecodeString()
		if err != nil || name != want {
			return Event{}, fmt.Errorf("%w: event member %.40q, want %q", ErrMalformed, name, want)
		}
		switch want {
		case "data":
			raw, err = d.DecodeRaw()
			raw = bytes.Clone(raw)
		case "dataschema":
			schema, err = d.DecodeString()
		case "id":
			e.ID, err = d.DecodeString()
		case "source":
			e.Source, err = d.DecodeString()
		case "subject":
			e.Subject, err = d.DecodeString()
		case "time":
			err = d.value(reflect.ValueOf(&e.Time).Elem())
		case "type":
			eventType, err = d.DecodeString()
		}
		if err != nil {
			return Event{}, fmt.Errorf("%w: event %s: %w", ErrMalformed, want, err)
		}
	}
	if schema != DataSchema(eventType) {
		return Event{}, fmt.Errorf("%w: dataschema of %.80q", ErrMalformed, eventType)
	}
	inner := reader{msgpack.NewDecoder(bytes.NewReader(raw))}
	e.Data, err = inner.payload(eventType)
	if u, ok := e.Data.(*Unknown); ok {
		u.Raw = raw
	}
	return e, err
}

func (d reader) payload(eventType string) (Payload, error) {
	p, err := New(eventType)
	if err != nil {
		return nil, err
	}
	if u, ok := p.(*Unknown); ok {
		raw, err := d.DecodeRaw()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		u.Raw = bytes.Clone(raw)
		return u, nil
	}
	if err := d.value(reflect.ValueOf(p).Elem()); err != nil {
		return nil, fmt.Errorf("%s: %w", eventType, err)
	}
	return types.current(p), nil
}

func (d reader) value(v reflect.Value) error {
	var err error
	switch v.Kind() {
	case reflect.Bool:
		var b bool
		b, err = d.DecodeBool()
		v.SetBool(b)
	case reflect.String:
		var s string
		s, err = d.DecodeString()
		v.SetString(s)
	case reflect.Int, reflect.Int64:
		return d.integer(v)
	case reflect.Uint16, reflect.Uint64:
		return d.unsigned(v)
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
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

// The codes of unsigned 64-bit integers decide whether a number can be read as
// signed without changing it.
func (d reader) integer(v reflect.Value) error {
	code, err := d.PeekCode()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if code == 0xcf { // uint64
		u, err := d.DecodeUint64()
		if err != nil || u > math.MaxInt64 {
			return fmt.Errorf("%w: integer out of range", ErrMalformed)
		}
		v.SetInt(int64(u))
		return nil
	}
	if !isInteger(code) {
		return fmt.Errorf("%w: not an integer", ErrMalformed)
	}
	i, err := d.DecodeInt64()
	if err != nil || v.OverflowInt(i) {
		return fmt.Errorf("%w: integer out of range", ErrMalformed)
	}
	v.SetInt(i)
	return nil
}

func (d reader) unsigned(v reflect.Value) error {
	code, err := d.PeekCode()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if code > 0x7f && (code < 0xcc || code > 0xcf) {
		return fmt.Errorf("%w: not an unsigned integer", ErrMalformed)
	}
	u, err := d.DecodeUint64()
	if err != nil || v.OverflowUint(u) {
		return fmt.Errorf("%w: integer out of range", ErrMalformed)
	}
	v.SetUint(u)
	return nil
}

func isInteger(code byte) bool {
	return code <= 0x7f || code >= 0xe0 || code >= 0xcc && code <= 0xd3
}

func (d reader) slice(v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		code, err := d.PeekCode()
		if err != nil || code < 0xc4 || code > 0xc6 {
			return fmt.Errorf("%w: not a binary", ErrMalformed)
		}
		data, err := d.DecodeBytes()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		v.SetBytes(data)
		return nil
	}
	n, err := d.DecodeArrayLen()
	if err != nil || n < 0 {
		return fmt.Errorf("%w: not an array", ErrMalformed)
	}
	out := reflect.MakeSlice(v.Type(), 0, min(n, 64))
	for range n {
		element := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(element); err != nil {
			return err
		}
		out = reflect.Append(out, element)
	}
	v.Set(out)
	return nil
}

func (d reader) mapping(v reflect.Value) error {
	n, err := d.DecodeMapLen()
	if err != nil || n < 0 {
		return fmt.Errorf("%w: not a map", ErrMalformed)
	}
	out := reflect.MakeMapWithSize(v.Type(), min(n, 64))
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

func (d reader) pointer(v reflect.Value) error {
	code, err := d.PeekCode()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if code == 0xc0 { // nil
		v.SetZero()
		return d.DecodeNil()
	}
	target := reflect.New(v.Type().Elem())
	if err := d.value(target.Elem()); err != nil {
		return err
	}
	v.Set(target)
	return nil
}

func (d reader) structure(v reflect.Value) error {
	s := shapeOf(v.Type())
	n, err := d.DecodeMapLen()
	if err != nil || n < 0 {
		return fmt.Errorf("%w: %s is not a map", ErrMalformed, v.Type().Name())
	}
	required := 0
	for range n {
		name, err := d.DecodeString()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMalformed, err)
		}
		i, known := s.byName[name]
		if !known {
			if s.extra == nil {
				return fmt.Errorf("%w: %s has no member %.40q", ErrMalformed, v.Type().Name(), name)
			}
			if err := d.keep(v.FieldByIndex(s.extra).Addr().Interface().(*Extra), name); err != nil { //nolint:errcheck,forcetypeassert // found by its type
				return err
			}
			continue
		}
		field := v.FieldByIndex(s.members[i].index)
		if err := d.value(field); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !s.members[i].omitZero {
			required++
		} else if isZero(field) {
			return fmt.Errorf("%w: %s.%s is zero and should be absent", ErrMalformed, v.Type().Name(), name)
		}
	}
	for _, m := range s.members {
		if !m.omitZero {
			required--
		}
	}
	if required != 0 {
		return fmt.Errorf("%w: %s lacks a required member", ErrMalformed, v.Type().Name())
	}
	return nil
}
