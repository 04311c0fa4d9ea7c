package events_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// constants returns the constants of a type that a file declares with a
// literal value, by name.
func constants(t *testing.T, file, typeName string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, declaration := range parsed.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			value, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			if name, ok := value.Type.(*ast.Ident); !ok || name.Name != typeName {
				continue
			}
			for i, name := range value.Names {
				if literal, ok := value.Values[i].(*ast.BasicLit); ok {
					found[name.Name] = literal.Value
				}
			}
		}
	}
	return found
}
