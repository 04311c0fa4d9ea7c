package plan

import (
	"fmt"
	"maps"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// Resolve returns the exact arguments of a node as canonical JSON, from the
// request's input and the parsed outputs of earlier nodes.
func Resolve(n *events.PlanNode, input any, outputs map[string]any) ([]byte, error) {
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(n.Arguments)) {
		a := n.Arguments[name]
		var value any
		ok := true
		switch {
		case a.Literal != nil:
			parsed, err := jsonvalue.Parse(a.Literal, jsonvalue.DefaultLimits)
			if err != nil {
				return nil, fmt.Errorf("argument %s: %w", name, err)
			}
			value = parsed
		case a.Input != nil:
			value, ok = jsonvalue.At(input, *a.Input)
		case a.Output != nil:
			output, have := outputs[a.Output.Node]
			if !have {
				return nil, fmt.Errorf("argument %s: node %s has no output", name, a.Output.Node)
			}
			value, ok = jsonvalue.At(output, a.Output.Path)
		default:
			ok = false
		}
		if !ok {
			return nil, fmt.Errorf("argument %s: there is no such value", name)
		}
		values[name] = value
	}
	return jsonvalue.Format(values)
}

// Sources says in words where every argument of every node comes from, by
// "node.argument".
func Sources(p *events.Plan, origin events.Origin) map[string]string {
	sources := map[string]string{}
	for i := range p.Nodes {
		for name, a := range p.Nodes[i].Arguments {
			source := "literal, " + string(origin)
			switch {
			case a.Input != nil:
				source = "request input " + *a.Input
			case a.Output != nil:
				source = "output of " + a.Output.Node + " " + a.Output.Path
			}
			sources[p.Nodes[i].ID+"."+name] = source
		}
	}
	return sources
}

// Find returns the node with an ID.
func Find(p *events.Plan, id string) (*events.PlanNode, bool) {
	for i := range p.Nodes {
		if p.Nodes[i].ID == id {
			return &p.Nodes[i], true
		}
	}
	return nil, false
}
