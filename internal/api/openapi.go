package api

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// object is a JSON object of the OpenAPI document.
type object = map[string]any

var pathParameter = regexp.MustCompile(`\{([a-z]+)\}`)

// describe returns the OpenAPI 3.1 document of a table of routes.
func describe(table []route) ([]byte, error) {
	schemas := &schemas{components: object{}}
	paths := object{}
	for i := range table {
		r := &table[i]
		item, ok := paths[r.path].(object)
		if !ok {
			item = object{}
			paths[r.path] = item
		}
		operation, err := schemas.operation(r)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", r.pattern(), err)
		}
		item[strings.ToLower(r.method)] = operation
	}
	problem, err := schemas.of(Problem{})
	if err != nil {
		return nil, err
	}
	document := object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Mandate gateway", "version": "v1", "license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Submit requests, decide on approvals, read runs, documents and recorded events. " +
				"Errors are problem details (RFC 9457) with a stable code.",
		},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"token": []any{}}, object{}},
		"paths":    paths,
		"components": object{
			"schemas":         schemas.components,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"parameters": object{"tenant": object{
				"name": HeaderTenant, "in": "header", "description": "the tenant, " + DefaultTenant + " if it is not given", "schema": object{"type": "string"},
			}},
			"responses": object{"problem": object{
				"description": "It was refused or failed", "content": object{"application/problem+json": object{"schema": problem}},
			}},
		},
	}
	data, err := json.Marshal(document, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	return append(data, '\n'), nil
}

func (s *schemas) operation(r *route) (object, error) {
	parameters := []any{object{"$ref": "#/components/parameters/tenant"}}
	for _, match := range pathParameter.FindAllStringSubmatch(r.path, -1) {
		parameters = append(parameters, object{"name": match[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	add := func(in string, list []parameter) {
		for _, p := range list {
			schema := object{"type": "string"}
			if p.values != nil {
				schema["enum"] = p.values
			}
			parameters = append(parameters, object{"name": p.name, "in": in, "description": p.summary, "schema": schema})
		}
	}
	add("query", r.query)
	add("header", r.header)
	responses := object{"default": object{"$ref": "#/components/responses/problem"}}
	for status, value := range r.answers {
		content, err := s.content(value)
		if err != nil {
			return nil, err
		}
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": content}
	}
	operation := object{"operationId": r.name, "summary": r.summary, "parameters": parameters, "responses": responses}
	if r.body != nil {
		content, err := s.content(r.body)
		if err != nil {
			return nil, err
		}
		operation["requestBody"] = object{"required": true, "content": content}
	}
	return operation, nil
}

func (s *schemas) content(value any) (object, error) {
	if types, ok := value.(media); ok {
		content := object{}
		for _, name := range types {
			content[name] = object{}
		}
		return content, nil
	}
	schema, err := s.of(value)
	return object{"application/json": object{"schema": schema}}, err
}
