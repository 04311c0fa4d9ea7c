package document_test

import (
	"bytes"
	"testing"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
)

// fuzzDocument checks that what is accepted is exactly what is written, and that what is refused has a diagnostic.
func fuzzDocument(f *testing.F, name string, parse func([]byte) (document.Read, error)) {
	f.Helper()
	data := known(f, name)
	f.Add(data)
	for _, mutated := range wireMutations(data) {
		f.Add(mutated)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		read, err := parse(data)
		if err != nil {
			if diagnostic.Of(err) == nil {
				t.Errorf("refused without a diagnostic: %v", err)
			}
			return
		}
		if !bytes.Equal(read.Source, data) {
			t.Errorf("read %q, wrote %q", data, read.Source)
		}
	})
}

func FuzzProfile(f *testing.F) {
	fuzzDocument(f, "profile", func(data []byte) (document.Read, error) {
		p, err := document.ParseProfile(data)
		if err != nil {
			return document.Read{}, err
		}
		return p.Read, nil
	})
}

func FuzzTask(f *testing.F) {
	fuzzDocument(f, "task", func(data []byte) (document.Read, error) {
		p, err := document.ParseTask(data)
		if err != nil {
			return document.Read{}, err
		}
		return p.Read, nil
	})
}

func FuzzToolAction(f *testing.F)  { fuzzDocument(f, "tool_action", action) }
func FuzzFinalAction(f *testing.F) { fuzzDocument(f, "final_action", action) }

// FuzzResult reads what a tool returned.
func FuzzResult(f *testing.F) {
	for _, seed := range []string{`{"value":"alpha"}`, ` { "b" : 1 , "a" : [ {} ] } `, `{"a":1,"a":2}`, `{"a":1e5,"b":-0,"c":null}`, `[]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := document.ParseResult(data)
		if err != nil {
			if diagnostic.Of(err) == nil {
				t.Errorf("refused without a diagnostic: %v", err)
			}
			return
		}
		seen := map[string]bool{}
		for _, m := range members {
			if seen[m.Name] {
				t.Errorf("%q has %q twice", data, m.Name)
			}
			seen[m.Name] = true
		}
	})
}
