package events_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
	"example.org/mandate/internal/req"
)

var update = flag.Bool("update", false, "add golden files of event types that have none")

// golden returns what was recorded last for a type: the bytes in
// <type>.<extension>, or <type>_2.<extension> after an optional member was
// added, and so on. With -update a further file is added where got differs. A
// file that is there is never changed: what was stored once has to be readable
// for ever.
func golden(t *testing.T, eventType, extension string, got []byte) []byte {
	t.Helper()
	var last []byte
	for generation := 1; ; generation++ {
		name := eventType + "." + extension
		if generation > 1 {
			name = fmt.Sprintf("%s_%d.%s", eventType, generation, extension)
		}
		path := filepath.Join("testdata", "golden", name)
		data, err := os.ReadFile(path)
		switch {
		case err == nil:
			last = data
		case !errors.Is(err, fs.ErrNotExist):
			t.Fatal(err)
		case *update && !bytes.Equal(last, got):
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
			return got
		case last == nil:
			t.Fatalf("no golden file of %s: go test ./events -run Golden -update adds it", eventType)
		default:
			return last
		}
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

func TestGolden(t *testing.T) {
	for _, name := range events.Types() {
		t.Run(name, func(t *testing.T) {
			filled := eventstest.Payload(t, name)
			encoded, err := events.EncodePayload(filled)
			if err != nil {
				t.Fatal(err)
			}
			if want := golden(t, name, "msgpack", encoded); !bytes.Equal(want, encoded) {
				t.Errorf("the bytes changed: a change within a version only adds optional members\n got %x\nwant %x", encoded, want)
			}
			if want, got := golden(t, name, "json", jsonOf(t, filled)), jsonOf(t, filled); !bytes.Equal(want, got) {
				t.Errorf("the JSON changed:\n%s", cmp.Diff(string(want), string(got)))
			}
			decoded, err := events.DecodePayload(name, encoded)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(decoded, filled) {
				t.Errorf("decoding lost something:\n%s\n%s", jsonOf(t, filled), jsonOf(t, decoded))
			}
		})
	}
}

// What is recorded is read and written again byte by byte, also what a later
// version of a payload would not write.
func TestGoldenFilesStayReadable(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "golden", "*.msgpack"))
	if err != nil || len(files) < len(events.Types()) {
		t.Fatalf("%d golden files for %d types: %v", len(files), len(events.Types()), err)
	}
	for _, file := range files {
		name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".msgpack"), "_")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := events.DecodePayload(name, data)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, unknown := payload.(*events.Unknown); unknown {
			t.Errorf("%s was removed; types are only ever added", name)
			continue
		}
		again, err := events.EncodePayload(payload)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: written again it differs: %v", name, err)
		}
	}
	req.Covers(t, "OD-12.1")
}

// The digest of a commit is what every chain of every deployment holds.
func TestGoldenDigests(t *testing.T) {
	for _, name := range events.Types() {
		c := eventstest.Commit(eventstest.Payload(t, name))
		record := eventstest.Record(t, c)
		decoded, err := events.Decode(record)
		if err != nil {
			t.Fatal(err)
		}
		if decoded.Digest != c.Digest {
			t.Errorf("%s: digest %s after decoding, %s before", name, decoded.Digest, c.Digest)
		}
		if diff := cmp.Diff(decoded.Header(), record.Header); diff != "" {
			t.Errorf("%s: headers (-decoded +stored):\n%s", name, diff)
		}
		again, err := events.Encode(&decoded)
		if err != nil || !bytes.Equal(again, record.Data) {
			t.Errorf("%s: the commit changed: %v", name, err)
		}
		if want := string(golden(t, name, "digest", []byte(c.Digest+"\n"))); want != string(c.Digest)+"\n" {
			t.Errorf("%s: digest %s, recorded %s", name, c.Digest, want)
		}
	}
}

func TestShapes(t *testing.T) {
	for _, name := range events.Types() {
		payload, err := events.New(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := events.CheckShape(reflect.TypeOf(payload).Elem()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if payload.EventType() != name || events.ShortType(name) == name || !events.TypeOwner(name).Valid() {
			t.Errorf("%s: type %s, short %s, owner %s", name, payload.EventType(), events.ShortType(name), events.TypeOwner(name))
		}
	}
	for _, wrong := range []any{
		struct{ Unnamed string }{},
		struct {
			F float64 `json:"f"`
		}{},
		struct {
			M map[int]string `json:"m"`
		}{},
		struct {
			C []chan int `json:"c"`
		}{},
		struct {
			A any `json:"a"`
		}{},
	} {
		if events.CheckShape(reflect.TypeOf(wrong)) == nil {
			t.Errorf("%T passed", wrong)
		}
	}
}

// Every exported struct of the package names each of its members in JSON, also
// those that are only in bodies.
func TestEveryFieldHasAName(t *testing.T) {
	for _, document := range []any{
		events.IntentRequest{},
		events.OutcomeSpec{},
		events.Plan{},
		events.Document{},
		events.Agent{},
		events.Capability{},
		events.Policy{},
		events.Routes{},
		events.Package{},
		events.SealedBody{},
		events.Head{},
	} {
		checkNames(t, reflect.TypeOf(document), map[reflect.Type]bool{})
	}
	for _, name := range events.Types() {
		checkNames(t, reflect.TypeOf(eventstest.Payload(t, name)), map[reflect.Type]bool{})
	}
}

func checkNames(t *testing.T, typ reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	switch typ.Kind() {
	case reflect.Slice, reflect.Pointer, reflect.Map:
		checkNames(t, typ.Elem(), seen)
	case reflect.Struct:
		if seen[typ] {
			return
		}
		seen[typ] = true
		for f := range typ.Fields() {
			if f.IsExported() && !f.Anonymous && f.Tag.Get("json") == "" {
				t.Errorf("%s.%s has no JSON name", typ, f.Name)
			}
			if f.IsExported() {
				checkNames(t, f.Type, seen)
			}
		}
	}
}
