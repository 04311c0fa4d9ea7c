package authority_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/authority"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/req"
)

// full are limits with another number for each resource.
func full() events.Limits {
	l := events.Limits{CostUnit: "usd"}
	for i, r := range budget.Resources() {
		*r.Field(&l) = int64(100 + i)
	}
	return l
}

// revision is one whose every bound has another value.
func revision(usesModel bool) authority.Revision {
	return authority.Revision{
		Ceiling: full(), Effects: []events.Effect{events.EffectRead}, Nodes: 3, Requirements: 4, Routes: 2, TimeoutMillis: 700, OutputBytes: 900,
		Policy: events.Policy{LeaseSeconds: 5, ApprovalSeconds: 6, Operations: []string{"a", "b", "c", "d", "e", "f", "g"}}, UsesModel: usesModel,
	}
}

// The one table has an entry for every limit that there is, with its value,
// and what it calls enforced names the code that enforces it.
func TestEveryBoundHasAnEntry(t *testing.T) {
	req.Covers(t, "OD-3.6.13", "OD-1.15", "OD-3.2.3", "OD-3.2.6")
	r := revision(false)
	for _, usesModel := range []bool{false, true} {
		bounds := authority.Bounds(revision(usesModel))
		byName := map[string]events.Bound{}
		for _, b := range bounds {
			byName[b.Name] = b
			if (b.Status == events.BoundEnforced) != (b.Consumer != "") || b.Reason == "" {
				t.Errorf("bound %+v", b)
			}
			if !slices.Contains([]events.BoundStatus{events.BoundEnforced, events.BoundAdvisory, events.BoundUnavailable, events.BoundNotApplicable}, b.Status) {
				t.Errorf("status of %+v", b)
			}
		}
		for _, resource := range budget.Resources() {
			if b, ok := byName[resource.Name]; !ok || b.Value != *resource.Field(&r.Ceiling) {
				t.Errorf("%s of %d: %+v", resource.Name, *resource.Field(&r.Ceiling), b)
			}
		}
		for name, want := range map[string]int64{
			"lease_millis": 5000, "approval_millis": 6000, "operations": 7, "effects": 1, "plan_nodes": 3, "requirements": 4, "routes": 2,
			"timeout_millis": 700, "output_bytes": 900, "write_concurrency": 1, "delegation": 0, "action_attempts": 3,
		} {
			if byName[name].Value != want {
				t.Errorf("%s: %+v", name, byName[name])
			}
		}
		if len(bounds) != len(authority.Names()) || len(byName) != len(bounds) || !slices.IsSorted(authority.Names()) {
			t.Errorf("%d bounds for %d names", len(bounds), len(authority.Names()))
		}
	}
}

// Every member of a document that limits something is the source of a bound: a
// new one has none until it is entered.
func TestEveryLimitOfADocumentIsABound(t *testing.T) {
	req.Covers(t, "OD-3.6.13", "C3-RUN-004.a")
	entered := map[string]bool{}
	for _, source := range authority.Sources() {
		entered[source] = true
	}
	members := 0
	for document, of := range map[string]reflect.Type{
		"limits": reflect.TypeFor[events.Limits](), "capability": reflect.TypeFor[events.Capability](),
		"policy": reflect.TypeFor[events.Policy](), "agent": reflect.TypeFor[events.Agent](),
	} {
		for field := range of.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if field.Type.Kind() != reflect.Int64 {
				continue // a version is an int, and limits nothing
			}
			if members++; !entered[document+"."+name] {
				t.Errorf("%s.%s limits something and no bound comes from it", document, name)
			}
		}
	}
	if members < 15 {
		t.Fatalf("only %d members were looked at", members)
	}
}

// The code that is said to keep a bound is there.
func TestConsumersExist(t *testing.T) {
	req.Covers(t, "OD-3.2.3", "OD-3.6.13", "OD-3.6.12a", "OD-3.6.12c", "OD-3.6.12f")
	declared := map[string]map[string]bool{}
	for _, name := range authority.Names() {
		for _, c := range authority.Consumers(name) {
			if declared[c.Package] == nil {
				declared[c.Package] = functions(t, c.Package)
			}
			if c.Name == "" || !declared[c.Package][c.Function] {
				t.Errorf("%s: %s is not in %s", name, c.Function, c.Package)
			}
		}
	}
	for name, want := range map[string]string{
		"effects": "services/executor", "delegation": "services/admission", "requirements": "services/evaluator", "output_bytes": "internal/provider",
	} {
		if !slices.ContainsFunc(authority.Consumers(name), func(c authority.Consumer) bool { return c.Package == want }) {
			t.Errorf("%s is not kept in %s", name, want)
		}
	}
	if authority.Consumers("ghost") != nil {
		t.Error("what is no bound is kept")
	}
}

// functions lists the functions and methods that a package declares.
func functions(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok {
				names[f.Name.Name] = true
			}
		}
	}
	return names
}

// A bound that a run needs and that nothing keeps is listed.
func TestUnkept(t *testing.T) {
	req.Covers(t, "OD-3.6.13", "OD-3.2.9", "OD-3.6.14")
	if names := authority.Unkept(authority.Bounds(revision(false))); len(names) > 0 {
		t.Errorf("without a model: %v", names)
	}
	want := []string{"context_bytes", "cost_micros", "input_tokens", "output_tokens", "routes"}
	if names := authority.Unkept(authority.Bounds(revision(true))); !slices.Equal(names, want) {
		t.Errorf("with a model: %v, want %v", names, want)
	}
}

func TestWithin(t *testing.T) {
	read, write := events.EffectRead, events.EffectWrite
	for _, test := range []struct {
		effects, bound []events.Effect
		want           bool
	}{
		{nil, nil, true},
		{[]events.Effect{read}, nil, false},
		{[]events.Effect{read}, []events.Effect{read, write}, true},
		{[]events.Effect{read, write}, []events.Effect{read}, false},
		{[]events.Effect{""}, []events.Effect{read}, false},
	} {
		if got := authority.Within(test.effects, test.bound); got != test.want {
			t.Errorf("%v within %v: %t", test.effects, test.bound, got)
		}
	}
}

// A name in a list is exactly that name; nobody without a name is anybody.
func TestAllows(t *testing.T) {
	for _, test := range []struct {
		list []string
		id   string
		want bool
	}{
		{nil, "ann", false},
		{[]string{"ann"}, "ann", true},
		{[]string{"ann"}, "anna", false},
		{[]string{"ann"}, "ANN", false},
		{[]string{"*"}, "ann", true},
		{[]string{"*"}, "", false},
		{[]string{""}, "", false},
		{[]string{"ann"}, "*", false},
	} {
		if got := authority.Allows(test.list, events.Principal{ID: test.id}); got != test.want {
			t.Errorf("%v allows %q: %t", test.list, test.id, got)
		}
	}
}

func ExampleUnkept() {
	bounds := authority.Bounds(authority.Revision{Ceiling: events.Limits{InputTokens: 1000}, UsesModel: true})
	fmt.Println(authority.Unkept(bounds))
	// Output: [context_bytes cost_micros input_tokens output_tokens routes]
}
