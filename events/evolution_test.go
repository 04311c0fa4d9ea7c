package events_test

import (
	"bytes"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
	"example.org/mandate/internal/req"
)

// pack writes v with sorted keys and the shortest numbers.
func pack(t *testing.T, v any) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := msgpack.NewEncoder(&buffer)
	w.SetSortMapKeys(true)
	w.UseCompactInts(true)
	if err := w.Encode(v); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

// unpack reads the members of a map.
func unpack(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var members map[string]msgpack.RawMessage
	if err := msgpack.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]any, len(members))
	for name, raw := range members {
		out[name] = raw
	}
	return out
}

// extend gives every struct below v that keeps unknown members some, and
// returns how many structs that were.
func extend(v reflect.Value, extra events.Extra) int {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return extend(v.Elem(), extra)
	case reflect.Slice:
		count := 0
		for i := range v.Len() {
			count += extend(v.Index(i), extra)
		}
		return count
	case reflect.Struct:
		count := 0
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if v.Field(i).Type() == reflect.TypeFor[events.Extra]() {
				v.Field(i).Set(reflect.ValueOf(maps.Clone(extra)))
				count++
				continue
			}
			count += extend(v.Field(i), extra)
		}
		return count
	}
	return 0
}

func TestUnknownMembersSurvive(t *testing.T) {
	extra := events.Extra{
		"":           {0xc0},
		"a_new_one":  pack(t, map[string]any{"b": []any{1, "two"}, "a": true}),
		"nnn":        pack(t, 70000),
		"zz_the_end": pack(t, []byte("bytes")),
	}
	for _, name := range events.Types() {
		payload := eventstest.Payload(t, name)
		if extend(reflect.ValueOf(payload), extra) == 0 {
			t.Errorf("%s keeps no unknown members", name)
			continue
		}
		c := eventstest.Commit(payload)
		c.Extra = maps.Clone(extra)
		c.Sealed = []events.SealedBody{{Commitment: "sha256:00", Scope: "s", Ciphertext: []byte("c"), Extra: maps.Clone(extra)}}
		record := eventstest.Record(t, c) // refused by Decode if its keys were not sorted
		decoded, err := events.Decode(record)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(decoded.Events[0].Data, payload) || !reflect.DeepEqual(decoded.Extra, extra) || !reflect.DeepEqual(decoded.Sealed, c.Sealed) {
			t.Errorf("%s: something was lost", name)
		}
		again, err := events.Encode(&decoded)
		if err != nil || !bytes.Equal(again, record.Data) || decoded.Digest != c.Digest {
			t.Errorf("%s: written again it differs: %v", name, err)
		}
	}
	req.Covers(t, "OD-12.4", "OD-7.2.15")
}

func TestUnknownMemberOfAClosedStruct(t *testing.T) {
	data := pack(t, map[string]any{
		"principal": map[string]any{"id": "anna", "kind": "person", "root": true},
		"reason":    "r",
	})
	_, err := events.DecodePayload("mandate.request.cancel-requested.v1", data)
	if !errors.Is(err, events.ErrMalformed) {
		t.Fatalf("%v", err)
	}
	for _, word := range []string{"principal", "Principal", `"root"`} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not name %s: %v", word, err)
		}
	}
	commit := unpack(t, eventstest.Record(t, eventstest.Commit(eventstest.Payload(t, "mandate.request.cancel-requested.v1"))).Data)
	for _, missing := range []string{"events", "bodies"} {
		members := maps.Clone(commit)
		delete(members, missing)
		record := eventstest.Record(t, eventstest.Commit())
		record.Data = pack(t, members)
		if _, err := events.Decode(record); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("a commit without %s: %v", missing, err)
		}
	}
}

func TestUnknownTypeIsKept(t *testing.T) {
	raw := pack(t, map[string]any{"anything": []any{1, map[string]any{"x": -7}}})
	unknown := &events.Unknown{Type: "mandate.request.something-else.v3", Raw: raw}
	c := eventstest.Commit(eventstest.Payload(t, "mandate.request.submitted.v1"), unknown)
	record := eventstest.Record(t, c)
	decoded, err := events.Decode(record)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(decoded.Events[1].Data, unknown) {
		t.Errorf("%#v", decoded.Events[1].Data)
	}
	again, err := events.Encode(&decoded)
	if err != nil || !bytes.Equal(again, record.Data) {
		t.Errorf("written again it differs: %v", err)
	}
	if got := decoded.Header()[events.HeaderTypes]; got != "mandate.request.submitted.v1,mandate.request.something-else.v3" {
		t.Errorf("types %q", got)
	}
	if bodies := events.Bodies(unknown); bodies != nil {
		t.Errorf("bodies of an unknown payload: %v", bodies)
	}
}

func TestNewerVersionsAreRefused(t *testing.T) {
	record := eventstest.Record(t, eventstest.Commit(eventstest.Payload(t, "mandate.request.submitted.v1")))
	if _, err := events.Decode(eventstest.With(record, events.HeaderSchema, "2")); !errors.Is(err, events.ErrVersion) || !strings.Contains(err.Error(), "protocol 2") {
		t.Errorf("protocol 2: %v", err)
	}
	for _, wrong := range []string{"", "0", "-1", "one", "1.0"} {
		if _, err := events.Decode(eventstest.With(record, events.HeaderSchema, wrong)); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("protocol %q: %v", wrong, err)
		}
	}
	for _, name := range events.Types() {
		newer := strings.TrimSuffix(name, ".v1") + ".v2"
		if slices.Contains(events.Types(), newer) {
			continue
		}
		commit := eventstest.Commit(&events.Unknown{Type: newer, Raw: []byte{0x80}})
		_, err := events.Decode(eventstest.Record(t, commit))
		if !errors.Is(err, events.ErrVersion) || !strings.Contains(err.Error(), newer) {
			t.Errorf("%s: %v", newer, err)
		}
		if _, err := events.New(newer); !errors.Is(err, events.ErrVersion) {
			t.Errorf("%s: %v", newer, err)
		}
	}
	req.Covers(t, "OD-12.3")
}

// decisive are the vocabularies where silence would be an answer: a member of
// such a type, or a boolean of an event, is always written.
var decisive = []string{
	"Verdict", "Completion", "ResultStatus", "ActionStatus", "Effect", "Importance", "Origin", "BoundStatus", "Decision",
	"HaltCause", "Confirmation",
}

// A member that is missing is never read as its zero value: nothing decodes to
// clear, safe or complete because nothing was said.
func TestMissingMembersAreErrors(t *testing.T) {
	for _, name := range events.Types() {
		payload := eventstest.Payload(t, name)
		if _, err := events.DecodePayload(name, []byte{0x80}); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: an empty map was read: %v", name, err)
		}
		data, err := events.EncodePayload(payload)
		if err != nil {
			t.Fatal(err)
		}
		optional := optionalMembers(t, reflect.TypeOf(payload).Elem())
		whole := unpack(t, data)
		for member := range whole {
			rest := maps.Clone(whole)
			delete(rest, member)
			_, err := events.DecodePayload(name, pack(t, rest))
			if optional[member] != (err == nil) {
				t.Errorf("%s without %s (optional %v): %v", name, member, optional[member], err)
			}
		}
	}
	if events.StrengthAsserted.Rank() <= events.Strength("").Rank() || events.Strength("certain").Rank() != 0 {
		t.Error("an unknown strength ranks as high as a known one")
	}
	req.Covers(t, "OD-3.1.8")
}

// optionalMembers returns the members of a struct that may be absent, and
// reports those below it that may not be.
func optionalMembers(t *testing.T, typ reflect.Type) map[string]bool {
	t.Helper()
	optional := map[string]bool{}
	for f := range typ.Fields() {
		if f.Anonymous {
			maps.Copy(optional, optionalMembers(t, f.Type))
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(options, "omitzero") {
			optional[name] = true
			if f.Type.Kind() == reflect.Bool || slices.Contains(decisive, f.Type.Name()) {
				t.Errorf("%s.%s may be absent, and would be read as an answer", typ.Name(), f.Name)
			}
		}
		inner := f.Type
		for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			optionalMembers(t, inner)
		}
	}
	return optional
}
