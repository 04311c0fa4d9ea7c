package registry

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/provenance"
	"example.org/mandate/internal/schema"
)

// Bounds of a capability definition.
const (
	MaxTimeoutMillis = 60 * 60 * 1000
	MaxOutputBytes   = 64 << 20
)

// compileCapability checks a definition and compiles its schemas.
func compileCapability(name string, d events.Capability) (*Capability, []events.Diagnostic) {
	var found []events.Diagnostic
	add := func(code events.Code, path, message, action string) {
		found = append(found, diagnostic(code, path, message, action))
	}
	if d.Version < 1 || d.Description == "" || d.ResultType == "" {
		add(events.CodeResourceInvalid, "spec", "version, description and result_type are needed", "set them")
	}
	if !d.Effect.Valid() {
		add(events.CodeResourceInvalid, "spec.effect", "the effect is not none, read or write", "use one of these")
	}
	switch d.Confirmation {
	case events.ConfirmationNone:
		if d.Effect == events.EffectWrite {
			add(events.CodeWriteConfirmation, "spec.confirmation", "WRITE_CONFIRMATION_REQUIRED: a write needs a confirmation", "use explicit or required")
		}
	case events.ConfirmationExplicit, events.ConfirmationRequired:
	default:
		add(events.CodeResourceInvalid, "spec.confirmation", "the confirmation is not none, explicit or required", "use one of these")
	}
	if d.TimeoutMillis < 1 || d.TimeoutMillis > MaxTimeoutMillis {
		add(events.CodeResourceInvalid, "spec.timeout_millis", "the timeout is not between 1 ms and an hour", "set a timeout")
	}
	if d.OutputBytes < 1 || d.OutputBytes > MaxOutputBytes {
		add(events.CodeResourceInvalid, "spec.output_bytes", "the output limit is not between 1 byte and 64 MiB", "set a limit")
	}
	for argument, accepts := range d.AuthoritySources {
		if !slices.Contains(d.AuthorityArguments, argument) {
			add(events.CodeResourceInvalid, "spec.authority_sources."+argument, "it is not one of authority_arguments", "name it there")
		}
		for _, accept := range accepts {
			if !provenance.ValidAccept(accept) {
				add(events.CodeResourceInvalid, "spec.authority_sources."+argument, fmt.Sprintf("the source %.80q is not known", accept), "write model, output, or output:CAPABILITY")
			}
		}
	}
	bindings := 0
	for _, set := range []bool{d.Provider.Process != nil, d.Provider.MCP != nil, d.Provider.Builtin != nil} {
		if set {
			bindings++
		}
	}
	if bindings != 1 {
		add(events.CodeResourceInvalid, "spec.provider", "exactly one of process, mcp and builtin is needed", "say how the capability is reached")
	}
	c := &Capability{Ref: events.CapabilityRef{Name: name, Version: d.Version}, Definition: d}
	var err error
	if c.Input, err = schema.Compile(d.Input); err != nil {
		add(events.CodeResourceInvalid, "spec.input", err.Error(), "write a JSON Schema")
	}
	if c.Output, err = schema.Compile(d.Output); err != nil {
		add(events.CodeResourceInvalid, "spec.output", err.Error(), "write a JSON Schema")
	}
	if c.Input != nil {
		found = append(found, unknownArguments(d, c.Input)...)
	}
	definition, err := canon.JSON(d)
	if err != nil {
		add(events.CodeResourceInvalid, "spec", err.Error(), "correct the definition")
	}
	c.Digest = DigestOf(events.KindCapability, name, definition)
	return c, found
}

// placeholder is what a command or directory replaces by an argument.
var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.-]*)\}`)

// unknownArguments finds names of arguments that the input schema can never
// have. Otherwise a typing error in authority_arguments would take the
// authority from the argument that was meant, and one in a command would only
// show when an action is dispatched.
func unknownArguments(d events.Capability, input *schema.Schema) []events.Diagnostic {
	var found []events.Diagnostic
	check := func(path, name string) {
		if closed, listed := input.Closed(name); closed && !listed {
			found = append(found, diagnostic(events.CodeResourceInvalid, path, fmt.Sprintf("the input schema has no argument %.80q", name), "name a property of spec.input"))
		}
	}
	for i, name := range d.AuthorityArguments {
		check(fmt.Sprintf("spec.authority_arguments[%d]", i), name)
	}
	if d.Provider.Process == nil {
		return found
	}
	templates := func(path, text string) {
		for _, match := range placeholder.FindAllStringSubmatch(text, -1) {
			check(path, match[1])
		}
	}
	for i, element := range d.Provider.Process.Command {
		templates(fmt.Sprintf("spec.provider.process.command[%d]", i), element)
	}
	templates("spec.provider.process.directory", d.Provider.Process.Directory)
	return found
}

// factProblems checks who provides the facts that the agent's capabilities
// require (IK-9.7).
func factProblems(a *Agent) []events.Diagnostic {
	var found []events.Diagnostic
	providers := map[events.FactType][]events.CapabilityRef{}
	refs := slices.SortedFunc(maps.Keys(a.capabilities), func(x, y events.CapabilityRef) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Version, y.Version))
	})
	for _, ref := range refs {
		for _, fact := range a.capabilities[ref].Definition.Provides {
			providers[fact] = append(providers[fact], ref)
		}
	}
	for _, fact := range slices.SortedFunc(maps.Keys(providers), func(x, y events.FactType) int {
		return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Version, y.Version))
	}) {
		if len(providers[fact]) > 1 {
			found = append(found, diagnostic(events.CodeFactProviderAmbiguous, "spec.capabilities", "AMBIGUOUS_FACT_PROVIDER: the fact "+fact.Type+" has two providers", "keep one provider"))
		}
	}
	for _, ref := range refs {
		for _, fact := range a.capabilities[ref].Definition.Requires {
			if len(providers[fact]) == 0 {
				found = append(found, diagnostic(events.CodeFactProviderMissing, "spec.capabilities", "MISSING_FACT_PROVIDER: "+ref.Name+" requires the fact "+fact.Type+", which nothing provides", "add a provider"))
			}
		}
	}
	if cyclic(a, refs, providers) {
		found = append(found, diagnostic(events.CodeFactCycle, "spec.capabilities", "CAPABILITY_DEPENDENCY_CYCLE: capabilities require each other's facts in a cycle", "break the cycle"))
	}
	return found
}

// cyclic removes capabilities whose needs are met until none is left or
// nothing more can be removed.
func cyclic(a *Agent, refs []events.CapabilityRef, providers map[events.FactType][]events.CapabilityRef) bool {
	waiting := slices.Clone(refs)
	for len(waiting) > 0 {
		rest := slices.DeleteFunc(slices.Clone(waiting), func(ref events.CapabilityRef) bool {
			for _, fact := range a.capabilities[ref].Definition.Requires {
				for _, provider := range providers[fact] {
					if slices.Contains(waiting, provider) {
						return false
					}
				}
			}
			return true
		})
		if len(rest) == len(waiting) {
			return true
		}
		waiting = rest
	}
	return false
}
