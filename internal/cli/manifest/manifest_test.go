package manifest_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/cli/manifest"
	"example.org/mandate/internal/jsonvalue"
)

const policy = `apiVersion: mandate/v1
kind: Policy
metadata:
  name: p
spec:
  version: 1
  description: d
  operations: [a, "b"]
  submitters: ["*"]
  approvers: ["*"]
  approval_seconds: 60
  lease_seconds: 60
`

func TestParse(t *testing.T) {
	documents, err := manifest.Parse("f.yaml", []byte("# first\n---\n"+policy+"---\n---\n"+strings.Replace(policy, "name: p", "name: q", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if len(documents) != 2 {
		t.Fatalf("%d documents", len(documents))
	}
	d := documents[1]
	if d.Kind != "Policy" || d.Name != "q" || d.String() != "policy/q" || d.Line != 17 {
		t.Errorf("document %+v", d)
	}
	want := `{"version":1,"description":"d","operations":["a","b"],"submitters":["*"],"approvers":["*"],"approval_seconds":60,"lease_seconds":60}`
	if string(d.Spec) != want {
		t.Errorf("specification %s", d.Spec)
	}
	if line := d.LineOf("/operations/1"); line != 24 {
		t.Errorf("line %d", line)
	}
}

// TestNumbersAreExact checks that what is written as a number arrives as
// written.
func TestNumbersAreExact(t *testing.T) {
	for _, number := range []string{"0", "-1", "9007199254740991", "0.1", "1.10", "1e3", "-2.50E-7", "123456.789012345678"} {
		data := "apiVersion: mandate/v1\nkind: Package\nmetadata: {name: n}\nspec:\n  version: 1\n  description: d\n  manifest: {n: " + number + "}\n"
		documents, err := manifest.Parse("f.yaml", []byte(data))
		if err != nil {
			t.Errorf("%s: %v", number, err)
			continue
		}
		if !strings.Contains(string(documents[0].Spec), `{"n":`+number+`}`) {
			t.Errorf("%s became %s", number, documents[0].Spec)
		}
	}
}

// TestWordsStayWords checks what other readers of YAML make into something
// else.
func TestWordsStayWords(t *testing.T) {
	for text, want := range map[string]string{
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "1.2.0": `"1.2.0"`, "2026-11-30": `"2026-11-30"`, "12:30:45": `"12:30:45"`,
		"'1'": `"1"`, `"true"`: `"true"`, "true": "true", "null": "null", "~": "null", "": "null", "|-\n    a\n    b": `"a\nb"`,
	} {
		data := "apiVersion: mandate/v1\nkind: Package\nmetadata: {name: n}\nspec:\n  version: 1\n  description: d\n  manifest:\n   n: " + text + "\n"
		documents, err := manifest.Parse("f.yaml", []byte(data))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if !strings.Contains(string(documents[0].Spec), `{"n":`+want+`}`) {
			t.Errorf("%q became %s", text, documents[0].Spec)
		}
	}
}

func TestMistakesHaveLines(t *testing.T) {
	change := func(old, new string) string {
		if !strings.Contains(policy, old) {
			t.Fatalf("%q is not in the policy", old)
		}
		return strings.Replace(policy, old, new, 1)
	}
	for name, c := range map[string]struct {
		data string
		line int
		says string
	}{
		"empty":               {"", 0, "no document"},
		"comment only":        {"# nothing\n", 0, "no document"},
		"syntax":              {change("  version: 1", "  version: [1"), 5, "not YAML"},
		"tab":                 {change("  version: 1", "\tversion: 1"), 6, "not YAML"},
		"scalar":              {"hello", 1, "not a document"},
		"list":                {"- a\n- b\n", 1, "not a document"},
		"duplicate":           {change("  lease_seconds: 60", "  lease_seconds: 60\n  version: 2"), 13, `"version" is there twice`},
		"duplicate deep":      {change("name: p", "name: p\n  name: q"), 5, "twice"},
		"unknown at the top":  {policy + "status: {}\n", 13, `unknown member "status"`},
		"unknown in metadata": {change("  name: p", "  name: p\n  labels: {}"), 5, `unknown member "labels" of metadata`},
		"unknown in spec":     {change("  lease_seconds: 60", "  lease_seconds: 60\n  leash: 1"), 13, "unknown member Policy.spec/leash"},
		"wrong type":          {change("approval_seconds: 60", `approval_seconds: "60"`), 11, "Policy.spec/approval_seconds: it is a JSON string, not a whole number"},
		"wrong type in list":  {change(`[a, "b"]`, "[a, 7]"), 8, "Policy.spec/operations/1: it is a JSON number, not a text"},
		"not a list":          {change(`[a, "b"]`, `a`), 8, "Policy.spec/operations: it is a JSON string, not a list"},
		"other version":       {change("mandate/v1", "mandate/v2"), 1, "mandate/v2"},
		"no version":          {change("apiVersion: mandate/v1\n", ""), 1, "apiVersion"},
		"unknown kind":        {change("kind: Policy", "kind: Polity"), 2, `unknown kind "Polity"`},
		"no name":             {change("  name: p", "  {}"), 1, "no name"},
		"name of other type":  {change("name: p", "name: 7"), 4, "name is not a text"},
		"no spec":             {policy[:strings.Index(policy, "spec:")], 1, "no spec"},
		"spec of other type":  {policy[:strings.Index(policy, "spec:")] + "spec: []\n", 1, "no spec"},
		"anchor":              {change("description: d", "description: &a d"), 7, "anchors"},
		"alias":               {change("description: d", "description: &a d\n  x: *a"), 7, "anchors"},
		"merge":               {change("  version: 1", "  <<: {}\n  version: 1"), 6, "merges"},
		"tag":                 {change("description: d", "description: !!binary aGk="), 7, "tags"},
		"own tag":             {change("description: d", "description: !mine d"), 7, "tags"},
		"tagged object":       {change("spec:", "spec: !mine"), 5, "tags"},
		"hexadecimal":         {change("version: 1", "version: 0x1"), 6, "not a number as JSON writes it"},
		"octal":               {change("version: 1", "version: 01"), 6, "not a number as JSON writes it"},
		"underscore":          {change("version: 1", "version: 1_000"), 6, ""},
		"infinity":            {change("version: 1", "version: .inf"), 6, "not a number as JSON writes it"},
		"not a number":        {change("version: 1", "version: .nan"), 6, "not a number as JSON writes it"},
		"too large a number":  {change("version: 1", "version: 9007199254740993"), 6, "exact range"},
		"name of a member":    {change("  version: 1", "  version: 1\n  7: 8"), 7, "not a text"},
		"member is a list":    {change("  version: 1", "  version: 1\n  ? [a]\n  : 8"), 7, "not a text"},
		"too deep":            {change("description: d", "description: "+strings.Repeat("[", 60)+strings.Repeat("]", 60)), 7, "nested deeper"},
		"request with name":   {"apiVersion: mandate/v1\nkind: IntentRequest\nmetadata:\n  name: n\nspec: {}\n", 4, "no metadata"},
		"JSON syntax":         {"{\n \"apiVersion\": \"mandate/v1\",\n x\n}", 3, "malformed JSON"},
		"JSON duplicate":      {"{\n \"kind\": \"Policy\",\n \"kind\": \"Policy\"\n}", 3, "malformed JSON"},
		"JSON unknown":        {"{\n \"apiVersion\": \"mandate/v1\",\n \"kind\": \"Policy\",\n \"metadata\": {\"name\": \"p\"},\n \"spec\": {\n\t\t\"nope\": 1\n}}", 6, "unknown member Policy.spec/nope"},
		"too large":           {policy + "#" + strings.Repeat("x", manifest.MaxBytes), 0, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			documents, err := manifest.Parse("dir/f.yaml", []byte(c.data))
			var mistake *manifest.Error
			if !errors.As(err, &mistake) {
				t.Fatalf("%v, documents %+v", err, documents)
			}
			if mistake.Line != c.line || !strings.Contains(mistake.Message, c.says) || mistake.Action == "" {
				t.Errorf("line %d %q; %q", mistake.Line, mistake.Message, mistake.Action)
			}
			if strings.ContainsAny(err.Error(), "\r\n") || !strings.HasPrefix(err.Error(), "dir/f.yaml") {
				t.Errorf("not one line with the file: %q", err)
			}
		})
	}
}

// TestBombsEnd gives inputs that make careless readers use the machine up.
func TestBombsEnd(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c <= 'z'; c++ {
		laughs.WriteString(string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n")
	}
	for name, data := range map[string]string{
		"laughs": laughs.String(), "deep flow": strings.Repeat("[", 500_000), "deep block": strings.Repeat("- ", 5_000),
		"many values": "a: [" + strings.Repeat("1,", 200_000) + "]", "many documents": strings.Repeat("---\na\n", 5_000),
	} {
		if _, err := manifest.Parse(name, []byte(data)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestSettings(t *testing.T) {
	settings, err := manifest.ParseSettings("c.yaml", []byte("http: 127.0.0.1:0\naccept: [a, b]\nproduction: true\nreplicas: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]manifest.Setting{
		"http": {Value: "127.0.0.1:0", Line: 1}, "accept": {Value: "a,b", Line: 2}, "production": {Value: "true", Line: 3}, "replicas": {Value: "3", Line: 4},
	}
	if diff := cmp.Diff(want, settings); diff != "" {
		t.Error(diff)
	}
	if empty, err := manifest.ParseSettings("c.yaml", []byte("# none\n")); err != nil || len(empty) != 0 {
		t.Errorf("%v, %v", empty, err)
	}
	for _, data := range []string{"- a\n", "a: {b: c}\n", "a: [[b]]\n", "a: 1\na: 2\n", "a: 1\n---\nb: 2\n", "a: *x\n"} {
		if _, err := manifest.ParseSettings("c.yaml", []byte(data)); err == nil {
			t.Errorf("%q was read", data)
		}
	}
}

// TestExamples reads what is shipped.
func TestExamples(t *testing.T) {
	for _, name := range []string{"agent.yaml", "request-a.yaml", "request-b.yaml", "request-c.yaml"} {
		if _, err := manifest.Parse(name, example(t, name)); err != nil {
			t.Error(err)
		}
	}
}

func example(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "release-check", name))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// FuzzParse checks that whatever is read is JSON within limits that has
// the shape of its kind.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"agent.yaml", "request-a.yaml"} {
		f.Add(example(f, name))
	}
	f.Add([]byte(policy))
	f.Add([]byte("{\"apiVersion\": \"mandate/v1\",\n \"kind\": \"Package\", \"metadata\": {\"name\": \"p\"}, \"spec\": {\"manifest\": 1.50}}"))
	f.Add([]byte("apiVersion: mandate/v1\nkind: Package\nmetadata: {name: n}\nspec: {manifest: {a: yes, b: 1e3, c: !x 1, ? d : e}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := manifest.Parse("f", data)
		if err != nil {
			var mistake *manifest.Error
			if !errors.As(err, &mistake) || strings.ContainsAny(err.Error(), "\n\r") {
				t.Fatalf("error %q", err)
			}
			return
		}
		for _, d := range documents {
			if err := jsonvalue.Scan(d.Spec, jsonvalue.Limits{Bytes: 4 << 20, Depth: 32, Tokens: 1_000_000}); err != nil {
				t.Fatalf("%s: %v", d.Spec, err)
			}
			if d.Kind == manifest.KindIntentRequest {
				var request events.IntentRequest
				if err := json.Unmarshal(d.Spec, &request, json.RejectUnknownMembers(true)); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
