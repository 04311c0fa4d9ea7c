package jsonvalue_test

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/internal/jsonvalue"
)

var small = jsonvalue.Limits{Bytes: 200, Depth: 4, Tokens: 20}

func TestScan(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want error
	}{
		"object":                    {`{"a":[1,2.5,"x",true,null]}`, nil},
		"number":                    {`7`, nil},
		"white space":               {" \t\r\n7 \n", nil},
		"text":                      {`"é\u00e9"`, nil},
		"as deep as allowed":        {`[[[[]]]]`, nil},
		"as exact as possible":      {`[9007199254740992,-9007199254740992]`, nil},
		"nothing":                   {``, jsonvalue.ErrMalformed},
		"only white space":          {`  `, jsonvalue.ErrMalformed},
		"cut off":                   {`{"a":1`, jsonvalue.ErrMalformed},
		"two numbers":               {`1 2`, jsonvalue.ErrMalformed},
		"two objects":               {`{}{}`, jsonvalue.ErrMalformed},
		"a number and an object":    {`1 {}`, jsonvalue.ErrMalformed},
		"a text and a list":         {`"a" [1]`, jsonvalue.ErrMalformed},
		"an object and a number":    {`{} 1`, jsonvalue.ErrMalformed},
		"an object and garbage":     {`{} x`, jsonvalue.ErrMalformed},
		"a bracket too many":        {`[1]]`, jsonvalue.ErrMalformed},
		"trailing comma":            {`[1,]`, jsonvalue.ErrMalformed},
		"comment":                   {`[1] // one`, jsonvalue.ErrMalformed},
		"single quotes":             {`{'a':1}`, jsonvalue.ErrMalformed},
		"duplicate name":            {`{"a":1,"a":2}`, jsonvalue.ErrMalformed},
		"duplicate name, escaped":   {`{"a":1,"\u0061":2}`, jsonvalue.ErrMalformed},
		"not UTF-8":                 {"\"\xff\"", jsonvalue.ErrMalformed},
		"half a surrogate":          {`"\ud800"`, jsonvalue.ErrMalformed},
		"not a number":              {`NaN`, jsonvalue.ErrMalformed},
		"leading zero":              {`01`, jsonvalue.ErrMalformed},
		"byte order mark":           {"\ufeff{}", jsonvalue.ErrMalformed},
		"too deep":                  {`[[[[[]]]]]`, jsonvalue.ErrTooDeep},
		"too deep in objects":       {`{"a":{"a":{"a":{"a":{}}}}}`, jsonvalue.ErrTooDeep},
		"too many tokens":           {`[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]`, jsonvalue.ErrTooLarge},
		"as many tokens as allowed": {`[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]`, nil},
		"one token too many":        {`[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]`, jsonvalue.ErrTooLarge},
		"too many bytes":            {`"` + strings.Repeat("x", 200) + `"`, jsonvalue.ErrTooLarge},
		"integer beyond a double":   {`9007199254740993`, jsonvalue.ErrInexact},
		"negative beyond a double":  {`-9007199254740993`, jsonvalue.ErrInexact},
		"beyond every double":       {`1e400`, jsonvalue.ErrInexact},
		"endless digits":            {`0.` + strings.Repeat("1", 80), jsonvalue.ErrInexact},
	} {
		t.Run(name, func(t *testing.T) {
			err := jsonvalue.Scan([]byte(test.text), small)
			if !errors.Is(err, test.want) {
				t.Fatalf("%v, want %v", err, test.want)
			}
			value, parseErr := jsonvalue.Parse([]byte(test.text), small)
			canonical, canonErr := jsonvalue.Canonical([]byte(test.text), small)
			if (parseErr == nil) != (test.want == nil) || (canonErr == nil) != (test.want == nil) {
				t.Fatalf("parse: %v and %v, canonical: %s and %v", value, parseErr, canonical, canonErr)
			}
		})
	}
}

func TestPointers(t *testing.T) {
	value, err := jsonvalue.Parse([]byte(`{"a":{"b":[10,{"c":null}]},"":1,"x/y":2,"m~n":3,"0":4,"~1":5}`), jsonvalue.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	for pointer, want := range map[string]string{
		"/a/b/0": "10", "/a/b/1/c": "null", "/": "1", "/x~1y": "2", "/m~0n": "3", "/~01": "5", "/0": "4", "/a/b": `[10,{"c":null}]`,
	} {
		got, ok := jsonvalue.At(value, pointer)
		if text, _ := jsonvalue.Format(got); !ok || string(text) != want {
			t.Errorf("%s: %s, %t, want %s", pointer, text, ok, want)
		}
	}
	if whole, ok := jsonvalue.At(value, ""); !ok || whole == nil {
		t.Error("the empty pointer is not the whole value")
	}
	for _, pointer := range []string{"/ghost", "/a/b/2", "/a/b/-1", "/a/b/00", "/a/b/01", "/a/b/-", "/a/b/0/c", "/a/b/x", "a", "/m~n", "/m~2n", "/~"} {
		if got, ok := jsonvalue.At(value, pointer); ok {
			t.Errorf("%s is %v", pointer, got)
		}
	}
	for pointer, want := range map[string]bool{
		"": true, "/": true, "/a~0~1": true, "a": false, "/~": false, "/~2": false,
		strings.Repeat("/a", jsonvalue.DefaultLimits.Depth): true, strings.Repeat("/a", jsonvalue.DefaultLimits.Depth+1): false, "/" + strings.Repeat("x", 512): false,
	} {
		if got := jsonvalue.ValidPointer(pointer); got != want {
			t.Errorf("%.40q: %t", pointer, got)
		}
	}
}

func TestCompare(t *testing.T) {
	number := func(text string) stdjson.Number { return stdjson.Number(text) }
	for _, test := range []struct {
		a, b any
		want int
		ok   bool
	}{
		{number("1"), number("1.0"), 0, true},
		{number("0.1"), number("0.10000000000000001"), -1, true},
		{number("1e2"), number("99"), 1, true},
		{number("-1"), number("1"), -1, true},
		{number("0"), number("-0"), 0, true},
		{number("0e-9999999"), number("0"), 0, true},
		{number("1e101"), number("1"), 0, false},
		{number("1e-999999"), number("0"), 0, false},
		{number("1"), number("1e-101"), 0, false},
		{"a", "b", -1, true},
		{"b", "a", 1, true},
		{"a", "a", 0, true},
		{true, true, 0, true},
		{true, false, 0, false},
		{nil, nil, 0, true},
		{nil, "a", 0, false},
		{"1", number("1"), 0, false},
		{number("1"), "1", 0, false},
		{map[string]any{}, map[string]any{}, 0, false},
		{[]any{}, []any{}, 0, false},
	} {
		if got, ok := jsonvalue.Compare(test.a, test.b); got != test.want || ok != test.ok {
			t.Errorf("%v and %v: %d, %t, want %d, %t", test.a, test.b, got, ok, test.want, test.ok)
		}
	}
}

// Numbers are ordered by their exact value.
func TestCompareIsAnOrder(t *testing.T) {
	draw := func(t *rapid.T, name string) stdjson.Number {
		return stdjson.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,10})(\.[0-9]{1,10})?(e-?[0-9]{1,2})?`).Draw(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		ab, ok := jsonvalue.Compare(a, b)
		ba, ok2 := jsonvalue.Compare(b, a)
		if ok != ok2 || ab != -ba {
			t.Fatalf("%s and %s: %d, %d", a, b, ab, ba)
		}
		bc, ok3 := jsonvalue.Compare(b, c)
		if ac, ok4 := jsonvalue.Compare(a, c); ok && ok3 && ok4 && ab <= 0 && bc <= 0 && ac > 0 {
			t.Fatalf("%s, %s and %s are not in an order", a, b, c)
		}
		if same, ok := jsonvalue.Compare(a, a); ok && same != 0 {
			t.Fatalf("%s is not equal to itself", a)
		}
	})
}

// A bomb of brackets or digits is refused in little memory.
func TestBoundedMemory(t *testing.T) {
	for name, text := range map[string]string{
		"brackets": strings.Repeat("[", 1<<20), "objects": strings.Repeat(`{"a":`, 200_000), "tokens": "[" + strings.Repeat("0,", 500_000) + "0]",
		"digits": strings.Repeat("9", 1<<20), "exponent": "1e" + strings.Repeat("9", 1<<20), "text": strings.Repeat("x", 64<<20),
	} {
		data := []byte(text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := jsonvalue.Parse(data, jsonvalue.DefaultLimits)
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; err == nil || grown > 32<<20 {
			t.Errorf("%s: %v after %d bytes", name, err, grown)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,"x",true,null]}`, `1 {}`, `"a" [1]`, `{"a":1,"a":2}`, `1e-999999999`, "\"\xff\"", `"\ud800"`, `[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]`, `-0`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		scanned := jsonvalue.Scan(data, jsonvalue.DefaultLimits)
		value, err := jsonvalue.Parse(data, jsonvalue.DefaultLimits)
		if (scanned == nil) != (err == nil) {
			t.Fatalf("scan: %v, parse: %v", scanned, err)
		}
		if err != nil {
			return
		}
		// What was read is one value that every other reader reads as well, and
		// its canonical form is stable.
		if !stdjson.Valid(data) {
			t.Fatalf("%q is not valid JSON", data)
		}
		canonical, err := jsonvalue.Canonical(data, jsonvalue.DefaultLimits)
		if err != nil {
			t.Fatalf("%q has no canonical form: %v", data, err)
		}
		formatted, err := jsonvalue.Format(value)
		if err != nil || string(formatted) != string(canonical) {
			t.Fatalf("%q is %s canonical and %s formatted: %v", data, canonical, formatted, err)
		}
		again, err := jsonvalue.Canonical(canonical, jsonvalue.Limits{Bytes: 16 << 20, Depth: 16, Tokens: 100_000})
		if err != nil || string(again) != string(canonical) {
			t.Fatalf("%s is %s the second time: %v", canonical, again, err)
		}
		jsonvalue.Compare(value, value)
	})
}

func FuzzAt(f *testing.F) {
	f.Add(`{"a":[{"b":1}]}`, "/a/0/b")
	f.Add(`[]`, "/~2")
	f.Fuzz(func(t *testing.T, text, pointer string) {
		value, err := jsonvalue.Parse([]byte(text), jsonvalue.DefaultLimits)
		if err != nil {
			return
		}
		if _, ok := jsonvalue.At(value, pointer); ok && !jsonvalue.ValidPointer(pointer) {
			t.Fatalf("%q was followed", pointer)
		}
	})
}

func ExampleAt() {
	value, err := jsonvalue.Parse([]byte(`{"tests":[{"name":"TestA","failed":false}]}`), jsonvalue.DefaultLimits)
	name, ok := jsonvalue.At(value, "/tests/0/name")
	fmt.Println(name, ok, err)
	// Output: TestA true <nil>
}
