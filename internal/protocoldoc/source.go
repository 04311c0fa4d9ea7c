package protocoldoc

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
)

// source is what the Go source says about types beside their shape.
type source struct {
	types  map[string]string            // comment by type name
	fields map[string]map[string]string // comment by type and field name
	values map[string][]string          // string constants by type name, in order
	codes  []section
}

// section is a run of codes under one comment.
type section struct {
	title string
	codes []code
}

type code struct {
	name, number, comment string
}

// readSource reads the package events in dir.
func readSource(dir string) (*source, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	s := &source{types: map[string]string{}, fields: map[string]map[string]string{}, values: map[string][]string{}}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for _, declaration := range f.Decls {
			group, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range group.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					s.addType(group, spec)
				case *ast.ValueSpec:
					s.addConstant(group, spec)
				}
			}
		}
	}
	if len(s.types) == 0 || len(s.codes) == 0 {
		return nil, fmt.Errorf("read %s: it holds no package of event types", dir)
	}
	return s, nil
}

func (s *source) addType(group *ast.GenDecl, spec *ast.TypeSpec) {
	name := spec.Name.Name
	s.types[name] = text(spec.Doc)
	if s.types[name] == "" {
		s.types[name] = text(group.Doc)
	}
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	s.fields[name] = map[string]string{}
	for _, field := range structure.Fields.List {
		comment := text(field.Doc)
		if comment == "" {
			comment = text(field.Comment)
		}
		for _, id := range field.Names {
			s.fields[name][id.Name] = comment
		}
	}
}

// addConstant notes a constant with a literal value.
func (s *source) addConstant(group *ast.GenDecl, spec *ast.ValueSpec) {
	typeName, ok := spec.Type.(*ast.Ident)
	if !ok || group.Tok != token.CONST {
		return
	}
	for i, name := range spec.Names {
		if i >= len(spec.Values) {
			return
		}
		literal, ok := spec.Values[i].(*ast.BasicLit)
		if !ok {
			continue
		}
		if typeName.Name == "Code" {
			s.addCode(spec, code{name.Name, literal.Value, text(spec.Comment)})
			continue
		}
		if value, err := strconv.Unquote(literal.Value); err == nil && value != "" {
			s.values[typeName.Name] = append(s.values[typeName.Name], value)
		}
	}
}

// addCode adds a code to the section that the comment above it begins.
func (s *source) addCode(spec *ast.ValueSpec, c code) {
	if title := text(spec.Doc); title != "" || len(s.codes) == 0 {
		s.codes = append(s.codes, section{title: strings.TrimSuffix(title, ".")})
	}
	last := &s.codes[len(s.codes)-1]
	last.codes = append(last.codes, c)
}

// text returns a comment as one line, without the brackets of links.
func text(comment *ast.CommentGroup) string {
	if comment == nil {
		return ""
	}
	line := strings.Join(strings.Fields(comment.Text()), " ")
	return strings.NewReplacer("[", "", "]", "").Replace(line)
}
