package policy

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
)

// Bounds of an input. What is larger is refused, not cut.
const (
	MaxRoles         = 32
	MaxTextBytes     = 4096  // of any text
	MaxListLength    = 1024  // of any list or object
	MaxArgumentNodes = 10000 // values in the arguments, at any depth
	maxDepth         = 16
)

// Capability is what conditions see of a capability.
type Capability struct {
	Name         string
	Version      int
	Effect       events.Effect
	Confirmation events.Confirmation
}

// Run is what conditions see of a run that exists.
type Run struct {
	ID        string
	Submitter string
}

// Input is everything that a policy decides on. Which part conditions see
// depends on the operation: see [Variables].
type Input struct {
	Principal events.Principal
	Roles     []string
	Tenant    string
	Agent     string

	// Budget is the limits of the run: submit, execute.
	Budget events.Limits

	// Capability, Arguments and Sources are the use that is decided on.
	// Arguments are those that are known before the run, as jsonvalue.Parse
	// returns them, and Unknown names the others: a condition that looks at one
	// cannot be decided, so it refuses. Sources say for each argument where its
	// value comes from.
	Capability Capability
	Arguments  map[string]any
	Unknown    []string
	Sources    map[string]string
	// Effects, Origin and Ambiguous are of the whole plan: execute.
	Effects   []events.Effect
	Origin    events.Origin
	Ambiguous bool
	// Capabilities are those that are waited for: approve.
	Capabilities []string

	// Run is the run that is approved, operated on or read.
	Run Run
	// Action is what an operator does, and Kind and Name to which resource.
	Action string
	Kind   string
	Name   string
}

var errInput = errors.New("the input is larger than policies decide on")

// check refuses an input that is larger than conditions were estimated for.
func (in *Input) check() error {
	texts := []string{in.Principal.ID, string(in.Principal.Kind), in.Tenant, in.Agent, in.Capability.Name, in.Run.ID, in.Run.Submitter, in.Action, in.Kind, in.Name}
	for _, list := range [][]string{in.Roles, in.Capabilities} {
		if len(list) > MaxListLength {
			return fmt.Errorf("%w: %d entries", errInput, len(list))
		}
		texts = append(texts, list...)
	}
	if len(in.Roles) > MaxRoles {
		return fmt.Errorf("%w: %d roles", errInput, len(in.Roles))
	}
	if len(in.Sources)+len(in.Unknown) > MaxListLength {
		return fmt.Errorf("%w: %d arguments", errInput, len(in.Sources))
	}
	for name, source := range in.Sources {
		texts = append(texts, name, source)
	}
	for _, text := range texts {
		if len(text) > MaxTextBytes {
			return fmt.Errorf("%w: a text of %d bytes", errInput, len(text))
		}
	}
	return nil
}

// activation is the input as conditions see it: each variable is made when a
// condition looks at it. The environment of an operation says which there are.
type activation struct {
	in        *Input
	arguments any // once they were looked at
}

// Parent implements [cel.Activation].
func (*activation) Parent() cel.Activation { return nil }

// ResolveName implements [cel.Activation].
func (a *activation) ResolveName(name string) (any, bool) {
	in := a.in
	if resource, ok := strings.CutPrefix(name, "budget."); ok {
		return in.budget(resource)
	}
	switch name {
	case "principal.id":
		return in.Principal.ID, true
	case "principal.kind":
		return string(in.Principal.Kind), true
	case "principal.roles":
		return nonNil(in.Roles), true
	case "tenant":
		return in.Tenant, true
	case "agent":
		return in.Agent, true
	case "capability.name":
		return in.Capability.Name, true
	case "capability.version":
		return int64(in.Capability.Version), true
	case "capability.effect":
		return string(in.Capability.Effect), true
	case "capability.confirmation":
		return string(in.Capability.Confirmation), true
	case "arguments":
		if a.arguments == nil {
			a.arguments = in.arguments()
		}
		return a.arguments, true
	case "sources":
		return nonNilMap(in.Sources), true
	}
	return in.circumstance(name)
}

// circumstance is what conditions see beside who acts and what is used.
func (in *Input) circumstance(name string) (any, bool) {
	switch name {
	case "plan.effects":
		return effects(in.Effects), true
	case "plan.ambiguous":
		return in.Ambiguous, true
	case "plan.origin":
		return string(in.Origin), true
	case "run.id":
		return in.Run.ID, true
	case "run.submitter":
		return in.Run.Submitter, true
	case "approval.capabilities":
		return nonNil(in.Capabilities), true
	case "action":
		return in.Action, true
	case "resource.kind":
		return in.Kind, true
	case "resource.name":
		return in.Name, true
	}
	return nil, false
}

func (in *Input) budget(resource string) (any, bool) {
	for _, r := range budget.Resources() {
		if r.Name == resource {
			return *r.Field(&in.Budget), true
		}
	}
	return nil, false
}

// arguments returns the arguments as CEL values. Where they are too large, a
// condition that looks at them fails, and one that does not, does not.
func (in *Input) arguments() any {
	c := converter{left: MaxArgumentNodes}
	arguments, err := c.object(in.Arguments, 1)
	if err != nil {
		return types.WrapErr(err)
	}
	for _, name := range in.Unknown {
		arguments[name] = types.NewErr("the argument %.64s is an output of an earlier step, and not known before the run", name)
	}
	return arguments
}

type converter struct{ left int }

func (c *converter) convert(value any, depth int) (any, error) {
	if c.left--; c.left < 0 || depth > maxDepth {
		return nil, fmt.Errorf("%w: the arguments", errInput)
	}
	switch v := value.(type) {
	case nil:
		return types.NullValue, nil
	case stdjson.Number:
		if i, err := v.Int64(); err == nil {
			return i, nil
		}
		return v.Float64()
	case string:
		if len(v) > MaxTextBytes {
			return nil, fmt.Errorf("%w: an argument of %d bytes", errInput, len(v))
		}
		return v, nil
	case []any:
		return c.list(v, depth)
	case map[string]any:
		return c.object(v, depth)
	case bool, int64, float64:
		return v, nil
	default:
		return nil, fmt.Errorf("%w: an argument of type %T", errInput, value)
	}
}

func (c *converter) list(values []any, depth int) (any, error) {
	if len(values) > MaxListLength {
		return nil, fmt.Errorf("%w: an argument of %d entries", errInput, len(values))
	}
	out := make([]any, len(values))
	for i := range values {
		var err error
		if out[i], err = c.convert(values[i], depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *converter) object(values map[string]any, depth int) (map[string]any, error) {
	if len(values) > MaxListLength {
		return nil, fmt.Errorf("%w: an argument of %d members", errInput, len(values))
	}
	out := make(map[string]any, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(name) > MaxTextBytes {
			return nil, fmt.Errorf("%w: a name of %d bytes", errInput, len(name))
		}
		var err error
		if out[name], err = c.convert(values[name], depth+1); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func effects(list []events.Effect) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = string(e)
	}
	return out
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func nonNilMap(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}
