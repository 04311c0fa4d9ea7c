// Package registry folds a tenant's registry and compiles agents from it.
//
// A [View] never changes: applying an event gives a new one. Compiled agents
// are immutable and bound by digest to everything they are made of, so a run
// that is pinned to a digest always means the same agent.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package registry

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/schema"
)

// View is a tenant's registry at an epoch: the number of the last registry
// commit folded.
type View struct {
	Epoch        uint64
	agents       map[string]resource[events.Agent]
	policies     map[string]policyResource
	capabilities map[events.CapabilityRef]*Capability
	routes       map[string]resource[events.Routes]
	packages     map[string]resource[events.Package]
	revoked      map[string]string
	failed       map[string]Failure       // capabilities that were registered and do not compile here
	compiled     map[events.Digest]*Agent // every agent that ever compiled
	current      map[string]*Agent        // what names mean now
}

type resource[T any] struct {
	Definition T
	Version    int
	Digest     events.Digest
}

// policyResource is a registered policy. Where it does not compile in this
// build, compiled is nil and problems say why: nothing is allowed under it.
type policyResource struct {
	resource[events.Policy]
	compiled *policy.Policy
	problems []events.Diagnostic
}

// Capability is a registered capability with its schemas compiled.
type Capability struct {
	Ref        events.CapabilityRef
	Definition events.Capability
	Digest     events.Digest
	Input      *schema.Schema
	Output     *schema.Schema
}

// Agent is a compiled agent. It holds no client and no handle.
type Agent struct {
	Name         string
	Digest       events.Digest
	Definition   events.Agent
	Policy       events.Policy
	PolicyName   string
	PolicyDigest events.Digest
	Rules        *policy.Policy
	Routes       []string
	Input        *schema.Schema
	Output       *schema.Schema
	capabilities map[events.CapabilityRef]*Capability
}

// Capability returns the capability that the agent may use under ref.
func (a *Agent) Capability(ref events.CapabilityRef) (*Capability, bool) {
	c, ok := a.capabilities[ref]
	return c, ok
}

// Evolve returns the view after a registry commit. Resources that this build
// finds invalid are kept out: whoever applied them was refused before.
func (v View) Evolve(c *events.Commit) View {
	next := View{
		Epoch: c.Number, agents: maps.Clone(v.agents), policies: maps.Clone(v.policies),
		capabilities: maps.Clone(v.capabilities), routes: maps.Clone(v.routes), packages: maps.Clone(v.packages),
		revoked: maps.Clone(v.revoked), failed: maps.Clone(v.failed), compiled: maps.Clone(v.compiled), current: map[string]*Agent{},
	}
	next.initialize()
	for i := range c.Events {
		next.apply(c.Events[i].Data)
	}
	next.retry()
	next.compileAll()
	return next
}

func (v *View) initialize() {
	if v.agents == nil {
		v.agents = map[string]resource[events.Agent]{}
		v.policies = map[string]policyResource{}
		v.capabilities = map[events.CapabilityRef]*Capability{}
		v.routes = map[string]resource[events.Routes]{}
		v.packages = map[string]resource[events.Package]{}
		v.revoked = map[string]string{}
		v.failed = map[string]Failure{}
		v.compiled = map[events.Digest]*Agent{}
	}
}

func (v *View) apply(p events.Payload) {
	switch e := p.(type) {
	case *events.AgentApplied:
		put(v.agents, &e.Applied)
	case *events.PolicyApplied:
		v.putPolicy(&e.Applied)
	case *events.RoutesApplied:
		put(v.routes, &e.Applied)
	case *events.PackageApplied:
		put(v.packages, &e.Applied)
	case *events.CapabilityRegistered:
		v.putCapability(e.Name, e.Definition, 1)
	case *events.CapabilityRevoked:
		v.revoked[e.Name] = e.Reason
	}
}

func put[T any](into map[string]resource[T], a *events.Applied) {
	var definition T
	if json.Unmarshal(a.Definition, &definition) == nil {
		into[a.Name] = resource[T]{definition, a.Version, a.Digest}
	}
}

// putPolicy compiles a policy once, when it is applied.
func (v *View) putPolicy(a *events.Applied) {
	definitions := map[string]resource[events.Policy]{}
	put(definitions, a)
	r := policyResource{resource: definitions[a.Name]}
	if len(definitions) == 0 {
		r.problems = []events.Diagnostic{diagnostic(events.CodeResourceInvalid, "spec", "the definition cannot be read", "apply it again with this version")}
	} else {
		r.compiled, r.problems = policy.Compile(a.Name, r.Definition, r.Digest)
	}
	v.policies[a.Name] = r
}

// Policy returns the policy that name means now, nil if there is none that
// compiles. A nil policy refuses everything.
func (v View) Policy(name string) *policy.Policy { return v.policies[name].compiled }

// Agent returns the agent that name means now, if it compiles.
func (v View) Agent(name string) (*Agent, bool) {
	a, ok := v.current[name]
	return a, ok
}

// Compiled returns the agent with a digest, whatever name means now.
func (v View) Compiled(digest events.Digest) (*Agent, bool) {
	a, ok := v.compiled[digest]
	return a, ok
}

// Revoked reports whether a capability is withdrawn, and why.
func (v View) Revoked(name string) (reason string, revoked bool) {
	reason, revoked = v.revoked[name]
	return reason, revoked
}

// Definition returns the registered definition of a resource as canonical
// JSON, with its version and digest.
func (v View) Definition(kind events.Kind, name string) (definition events.JSON, version int, digest events.Digest, ok bool) {
	var value any
	switch kind {
	case events.KindAgent:
		r, found := v.agents[name]
		value, version, digest, ok = r.Definition, r.Version, r.Digest, found
	case events.KindPolicy:
		r, found := v.policies[name]
		value, version, digest, ok = r.Definition, r.Version, r.Digest, found
	case events.KindRoutes:
		r, found := v.routes[name]
		value, version, digest, ok = r.Definition, r.Version, r.Digest, found
	case events.KindPackage:
		r, found := v.packages[name]
		value, version, digest, ok = r.Definition, r.Version, r.Digest, found
	case events.KindCapability:
		for ref, c := range v.capabilities {
			if ref.Name == name && ref.Version > version {
				value, version, digest, ok = c.Definition, ref.Version, c.Digest, true
			}
		}
		if f, failed := v.failed[name]; failed && !ok {
			return f.Definition, 0, DigestOf(kind, name, f.Definition), true
		}
	}
	if !ok {
		return nil, 0, "", false
	}
	data, err := canon.JSON(value)
	return data, version, digest, err == nil
}

// Names lists the registered names of a kind, sorted.
func (v View) Names(kind events.Kind) []string {
	switch kind {
	case events.KindAgent:
		return slices.Sorted(maps.Keys(v.agents))
	case events.KindPolicy:
		return slices.Sorted(maps.Keys(v.policies))
	case events.KindRoutes:
		return slices.Sorted(maps.Keys(v.routes))
	case events.KindPackage:
		return slices.Sorted(maps.Keys(v.packages))
	case events.KindCapability:
		names := map[string]bool{}
		for ref := range v.capabilities {
			names[ref.Name] = true
		}
		for name := range v.failed {
			names[name] = true
		}
		return slices.Sorted(maps.Keys(names))
	}
	return nil
}

// compileAll keeps every agent that compiles under its digest.
func (v *View) compileAll() {
	for name, r := range v.agents {
		if a, found := v.compile(name, r); len(found) == 0 {
			v.compiled[a.Digest], v.current[name] = a, a
		}
	}
}

func diagnostic(code events.Code, path, message, action string) events.Diagnostic {
	return events.Diagnostic{Code: code, Path: path, Message: message, Action: action}
}

// compile builds the agent from what is registered now.
func (v View) compile(name string, r resource[events.Agent]) (*Agent, []events.Diagnostic) {
	found := checkAgent(r.Definition)
	a := &Agent{Name: name, Definition: r.Definition, PolicyName: r.Definition.Policy, capabilities: map[events.CapabilityRef]*Capability{}}
	governing, ok := v.policies[r.Definition.Policy]
	switch {
	case r.Definition.Policy == events.TenantPolicy:
		found = append(found, diagnostic(events.CodePolicyMissing, "spec.policy", "the policy "+events.TenantPolicy+" is for the tenant, not for runs", "name another policy"))
	case !ok:
		found = append(found, diagnostic(events.CodePolicyMissing, "spec.policy", "the policy is not registered", "apply the policy first"))
	case governing.compiled == nil:
		found = append(found, diagnostic(events.CodePolicyMissing, "spec.policy", "the registered policy is not valid", "apply a valid policy"))
	}
	a.Policy, a.PolicyDigest, a.Rules = governing.Definition, governing.Digest, governing.compiled
	if r.Definition.Routes != "" {
		routes, ok := v.routes[r.Definition.Routes]
		if !ok {
			found = append(found, diagnostic(events.CodeResourceUnknown, "spec.routes", "the routes are not registered", "apply the routes first"))
		}
		a.Routes = routes.Definition.Ladder
	}
	parts := []string{name, string(r.Digest), string(governing.Digest)}
	for i, ref := range r.Definition.Capabilities {
		c, ok := v.capabilities[ref]
		if !ok {
			found = append(found, diagnostic(events.CodeCapabilityUnknown, fmt.Sprintf("spec.capabilities[%d]", i), "the capability is not registered in this version", "apply the capability first"))
			continue
		}
		if !slices.Contains(r.Definition.EffectBound, c.Definition.Effect) {
			found = append(found, diagnostic(events.CodeEffectOutsideBound, fmt.Sprintf("spec.capabilities[%d]", i), "the capability's effect is outside the agent's effect bound", "add the effect to effect_bound or drop the capability"))
		}
		a.capabilities[ref] = c
		parts = append(parts, ref.Name, strconv.Itoa(ref.Version), string(c.Digest))
	}
	found = append(found, factProblems(a)...)
	var err error
	if a.Input, err = schema.Compile(r.Definition.Input); err != nil {
		found = append(found, diagnostic(events.CodeResourceInvalid, "spec.input", err.Error(), "write a JSON Schema"))
	}
	if a.Output, err = schema.Compile(r.Definition.Output); err != nil {
		found = append(found, diagnostic(events.CodeResourceInvalid, "spec.output", err.Error(), "write a JSON Schema"))
	}
	a.Digest = canon.Parts("agent", parts...)
	return a, found
}

// Check reports everything wrong with a resource that is about to be applied
// to the view.
func (v View) Check(kind events.Kind, name string, definition events.JSON) []events.Diagnostic {
	if !events.ValidToken(dotless(name)) {
		return []events.Diagnostic{diagnostic(events.CodeResourceInvalid, "metadata.name", "the name is empty, too long or has other characters than letters, digits, dot, hyphen and underscore", "choose another name")}
	}
	switch kind {
	case events.KindAgent:
		var a events.Agent
		if found := strict(definition, &a); found != nil {
			return found
		}
		_, found := v.compile(name, resource[events.Agent]{Definition: a})
		return found
	case events.KindPolicy:
		var p events.Policy
		if found := strict(definition, &p); found != nil {
			return found
		}
		_, found := policy.Compile(name, p, "")
		return found
	case events.KindCapability:
		var c events.Capability
		if found := strict(definition, &c); found != nil {
			return found
		}
		_, found := compileCapability(name, c)
		return found
	case events.KindRoutes:
		var r events.Routes
		return strict(definition, &r)
	case events.KindPackage:
		var p events.Package
		return strict(definition, &p)
	}
	return []events.Diagnostic{diagnostic(events.CodeResourceInvalid, "kind", "the kind is not known", "use Agent, Capability, Policy, Package or Routes")}
}

func strict(definition events.JSON, into any) []events.Diagnostic {
	if err := json.Unmarshal(definition, into, json.RejectUnknownMembers(true)); err != nil {
		return []events.Diagnostic{diagnostic(events.CodeResourceInvalid, "spec", err.Error(), "correct the field")}
	}
	return nil
}

func dotless(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c == '.' {
			out[i] = '-'
		}
	}
	return string(out)
}

func checkAgent(a events.Agent) []events.Diagnostic {
	var found []events.Diagnostic
	if a.Version < 1 {
		found = append(found, diagnostic(events.CodeResourceInvalid, "spec.version", "the version must be at least 1", "set version: 1"))
	}
	if err := budget.Check(a.Limits); err != nil {
		found = append(found, diagnostic(events.CodeLimitMissing, "spec.limits", err.Error(), "give every limit; zero means none"))
	}
	if len(a.EffectBound) == 0 {
		found = append(found, diagnostic(events.CodeEffectBoundUnknown, "spec.effect_bound", "the effect bound is not declared", "list the effects: none, read, write"))
	}
	for _, e := range a.EffectBound {
		if !e.Valid() {
			found = append(found, diagnostic(events.CodeEffectBoundUnknown, "spec.effect_bound", "an effect is not none, read or write", "use these"))
		}
	}
	return found
}

// DigestOf returns the digest of a resource from its canonical definition.
func DigestOf(kind events.Kind, name string, definition []byte) events.Digest {
	return canon.Parts("resource", string(kind), name, string(definition))
}

// Normalize returns the canonical form of a definition with every member
// written out, so that two ways to write the same resource are one.
func Normalize(kind events.Kind, definition events.JSON) ([]byte, error) {
	var value any
	switch kind {
	case events.KindAgent:
		value = new(events.Agent)
	case events.KindPolicy:
		value = new(events.Policy)
	case events.KindCapability:
		value = new(events.Capability)
	case events.KindRoutes:
		value = new(events.Routes)
	case events.KindPackage:
		value = new(events.Package)
	default:
		return nil, fmt.Errorf("registry: kind %.40q", kind)
	}
	if err := json.Unmarshal(definition, value, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("registry: %w", err)
	}
	return canon.JSON(value)
}
