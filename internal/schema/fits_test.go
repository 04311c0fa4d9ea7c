package schema_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/schema"
)

// object is a schema document or a value that a test makes.
type object = map[string]any

func TestCompatible(t *testing.T) {
	req.Covers(t, "C3-RUN-002.y1")
	for _, test := range []struct {
		output, input string
		want          schema.Status
		keyword       string
	}{
		{`{"type":"string"}`, `{"type":"string"}`, schema.Proven, ""},
		{`{"type":"integer"}`, `{"type":"number"}`, schema.Proven, ""},
		{`{"type":"number"}`, `{"type":"integer"}`, schema.Pending, "type"},
		{`{"type":"string"}`, `{"type":"integer"}`, schema.Impossible, "type"},
		{`{"type":["string","null"]}`, `{"type":"string"}`, schema.Pending, "type"},
		{`{"type":"string"}`, `{"type":["string","null"]}`, schema.Proven, ""},
		{`{}`, `{"type":"string"}`, schema.Pending, "type"},
		{`{}`, `{}`, schema.Proven, ""},
		{`{"type":"string"}`, `true`, schema.Proven, ""},
		{`{"type":"string"}`, `false`, schema.Impossible, "false"},
		{`{"enum":["a","b"]}`, `{"enum":["a","b","c"]}`, schema.Proven, ""},
		{`{"enum":["a","x"]}`, `{"enum":["a","b"]}`, schema.Pending, "enum"},
		{`{"enum":["x"]}`, `{"enum":["a","b"]}`, schema.Impossible, "enum"},
		{`{"const":5}`, `{"type":"integer","minimum":5}`, schema.Proven, ""},
		{`{"type":"string","maxLength":2}`, `{"const":"abc"}`, schema.Impossible, "const"},
		{`{"type":"boolean"}`, `{"enum":[true,false]}`, schema.Proven, ""},
		{`{"type":"integer","minimum":1,"maximum":5}`, `{"exclusiveMinimum":0,"maximum":5}`, schema.Proven, ""},
		{`{"type":"number","minimum":1}`, `{"exclusiveMinimum":1}`, schema.Pending, "minimum"},
		{`{"type":"integer","exclusiveMinimum":1}`, `{"minimum":2}`, schema.Proven, ""},
		{`{"type":"number","maximum":1}`, `{"type":"number","exclusiveMinimum":1}`, schema.Impossible, "minimum"},
		{`{"type":"integer","multipleOf":6}`, `{"multipleOf":3}`, schema.Proven, ""},
		{`{"type":"integer","multipleOf":3}`, `{"multipleOf":6}`, schema.Pending, "multipleOf"},
		{`{"type":"string","minLength":2,"maxLength":3}`, `{"minLength":1,"maxLength":3}`, schema.Proven, ""},
		{`{"type":"string","maxLength":3}`, `{"type":"string","minLength":4}`, schema.Impossible, "minLength"},
		{`{"type":"string","pattern":"^a"}`, `{"pattern":"^a"}`, schema.Proven, ""},
		{`{"type":"string","pattern":"^ab"}`, `{"pattern":"^a"}`, schema.Pending, "pattern"},
		{`{"type":"string","format":"date"}`, `{"type":"string","format":"date"}`, schema.Proven, ""},
		{`{"type":"string"}`, `{"type":"string","format":"date"}`, schema.Pending, "format"},
		{`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, `{"required":["a"],"properties":{"a":{"type":"string"}}}`, schema.Proven, ""},
		{`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"required":["a"]}`, schema.Pending, "required"},
		{`{"type":"object","additionalProperties":false,"properties":{"b":{}}}`, `{"type":"object","required":["a"]}`, schema.Impossible, "required"},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`, schema.Impossible, "type"},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, schema.Pending, "type"},
		{`{"type":"object","additionalProperties":false,"properties":{"a":{}}}`, `{"additionalProperties":false,"properties":{"a":{},"b":{}}}`, schema.Proven, ""},
		{`{"type":"object","properties":{"a":{}}}`, `{"type":"object","additionalProperties":false,"properties":{"a":{}}}`, schema.Pending, "additionalProperties"},
		{`{"type":"object","required":["x"]}`, `{"type":"object","additionalProperties":false,"properties":{"a":{}}}`, schema.Impossible, "false"},
		{`{"type":"array","items":{"type":"integer"}}`, `{"items":{"type":"number"}}`, schema.Proven, ""},
		{`{"type":"array","items":{"type":"integer"}}`, `{"type":"array","items":{"type":"string"}}`, schema.Pending, "type"},
		{`{"type":"array","minItems":1,"items":{"type":"integer"}}`, `{"type":"array","items":{"type":"string"}}`, schema.Impossible, "type"},
		{`{"type":"array","maxItems":2}`, `{"type":"array","minItems":3}`, schema.Impossible, "minItems"},
		{`{"type":"array"}`, `{"type":"array","uniqueItems":true}`, schema.Pending, "uniqueItems"},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string","maxLength":3}}}`, `{"$ref":"#/$defs/b","$defs":{"b":{"maxLength":4}}}`, schema.Proven, ""},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":["null","string"]}`, schema.Proven, ""},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"null"},{"type":"string"},{"type":"integer"}]}`, schema.Proven, ""},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":"integer"}`, schema.Impossible, "type"},
		{`{"type":"integer"}`, `{"oneOf":[{"type":"integer"},{"type":"string"}]}`, schema.Proven, ""},
		{`{"type":"integer"}`, `{"oneOf":[{"type":"integer"},{"type":"number"}]}`, schema.Impossible, "oneOf"},
		{`{"type":"integer"}`, `{"not":{"type":"string"}}`, schema.Proven, ""},
		{`{"type":"integer"}`, `{"not":{"type":"number"}}`, schema.Impossible, "not"},
		{`{"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, `{"$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, schema.Pending, "depth"},
		{`{"$dynamicRef":"#a","$defs":{"a":{"$dynamicAnchor":"a","type":"string"}}}`, `{"type":"string"}`, schema.Pending, "$dynamicRef"},
	} {
		got := schema.Compatible(compile(t, test.output), compile(t, test.input))
		if got.Status != test.want || got.Problem.Keyword != test.keyword || (got.Reason() == "") != (test.want == schema.Proven) {
			t.Errorf("%s to %s: %+v, want %s by %q", test.output, test.input, got, test.want, test.keyword)
		}
	}
}

func TestAt(t *testing.T) {
	output := compile(t, `{"type":"object","required":["a","list","deep"],"additionalProperties":false,"properties":{
		"a":{"type":"string"},"b":{"type":"string"},"list":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string"}},
		"deep":{"anyOf":[{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}},{"type":"object","required":["x"],"properties":{"x":{"type":"integer"}}}]},
		"both":{"type":["object","array"]},"maybe":{"type":["object","null"],"required":["x"],"properties":{"x":{"type":"string"}}}}}`)
	text := compile(t, `{"type":"string"}`)
	for pointer, want := range map[string]schema.Status{
		"/a": schema.Proven, "/b": schema.Pending, "/ghost": schema.Impossible, "/a/x": schema.Impossible, "": schema.Impossible,
		"/list/0": schema.Proven, "/list/1": schema.Pending, "/list/3": schema.Impossible, "/list/x": schema.Impossible,
		"/list/01": schema.Impossible, "/list": schema.Impossible, "/deep/x": schema.Pending, "/both/0": schema.Pending, "/maybe/x": schema.Pending,
	} {
		if got := schema.Fits(output.At(pointer), text); got.Status != want {
			t.Errorf("%s: %+v, want %s", pointer, got, want)
		}
	}
	if got := schema.Fits(output.At("/b"), text); got.Reason() != "the output may lack the value" {
		t.Errorf("%q", got.Reason())
	}
}

// What the arguments of a call have to be together is checked, not only each.
func TestArgumentsTogether(t *testing.T) {
	input := compile(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"oneOf":[{"required":["a"]},{"required":["b"]}]}`)
	text := compile(t, `{"type":"string"}`).Shape()
	if got := schema.Fits(schema.Object(map[string]schema.Shape{"a": text, "b": text}), input); got.Status != schema.Impossible {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"a", "b"} {
		if got := schema.Fits(text, input.Member(name)); got.Status != schema.Proven {
			t.Errorf("%s alone: %+v", name, got)
		}
	}
	if got := schema.Fits(schema.Object(map[string]schema.Shape{"a": schema.Constant("x")}), input); got.Status != schema.Proven {
		t.Errorf("%+v", got)
	}
}

var (
	names    = rapid.SampledFrom([]string{"a", "b", "c"})
	small    = rapid.IntRange(0, 4)
	scalars  = rapid.SampledFrom([]any{nil, true, false, 0, 1, 2, 3, -1, 0.5, 1.5, "", "a", "ab", "abcd", "2020-01-01"})
	typeName = rapid.SampledFrom([]string{"null", "boolean", "integer", "number", "string", "array", "object"})
)

// document draws a schema. With few words in it, two of them meet often.
func document(t *rapid.T, depth int) any {
	if rapid.IntRange(0, 19).Draw(t, "boolean") == 0 {
		return rapid.Bool().Draw(t, "schema")
	}
	d := object{}
	if rapid.IntRange(0, 3).Draw(t, "typed") > 0 {
		d["type"] = rapid.SliceOfNDistinct(typeName, 1, 3, rapid.ID[string]).Draw(t, "type")
	}
	for range rapid.IntRange(0, 4).Draw(t, "keywords") {
		keyword(t, d, depth)
	}
	return d
}

func keyword(t *rapid.T, d object, depth int) {
	scalar := []string{
		"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum", "exclusiveMinimum",
		"exclusiveMaximum", "multipleOf", "required", "enum", "const", "pattern", "format", "uniqueItems", "additionalProperties", "dependentRequired",
	}
	nested := []string{
		"properties", "items", "prefixItems", "additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
		"contains", "propertyNames", "dependentSchemas", "$ref", "properties", "properties", "items", "unevaluatedProperties", "unevaluatedItems",
	}
	if depth > 0 {
		scalar = append(scalar, nested...)
	}
	list := func() []any {
		return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) any { return document(t, depth-1) }), 1, 3).Draw(t, "parts")
	}
	switch k := rapid.SampledFrom(scalar).Draw(t, "keyword"); k {
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		d[k] = small.Draw(t, k)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		d[k] = rapid.SampledFrom([]any{-1, 0, 1, 1.5, 2, 3}).Draw(t, k)
	case "multipleOf":
		d[k] = rapid.SampledFrom([]any{0.5, 1, 2, 3}).Draw(t, k)
	case "required":
		d[k] = rapid.SliceOfNDistinct(names, 1, 2, rapid.ID[string]).Draw(t, k)
	case "enum":
		d[k] = rapid.SliceOfN(scalars, 1, 4).Draw(t, k)
	case "const":
		d[k] = scalars.Draw(t, k)
	case "pattern":
		d[k] = rapid.SampledFrom([]string{"^a", "b$"}).Draw(t, k)
	case "format":
		d[k] = rapid.SampledFrom([]string{"date", "email"}).Draw(t, k)
	case "uniqueItems":
		d[k] = true
	case "additionalProperties":
		d[k] = any(false)
		if depth > 0 && rapid.Bool().Draw(t, "part") {
			d[k] = document(t, depth-1)
		}
	case "dependentRequired":
		d[k] = object{names.Draw(t, k): []string{names.Draw(t, k)}}
	case "properties", "dependentSchemas":
		of := object{}
		for _, name := range rapid.SliceOfNDistinct(names, 1, 3, rapid.ID[string]).Draw(t, k) {
			of[name] = document(t, depth-1)
		}
		d[k] = of
	case "patternProperties":
		d[k] = object{"^[ab]$": document(t, depth-1)}
	case "prefixItems", "allOf", "anyOf", "oneOf":
		d[k] = list()
	case "$ref":
		d["$defs"] = object{"x": document(t, depth-1)}
		d[k] = "#/$defs/x"
	default:
		d[k] = document(t, depth-1)
	}
}

// sample draws a value that looks like what a schema wants, often enough.
func sample(t *rapid.T, of any, depth int) any {
	d, _ := of.(object)
	if list, ok := d["enum"].([]any); ok && rapid.IntRange(0, 3).Draw(t, "enum") > 0 {
		return rapid.SampledFrom(list).Draw(t, "value")
	}
	if value, ok := d["const"]; ok && rapid.IntRange(0, 3).Draw(t, "const") > 0 {
		return value
	}
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := d[k].([]any); ok && rapid.Bool().Draw(t, k) {
			return sample(t, rapid.SampledFrom(list).Draw(t, "part"), depth)
		}
	}
	kind := rapid.SampledFrom([]string{"object", "array", "scalar", "scalar"}).Draw(t, "kind")
	if types, ok := d["type"].([]string); ok {
		kind = rapid.SampledFrom(types).Draw(t, "type")
	}
	switch {
	case kind == "object" && depth > 0:
		out := object{}
		properties, _ := d["properties"].(object)
		required, _ := d["required"].([]string)
		for _, name := range []string{"a", "b", "c"} {
			if slices.Contains(required, name) || rapid.IntRange(0, 2).Draw(t, name) == 0 {
				out[name] = sample(t, properties[name], depth-1)
			}
		}
		return out
	case kind == "array" && depth > 0:
		out := []any{}
		prefix, _ := d["prefixItems"].([]any)
		for i := range rapid.IntRange(0, 3).Draw(t, "items") {
			item := d["items"]
			if i < len(prefix) {
				item = prefix[i]
			}
			out = append(out, sample(t, item, depth-1))
		}
		return out
	case kind == "integer" || kind == "number":
		return rapid.SampledFrom([]any{-1, 0, 1, 2, 3, 4, 0.5, 1.5}).Draw(t, "number")
	case kind == "string":
		return rapid.SampledFrom([]any{"", "a", "ab", "b", "abcd", "2020-01-01"}).Draw(t, "string")
	}
	return scalars.Draw(t, "scalar")
}

// related draws an input schema that has to do with an output schema: itself,
// weaker or stronger in something, or another one.
func related(t *rapid.T, output any) any {
	d, ok := output.(object)
	if !ok || rapid.IntRange(0, 3).Draw(t, "other") == 0 {
		return document(t, 2)
	}
	out := object{}
	for _, k := range sortedKeys(d) {
		if rapid.IntRange(0, 4).Draw(t, "drop "+k) > 0 || k == "$defs" {
			out[k] = d[k]
		}
	}
	if rapid.Bool().Draw(t, "more") {
		keyword(t, out, 1)
	}
	return out
}

func sortedKeys(d object) []string {
	keys := make([]string, 0, len(d))
	for k := range d {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func text(t *rapid.T, v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever is called proven has no counterexample, and whatever is called
// impossible no example, also at places inside.
func TestVerdictsAreSound(t *testing.T) {
	req.Covers(t, "C3-RUN-002.y1")
	met := map[schema.Status]int{}
	rapid.Check(t, func(t *rapid.T) {
		of := document(t, 2)
		output, err := schema.Compile(text(t, of))
		if err != nil {
			t.Skip(err)
		}
		pointer := rapid.SampledFrom([]string{"", "", "/a", "/b", "/0", "/a/b", "/1/a"}).Draw(t, "pointer")
		to := related(t, of)
		if pointer != "" {
			to = document(t, 2)
		}
		input, err := schema.Compile(text(t, to))
		if err != nil {
			t.Skip(err)
		}
		got := schema.Fits(output.At(pointer), input)
		if pointer == "" {
			if direct := schema.Compatible(output, input); direct.Status != got.Status {
				// Branches are told apart in one and not in the other, so that only
				// what is open may differ.
				if direct.Status != schema.Pending && got.Status != schema.Pending {
					t.Fatalf("%+v and %+v", direct, got)
				}
			}
		}
		for range 12 {
			data := text(t, sample(t, of, 3))
			if len(output.Validate(data)) > 0 {
				continue
			}
			met[got.Status]++
			value, err := jsonvalue.Parse(data, jsonvalue.DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			inner, present := jsonvalue.At(value, pointer)
			accepted := false
			if present {
				data, err := jsonvalue.Format(inner)
				if err != nil {
					t.Fatal(err)
				}
				accepted = len(input.Validate(data)) == 0
			}
			if got.Status == schema.Proven && !accepted || got.Status == schema.Impossible && accepted {
				t.Fatalf("%s: %+v at %q, but accepted is %t (present %t)", data, got, pointer, accepted, present)
			}
		}
	})
	t.Logf("values that met a verdict: %v", met)
	if met[schema.Proven] < 20 || met[schema.Impossible] < 20 {
		t.Fatalf("the schemas drawn decide too little: %v", met)
	}
}

func FuzzFits(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"string"}}}`), []byte(`{"required":["a"]}`), "/a", []byte(`{"a":"x"}`))
	f.Add([]byte(`{"items":{"$ref":"#"}}`), []byte(`{"items":{"$ref":"#"}}`), "/0/0", []byte(`[[[]]]`))
	f.Add([]byte(`{"anyOf":[{"const":1},{"minimum":3}]}`), []byte(`{"oneOf":[{"multipleOf":1},{"maximum":1e300}]}`), "", []byte(`1`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`), []byte(`{"dependencies":{"a":["b"]}}`), "/0", []byte(`["x"]`))
	f.Fuzz(func(t *testing.T, from, to []byte, pointer string, value []byte) {
		output, err := schema.Compile(from)
		if err != nil || !jsonvalue.ValidPointer(pointer) {
			return
		}
		input, err := schema.Compile(to)
		if err != nil {
			return
		}
		got := schema.Fits(output.At(pointer), input)
		input.Member(pointer)
		if len(output.Validate(value)) > 0 {
			return
		}
		parsed, err := jsonvalue.Parse(value, jsonvalue.DefaultLimits)
		if err != nil {
			return
		}
		inner, present := jsonvalue.At(parsed, pointer)
		var accepted bool
		if present {
			data, err := jsonvalue.Format(inner)
			if err != nil {
				return
			}
			accepted = len(input.Validate(data)) == 0
		}
		if got.Status == schema.Proven && !accepted || got.Status == schema.Impossible && accepted {
			t.Fatalf("%+v, but accepted is %t", got, accepted)
		}
	})
}

func ExampleCompatible() {
	output, _ := schema.Compile([]byte(`{"type":"object","required":["failed"],"properties":{"failed":{"type":"integer"},"note":{"type":"string"}}}`))
	number, _ := schema.Compile([]byte(`{"type":"number"}`))
	for _, pointer := range []string{"/failed", "/note", "/other"} {
		v := schema.Fits(output.At(pointer), number)
		fmt.Printf("%s %s %q\n", pointer, v.Status, v.Reason())
	}
	// Output:
	// /failed proven ""
	// /note impossible "no value that the output allows follows type"
	// /other pending "not every value that the output allows is certain to follow type"
}
