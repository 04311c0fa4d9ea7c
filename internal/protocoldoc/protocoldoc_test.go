package protocoldoc_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
	"example.org/mandate/internal/protocoldoc"
)

const (
	root      = "../.."
	schemaDir = "docs/protocol/schemas/"
)

func generate(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := protocoldoc.Generate(root)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func parse(t *testing.T, data []byte) any {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// member returns a member of an object below path.
func member(t *testing.T, value any, path ...string) any {
	t.Helper()
	for _, name := range path {
		object, ok := value.(map[string]any)
		if !ok || object[name] == nil {
			t.Fatalf("no %s in %T", name, value)
		}
		value = object[name]
	}
	return value
}

// compile compiles a schema of the generated files.
func compile(t *testing.T, file string, data []byte) *jsonschema.Schema {
	t.Helper()
	document := parse(t, data)
	id, ok := member(t, document, "$id").(string)
	if !ok {
		t.Fatalf("%s has no identity", file)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource(id, document); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	schema, err := c.Compile(id)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return schema
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	files := generate(t)
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Errorf("%v (make generate)", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the types say (make generate)", name)
		}
	}
	stale, err := protocoldoc.Stale(root, files)
	if err != nil || len(stale) > 0 {
		t.Errorf("schemas of types that are no more: %q, %v", stale, err)
	}
	again := generate(t)
	if !maps.EqualFunc(files, again, bytes.Equal) {
		t.Error("two runs differ")
	}
	delete(files, protocoldoc.AsyncAPIFile)
	delete(files, schemaDir+"document.plan.json")
	if stale, err = protocoldoc.Stale(root, files); err != nil || !slices.Equal(stale, []string{schemaDir + "document.plan.json"}) {
		t.Errorf("stale %q, %v", stale, err)
	}
}

// Every golden document follows its schema, and one with a member too few or,
// where nothing may be added, one too many does not.
func TestGoldenDocumentsFollowTheirSchemas(t *testing.T) {
	files := generate(t)
	for _, name := range events.Types() {
		t.Run(name, func(t *testing.T) {
			schema := compile(t, name, files[schemaDir+name+".json"])
			golden, err := filepath.Glob(filepath.Join(root, "events", "testdata", "golden", name+"*.json"))
			if err != nil || len(golden) == 0 {
				t.Fatalf("no golden JSON: %v", err)
			}
			for _, file := range golden {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := schema.Validate(parse(t, data)); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
			data, err := os.ReadFile(golden[0])
			if err != nil {
				t.Fatal(err)
			}
			whole, ok := parse(t, data).(map[string]any)
			if !ok {
				t.Fatal("not an object")
			}
			checkRequired(t, schema, whole)
		})
	}
}

func checkRequired(t *testing.T, schema *jsonschema.Schema, whole map[string]any) {
	t.Helper()
	if len(schema.Required) == 0 {
		t.Error("nothing is required")
	}
	for _, name := range schema.Required {
		rest := maps.Clone(whole)
		delete(rest, name)
		if schema.Validate(rest) == nil {
			t.Errorf("valid without %s", name)
		}
		rest[name] = []any{[]any{}}
		if property := schema.Properties[name]; property.Types != nil && schema.Validate(rest) == nil {
			t.Errorf("valid with a list of lists as %s", name)
		}
	}
	later := maps.Clone(whole)
	later["added_later"] = true
	if err := schema.Validate(later); err != nil {
		t.Errorf("a member that a later version adds is refused: %v", err)
	}
	if principal, ok := whole["principal"].(map[string]any); ok {
		changed := maps.Clone(principal)
		changed["root"] = true
		later["principal"] = changed
		if schema.Validate(later) == nil {
			t.Error("a principal may have more members than it has")
		}
	}
}

func TestDocumentSchemasCompile(t *testing.T) {
	files, compiled := generate(t), 0
	for name, data := range files {
		if strings.HasPrefix(name, schemaDir+"document.") {
			compile(t, name, data)
			compiled++
		}
	}
	if compiled < 9 || len(files) != compiled+len(events.Types())+2 {
		t.Errorf("%d document schemas among %d files", compiled, len(files))
	}
	spec := compile(t, "plan", files[schemaDir+"document.plan.json"])
	plan := map[string]any{"schema_version": 1, "candidate": "plan", "nodes": []any{}, "output": map[string]any{"node": "a", "type": "t"}}
	if err := spec.Validate(plan); err != nil {
		t.Errorf("a plan: %v", err)
	}
	plan["shell"] = "rm"
	if spec.Validate(plan) == nil {
		t.Error("a plan with an unknown member is valid")
	}
}

// officialSchema is the JSON Schema that the AsyncAPI Initiative publishes.
func officialSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "asyncapi-3.1.0.schema.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	const id = "http://asyncapi.com/definitions/3.1.0/asyncapi.json"
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, parse(t, data)); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestAsyncAPI(t *testing.T) {
	data := generate(t)[protocoldoc.AsyncAPIFile]
	official := officialSchema(t)
	if err := official.Validate(parse(t, data)); err != nil {
		t.Errorf("%v", err)
	}
	for name, wrong := range map[string][]byte{
		"another version":   bytes.Replace(data, []byte(`"asyncapi": "3.1.0"`), []byte(`"asyncapi": "2.0.0"`), 1),
		"a wrong action":    bytes.Replace(data, []byte(`"action": "receive"`), []byte(`"action": "subscribe"`), 1),
		"an unknown member": bytes.Replace(data, []byte(`"channels": {`), []byte(`"topics": {}, "channels": {`), 1),
	} {
		if bytes.Equal(wrong, data) || official.Validate(parse(t, wrong)) == nil {
			t.Errorf("%s is valid", name)
		}
	}
	document := parse(t, data)
	checkReferences(t, document, document)
	channels, ok := member(t, document, "channels").(map[string]any)
	if !ok || len(channels) != len(events.Owners()) {
		t.Fatalf("%d channels for %d owners", len(channels), len(events.Owners()))
	}
	found := 0
	for owner, channel := range channels {
		subject := events.Subject{Owner: events.Owner(owner), Tenant: "{tenant}", Run: "{run}"}
		address := strings.Split(subject.String(), ".")
		address[3] = "{partition}"
		if got := member(t, channel, "address"); got != strings.Join(address, ".") {
			t.Errorf("address %s of %s", got, owner)
		}
		messages, ok := member(t, channel, "messages").(map[string]any)
		if !ok {
			t.Fatalf("%s has no messages", owner)
		}
		for name := range messages {
			if string(events.TypeOwner(name)) != owner {
				t.Errorf("%s is in the channel of %s", name, owner)
			}
			found++
		}
	}
	if found != len(events.Types()) {
		t.Errorf("%d messages for %d types", found, len(events.Types()))
	}
}

// checkReferences checks that every reference leads somewhere, in the document
// or in the folder beside it.
func checkReferences(t *testing.T, document, value any) {
	t.Helper()
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			checkReferences(t, document, element)
		}
	case map[string]any:
		for name, element := range value {
			target, ok := element.(string)
			if name != "$ref" || !ok {
				checkReferences(t, document, element)
				continue
			}
			if path, inside := strings.CutPrefix(target, "#/"); inside {
				member(t, document, strings.Split(path, "/")...)
			} else if _, err := os.Stat(filepath.Join(root, "docs", "protocol", target)); err != nil {
				t.Error(err)
			}
		}
	}
}

// An event as it is delivered follows the message of its type.
func TestDeliveredEventsFollowTheirMessages(t *testing.T) {
	document := parse(t, generate(t)[protocoldoc.AsyncAPIFile])
	envelope, ok := member(t, document, "components", "schemas", "cloudevent").(map[string]any)
	if !ok {
		t.Fatal("no envelope")
	}
	headers, ok := member(t, document, "components", "schemas", "headers").(map[string]any)
	if !ok {
		t.Fatal("no headers")
	}
	compiled := func(name string, schema map[string]any) *jsonschema.Schema {
		c := jsonschema.NewCompiler()
		if err := c.AddResource(name, schema); err != nil {
			t.Fatal(err)
		}
		out, err := c.Compile(name)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	event, header := compiled("urn:event", envelope), compiled("urn:headers", headers)
	properties, ok := headers["properties"].(map[string]any)
	if !ok {
		t.Fatal("no header properties")
	}
	attributes, ok := envelope["properties"].(map[string]any)
	if !ok {
		t.Fatal("no attributes")
	}
	for _, name := range events.Types() {
		c := eventstest.Commit(eventstest.Payload(t, name))
		record := eventstest.Record(t, c)
		data, err := c.CloudEvents()
		if err != nil {
			t.Fatal(err)
		}
		batch, ok := parse(t, data).([]any)
		if !ok || len(batch) != 1 {
			t.Fatalf("%s: %T", name, batch)
		}
		if err := event.Validate(batch[0]); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		delivered, ok := batch[0].(map[string]any)
		if !ok {
			t.Fatalf("%s: %T", name, batch[0])
		}
		for attribute := range delivered {
			if attributes[attribute] == nil {
				t.Errorf("attribute %s is not described", attribute)
			}
		}
		got := map[string]any{}
		for name, value := range record.Header {
			got[name] = value
			if properties[name] == nil {
				t.Errorf("header %s is not described", name)
			}
		}
		if err := header.Validate(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCodeList(t *testing.T) {
	list := string(generate(t)[protocoldoc.CodesFile])
	for _, line := range []string{"| MD-1001 | request malformed |", "| MD-1906 | conflict |", "## Streams and verification: 1600–1699"} {
		if !strings.Contains(list, line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

func TestGenerateNeedsTheSource(t *testing.T) {
	if files, err := protocoldoc.Generate(t.TempDir()); err == nil {
		t.Errorf("%d files without the source", len(files))
	}
}
