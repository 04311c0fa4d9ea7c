package manifest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v3"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// KindIntentRequest is the kind of a document that holds a request.
const KindIntentRequest = "IntentRequest"

// Document is one document of a file: a resource, or a request.
type Document struct {
	Source string
	Line   int
	Kind   string
	Name   string // "" for a request
	Spec   []byte // JSON

	spec *yaml.Node
}

// String names the document for a person.
func (d *Document) String() string {
	if d.Name == "" {
		return strings.ToLower(d.Kind)
	}
	return strings.ToLower(d.Kind) + "/" + d.Name
}

// Parse reads every document of a file. source names the file in errors.
func Parse(source string, data []byte) ([]Document, error) {
	p := &parser{source: source}
	roots, err := p.documents(data)
	if err != nil {
		return nil, err
	}
	if len(roots) == 0 {
		return nil, p.fail(0, "there is no document", "write one that begins with apiVersion: "+events.APIVersion)
	}
	documents := make([]Document, 0, len(roots))
	for _, root := range roots {
		d, err := p.document(root)
		if err != nil {
			return nil, err
		}
		documents = append(documents, d)
	}
	return documents, nil
}

func (p *parser) document(root *yaml.Node) (Document, error) {
	p.nodes = 0
	d := Document{Source: p.source, Line: root.Line}
	// Everything is encoded, so that a mistake anywhere is found.
	if _, err := p.encode(nil, root, 1); err != nil {
		return d, err
	}
	if root.Kind != yaml.MappingNode {
		return d, p.fail(root.Line, "not a document with apiVersion, kind and spec", "write one")
	}
	var metadata *yaml.Node
	version := ""
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		var err error
		switch key.Value {
		case "apiVersion":
			version, err = p.string(key, value)
		case "kind":
			d.Kind, err = p.string(key, value)
		case "metadata":
			metadata = value
			if value.Kind != yaml.MappingNode {
				err = p.fail(key.Line, "metadata is not an object", "write name: … below it")
			}
		case "spec":
			d.spec = value
		default:
			err = p.fail(key.Line, fmt.Sprintf("unknown member %.40q", key.Value), "use apiVersion, kind, metadata and spec")
		}
		if err != nil {
			return d, err
		}
	}
	if version != events.APIVersion {
		return d, p.fail(find(root, "/apiVersion").Line, fmt.Sprintf("apiVersion %.40q, this build reads %s", version, events.APIVersion), "write apiVersion: "+events.APIVersion)
	}
	if err := p.identify(&d, root, metadata); err != nil {
		return d, err
	}
	if d.spec == nil || d.spec.Kind != yaml.MappingNode {
		return d, p.fail(root.Line, d.String()+" has no spec that is an object", "write spec: and its members")
	}
	p.nodes = 0
	var err error
	if d.Spec, err = p.encode(nil, d.spec, 1); err != nil {
		return d, err
	}
	return d, d.check()
}

func (p *parser) string(key, value *yaml.Node) (string, error) {
	if value.Kind != yaml.ScalarNode || value.ShortTag() != "!!str" {
		return "", p.fail(key.Line, key.Value+" is not a text", "write a text")
	}
	return value.Value, nil
}

// identify reads the name of a resource.
func (p *parser) identify(d *Document, root, metadata *yaml.Node) error {
	if _, known := shapes[d.Kind]; !known {
		return p.fail(find(root, "/kind").Line, fmt.Sprintf("unknown kind %.40q", d.Kind), "use Agent, Capability, Policy, Package, Routes or IntentRequest")
	}
	if d.Kind == KindIntentRequest {
		if metadata != nil {
			return p.fail(metadata.Line, "a request has no metadata", "leave it out; the nonce names the request")
		}
		return nil
	}
	if metadata != nil {
		for i := 0; i+1 < len(metadata.Content); i += 2 {
			key, value := metadata.Content[i], metadata.Content[i+1]
			if key.Value != "name" {
				return p.fail(key.Line, fmt.Sprintf("unknown member %.40q of metadata", key.Value), "write only name")
			}
			var err error
			if d.Name, err = p.string(key, value); err != nil {
				return err
			}
		}
	}
	if d.Name == "" {
		return p.fail(root.Line, "the "+strings.ToLower(d.Kind)+" has no name", "write metadata: {name: …}")
	}
	return nil
}

// shapes are the types of the specifications.
var shapes = map[string]func() any{
	KindIntentRequest:             func() any { return new(events.IntentRequest) },
	string(events.KindAgent):      func() any { return new(events.Agent) },
	string(events.KindPolicy):     func() any { return new(events.Policy) },
	string(events.KindPackage):    func() any { return new(events.Package) },
	string(events.KindRoutes):     func() any { return new(events.Routes) },
	string(events.KindCapability): func() any { return new(events.Capability) },
}

// check finds members that do not exist and values of another type, with their
// line.
func (d *Document) check() error {
	err := json.Unmarshal(d.Spec, shapes[d.Kind](), json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return &Error{Source: d.Source, Line: d.Line, Message: err.Error(), Action: "correct the document"}
	}
	pointer := string(semantic.JSONPointer)
	e := &Error{Source: d.Source, Line: find(d.spec, pointer).Line, Action: "correct the value"}
	switch {
	case errors.Is(err, json.ErrUnknownName):
		e.Message, e.Action = "unknown member "+d.Kind+".spec"+pointer, "docs/protocol/schemas/"+schemaFile(d.Kind)+" has the members"
		e.Line = d.keyLine(pointer)
	case semantic.JSONKind != 0 && semantic.GoType != nil:
		e.Message = d.Kind + ".spec" + pointer + ": it is a JSON " + semantic.JSONKind.String() + wanted(semantic.GoType)
	default:
		e.Message = d.Kind + ".spec" + pointer + ": " + strings.Join(strings.Fields(err.Error()), " ")
	}
	return e
}

// schemaFile is the file of the schema of the specification of a kind.
func schemaFile(kind string) string {
	if kind == KindIntentRequest {
		kind = "intent-request"
	}
	return "document." + strings.ToLower(kind) + ".json"
}

// wanted says what has to be in the place of a value of a Go type.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return ", not an object"
	case reflect.Slice, reflect.Array:
		return ", not a list"
	case reflect.String:
		return ", not a text"
	case reflect.Bool:
		return ", not true or false"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return ", not a whole number"
	default:
		return ", which cannot be there"
	}
}

// keyLine is the line of the member that a pointer names.
func (d *Document) keyLine(pointer string) int {
	steps := jsonvalue.Steps(pointer)
	if len(steps) == 0 {
		return d.Line
	}
	parent := find(d.spec, pointer[:strings.LastIndexByte(pointer, '/')])
	for i := 0; parent.Kind == yaml.MappingNode && i+1 < len(parent.Content); i += 2 {
		if parent.Content[i].Value == steps[len(steps)-1] {
			return parent.Content[i].Line
		}
	}
	return parent.Line
}

// LineOf is the line of the place in the specification that a JSON Pointer
// names, or of the nearest place around it.
func (d *Document) LineOf(pointer string) int { return find(d.spec, pointer).Line }

// Setting is one value of a configuration file.
type Setting struct {
	Value string
	Line  int
}

// ParseSettings reads a configuration file: one YAML or JSON object of scalars
// and lists of scalars, which are joined by commas.
func ParseSettings(source string, data []byte) (map[string]Setting, error) {
	p := &parser{source: source}
	roots, err := p.documents(data)
	if err != nil {
		return nil, err
	}
	settings := map[string]Setting{}
	if len(roots) == 0 {
		return settings, nil
	}
	root := roots[0]
	if _, err := p.encode(nil, root, 1); err != nil {
		return nil, err
	}
	if len(roots) > 1 || root.Kind != yaml.MappingNode {
		return nil, p.fail(root.Line, "not one object of settings", "write lines such as http: 127.0.0.1:7420")
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		items := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			items = value.Content
		}
		var values []string
		for _, item := range items {
			if item.Kind != yaml.ScalarNode {
				return nil, p.fail(item.Line, key.Value+" is not a simple value", "write a text, number, true or false")
			}
			values = append(values, item.Value)
		}
		settings[key.Value] = Setting{Value: strings.Join(values, ","), Line: key.Line}
	}
	return settings, nil
}
