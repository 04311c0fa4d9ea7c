package bounded_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
)

// entry is a model of a catalog.
type entry struct {
	provider, model, locality, tier, capabilities string
	context, input, output                        uint64
}

func local(provider, model string, input uint64) entry {
	return entry{provider: provider, model: model, locality: "local", tier: "basic", capabilities: `"text"`, context: 4096, input: input}
}

// catalog returns the known profile with other models, which it sorts, all of them allowed.
func catalog(tb testing.TB, entries []entry, pairs ...string) []byte {
	tb.Helper()
	entries = slices.SortedFunc(slices.Values(entries), func(a, b entry) int {
		return strings.Compare(a.provider+"\x00"+a.model, b.provider+"\x00"+b.model)
	})
	var models, providers, ids []string
	for _, e := range entries {
		models = append(models, fmt.Sprintf(`{"provider_id":%q,"model_id":%q,"locality":%q,"quality_tier":%q,"tokenizer_id":"fake.bytes-v1","max_context_tokens":%d,`+
			`"input_usd_microunits_per_million_tokens":%d,"output_usd_microunits_per_million_tokens":%d,"capabilities":[%s]}`,
			e.provider, e.model, e.locality, e.tier, e.context, e.input, e.output, e.capabilities))
		providers, ids = append(providers, fmt.Sprintf("%q", e.provider)), append(ids, fmt.Sprintf("%q", e.model))
	}
	unique := func(list []string) string {
		slices.Sort(list)
		return strings.Join(slices.Compact(list), ",")
	}
	profile := string(known(tb, "profile"))
	from, to := strings.Index(profile, `"models":[`), strings.Index(profile, `,"tools":`)
	data := profile[:from] + `"models":[` + strings.Join(models, ",") + "]" + profile[to:]
	for _, pair := range [][2]string{
		{`"allowed_provider_ids":["fake.local"]`, `"allowed_provider_ids":[` + unique(providers) + `]`},
		{`"allowed_model_ids":["fake-basic"]`, `"allowed_model_ids":[` + unique(ids) + `]`},
		{`"max_usd_microunits":0`, `"max_usd_microunits":10000000`},
	} {
		data = strings.Replace(data, pair[0], pair[1], 1)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if strings.Count(data, pairs[i]) != 1 {
			tb.Fatalf("%q stands there %d times", pairs[i], strings.Count(data, pairs[i]))
		}
		data = strings.Replace(data, pairs[i], pairs[i+1], 1)
	}
	return []byte(data)
}

// chosen runs and returns the model that was asked, or "" when none was eligible.
func chosen(t *testing.T, profile []byte) string {
	t.Helper()
	s := newScript(final("done"))
	_, trace := over(t, profile, s)
	if len(s.providers) == 0 {
		ended(t, trace, diagnostic.NoRoute())
		return ""
	}
	return s.providers[0].ProviderID + "/" + s.providers[0].ModelID
}

func TestRouteByCostThenIdentity(t *testing.T) {
	req.Covers(t, "BNAR-10.4", "BNAR-6.8")
	for name, test := range map[string]struct {
		entries []entry
		want    string
	}{
		"the cheapest":             {[]entry{local("a", "m", 3000), local("b", "m", 2000), local("c", "m", 2500)}, "b/m"},
		"the first provider":       {[]entry{local("b", "a", 1), local("a", "z", 1)}, "a/z"},
		"the first model":          {[]entry{local("a", "z", 1), local("a", "b", 1)}, "a/b"},
		"costs are rounded up":     {[]entry{local("b", "m", 1), local("a", "m", 900)}, "a/m"}, // both cost 1
		"output is priced too":     {[]entry{{"a", "m", "local", "basic", `"text"`, 4096, 0, 2_000_000}, local("b", "m", 1000)}, "b/m"},
		"a small context does not": {[]entry{{"a", "m", "local", "basic", `"text"`, 500, 0, 0}, local("b", "m", 1000)}, "b/m"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := chosen(t, catalog(t, test.entries)); got != test.want {
				t.Errorf("chose %q, want %q", got, test.want)
			}
		})
	}
}

// TestRouteIsOneFunctionOfTheCatalog gives the same things to models under every assignment of names, and compares with
// the cheapest found by looking at all of them.
func TestRouteIsOneFunctionOfTheCatalog(t *testing.T) {
	req.Covers(t, "BNAR-6.8", "BNAR-1.2", "BNAR-10.4")
	random := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n := 1 + random.IntN(6)
		entries := make([]entry, n)
		for i, p := range random.Perm(n) {
			entries[i] = local("p"+strconv.Itoa(p/2), "m"+strconv.Itoa(p%2), uint64(random.IntN(4))*1_000_000)
		}
		best := slices.MinFunc(entries, func(a, b entry) int {
			if a.input != b.input {
				return int(a.input) - int(b.input)
			}
			return strings.Compare(a.provider+"\x00"+a.model, b.provider+"\x00"+b.model)
		})
		if got := chosen(t, catalog(t, entries)); got != best.provider+"/"+best.model {
			t.Errorf("chose %s, want %+v of %+v", got, best, entries)
		}
	}
}

func TestRouteEligibility(t *testing.T) {
	base := entry{"a", "m", "local", "standard", `"code","text"`, 4096, 0, 0}
	with := func(change func(*entry)) entry {
		e := base
		change(&e)
		return e
	}
	policy := []string{`"minimum_quality_tier":"basic"`, `"minimum_quality_tier":"standard"`}
	for name, test := range map[string]struct {
		entry entry
		pairs []string
		want  string
	}{
		"eligible":              {base, nil, "a/m"},
		"provider not allowed":  {base, []string{`"allowed_provider_ids":["a"]`, `"allowed_provider_ids":[]`}, ""},
		"model not allowed":     {base, []string{`"allowed_model_ids":["m"]`, `"allowed_model_ids":[]`}, ""},
		"remote":                {with(func(e *entry) { e.locality = "remote" }), nil, ""},
		"remote and allowed":    {with(func(e *entry) { e.locality = "remote" }), []string{`"local_only"`, `"remote_allowed"`}, "a/m"},
		"tier too low":          {with(func(e *entry) { e.tier = "basic" }), nil, ""},
		"a higher tier":         {with(func(e *entry) { e.tier = "frontier" }), nil, "a/m"},
		"capability missing":    {with(func(e *entry) { e.capabilities = `"code"` }), nil, ""},
		"no capability at all":  {with(func(e *entry) { e.capabilities = `` }), nil, ""},
		"nothing is required":   {with(func(e *entry) { e.capabilities = `` }), []string{`"required_model_capabilities":["text"]`, `"required_model_capabilities":[]`}, "a/m"},
		"too expensive":         {with(func(e *entry) { e.input = 20_000_000_000 }), nil, ""},
		"just affordable":       {with(func(e *entry) { e.input = 1_000_000 }), []string{`"max_usd_microunits":10000000`, `"max_usd_microunits":915`}, "a/m"},
		"one too expensive":     {with(func(e *entry) { e.input = 1_000_000 }), []string{`"max_usd_microunits":10000000`, `"max_usd_microunits":914`}, ""},
		"context for one token": {with(func(e *entry) { e.context = 913 }), nil, "a/m"},
		"no room for a token":   {with(func(e *entry) { e.context = 912 }), nil, ""},
		"request too long":      {base, limit(t, "max_provider_request_bytes", 914), ""},
		"request just fits":     {base, limit(t, "max_provider_request_bytes", 915), "a/m"},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-5.3", "BNAR-10.4")
			if got := chosen(t, catalog(t, []entry{test.entry}, append(test.pairs, policy...)...)); got != test.want {
				t.Errorf("chose %q, want %q", got, test.want)
			}
		})
	}
}

// TestNoRouteAfterATool keeps the records of a run whose second turn has no model.
func TestNoRouteAfterATool(t *testing.T) {
	req.Covers(t, "BNAR-10.10", "BNAR-5.13")
	s := newScript(ask("alpha"), final("done"))
	// The second request is longer, so its reserved tokens no longer fit the context.
	profile := changed(t, `"max_context_tokens":4096`, `"max_context_tokens":1400`)
	run, trace := over(t, profile, s)
	ended(t, trace, diagnostic.NoRoute())
	if run.Status() != "policy_rejected" || len(s.providers) != 1 || len(s.tools) != 1 || trace.Usage.Turns != 1 {
		t.Errorf("%s after %s, %d provider attempts", run.Status(), kinds(trace), len(s.providers))
	}
}

// TestRoutingThatGoesRoundInCircles has a tokenizer under which a request for fewer tokens is longer.
func TestRoutingThatGoesRoundInCircles(t *testing.T) {
	req.Covers(t, "BNAR-10.11")
	stated := func(request []byte) (n uint64) {
		_, rest, _ := strings.Cut(string(request), `"max_output_tokens":`)
		if _, err := fmt.Sscan(rest, &n); err != nil {
			t.Error(err)
		}
		return n
	}
	for name, test := range map[string]struct {
		tokens func(request []byte) uint64
		rounds int
		want   bool
	}{
		"settles":          {func(r []byte) uint64 { return uint64(len(r)) }, 2, true},
		"two in a circle":  {func(r []byte) uint64 { return map[bool]uint64{true: 3000, false: 1000}[stated(r) > 2000] }, 8, true},
		"always more":      {func(r []byte) uint64 { return 4096 - stated(r) + 1 }, 8, false},
		"no room for it":   {func([]byte) uint64 { return 5000 }, 2, false},
		"exactly the room": {func([]byte) uint64 { return 4095 }, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(final("done"))
			rounds := 0
			s.tokens = func(_ string, request []byte) (uint64, bool) {
				rounds++
				return test.tokens(request), true
			}
			over(t, changed(t, limit(t, "max_builder_bytes", 67108864)...), s)
			if rounds > 8 || rounds < test.rounds || (len(s.providers) == 1) != test.want {
				t.Errorf("%d rounds, %d provider attempts", rounds, len(s.providers))
			}
			if test.want {
				request := s.providers[0].Request
				if test.tokens(request)+stated(request) > 4096 {
					t.Errorf("asked for %d tokens beside %d of the request", stated(request), test.tokens(request))
				}
			}
		})
	}
}
