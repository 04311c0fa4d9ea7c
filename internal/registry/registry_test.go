package registry_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// Every part of a definition is needed, at the moment it is applied.
func TestCheckCapability(t *testing.T) {
	fact := []events.FactType{{Type: "order.id", Version: 1}}
	if found := check(t, events.KindCapability, "look", cases.Capability(events.EffectRead, events.ConfirmationNone)); len(found) > 0 {
		t.Fatal(found)
	}
	closed := events.JSON(`{"type":"object","properties":{"target":{"type":"string"}},"additionalProperties":false}`)
	for name, test := range map[string]struct {
		change func(*events.Capability)
		code   events.Code
		path   string
		covers []string
	}{
		"no version":          {func(c *events.Capability) { c.Version = 0 }, events.CodeResourceInvalid, "spec", []string{"IK-1.9", "IK-1.16"}},
		"no description":      {func(c *events.Capability) { c.Description = "" }, events.CodeResourceInvalid, "spec", []string{"IK-1.16"}},
		"no result type":      {func(c *events.Capability) { c.ResultType = "" }, events.CodeResourceInvalid, "spec", []string{"IK-1.16"}},
		"no input schema":     {func(c *events.Capability) { c.Input = nil }, events.CodeResourceInvalid, "spec.input", []string{"IK-1.10", "IK-1.16"}},
		"no output schema":    {func(c *events.Capability) { c.Output = events.JSON("null") }, events.CodeResourceInvalid, "spec.output", []string{"IK-1.10", "IK-1.16"}},
		"schema of nonsense":  {func(c *events.Capability) { c.Input = events.JSON(`{"type":"thing"}`) }, events.CodeResourceInvalid, "spec.input", []string{"IK-1.10"}},
		"schema from outside": {func(c *events.Capability) { c.Input = events.JSON(`{"$ref":"http://example.com/s"}`) }, events.CodeResourceInvalid, "spec.input", nil},
		"schema from a file":  {func(c *events.Capability) { c.Input = events.JSON(`{"$ref":"file:///etc/passwd"}`) }, events.CodeResourceInvalid, "spec.input", nil},
		"no effect":           {func(c *events.Capability) { c.Effect = "" }, events.CodeResourceInvalid, "spec.effect", []string{"IK-1.12", "IK-1.16"}},
		"another effect":      {func(c *events.Capability) { c.Effect = "destroy" }, events.CodeResourceInvalid, "spec.effect", []string{"IK-1.12"}},
		"intent as an effect": {func(c *events.Capability) { c.Effect = events.EffectIntent }, events.CodeResourceInvalid, "spec.effect", []string{"IK-1.12"}},
		"no confirmation":     {func(c *events.Capability) { c.Confirmation = "" }, events.CodeResourceInvalid, "spec.confirmation", []string{"IK-1.13", "IK-1.16"}},
		"write without confirmation": {
			func(c *events.Capability) { c.Effect = events.EffectWrite }, events.CodeWriteConfirmation, "spec.confirmation", []string{"IK-9.6", "IK-1.13"},
		},
		"no provider":   {func(c *events.Capability) { c.Provider = events.ProviderBinding{} }, events.CodeResourceInvalid, "spec.provider", []string{"IK-1.15", "IK-1.16"}},
		"two providers": {func(c *events.Capability) { c.Provider.MCP = &events.MCPBinding{} }, events.CodeResourceInvalid, "spec.provider", nil},
		"authority of nothing": {
			func(c *events.Capability) { c.Input, c.AuthorityArguments = closed, []string{"target", "targt"} }, events.CodeResourceInvalid, "spec.authority_arguments[1]", nil,
		},
		"command of nothing": {
			func(c *events.Capability) {
				c.Input, c.Provider = closed, events.ProviderBinding{Process: &events.ProcessBinding{Command: []string{"a", "-x={target}", "{ {targt}"}, Output: "text"}}
			}, events.CodeResourceInvalid, "spec.provider.process.command[2]", nil,
		},
		"directory of nothing": {
			func(c *events.Capability) {
				c.Input, c.Provider = closed, events.ProviderBinding{Process: &events.ProcessBinding{Command: []string{"a"}, Directory: "{targt}", Output: "text"}}
			}, events.CodeResourceInvalid, "spec.provider.process.directory", nil,
		},
		"no timeout": {func(c *events.Capability) { c.TimeoutMillis = 0 }, events.CodeResourceInvalid, "spec.timeout_millis", nil},
		"endless":    {func(c *events.Capability) { c.TimeoutMillis = registry.MaxTimeoutMillis + 1 }, events.CodeResourceInvalid, "spec.timeout_millis", nil},
		"no output":  {func(c *events.Capability) { c.OutputBytes = 0 }, events.CodeResourceInvalid, "spec.output_bytes", nil},
		"endless output": {
			func(c *events.Capability) { c.OutputBytes = registry.MaxOutputBytes + 1 }, events.CodeResourceInvalid, "spec.output_bytes", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			c := cases.Capability(events.EffectRead, events.ConfirmationNone)
			test.change(&c)
			found := check(t, events.KindCapability, "look", c)
			if len(found) != 1 || found[0].Code != test.code || found[0].Path != test.path || found[0].Action == "" {
				t.Fatalf("found %v, want one %s at %s", found, test.code, test.path)
			}
		})
	}
	t.Run("facts and guidance are kept", func(t *testing.T) {
		req.Covers(t, "IK-1.11", "IK-1.14")
		c := cases.Capability(events.EffectRead, events.ConfirmationNone)
		c.Requires, c.Provides, c.Invalidates, c.Guidance = fact, []events.FactType{{Type: "x", Version: 1}}, fact, events.Guidance{WhenToUse: "always"}
		v := cases.Evolve(registry.View{}, cases.Applied(events.KindCapability, "look", c))
		data, version, digest, ok := v.Definition(events.KindCapability, "look")
		if want := string(cases.JSON(c)); !ok || version != 1 || digest == "" || string(data) != want {
			t.Fatalf("%s, want %s", data, want)
		}
	})
}

// check checks one resource against an empty registry.
func check(tb testing.TB, kind events.Kind, name string, definition any) []events.Diagnostic {
	tb.Helper()
	return registry.View{}.Check(kind, name, cases.JSON(definition))
}

func TestCheckAgent(t *testing.T) {
	view := cases.NewWorld().View()
	if found := view.Check(events.KindAgent, "clerk", cases.JSON(cases.NewWorld().Agent)); len(found) > 0 {
		t.Fatal(found)
	}
	for name, test := range map[string]struct {
		change func(*events.Agent)
		code   events.Code
		path   string
		covers []string
	}{
		"no version":       {func(a *events.Agent) { a.Version = 0 }, events.CodeResourceInvalid, "spec.version", nil},
		"no policy":        {func(a *events.Agent) { a.Policy = "lax" }, events.CodePolicyMissing, "spec.policy", []string{"IK-1.1"}},
		"no routes":        {func(a *events.Agent) { a.Routes = "ghost" }, events.CodeResourceUnknown, "spec.routes", []string{"IK-1.1"}},
		"no such thing":    {func(a *events.Agent) { a.Capabilities[0].Name = "ghost" }, events.CodeCapabilityUnknown, "spec.capabilities[0]", []string{"IK-1.1"}},
		"other version":    {func(a *events.Agent) { a.Capabilities[0].Version = 2 }, events.CodeCapabilityUnknown, "spec.capabilities[0]", []string{"IK-1.9"}},
		"unknown effect":   {func(a *events.Agent) { a.EffectBound = append(a.EffectBound, "intent") }, events.CodeEffectBoundUnknown, "spec.effect_bound", []string{"C3-RUN-001.l"}},
		"no effect bound":  {func(a *events.Agent) { a.EffectBound, a.Capabilities = nil, nil }, events.CodeEffectBoundUnknown, "spec.effect_bound", []string{"C3-RUN-001.l", "C3-RUN-001.g"}},
		"no billing unit":  {func(a *events.Agent) { a.Limits.CostUnit = "" }, events.CodeLimitMissing, "spec.limits", nil},
		"negative limit":   {func(a *events.Agent) { a.Limits.Actions = -1 }, events.CodeLimitMissing, "spec.limits", nil},
		"no input schema":  {func(a *events.Agent) { a.Input = nil }, events.CodeResourceInvalid, "spec.input", nil},
		"no output schema": {func(a *events.Agent) { a.Output = events.JSON(`7`) }, events.CodeResourceInvalid, "spec.output", nil},
		"effect not in it": {func(a *events.Agent) {
			a.EffectBound = []events.Effect{events.EffectNone, events.EffectRead}
			a.Capabilities = a.Capabilities[:2]
		}, events.CodeEffectOutsideBound, "spec.capabilities[1]", nil},
		"a handle is no data": {func(a *events.Agent) { a.Input = events.JSON(`{"type":"connection"}`) }, events.CodeResourceInvalid, "spec.input", []string{"C3-RUN-001.u"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			a := cases.NewWorld().Agent
			test.change(&a)
			found := view.Check(events.KindAgent, "clerk", cases.JSON(a))
			if len(found) != 1 || found[0].Code != test.code || found[0].Path != test.path {
				t.Fatalf("found %v, want one %s at %s", found, test.code, test.path)
			}
			// What is refused here does not compile there either.
			w := cases.NewWorld()
			w.Agent = a
			if _, ok := w.View().Agent(cases.Agent); ok {
				t.Error("it compiles all the same")
			}
		})
	}
}

func TestCheckPolicyAndTheRest(t *testing.T) {
	w := cases.NewWorld()
	standing, hasty, short := w.Policy, w.Policy, w.Policy
	standing.StandingApproval = []events.Effect{events.EffectWrite}
	hasty.ApprovalSeconds, short.LeaseSeconds = 0, 0
	for name, test := range map[string]struct {
		kind       events.Kind
		name       string
		definition string
		code       events.Code
		path       string
	}{
		"a standing approval of writes": {events.KindPolicy, "p", string(cases.JSON(standing)), events.CodeWriteConfirmation, "spec.standing_approval"},
		"no time to approve":            {events.KindPolicy, "p", string(cases.JSON(hasty)), events.CodeResourceInvalid, "spec"},
		"no lease":                      {events.KindPolicy, "p", string(cases.JSON(short)), events.CodeResourceInvalid, "spec"},
		"unknown member":                {events.KindPolicy, "p", `{"version":1,"superuser":true}`, events.CodeResourceInvalid, "spec"},
		"a client in an agent":          {events.KindAgent, "a", `{"version":1,"client":{"url":"nats://x"}}`, events.CodeResourceInvalid, "spec"},
		"code in a capability":          {events.KindCapability, "c", `{"version":1,"code":"os.Exit(1)"}`, events.CodeResourceInvalid, "spec"},
		"duplicate member":              {events.KindRoutes, "r", `{"version":1,"version":2}`, events.CodeResourceInvalid, "spec"},
		"no package":                    {events.KindPackage, "k", `[]`, events.CodeResourceInvalid, "spec"},
		"no name":                       {events.KindRoutes, "", `{"version":1}`, events.CodeResourceInvalid, "metadata.name"},
		"a name with a space":           {events.KindRoutes, "a b", `{"version":1}`, events.CodeResourceInvalid, "metadata.name"},
		"another kind":                  {"Thing", "a", `{}`, events.CodeResourceInvalid, "kind"},
	} {
		t.Run(name, func(t *testing.T) {
			if found := (registry.View{}).Check(test.kind, test.name, events.JSON(test.definition)); len(found) != 1 || found[0].Code != test.code || found[0].Path != test.path {
				t.Fatalf("found %v, want one %s at %s", found, test.code, test.path)
			}
		})
	}
	if found := (registry.View{}).Check(events.KindRoutes, "ladder.v1", events.JSON(`{"version":1,"ladder":["small"]}`)); len(found) > 0 {
		t.Fatal(found)
	}
}

// One provider for every fact that is needed, and no circle among them.
func TestFacts(t *testing.T) {
	fact := func(names ...string) (facts []events.FactType) {
		for _, name := range names {
			facts = append(facts, events.FactType{Type: name, Version: 1})
		}
		return facts
	}
	give := func(w *cases.World, name string, requires, provides []events.FactType) {
		w.Change(name, func(c *events.Capability) { c.Requires, c.Provides = requires, provides })
	}
	for name, test := range map[string]struct {
		change func(*cases.World)
		want   []events.Code
	}{
		"a chain": {func(w *cases.World) {
			give(w, "look", nil, fact("a"))
			give(w, "scan", fact("a"), fact("b"))
			give(w, "think", fact("b", "a"), nil)
		}, nil},
		"ambiguous": {func(w *cases.World) { give(w, "look", nil, fact("a")); give(w, "scan", nil, fact("a")) }, []events.Code{events.CodeFactProviderAmbiguous}},
		"missing":   {func(w *cases.World) { give(w, "look", fact("a"), nil) }, []events.Code{events.CodeFactProviderMissing}},
		"another version": {func(w *cases.World) {
			give(w, "look", nil, fact("a"))
			give(w, "scan", []events.FactType{{Type: "a", Version: 2}}, nil)
		}, []events.Code{events.CodeFactProviderMissing}},
		"cycle of itself": {func(w *cases.World) { give(w, "look", fact("a"), fact("a")) }, []events.Code{events.CodeFactCycle}},
		"cycle of three": {func(w *cases.World) {
			give(w, "look", fact("c"), fact("a"))
			give(w, "scan", fact("a"), fact("b"))
			give(w, "think", fact("b"), fact("c"))
		}, []events.Code{events.CodeFactCycle}},
		"two ambiguous": {func(w *cases.World) { give(w, "look", nil, fact("b", "a")); give(w, "scan", nil, fact("a", "b")) }, []events.Code{events.CodeFactProviderAmbiguous, events.CodeFactProviderAmbiguous}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "IK-9.7", "IK-5.4.4")
			w := cases.NewWorld()
			test.change(w)
			view := w.View()
			first := view.Check(events.KindAgent, "clerk", cases.JSON(w.Agent))
			if got := cases.Codes(first); !slices.Equal(got, test.want) {
				t.Fatalf("%v, want %v", first, test.want)
			}
			if _, ok := view.Agent(cases.Agent); ok != (test.want == nil) {
				t.Fatalf("compiles: %t", ok)
			}
			for range 20 {
				if diff := cmp.Diff(first, view.Check(events.KindAgent, "clerk", cases.JSON(w.Agent))); diff != "" {
					t.Fatalf("another order: %s", diff)
				}
			}
		})
	}
}

// A compiled agent means the same for ever, whatever is applied later, and
// whatever becomes of the bytes that it was made of.
func TestAgentsAreImmutable(t *testing.T) {
	req.Covers(t, "IK-0.2", "OD-4.4.14")
	w := cases.NewWorld()
	applied := cases.AppliedAgent(w.Agent)
	before := w.View()
	before = cases.Evolve(before, applied)
	old, _ := before.Agent(cases.Agent)
	look := events.CapabilityRef{Name: "look", Version: 1}
	c, _ := old.Capability(look)
	want := []string{string(cases.JSON(old.Definition)), string(cases.JSON(old.Policy)), string(cases.JSON(c.Definition)), string(old.Digest)}
	for i := range applied.Definition {
		applied.Definition[i] = 'x'
	}
	changed, policy, agent := w.Capabilities["look"], w.Policy, w.Agent
	changed.OutputBytes++
	policy.Operations = nil
	agent.EffectBound = []events.Effect{events.EffectRead}
	known := definitionOf(before)
	for name, p := range map[string]events.Payload{
		"capability": cases.Applied(events.KindCapability, "look", changed), "policy": cases.Applied(events.KindPolicy, cases.Policy, policy),
		"agent": cases.Applied(events.KindAgent, cases.Agent, agent),
	} {
		t.Run(name, func(t *testing.T) {
			after := cases.Evolve(before, p)
			pinned, ok := after.Compiled(old.Digest)
			if !ok {
				t.Fatal("the agent that a run is pinned to is gone")
			}
			c, _ := pinned.Capability(look)
			got := []string{string(cases.JSON(pinned.Definition)), string(cases.JSON(pinned.Policy)), string(cases.JSON(c.Definition)), string(pinned.Digest)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatal(diff)
			}
			if now, ok := after.Agent(cases.Agent); ok && now.Digest == old.Digest {
				t.Fatal("the name still means the old agent")
			}
			if same, _ := before.Agent(cases.Agent); same != old || before.Epoch == after.Epoch || string(definitionOf(before)) != string(known) {
				t.Fatal("the view changed under a reader")
			}
		})
	}
}

func definitionOf(v registry.View) events.JSON {
	data, _, _, _ := v.Definition(events.KindCapability, "look")
	return data
}

func TestRevocation(t *testing.T) {
	req.Covers(t, "OD-4.4.15")
	w := cases.NewWorld()
	before := w.View()
	after := cases.Revoke(before, "look")
	if reason, revoked := after.Revoked("look"); !revoked || reason != "unsafe" {
		t.Fatalf("%q, %t", reason, revoked)
	}
	if _, revoked := before.Revoked("look"); revoked {
		t.Fatal("a revocation reached an older view")
	}
	if _, revoked := after.Revoked("scan"); revoked {
		t.Fatal("another capability is revoked")
	}
	if after.Epoch != before.Epoch+1 {
		t.Fatalf("epoch %d after %d", after.Epoch, before.Epoch)
	}
	again := cases.Evolve(after, cases.Applied(events.KindCapability, "look", w.Capabilities["look"]))
	if _, revoked := again.Revoked("look"); revoked {
		t.Fatal("it was applied again and is still revoked")
	}
	broken := w.Capabilities["look"]
	broken.Effect = "destroy"
	if _, revoked := cases.Evolve(after, cases.Applied(events.KindCapability, "look", broken)).Revoked("look"); !revoked {
		t.Fatal("a definition that is not valid lifted a revocation")
	}
}

// A resource that is not valid is kept out, also where it was recorded.
func TestInvalidResourcesAreKeptOut(t *testing.T) {
	w := cases.NewWorld()
	w.Change("look", func(c *events.Capability) { c.Effect = events.EffectWrite })
	if _, ok := w.View().Agent(cases.Agent); ok {
		t.Error("an agent with a write that nobody confirms compiles")
	}
	w = cases.NewWorld()
	w.Policy.StandingApproval = append(w.Policy.StandingApproval, events.EffectWrite)
	if _, ok := w.View().Agent(cases.Agent); ok {
		t.Error("an agent under a policy that approves writes compiles")
	}
	broken := cases.AppliedAgent(w.Agent)
	broken.Definition = events.JSON(`{`)
	if v := cases.Evolve(registry.View{}, broken); len(v.Names(events.KindAgent)) > 0 || v.Epoch != 1 {
		t.Errorf("epoch %d with %v", v.Epoch, v.Names(events.KindAgent))
	}
}

func TestNamesAndDefinitions(t *testing.T) {
	w := cases.NewWorld()
	w.Routes = &events.Routes{Version: 1, Ladder: []string{"small", "large"}}
	w.Agent.Routes = "ladder"
	view := w.View()
	second := w.Capabilities["look"]
	second.Version = 2
	view = cases.Evolve(view, cases.Applied(events.KindCapability, "look", second), cases.Applied(events.KindPackage, "kit", events.Package{Version: 1, Manifest: events.JSON(`{}`)}))
	if got, want := view.Names(events.KindCapability), []string{"look", "mail", "note", "publish", "scan", "think"}; !slices.Equal(got, want) {
		t.Errorf("capabilities %v", got)
	}
	for kind, name := range map[events.Kind]string{
		events.KindAgent: cases.Agent, events.KindPolicy: cases.Policy, events.KindRoutes: "ladder", events.KindPackage: "kit",
	} {
		data, version, digest, ok := view.Definition(kind, name)
		if !ok || version != 1 || digest != registry.DigestOf(kind, name, data) || !slices.Equal(view.Names(kind), []string{name}) {
			t.Errorf("%s: %s, version %d, %s", kind, data, version, digest)
		}
		if _, _, _, ok := view.Definition(kind, "ghost"); ok {
			t.Errorf("%s: there is a ghost", kind)
		}
	}
	if _, version, _, _ := view.Definition(events.KindCapability, "look"); version != 2 {
		t.Errorf("version %d of look", version)
	}
	agent, _ := view.Agent(cases.Agent)
	if _, ok := agent.Capability(events.CapabilityRef{Name: "look", Version: 2}); ok || !slices.Equal(agent.Routes, []string{"small", "large"}) {
		t.Errorf("the agent got a version that it does not name, or lost its routes %v", agent.Routes)
	}
	if view.Names("Thing") != nil {
		t.Error("another kind has names")
	}
}

// Two ways to write the same resource are one.
func TestNormalize(t *testing.T) {
	a, err := registry.Normalize(events.KindRoutes, events.JSON(`{"ladder":["x"],"version":1}`))
	b, err2 := registry.Normalize(events.KindRoutes, events.JSON(` { "version" : 1 , "ladder" : [ "x" ] } `))
	if err != nil || err2 != nil || string(a) != string(b) {
		t.Fatalf("%s and %s: %v, %v", a, b, err, err2)
	}
	for _, text := range []string{`{"version":1,"x":1}`, `{`, `[]`, `{"version":"1"}`} {
		if data, err := registry.Normalize(events.KindRoutes, events.JSON(text)); err == nil {
			t.Errorf("%s became %s", text, data)
		}
	}
	if _, err := registry.Normalize("Thing", events.JSON(`{}`)); err == nil {
		t.Error("another kind was normalized")
	}
	if registry.DigestOf(events.KindAgent, "a", a) == registry.DigestOf(events.KindPolicy, "a", a) || registry.DigestOf(events.KindAgent, "a", a) == registry.DigestOf(events.KindAgent, "b", a) {
		t.Error("kind and name do not count in the digest")
	}
}

func FuzzCheck(f *testing.F) {
	view := cases.NewWorld().View()
	kinds := []events.Kind{events.KindAgent, events.KindCapability, events.KindPolicy, events.KindPackage, events.KindRoutes}
	f.Add(0, cases.JSON(cases.NewWorld().Agent))
	f.Add(1, cases.JSON(cases.Capability(events.EffectRead, events.ConfirmationNone)))
	f.Add(2, cases.JSON(cases.NewWorld().Policy))
	f.Add(2, []byte(`{"version":1,"description":"d","approval_seconds":1,"lease_seconds":1,"four_eyes":true,"rules":[`+
		`{"id":"r","operation":"execute","when":"arguments.all(k, k != \"x\") || 1/0 > 2","decision":"clarify","reason":"why"}]}`))
	f.Fuzz(func(t *testing.T, kind int, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		k := kinds[((kind%len(kinds))+len(kinds))%len(kinds)]
		found := view.Check(k, "name", data)
		if len(found) > 0 {
			return
		}
		if _, err := registry.Normalize(k, data); err != nil {
			t.Fatalf("accepted, but cannot be written: %v", err)
		}
	})
}

func ExampleView_Agent() {
	view := cases.NewWorld().View()
	agent, ok := view.Agent(cases.Agent)
	fmt.Println(agent.Name, agent.PolicyName, ok)
	_, ok = cases.Revoke(view, "look").Agent(cases.Agent)
	fmt.Println(ok)
	// Output:
	// clerk careful true
	// true
}
