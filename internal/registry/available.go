package registry

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
)

// State says whether a registered resource can be used.
type State string

// The states.
const (
	StateAvailable State = "available"
	// StateRevoked: an operator withdrew it. Only an operator who applies it
	// again ends that.
	StateRevoked State = "revoked"
	// StateUnavailable: it does not compile here. It is tried again whenever
	// the registry changes.
	StateUnavailable State = "unavailable"
)

// Failure is a capability that was registered and does not compile in this
// build. It stays listed, and is tried again with every change of the registry.
type Failure struct {
	Definition  events.JSON
	Diagnostics []events.Diagnostic
	// Since is the epoch that it failed at first, Attempts how often it was
	// tried.
	Since    uint64
	Attempts int
}

// Availability says whether a resource can be used, and if not, why and what
// becomes of it.
type Availability struct {
	State  State
	Reason string
	// Retry says when it is tried again, and Attempts how often it was.
	Retry    string
	Attempts int
	// Since is the epoch since which it is so, 0 if that is not kept.
	Since uint64
}

// Available says whether a capability, an agent or a policy can be used now.
func (v View) Available(kind events.Kind, name string) Availability {
	switch kind {
	case events.KindCapability:
		return v.capability(name)
	case events.KindAgent:
		r, ok := v.agents[name]
		if _, compiled := v.current[name]; compiled || !ok {
			return Availability{State: StateAvailable}
		}
		_, found := v.compile(name, r)
		return unavailable(found)
	case events.KindPolicy:
		if r, ok := v.policies[name]; ok && r.compiled == nil {
			return unavailable(r.problems)
		}
	case events.KindPackage, events.KindRoutes:
	}
	return Availability{State: StateAvailable}
}

func (v View) capability(name string) Availability {
	if reason, revoked := v.revoked[name]; revoked {
		return Availability{State: StateRevoked, Reason: reason, Retry: "when it is applied again"}
	}
	if f, failed := v.failed[name]; failed {
		a := unavailable(f.Diagnostics)
		a.Attempts, a.Since = f.Attempts, f.Since
		return a
	}
	return Availability{State: StateAvailable}
}

func unavailable(found []events.Diagnostic) Availability {
	a := Availability{State: StateUnavailable, Retry: "with the next change of the registry"}
	if len(found) > 0 {
		a.Reason = found[0].String()
	}
	return a
}

// putCapability registers a capability, or keeps it as one that failed. What
// is registered in another version stays as it is.
func (v *View) putCapability(name string, definition events.JSON, attempts int) {
	var d events.Capability
	var found []events.Diagnostic
	var c *Capability
	if err := json.Unmarshal(definition, &d); err != nil {
		found = []events.Diagnostic{diagnostic(events.CodeResourceInvalid, "spec", err.Error(), "apply it again with this version")}
	} else {
		c, found = compileCapability(name, d)
	}
	if len(found) == 0 {
		v.capabilities[c.Ref] = c
		delete(v.failed, name)
		if attempts == 1 {
			delete(v.revoked, name)
		}
		return
	}
	since := v.Epoch
	if f, again := v.failed[name]; again && attempts > 1 {
		since = f.Since
	}
	v.failed[name] = Failure{Definition: definition, Diagnostics: found, Since: since, Attempts: attempts}
}

// retry tries every capability again that did not compile.
func (v *View) retry() {
	for _, name := range slices.Sorted(maps.Keys(v.failed)) {
		if f := v.failed[name]; f.Since != v.Epoch {
			v.putCapability(name, f.Definition, f.Attempts+1)
		}
	}
}
