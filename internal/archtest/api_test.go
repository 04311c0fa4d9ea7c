package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
)

// exposed returns the imported names that the exported API of a file mentions: in signatures, exported fields, exported
// methods of interfaces, constants and variables; not in bodies.
func exposed(f *ast.File) []string {
	var names []string
	note := func(node ast.Node) {
		if node == nil {
			return
		}
		ast.Inspect(node, func(n ast.Node) bool {
			if _, body := n.(*ast.BlockStmt); body {
				return false
			}
			if field, ok := n.(*ast.Field); ok && len(field.Names) > 0 && !anyExported(field.Names) && isStructField(f, field) {
				return false
			}
			if selector, ok := n.(*ast.SelectorExpr); ok {
				if base, ok := selector.X.(*ast.Ident); ok {
					names = append(names, base.Name)
				}
			}
			return true
		})
	}
	for _, declaration := range f.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() {
				note(d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					if s.Name.IsExported() {
						note(s)
					}
				case *ast.ValueSpec:
					if anyExported(s.Names) {
						note(s)
					}
				}
			}
		}
	}
	return names
}

// anyExported reports whether one of the names is exported.
func anyExported(names []*ast.Ident) bool {
	for _, name := range names {
		if name.IsExported() {
			return true
		}
	}
	return false
}

// isStructField reports whether the field belongs to a struct, and not to a parameter list or an interface.
func isStructField(f *ast.File, field *ast.Field) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			for _, candidate := range s.Fields.List {
				found = found || candidate == field
			}
		}
		return !found
	})
	return found
}

// leaks returns our internal packages and engines whose types the API of a file mentions.
func leaks(f *ast.File) []string {
	paths := map[string]string{}
	for _, spec := range f.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := strings.TrimSuffix(to[strings.LastIndex(to, "/")+1:], ".go")
		if spec.Name != nil {
			name = spec.Name.Name
		}
		paths[name] = to
	}
	var found []string
	for _, name := range exposed(f) {
		to := paths[name]
		if strings.HasPrefix(to, module+"/internal/") || matchAny([]string{nats, natsServer, watermill}, to, "") {
			found = append(found, to)
		}
	}
	return found
}

// TestHostAPIShowsNoEngine checks that the package that programs embed mentions no type of the streams, the router or
// our own inside.
func TestHostAPIShowsNoEngine(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		checked++
		for _, to := range leaks(f) {
			t.Errorf("%s: the API mentions %s", name, to)
		}
	}
	if checked == 0 {
		t.Skip("there is no package at the root yet")
	}
	req.Covers(t, "IK-8.1")
}

// TestLeaksAreFound shows that the check above can fail.
func TestLeaksAreFound(t *testing.T) {
	const head = "package mandate\nimport (\n\"context\"\n\"github.com/nats-io/nats.go\"\n\"example.org/mandate/internal/app\"\n)\n"
	for text, want := range map[string]int{
		"func Start(c *nats.Conn) error { return nil }":                   1,
		"type Engine = app.App":                                           1,
		"type Engine struct { App *app.App }":                             1,
		"type Engine struct { *app.App }":                                 1,
		"type Connector interface { Connect() *nats.Conn }":               1,
		"var Default *app.App":                                            1,
		"type Engine struct { app *app.App }":                             0,
		"func Start(ctx context.Context) error { return app.Start(ctx) }": 0,
		"func start(c *nats.Conn) {}":                                     0,
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", head+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := leaks(f); len(got) != want {
			t.Errorf("%s: %q, want %d", text, got, want)
		}
	}
}
