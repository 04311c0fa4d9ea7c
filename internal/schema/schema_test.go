package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/schema"
)

func compile(tb testing.TB, document string) *schema.Schema {
	tb.Helper()
	s, err := schema.Compile(events.JSON(document))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestCompileRefuses(t *testing.T) {
	for name, document := range map[string]string{
		"nothing": ``, "null": `null`, "a list": `[]`, "a number": `7`, "two": `{}{}`, "duplicate": `{"type":"object","type":"array"}`,
		"another type": `{"type":"thing"}`, "a handle": `{"type":"connection"}`, "bad pattern": `{"pattern":"("}`, "negative": `{"minLength":-1}`,
		"over the network": `{"$ref":"https://example.com/schema"}`, "a file": `{"$ref":"file:///etc/passwd"}`, "a sibling": `{"$ref":"other.json"}`,
		"dangling": `{"$ref":"#/$defs/ghost"}`, "too deep": strings.Repeat(`{"not":`, 40) + `{}` + strings.Repeat(`}`, 40),
		"too large": `{"title":"` + strings.Repeat("x", 65<<10) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := schema.Compile(events.JSON(document)); err == nil || s != nil {
				t.Fatalf("%.60s compiled", document)
			}
		})
	}
}

// doubling is a schema whose parts each apply the next one twice.
func doubling(levels int, next string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/a0","$defs":{`)
	for i := range levels {
		fmt.Fprintf(&b, `"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"a%d":%s}}`, levels, next)
	return b.String()
}

func TestPartsThatMultiply(t *testing.T) {
	for name, document := range map[string]string{
		"doubled forty times": doubling(40, `{"type":"string"}`), "doubled at every level": doubling(2, `{"items":{"$ref":"#"}}`),
		"applied to itself": `{"$ref":"#"}`, "applied to itself, hidden": `{"allOf":[{"anyOf":[{"not":{"$ref":"#"}}]}]}`,
	} {
		if _, err := schema.Compile(events.JSON(document)); err == nil {
			t.Errorf("%s: %.60s compiled", name, document)
		}
	}
	for name, document := range map[string]string{
		"doubled ten times": doubling(10, `{"type":"string"}`), "a tree": `{"properties":{"children":{"items":{"$ref":"#"}},"name":{"type":"string"}}}`,
		"two kinds of branches": `{"anyOf":[{"type":"string"},{"items":{"$ref":"#"}},{"properties":{"x":{"$ref":"#"}}}]}`,
	} {
		if _, err := schema.Compile(events.JSON(document)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestValidate(t *testing.T) {
	req.Covers(t, "IK-5.4.2")
	s := compile(t, `{"type":"object","additionalProperties":false,"required":["name"],"properties":{
		"name":{"type":"string","pattern":"^[a-z]+$"},"count":{"type":"integer","minimum":1},"a/b":{"type":"boolean"},"when":{"format":"date-time"},
		"self":{"$ref":"#"}}}`)
	for name, test := range map[string]struct {
		value            string
		pointer, keyword string
	}{
		"valid":            {`{"name":"x","count":2}`, "", ""},
		"valid, nested":    {`{"name":"x","self":{"name":"y"}}`, "", ""},
		"missing":          {`{}`, "", "required"},
		"unknown":          {`{"name":"x","extra":1}`, "", "additionalProperties"},
		"type":             {`{"name":7}`, "/name", "type"},
		"pattern":          {`{"name":"X"}`, "/name", "pattern"},
		"minimum":          {`{"name":"x","count":0}`, "/count", "minimum"},
		"fraction":         {`{"name":"x","count":1.5}`, "/count", "type"},
		"escaped pointer":  {`{"name":"x","a/b":1}`, "/a~1b", "type"},
		"format":           {`{"name":"x","when":"yesterday"}`, "/when", "format"},
		"nested":           {`{"name":"x","self":{"name":7}}`, "/self/name", "type"},
		"not an object":    {`[]`, "", "type"},
		"not JSON":         {`{`, "", "json"},
		"two values":       {`{"name":"x"} {}`, "", "json"},
		"a value before":   {`1 {"name":"x"}`, "", "json"},
		"duplicate member": {`{"name":"x","name":"y"}`, "", "json"},
		"too deep":         {strings.Repeat("[", 20) + strings.Repeat("]", 20), "", "depth"},
		"too large":        {`"` + strings.Repeat("x", 1<<20) + `"`, "", "size"},
		"inexact":          {`{"name":"x","count":9007199254740993}`, "", "number"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := s.Validate([]byte(test.value))
			if test.keyword == "" {
				if len(problems) > 0 {
					t.Fatalf("%v", problems)
				}
				return
			}
			if want := (schema.Problem{Pointer: test.pointer, Keyword: test.keyword}); len(problems) != 1 || problems[0] != want {
				t.Fatalf("%+v, want %+v", problems, want)
			}
		})
	}
	t.Run("no more than eight", func(t *testing.T) {
		s := compile(t, `{"items":{"type":"string"}}`)
		if problems := s.Validate([]byte(`[` + strings.Repeat("1,", 50) + `1]`)); len(problems) != 8 {
			t.Fatalf("%d problems", len(problems))
		}
	})
	t.Run("a value is never told", func(t *testing.T) {
		if text := fmt.Sprint(s.Validate([]byte(`{"name":"SECRET7","count":"SECRET7"}`))); strings.Contains(text, "SECRET7") {
			t.Fatal(text)
		}
	})
}

func TestNames(t *testing.T) {
	s := compile(t, `{"type":"object","required":["a","b"],"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{}}}`)
	if got := s.Required(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("requires %v", got)
	}
	if got := compile(t, `true`).Required(); len(got) > 0 {
		t.Errorf("anything requires %v", got)
	}
	for name, want := range map[string][2]bool{"a": {true, true}, "ghost": {true, false}} {
		if closed, listed := s.Closed(name); closed != want[0] || listed != want[1] {
			t.Errorf("%s: closed %t, listed %t", name, closed, listed)
		}
	}
	if closed, _ := compile(t, `{"type":"object"}`).Closed("x"); closed {
		t.Error("an open object is closed")
	}
}

func FuzzCompile(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"x"}`},
		{`{"$ref":"#"}`, `{}`},
		{`{"items":{"$ref":"#"}}`, `[[[]]]`},
		{`true`, `1 {}`},
		{`{"pattern":"^(a+)+$"}`, `"aaaaaaaaaaaaaaaaaaaaaaaaaaaa!"`},
		{`{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`, `1`},
		{`{"const":1e-999999}`, `0`},
		{`{"multipleOf":1e-300}`, `1e300`},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, document, value []byte) {
		s, err := schema.Compile(document)
		if (err == nil) != (s != nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if err != nil {
			return
		}
		if problems := s.Validate(value); len(problems) > 8 {
			t.Fatalf("%d problems", len(problems))
		}
		s.At("/a/0")
		s.Closed("a")
		s.Required()
	})
}

func ExampleSchema_Validate() {
	s, err := schema.Compile(events.JSON(`{"type":"object","properties":{"count":{"type":"integer"}}}`))
	fmt.Println(s.Validate([]byte(`{"count":"three"}`)), err)
	// Output: [{/count type}] <nil>
}
