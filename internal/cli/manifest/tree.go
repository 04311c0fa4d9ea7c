package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"example.org/mandate/internal/jsonvalue"
)

// MaxBytes bounds a file.
const MaxBytes = 1 << 20

// Bounds of one document.
const (
	maxDepth     = 24
	maxNodes     = 100_000
	maxDocuments = 1000
)

// Error is a mistake in a file.
type Error struct {
	Source  string
	Line    int
	Message string
	Action  string
}

// Error implements the error interface.
func (e *Error) Error() string {
	text := e.Source
	if e.Line > 0 {
		text += ":" + strconv.Itoa(e.Line)
	}
	text += ": " + e.Message
	if e.Action != "" {
		text += "; " + e.Action
	}
	return text
}

// parser reads one file.
type parser struct {
	source string
	nodes  int
}

func (p *parser) fail(line int, message, action string) error {
	return &Error{Source: p.source, Line: line, Message: strings.Join(strings.Fields(message), " "), Action: action}
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line ([0-9]+): (.*)$`)

// documents returns the root of every document of a file that is not empty.
func (p *parser) documents(data []byte) ([]*yaml.Node, error) {
	if len(data) > MaxBytes {
		return nil, p.fail(0, fmt.Sprintf("%d bytes, at most %d are read", len(data), MaxBytes), "split the file")
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[') {
		return p.json(data)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var roots []*yaml.Node
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return roots, nil
		}
		if err != nil {
			return nil, p.syntax(err)
		}
		if len(document.Content) != 1 || document.Content[0].ShortTag() == "!!null" {
			continue
		}
		if len(roots) == maxDocuments {
			return nil, p.fail(document.Line, fmt.Sprintf("more than %d documents", maxDocuments), "split the file")
		}
		roots = append(roots, document.Content[0])
	}
}

func (p *parser) syntax(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if match := yamlLine.FindStringSubmatch(text); match != nil {
		line, _ = strconv.Atoi(match[1])
		text = match[2]
	}
	return p.fail(line, "not YAML: "+text, "correct the syntax")
}

// json checks a JSON file, whose indentation YAML may not permit, and reads it
// without its white space between tokens, line by line.
func (p *parser) json(data []byte) ([]*yaml.Node, error) {
	if err := jsonvalue.Scan(data, jsonvalue.Limits{Bytes: MaxBytes, Depth: maxDepth, Tokens: 2 * maxNodes}); err != nil {
		line := 0
		if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			line = 1 + bytes.Count(data[:min(int(syntactic.ByteOffset), len(data))], []byte("\n"))
		}
		return nil, p.fail(line, err.Error(), "correct the syntax")
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(data))
	reader := jsonReader{decoder: decoder, data: data, line: 1}
	root, err := reader.value()
	if err != nil {
		return nil, p.fail(reader.line, err.Error(), "correct the syntax")
	}
	return []*yaml.Node{root}, nil
}

// jsonReader makes the same tree from JSON.
type jsonReader struct {
	decoder *jsontext.Decoder
	data    []byte
	at      int64
	line    int
}

func (r *jsonReader) token() (jsontext.Token, error) {
	token, err := r.decoder.ReadToken()
	if err != nil {
		return token, err
	}
	offset := r.decoder.InputOffset()
	r.line += bytes.Count(r.data[r.at:offset], []byte("\n"))
	r.at = offset
	return token, nil
}

// value reads the next value. Its depth was checked before.
func (r *jsonReader) value() (*yaml.Node, error) {
	token, err := r.token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line}
	switch token.Kind() {
	case 'n':
		node.Tag, node.Value = "!!null", "null"
	case 't', 'f':
		node.Tag, node.Value = "!!bool", token.String()
	case '"':
		node.Tag, node.Value = "!!str", token.String()
	case '0':
		node.Tag, node.Value = "!!float", token.String()
	case '{', '[':
		node.Kind, node.Tag = yaml.MappingNode, "!!map"
		if token.Kind() == '[' {
			node.Kind, node.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.decoder.PeekKind() != '}' && r.decoder.PeekKind() != ']' {
			inner, err := r.value()
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, inner)
		}
		_, err = r.token()
	}
	return node, err
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// encode appends the JSON of a node.
func (p *parser) encode(out []byte, n *yaml.Node, depth int) ([]byte, error) {
	if p.nodes++; p.nodes > maxNodes {
		return nil, p.fail(n.Line, fmt.Sprintf("more than %d values", maxNodes), "make the document smaller")
	}
	if depth > maxDepth {
		return nil, p.fail(n.Line, fmt.Sprintf("nested deeper than %d", maxDepth), "make the document flatter")
	}
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return nil, p.fail(n.Line, "anchors and aliases are not read", "write the value out")
	}
	switch n.Kind {
	case yaml.MappingNode:
		return p.mapping(out, n, depth)
	case yaml.SequenceNode:
		if n.ShortTag() != "!!seq" {
			return nil, p.fail(n.Line, "tags are not read", "leave the tag out")
		}
		out = append(out, '[')
		for i, item := range n.Content {
			if i > 0 {
				out = append(out, ',')
			}
			var err error
			if out, err = p.encode(out, item, depth+1); err != nil {
				return nil, err
			}
		}
		return append(out, ']'), nil
	case yaml.ScalarNode:
		return p.scalar(out, n)
	}
	return nil, p.fail(n.Line, "not a value", "correct the document")
}

func (p *parser) mapping(out []byte, n *yaml.Node, depth int) ([]byte, error) {
	if n.ShortTag() != "!!map" {
		return nil, p.fail(n.Line, "tags are not read", "leave the tag out")
	}
	seen := make(map[string]bool, len(n.Content)/2)
	out = append(out, '{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case key.Kind != yaml.ScalarNode || key.Anchor != "":
			return nil, p.fail(key.Line, "the name of a member is not a text", "write a plain name")
		case key.ShortTag() == "!!merge":
			return nil, p.fail(key.Line, "merges are not read", "write the members out")
		case key.ShortTag() != "!!str":
			return nil, p.fail(key.Line, fmt.Sprintf("the name %.40q is not a text", key.Value), "put it in quotes")
		case seen[key.Value]:
			return nil, p.fail(key.Line, fmt.Sprintf("the member %.40q is there twice", key.Value), "keep one of them")
		}
		seen[key.Value] = true
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = p.text(out, key); err != nil {
			return nil, err
		}
		out = append(out, ':')
		if out, err = p.encode(out, n.Content[i+1], depth+1); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func (p *parser) text(out []byte, n *yaml.Node) ([]byte, error) {
	quoted, err := jsontext.AppendQuote(out, n.Value)
	if err != nil {
		return nil, p.fail(n.Line, "the text is not valid UTF-8", "correct the text")
	}
	return quoted, nil
}

func (p *parser) scalar(out []byte, n *yaml.Node) ([]byte, error) {
	if n.Style&yaml.TaggedStyle != 0 {
		return nil, p.fail(n.Line, "tags are not read", "leave the tag out; put texts in quotes")
	}
	switch n.ShortTag() {
	case "!!str", "!!timestamp":
		return p.text(out, n)
	case "!!null":
		return append(out, "null"...), nil
	case "!!bool":
		return append(out, strings.ToLower(n.Value)...), nil
	case "!!int", "!!float":
		if !jsonNumber.MatchString(n.Value) {
			return nil, p.fail(n.Line, fmt.Sprintf("%.40q is not a number as JSON writes it", n.Value), "write it in decimal digits, or in quotes if it is a text")
		}
		if err := jsonvalue.Scan([]byte(n.Value), jsonvalue.DefaultLimits); err != nil {
			return nil, p.fail(n.Line, err.Error(), "put it in quotes if the schema takes a text")
		}
		return append(out, n.Value...), nil
	}
	return nil, p.fail(n.Line, "tags are not read", "leave the tag out")
}

// find returns the node that a JSON Pointer leads to, or the deepest one on the
// way there.
func find(n *yaml.Node, pointer string) *yaml.Node {
	for _, step := range jsonvalue.Steps(pointer) {
		next := (*yaml.Node)(nil)
		switch n.Kind {
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				if n.Content[i].Value == step {
					next = n.Content[i+1]
					if next.Kind != yaml.ScalarNode && n.Content[i].Line != next.Line {
						// The name says more than where its content begins.
						at := *next
						at.Line = n.Content[i].Line
						next = &at
					}
				}
			}
		case yaml.SequenceNode:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(n.Content) {
				next = n.Content[i]
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}
