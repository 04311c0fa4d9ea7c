package provider_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/mandate/internal/provider"
)

func TestSink(t *testing.T) {
	calls := 0
	sink := provider.NewSink(10, func() { calls++ })
	for _, chunk := range []string{"1234", "", "567890"} {
		if n, err := sink.Write([]byte(chunk)); n != len(chunk) || err != nil {
			t.Errorf("Write(%q) = %d, %v", chunk, n, err)
		}
	}
	for range 2 {
		if n, err := sink.Write([]byte("x")); n != 0 || !errors.Is(err, provider.ErrOutputTooLarge) {
			t.Errorf("Write beyond the limit = %d, %v", n, err)
		}
	}
	data, whole := sink.Seal()
	if string(data) != "1234567890" || whole || calls != 1 {
		t.Errorf("data %q, whole %v, told %d times", data, whole, calls)
	}
}

// A chunk beyond the limit is refused whole, and everything after it.
func TestSinkKeepsNothingOfAnOversizedChunk(t *testing.T) {
	sink := provider.NewSink(10, nil)
	if n, err := sink.Write([]byte(strings.Repeat("x", 11))); n != 0 || !errors.Is(err, provider.ErrOutputTooLarge) {
		t.Errorf("Write = %d, %v", n, err)
	}
	if n, err := sink.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("Write after a refusal = %d, %v", n, err)
	}
	if data, whole := sink.Seal(); len(data) != 0 || whole {
		t.Errorf("data %q, whole %v", data, whole)
	}
}

func TestSinkOfNothing(t *testing.T) {
	for _, limit := range []int64{0, -1} {
		sink := provider.NewSink(limit, nil)
		if _, err := sink.Write([]byte("x")); !errors.Is(err, provider.ErrOutputTooLarge) {
			t.Errorf("limit %d: error = %v", limit, err)
		}
	}
}

func TestSinkRefusesLateOutput(t *testing.T) {
	sink := provider.NewSink(10, nil)
	if _, err := sink.Write([]byte("early")); err != nil {
		t.Fatal(err)
	}
	before, whole := sink.Seal()
	if _, err := sink.Write([]byte("late")); !errors.Is(err, provider.ErrLate) {
		t.Errorf("error = %v", err)
	}
	if after, _ := sink.Seal(); string(before) != "early" || string(after) != "early" || !whole {
		t.Errorf("before %q, after %q, whole %v", before, after, whole)
	}
}

func FuzzCanonicalValue(f *testing.F) {
	for _, seed := range []string{`{}`, `{"b":1e2,"a":[null,true,"\u00e9"]}`, `{"a":1,"a":2}`, `[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]`, "\"\xff\"", `1 2`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := provider.CanonicalValue(data)
		if err != nil {
			return
		}
		again, err := provider.CanonicalValue(value)
		if err != nil || string(again) != string(value) {
			t.Fatalf("%q is canonical as %q, which gives %q, %v", data, value, again, err)
		}
	})
}
