package plan

import (
	"fmt"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/evidence"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/schema"
)

// Contract checks a plan whose nodes are sound against the specification as a
// whole: that what is wanted can come out of it (C3-RUN-002.y2 to y5,
// C3-RUN-003.x).
func Contract(spec *events.OutcomeSpec, p *events.Plan, against Against) []events.Diagnostic {
	k := contract{plan: p, against: against, nodes: map[string]*events.PlanNode{}, after: predecessors(p, against), before: map[string]map[string]bool{}}
	for i := range p.Nodes {
		k.nodes[p.Nodes[i].ID] = &p.Nodes[i]
	}
	for i, d := range spec.Deliverables {
		if made, ok := k.capability(d.Result); ok && d.Type != "" && d.Type != made.Definition.ResultType {
			k.add(fmt.Sprintf("outcome.deliverables[%d].type", i), "the node produces "+made.Definition.ResultType, "name a node that produces the type")
		}
	}
	for i := range spec.Requirements {
		k.requirement(fmt.Sprintf("outcome.requirements[%d]", i), &spec.Requirements[i])
	}
	return k.found
}

type contract struct {
	plan    *events.Plan
	against Against
	nodes   map[string]*events.PlanNode
	after   map[string][]string
	before  map[string]map[string]bool // what certainly ends before a node, once asked
	found   []events.Diagnostic
}

func (k *contract) add(path, message, action string) {
	k.found = append(k.found, events.Diagnostic{Code: events.CodePlanCoverage, Path: path, Message: message, Action: action})
}

func (k *contract) capability(node string) (*registry.Capability, bool) {
	n, ok := k.nodes[node]
	if !ok {
		return nil, false
	}
	return k.against.Agent.Capability(n.Capability)
}

// requirement checks that a required condition can be met, and that what it is
// judged on is there before every node that waits for it.
func (k *contract) requirement(path string, r *events.Requirement) {
	for _, gated := range r.Before {
		for _, node := range Subjects(r.Predicate) {
			if !k.precedes(node, gated) {
				k.add(path+".before", node+" does not certainly end before "+gated, "add "+node+" to the after of "+gated)
			}
		}
	}
	if r.Importance != events.Must && len(r.Before) == 0 {
		return // what is only preferred may be out of reach
	}
	for _, node := range Subjects(r.Predicate) {
		if made, ok := k.capability(node); ok && !evidence.CanReach(made.Definition.Provider, r.Strength) {
			k.add(path+".strength", "no evidence that "+node+" produces is "+string(r.Strength), "ask for less, or use a capability that establishes more")
			return
		}
	}
	if why := k.unreachable(r.Predicate); why != "" {
		k.add(path+".predicate", why, "correct the condition, or add a node that can meet it")
	}
}

// precedes reports whether a node certainly ends before another starts.
func (k *contract) precedes(node, gated string) bool {
	seen, ok := k.before[gated]
	if !ok {
		seen = map[string]bool{}
		waiting := []string{gated}
		for len(waiting) > 0 {
			next := k.after[waiting[0]]
			waiting = waiting[1:]
			for _, after := range next {
				if !seen[after] {
					seen[after] = true
					waiting = append(waiting, after)
				}
			}
		}
		k.before[gated] = seen
	}
	return seen[node]
}

// unreachable says why nothing that the plan's nodes can return meets a
// predicate, or nothing if something might.
func (k *contract) unreachable(p events.Predicate) string {
	switch {
	case p.Field != nil:
		value, err := jsonvalue.Parse(p.Field.Value, jsonvalue.DefaultLimits)
		if err != nil {
			return "the value cannot be read"
		}
		return k.never(p.Field.Result, p.Field.Path, schema.Where(p.Field.Op, value))
	case p.Contains != nil:
		if p.Contains.Text.Literal == nil {
			if _, ok := jsonvalue.At(k.against.Input, p.Contains.Text.Input); !ok {
				return "the request's input has no " + p.Contains.Text.Input
			}
		}
		return k.never(p.Contains.Result, p.Contains.Path, schema.Text())
	case p.Newer != nil:
		for _, side := range []events.TimeRef{p.Newer.Left, p.Newer.Right} {
			if made, ok := k.capability(side.Result); ok && !evidence.CanTell(made.Definition.Provider, side.Time) {
				return "no evidence that " + side.Result + " produces has the time " + side.Time
			}
		}
	case p.Producer != nil:
		if n, ok := k.nodes[p.Producer.Result]; ok && n.Capability != p.Producer.Capability {
			return "another capability produces the result of " + n.ID
		}
	case p.Exists != nil:
		return k.never(p.Exists.Result, p.Exists.Path, schema.Anything())
	case p.Unit != nil:
		return k.never(p.Unit.Result, p.Unit.Path+"/unit", schema.Where("eq", p.Unit.Unit))
	}
	return ""
}

// never says why no value at a place in a node's output follows a schema.
func (k *contract) never(node, path string, wanted *schema.Schema) string {
	made, ok := k.capability(node)
	if !ok || !jsonvalue.ValidPointer(path) {
		return ""
	}
	if v := schema.Fits(made.Output.At(path), wanted); v.Status == schema.Impossible {
		return "no output of " + node + " can meet it at " + path
	}
	return ""
}

// Subjects lists the nodes that a predicate looks at.
func Subjects(p events.Predicate) []string {
	switch {
	case p.Field != nil:
		return []string{p.Field.Result}
	case p.Contains != nil:
		return []string{p.Contains.Result}
	case p.Newer != nil:
		return slices.Compact([]string{p.Newer.Left.Result, p.Newer.Right.Result})
	case p.Producer != nil:
		return []string{p.Producer.Result}
	case p.Exists != nil:
		return []string{p.Exists.Result}
	case p.Unit != nil:
		return []string{p.Unit.Result}
	}
	return nil
}
