package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/mandate/internal/api"
)

const documentAt = "https://example.org/openapi.json"

// openapi is the document that the gateway serves.
type openapi struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

func readOpenAPI(t *testing.T, g *gateway) *openapi {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(g.get("/openapi.json").body))
	if err != nil {
		t.Fatal(err)
	}
	root, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("not an object: %T", value)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource(documentAt, value); err != nil {
		t.Fatal(err)
	}
	return &openapi{root, compiler}
}

// operation returns the operation of a method and a path of the document.
func (o *openapi) operation(t *testing.T, method, path string) map[string]any {
	t.Helper()
	item, _ := o.root["paths"].(map[string]any)[path].(map[string]any)
	operation, ok := item[strings.ToLower(method)].(map[string]any)
	if !ok {
		t.Fatalf("%s %s is not described", method, path)
	}
	return operation
}

// check validates JSON against the schema at a place in the document.
func (o *openapi) check(t *testing.T, pointer string, data []byte) {
	t.Helper()
	schema, err := o.compiler.Compile(documentAt + "#" + pointer)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s: %v\n%s", pointer, err, data)
	}
}

func escaped(path string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)
}

// TestOpenAPIDescribesWhatIsAnswered validates real answers of every operation
// with JSON against what the document says of it.
func TestOpenAPIDescribesWhatIsAnswered(t *testing.T) {
	g := start(t, nil)
	o := readOpenAPI(t, g)
	if o.root["openapi"] != "3.1.0" {
		t.Errorf("version %v", o.root["openapi"])
	}
	components, _ := o.root["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for name := range schemas {
		if _, err := o.compiler.Compile(documentAt + "#/components/schemas/" + name); err != nil {
			t.Errorf("schema %s: %v", name, err)
		}
	}
	g.apply()
	run := g.submit("x", false)
	g.await(run, done)
	waits := g.submit("write", true)
	w := g.await(waits, waiting).Waiting[0]
	asked := map[string]bool{}
	ask := func(method, path, at, body string, status int) {
		t.Helper()
		operation := o.operation(t, method, path)
		asked[method+" "+path] = true
		base := "/paths/" + escaped(path) + "/" + strings.ToLower(method)
		if body != "" {
			if _, ok := operation["requestBody"]; !ok {
				t.Fatalf("%s %s takes no body", method, path)
			}
			o.check(t, base+"/requestBody/content/application~1json/schema", []byte(body))
		}
		a := g.request(method, at, body)
		if a.status != status {
			t.Fatalf("%s %s: %d %s", method, at, a.status, a.body)
		}
		if responses, _ := operation["responses"].(map[string]any); responses[strconv.Itoa(status)] == nil {
			t.Fatalf("%s %s: status %d is not described", method, path, status)
		}
		o.check(t, fmt.Sprintf("%s/responses/%d/content/application~1json/schema", base, status), a.body)
	}
	ask(http.MethodGet, "/v1/runs", "/v1/runs?limit=1", "", 200)
	ask(http.MethodGet, "/v1/runs/{run}", "/v1/runs/"+run, "", 200)
	ask(http.MethodGet, "/v1/runs/{run}", "/v1/runs/"+waits, "", 200)
	ask(http.MethodGet, "/v1/runs/{run}/timeline", "/v1/runs/"+run+"/timeline", "", 200)
	ask(http.MethodGet, "/v1/runs/{run}/document", "/v1/runs/"+run+"/document", "", 200)
	ask(http.MethodGet, "/v1/interactions", "/v1/interactions", "", 200)
	ask(http.MethodGet, "/v1/interactions/{id}", "/v1/interactions/"+w.Interaction, "", 200)
	ask(http.MethodPost, "/v1/interactions/{id}/decision", "/v1/interactions/"+w.Interaction+"/decision", decision("deny", w.Digest), 202)
	g.await(waits, done)
	another := g.submit("write", true)
	g.await(another, waiting)
	ask(http.MethodPost, "/v1/runs/{run}/cancel", "/v1/runs/"+another+"/cancel", `{}`, 202)
	ask(http.MethodGet, "/v1/registry/{kind}", "/v1/registry/capabilities", "", 200)
	ask(http.MethodGet, "/v1/registry/{kind}/{name}", "/v1/registry/policies/p", "", 200)
	ask(http.MethodPut, "/v1/registry", "/v1/registry", resources, 200)
	ask(http.MethodPost, "/v1/registry/capabilities/{name}/revoke", "/v1/registry/capabilities/look/revoke", `{"reason":"x"}`, 200)
	ask(http.MethodPost, "/v1/views/rebuild", "/v1/views/rebuild", "", 200)
	// A host sets nonce and authority, so a request document has none; the
	// schema is of what is recorded.
	asked["POST /v1/runs"] = true
	o.check(t, "/paths/~1v1~1runs/post/responses/201/content/application~1json/schema", g.request(http.MethodPost, "/v1/runs", intent("y", false)).body)
	o.check(t, "/components/responses/problem/content/application~1problem+json/schema", g.get("/v1/runs/nope").body)
	parameter := regexp.MustCompile(`\{([a-z]+)\}`)
	paths, _ := o.root["paths"].(map[string]any)
	for path, item := range paths {
		methods, _ := item.(map[string]any)
		for method := range methods {
			operation := o.operation(t, method, path)
			text := fmt.Sprint(operation["parameters"])
			for _, match := range parameter.FindAllStringSubmatch(path, -1) {
				if !strings.Contains(text, "name:"+match[1]) {
					t.Errorf("%s %s does not describe %s", method, path, match[1])
				}
			}
			name := strings.ToUpper(method) + " " + path
			switch name {
			case "GET /v1/events", "GET /v1/runs/{run}/events", "GET /v1/runs/{run}/bundle", "GET /openapi.json",
				"GET /v1/parked", "POST /v1/parked/{id}/redeliver": // in TestParkedMessages
				continue // not one JSON value of ours
			}
			if !asked[name] {
				t.Errorf("%s was not asked", name)
			}
		}
	}
	if api.HeaderTenant != "X-Mandate-Tenant" {
		t.Error("the tenant header changed its name")
	}
}

// TestEveryRefusalIsAProblem asks for what there is not: the answer says what
// and what to do, as the answers of routes do.
func TestEveryRefusalIsAProblem(t *testing.T) {
	g := start(t, nil)
	o := readOpenAPI(t, g)
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{http.MethodGet, "/v1/nothing", http.StatusNotFound},
		{http.MethodPost, "/v1/nothing", http.StatusNotFound},
		{http.MethodDelete, "/v1/runs", http.StatusMethodNotAllowed},
		{http.MethodGet, "/v1/events?from=yesterday", http.StatusBadRequest},
		{http.MethodGet, "/v1/runs/x/events?follow=perhaps", http.StatusBadRequest},
		{http.MethodGet, "/v1/runs/x/document?surface=paper", http.StatusBadRequest},
		{http.MethodPut, "/v1/registry?dry_run=1", http.StatusBadRequest},
	} {
		a := g.request(c.method, c.path, "")
		if a.status != c.status || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d %s %s", c.method, c.path, a.status, a.header.Get("Content-Type"), a.body)
			continue
		}
		if c.status == http.StatusMethodNotAllowed && !strings.Contains(a.header.Get("Allow"), http.MethodGet) {
			t.Errorf("allowed: %q", a.header.Get("Allow"))
		}
		o.check(t, "/components/responses/problem/content/application~1problem+json/schema", a.body)
	}
}
