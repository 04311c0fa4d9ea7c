package archtest

import "slices"

// module is this repository's module path.
const module = "example.org/mandate"

// A layer says what the packages that match may import; everything else is forbidden. A package is judged by the first
// layer it matches.
//
// Patterns: a final /... takes the package and all below it, * is one path element, SELF is the service of the
// importing package.
type layer struct {
	match    []string // patterns of package folders
	pure     bool     // no I/O, clock, randomness or goroutines: of the standard library only pureStd and std
	std      []string // further packages of the standard library for a pure layer
	own      []string // patterns of our packages
	ext      []string // patterns of other modules' packages
	testOnly bool     // imported by tests and by other test-only packages, and by nothing that ships
}

// pureStd is what a pure package may import from the standard library.
var pureStd = []string{
	"bytes", "cmp", "encoding/...", "errors", "fmt", "hash/fnv", "iter", "maps", "math", "math/big", "math/bits",
	"regexp", "slices", "sort", "strconv", "strings", "unicode/...",
	"crypto/hmac", "crypto/sha256", "crypto/subtle",
	"time", // for time.Time and time.Duration; forbidigo bans the clock
}

// eventsStd is what the published language needs beside that: sealing, and reading types once and remembering it (sync).
var eventsStd = []string{"io", "reflect", "sync", "crypto/aes", "crypto/cipher"}

// nowhere is what no package of this module imports.
var nowhere = []string{
	"C", "unsafe", "plugin", // one static binary, memory safe
	"log", "math/rand", // log/slog and math/rand/v2
	"encoding/gob",                    // not a stable format
	"github.com/pkg/errors",           // errors and fmt.Errorf with %w
	"github.com/google/uuid",          // identities are ULIDs
	"github.com/stretchr/testify/...", // testing and go-cmp
}

const (
	ulid       = "github.com/oklog/ulid/v2"
	msgpack    = "github.com/vmihailenco/msgpack/v5/..."
	jsonx      = "github.com/go-json-experiment/json/..."
	jsonSchema = "github.com/santhosh-tekuri/jsonschema/v6/..."
	cel        = "cel.dev/cel-go/..."
	nats       = "github.com/nats-io/nats.go/..."
	natsServer = "github.com/nats-io/nats-server/v2/..."
	nkeys      = "github.com/nats-io/nkeys"
	natsJWT    = "github.com/nats-io/jwt/v2"
	watermill  = "github.com/ThreeDotsLabs/watermill/..."
	mcp        = "github.com/modelcontextprotocol/go-sdk/..."
	huma       = "github.com/danielgtaylor/huma/v2/..."
	cobra      = "github.com/spf13/cobra/..."
	pflag      = "github.com/spf13/pflag"
	koanf      = "github.com/knadh/koanf/..."
	yaml       = "sigs.k8s.io/yaml/..."
	yamlNodes  = "go.yaml.in/yaml/v3"
	goldmark   = "github.com/yuin/goldmark/..."
	xHTML      = "golang.org/x/net/html/..."
	xSync      = "golang.org/x/sync/..."
	xSys       = "golang.org/x/sys/unix"
)

// testLibraries are what tests and test-only packages may use beside what their layer may.
var testLibraries = []string{
	"github.com/google/go-cmp/...", "go.uber.org/goleak", "pgregory.net/rapid", "github.com/rogpeppe/go-internal/...",
	"github.com/microcosm-cc/bluemonday", // the oracle for our own HTML
	xHTML, goldmark,                      // the oracles for our own HTML and Markdown
	nats, natsServer, mcp, jsonx, jsonSchema, yaml, msgpack, ulid, watermill, xSync,
}

// kernels are the pure packages that several cores share.
var kernels = []string{
	"internal/outcome/...", "internal/plan/...", "internal/capability/...", "internal/authority/...",
	"internal/policy/...", "internal/budget/...", "internal/evidence/...", "internal/provenance/...",
	"internal/decider/...", "internal/registry/...", "internal/jsonvalue", "internal/schema", "internal/wording",
}

// cores are the rules of the five services.
var cores = []string{
	"services/admission", "services/interpreter", "services/executor", "services/evaluator", "services/presenter",
}

// bounded is the core of the bounded profile. It is in the executor's internal folder, so the compiler keeps everyone
// else out; that it is listed as pure keeps it free of files, network, processes, environment and clock.
var bounded = []string{"services/executor/internal/bounded/..."}

// pureOwn is what pure packages may import of ours.
var pureOwn = slices.Concat([]string{"events/..."}, kernels, bounded)

// shellOwn is what the shells and adapters of services may import of ours beside their own service.
var shellOwn = slices.Concat(pureOwn, []string{"internal/journal", "internal/reactor/...", "internal/sealing", "internal/model", "internal/provider"})

// everything is all of ours except what only tests import; the composition root may have it.
var everything = []string{"events/...", "internal/...", "services/...", "projections/..."}

// layers is the table. The order matters only where two rows match one package.
var layers = []layer{
	// The published language.
	{match: []string{"events/eventstest"}, own: []string{"events/..."}, ext: testLibraries, testOnly: true},
	{match: []string{"events/..."}, pure: true, std: eventsStd, own: []string{"events/..."}, ext: []string{ulid, msgpack, jsonx}},

	// Pure kernels.
	{match: []string{"internal/policy/..."}, pure: true, own: pureOwn, ext: []string{jsonx, cel}},
	{match: []string{"internal/schema"}, pure: true, std: []string{"io"}, own: []string{"events/...", "internal/jsonvalue"}, ext: []string{jsonx, jsonSchema}},
	{match: []string{"internal/jsonvalue"}, pure: true, std: []string{"io"}, own: []string{"events/..."}, ext: []string{jsonx}},
	{match: kernels, pure: true, own: pureOwn, ext: []string{jsonx}},

	// Services: pure rules at the root, shells and adapters below.
	{match: cores, pure: true, own: pureOwn, ext: []string{jsonx}},
	// A host may push from goroutines of its own while another cancels: sync, and nothing that starts a goroutine.
	{match: bounded, pure: true, std: []string{"sync", "sync/atomic"}, own: bounded},
	// What Go programs, the command line and the capability see of it. It reads a clock and a context, which the core may not.
	{match: []string{"services/executor/bounded"}, own: bounded, ext: []string{jsonx}},
	{match: below(cores, "shell/..."), own: slices.Concat([]string{"services/SELF/..."}, shellOwn), ext: []string{jsonx, xSync}},
	{match: []string{"services/presenter/internal/..."}, own: slices.Concat([]string{"services/SELF/..."}, pureOwn), ext: []string{goldmark, jsonx}},
	{match: below(cores, "internal/..."), own: slices.Concat([]string{"services/SELF/..."}, shellOwn), ext: []string{jsonx}},

	// Documents as text for a surface.
	{match: []string{"internal/render/rendertest"}, own: []string{"events/...", "internal/req"}, ext: testLibraries, testOnly: true},
	{match: []string{"internal/render/..."}, pure: true, std: []string{"html"}, own: []string{"events/...", "internal/wording"}},

	// Views.
	{match: []string{"projections/*"}, pure: true, own: []string{"events/..."}},

	// Streams.
	{match: []string{"internal/journal"}, own: []string{"events/..."}},
	{match: []string{"internal/journal/memory"}, own: []string{"events/...", "internal/journal"}},
	{match: []string{"internal/journal/jetstream/..."}, own: []string{"events/...", "internal/journal", "internal/journal/jetstream/..."}, ext: []string{nats, xSync}},
	{match: []string{"internal/journal/journaltest"}, own: []string{"events/...", "internal/journal/...", "internal/testkit/..."}, ext: testLibraries, testOnly: true},
	{match: []string{"internal/sealing"}, own: []string{"events/...", "internal/journal"}},
	{match: []string{"internal/reactor/..."}, own: slices.Concat(pureOwn, []string{"internal/journal", "internal/sealing", "internal/reactor/..."}), ext: []string{watermill, ulid, xSync}},
	{match: []string{"internal/projector/..."}, own: []string{"events/...", "internal/journal", "internal/sealing", "internal/projector/...", "projections/*"}, ext: []string{jsonx, xSync}},

	// What people ask, and what is recorded of it.
	{match: []string{"internal/registries"}, own: slices.Concat(pureOwn, []string{"internal/journal"})},
	{match: []string{"internal/intake"}, own: slices.Concat(pureOwn, []string{"internal/journal", "internal/reactor", "internal/sealing"}), ext: []string{jsonx, ulid}},
	{match: []string{"internal/bundle"}, own: slices.Concat(pureOwn, []string{"internal/journal", "internal/sealing"}), ext: []string{jsonx}},
	{match: []string{"internal/bench"}, own: everything, ext: []string{nats, natsServer, ulid}},

	// What a capability or a model reaches the world through.
	{match: []string{"internal/provider/bounded"}, own: slices.Concat(pureOwn, []string{"internal/provider/builtin", "services/executor/bounded"})},
	{match: []string{"internal/provider/mcp"}, own: slices.Concat(pureOwn, []string{"internal/provider", "internal/provider/internal/..."}), ext: []string{mcp, jsonx}},
	{match: []string{"internal/provider/natsmicro"}, own: slices.Concat(pureOwn, []string{"internal/provider"}), ext: []string{nats, jsonx}},
	{match: []string{"internal/provider/providertest"}, own: slices.Concat(pureOwn, []string{"internal/provider/...", "internal/testkit/..."}), ext: testLibraries, testOnly: true},
	{match: []string{"internal/provider/internal/host"}, own: []string{"internal/capability"}, ext: []string{xSys}},
	{match: []string{"internal/provider/..."}, own: slices.Concat(pureOwn, []string{"internal/provider/..."}), ext: []string{jsonx}},
	{match: []string{"internal/model/modeltest"}, own: slices.Concat(pureOwn, []string{"internal/model/...", "internal/testkit/..."}), ext: testLibraries, testOnly: true},
	{match: []string{"internal/model/..."}, own: slices.Concat(pureOwn, []string{"internal/model/..."}), ext: []string{jsonx}},

	// What people and programs touch.
	{match: []string{"internal/api/..."}, own: slices.Concat(pureOwn, []string{"internal/api/...", "internal/journal", "internal/intake", "internal/bundle", "internal/projector/...", "internal/render/...", "projections/*"}), ext: []string{jsonx}},
	{match: []string{"internal/cli/..."}, own: []string{"events/...", "internal/...", "projections/*", "services/executor/bounded"}, ext: []string{cobra, pflag, yamlNodes, jsonx, ulid}},

	// Generated descriptions of the protocol; nothing that ships imports them.
	{match: []string{"internal/protocoldoc/..."}, own: []string{"events/...", "internal/protocoldoc"}, ext: []string{jsonx}},

	// Tests and what only they use.
	{match: []string{"internal/req/..."}, own: []string{"internal/req"}, testOnly: true},
	{match: []string{"internal/archtest"}, own: []string{"internal/req"}, testOnly: true},
	{match: []string{"internal/testkit/..."}, own: everything, ext: testLibraries, testOnly: true},
	{match: []string{"test/..."}, own: []string{"", "events/...", "internal/...", "services/...", "projections/...", "test/..."}, ext: testLibraries, testOnly: true},

	// Wiring: imported by the command, the command line and the root package only.
	{match: []string{"internal/app/..."}, own: everything, ext: []string{nats, natsServer, nkeys, natsJWT, watermill, koanf, yaml, jsonx, ulid, xSync}},
	{match: []string{"cmd/mandate"}, own: []string{"internal/app", "internal/cli/..."}, ext: []string{cobra, pflag}},
	{match: []string{""}, own: []string{"events/...", "internal/app"}, ext: []string{jsonx}},

	// Programs beside the product.
	{match: []string{"examples/..."}, own: []string{"", "events/..."}, ext: []string{mcp, jsonx}},
	{match: []string{"bench/..."}, own: slices.Concat([]string{"", "bench/..."}, everything), ext: []string{nats, natsServer, jsonx, ulid, xSync}},
}

// appImporters may import the composition root; to everything else it does not exist.
var appImporters = []string{"", "cmd/mandate", "internal/app/...", "internal/cli/...", "internal/bench", "test/...", "internal/testkit/..."}

// below appends a suffix to each pattern.
func below(patterns []string, suffix string) []string {
	out := make([]string, len(patterns))
	for i, pattern := range patterns {
		out[i] = pattern + "/" + suffix
	}
	return out
}
