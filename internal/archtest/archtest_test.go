package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
)

// TestImports checks every Go file of the module against the table.
func TestImports(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skip(root, name)
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f, err := read(root, name)
		if err != nil {
			return err
		}
		checked++
		for _, wrong := range check(f) {
			t.Errorf("%s: %s", name, wrong)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked == 0 {
		t.Error("no Go file was found")
	}
}

// skip passes by what is not code of this module: hidden folders, test data and nested modules.
func skip(root, dir string) error {
	if dir == root {
		return nil
	}
	base := filepath.Base(dir)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// read parses the imports of one file. It reads through os so that go test sees when a cached result is stale.
func read(root, name string) (file, error) {
	source, err := os.ReadFile(name)
	if err != nil {
		return file{}, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), name, source, parser.ImportsOnly)
	if err != nil {
		return file{}, err
	}
	dir, err := filepath.Rel(root, filepath.Dir(name))
	if err != nil {
		return file{}, err
	}
	f := file{dir: filepath.ToSlash(dir), test: strings.HasSuffix(name, "_test.go")}
	if f.dir == "." {
		f.dir = ""
	}
	for _, spec := range parsed.Imports {
		to, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, to)
	}
	return f, nil
}

// TestDefinitionsAndPublicAPIHaveNoEngineTypes checks that the packages that definitions, prompts and state are made of
// know no infrastructure: the table gives them data formats only, and the code keeps to the table.
func TestDefinitionsAndPublicAPIHaveNoEngineTypes(t *testing.T) {
	engines := []string{nats, natsServer, watermill, mcp, huma, "net/...", "database/..."}
	data := []string{ulid, msgpack, jsonx, jsonSchema, cel}
	for _, l := range layers {
		if !l.pure {
			continue
		}
		for _, pattern := range l.ext {
			if !slices.Contains(data, pattern) {
				t.Errorf("pure layer %q lists %s, which is not a data format", l.match, pattern)
			}
		}
		for _, pattern := range l.own {
			if matchAny(engines, pattern, "") || !slices.Contains(pureOwn, pattern) && pattern != "internal/jsonvalue" {
				t.Errorf("pure layer %q lists %s, which is not pure", l.match, pattern)
			}
		}
	}
	for _, public := range []string{"", "events", "events/canon", "projections/runs", "services/executor", "internal/registry"} {
		for _, engine := range []string{
			"github.com/nats-io/nats.go", "github.com/nats-io/nats.go/jetstream", "github.com/nats-io/nats-server/v2/server",
			"github.com/ThreeDotsLabs/watermill/message", "github.com/modelcontextprotocol/go-sdk/mcp",
		} {
			if len(check(file{dir: public, imports: []string{engine}})) == 0 {
				t.Errorf("%q may import %s", public, engine)
			}
		}
	}
	if t.Run("in_the_code", TestImports) {
		req.Covers(t, "IK-2.1")
	}
}

// TestNestedModulesAreKnown keeps a nested go.mod from taking a folder out of the import rules unnoticed.
func TestNestedModulesAreKnown(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "go.mod" {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		dir = filepath.ToSlash(dir)
		known := dir == "." || strings.Contains(dir+"/", "/testdata/") ||
			matchAny([]string{"tools/...", "examples/...", "test/..."}, dir, "")
		if !known {
			t.Errorf("%s: only tools, examples and tests may be modules of their own", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCheckerRefuses feeds the checker imports that must not get through.
func TestCheckerRefuses(t *testing.T) {
	const own = module + "/"
	for name, tt := range map[string]struct {
		dir, to string
		test    bool
	}{
		"a_folder_no_layer_names":              {dir: "internal/surprise", to: "fmt"},
		"a_sixth_service":                      {dir: "services/oracle", to: "fmt"},
		"events_with_a_network":                {dir: "events", to: "net"},
		"events_with_randomness":               {dir: "events/canon", to: "crypto/rand"},
		"events_with_a_kernel":                 {dir: "events", to: own + "internal/budget"},
		"events_with_nats":                     {dir: "events", to: nats[:len(nats)-4]},
		"a_kernel_with_a_file":                 {dir: "internal/plan", to: "os"},
		"a_kernel_with_a_context":              {dir: "internal/budget", to: "context"},
		"a_kernel_with_the_journal":            {dir: "internal/authority", to: own + "internal/journal"},
		"a_kernel_with_a_service":              {dir: "internal/outcome", to: own + "services/executor"},
		"cel_outside_policy":                   {dir: "internal/evidence", to: "cel.dev/cel-go/cel"},
		"jsonschema_outside_schema":            {dir: "internal/plan", to: "github.com/santhosh-tekuri/jsonschema/v6"},
		"a_core_with_a_logger":                 {dir: "services/admission", to: "log/slog"},
		"a_core_with_goroutine_tools":          {dir: "services/executor", to: "sync"},
		"a_core_with_its_shell":                {dir: "services/admission", to: own + "services/admission/shell"},
		"a_core_with_another_core":             {dir: "services/admission", to: own + "services/executor"},
		"a_core_with_another_module":           {dir: "services/evaluator", to: "github.com/oklog/ulid/v2"},
		"a_shell_with_another_core":            {dir: "services/admission/shell", to: own + "services/executor"},
		"a_shell_with_another_shell":           {dir: "services/admission/shell", to: own + "services/executor/shell"},
		"a_test_of_a_service_with_another":     {dir: "services/admission", to: own + "services/executor", test: true},
		"a_shell_with_the_command_line":        {dir: "services/presenter/shell", to: own + "internal/cli"},
		"a_shell_with_nats":                    {dir: "services/presenter/shell", to: "github.com/nats-io/nats.go"},
		"a_shell_with_the_composition_root":    {dir: "services/presenter/shell", to: own + "internal/app"},
		"a_projection_with_the_journal":        {dir: "projections/runs", to: own + "internal/journal"},
		"a_projection_with_a_clock_library":    {dir: "projections/runs", to: "net/http"},
		"the_port_with_its_implementation":     {dir: "internal/journal", to: own + "internal/journal/jetstream"},
		"the_port_with_nats":                   {dir: "internal/journal", to: "github.com/nats-io/nats.go/jetstream"},
		"memory_with_nats":                     {dir: "internal/journal/memory", to: "github.com/nats-io/nats.go"},
		"jetstream_with_a_server":              {dir: "internal/journal/jetstream", to: "github.com/nats-io/nats-server/v2/server"},
		"watermill_outside_the_reactor":        {dir: "internal/projector", to: "github.com/ThreeDotsLabs/watermill/message"},
		"the_reactor_with_a_service":           {dir: "internal/reactor", to: own + "services/executor"},
		"a_provider_with_nats":                 {dir: "internal/provider/process", to: "github.com/nats-io/nats.go"},
		"the_api_with_a_service":               {dir: "internal/api", to: own + "services/executor"},
		"the_command_line_with_nats":           {dir: "internal/cli", to: "github.com/nats-io/nats.go"},
		"the_command_with_the_journal":         {dir: "cmd/mandate", to: own + "internal/journal"},
		"the_root_with_nats":                   {dir: "", to: "github.com/nats-io/nats.go"},
		"shipping_code_with_testkit":           {dir: "internal/app", to: own + "internal/testkit"},
		"shipping_code_with_testing":           {dir: "internal/app", to: "testing"},
		"shipping_code_with_the_test_helper":   {dir: "internal/cli", to: own + "internal/req"},
		"anything_with_unsafe":                 {dir: "internal/app", to: "unsafe"},
		"anything_with_cgo":                    {dir: "internal/journal/jetstream", to: "C"},
		"anything_with_the_old_random_numbers": {dir: "internal/testkit", to: "math/rand"},
		"a_test_with_testify":                  {dir: "internal/app", to: "github.com/stretchr/testify/require", test: true},
		"a_test_with_a_module_nobody_chose":    {dir: "internal/app", to: "github.com/some/thing", test: true},
		"an_example_with_the_inside":           {dir: "examples/release-check", to: own + "internal/app"},
		"a_package_that_does_not_exist":        {dir: "internal/app", to: own + "internal/surprise"},
		"a_name_that_only_looks_alike":         {dir: "internal/app", to: "example.org/mandatex/events"},
	} {
		t.Run(name, func(t *testing.T) {
			if wrong := check(file{dir: tt.dir, test: tt.test, imports: []string{tt.to}}); len(wrong) != 1 {
				t.Errorf("%q importing %s: %q, want one refusal", tt.dir, tt.to, wrong)
			}
		})
	}
}

// TestCheckerAllows keeps the table from refusing what the design is made of.
func TestCheckerAllows(t *testing.T) {
	const own = module + "/"
	for name, tt := range map[string]struct {
		dir, to string
		test    bool
	}{
		"events_below_themselves":      {dir: "events", to: own + "events/canon"},
		"events_with_msgpack":          {dir: "events", to: "github.com/vmihailenco/msgpack/v5/msgpcode"},
		"a_core_with_events":           {dir: "services/executor", to: own + "events"},
		"a_core_with_a_kernel":         {dir: "services/executor", to: own + "internal/plan"},
		"a_shell_with_its_core":        {dir: "services/executor/shell", to: own + "services/executor"},
		"a_shell_with_the_reactor":     {dir: "services/executor/shell", to: own + "internal/reactor"},
		"policy_with_cel":              {dir: "internal/policy", to: "cel.dev/cel-go/cel"},
		"jetstream_with_nats":          {dir: "internal/journal/jetstream", to: "github.com/nats-io/nats.go/jetstream"},
		"app_with_a_server":            {dir: "internal/app", to: "github.com/nats-io/nats-server/v2/server"},
		"a_test_with_a_server":         {dir: "internal/reactor", to: "github.com/nats-io/nats-server/v2/server", test: true},
		"a_test_with_the_test_helper":  {dir: "services/executor", to: own + "internal/req", test: true},
		"an_external_test_of_a_core":   {dir: "services/executor", to: own + "services/executor", test: true},
		"the_command_with_app":         {dir: "cmd/mandate", to: own + "internal/app"},
		"the_root_with_app":            {dir: "", to: own + "internal/app"},
		"an_end_to_end_test_with_root": {dir: "test/e2e", to: module, test: true},
	} {
		t.Run(name, func(t *testing.T) {
			if wrong := check(file{dir: tt.dir, test: tt.test, imports: []string{tt.to}}); len(wrong) != 0 {
				t.Errorf("%q importing %s: %q", tt.dir, tt.to, wrong)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, p string
		want       bool
	}{
		{"services/*", "services/admission", true},
		{"services/*", "services/admission/shell", false},
		{"services/*/...", "services/admission/shell", true},
		{"events/...", "events", true},
		{"events/...", "events/canon", true},
		{"events/...", "eventsx", false},
		{"testing/...", "testing", true},
		{"", "", true},
		{"", "events", false},
	} {
		if got := match(tt.pattern, tt.p); got != tt.want {
			t.Errorf("match(%q, %q) = %v, want %v", tt.pattern, tt.p, got, tt.want)
		}
	}
}
