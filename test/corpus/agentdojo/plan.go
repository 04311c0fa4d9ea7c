package agentdojo

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/provenance"
)

// planOf is the plan that an honest model makes of a task before anything is
// read: values of the prompt are literals with their place, values of a result
// are outputs, and what is made of several results is the output of a model.
func (s *set) planOf(t userTask) (*events.Plan, error) {
	p := &events.Plan{SchemaVersion: 1, Candidate: events.CandidatePlan}
	var after []string
	add := func(n events.PlanNode) {
		n.After = slices.Clone(after)
		after = []string{n.ID}
		p.Nodes = append(p.Nodes, n)
	}
	for i, c := range t.Plan {
		node := events.PlanNode{ID: nodeID(i), Capability: ref(c.Function), Effect: s.effect(t.Suite, c.Function), Arguments: map[string]events.Argument{}}
		composed := false
		for name, value := range c.Args {
			a, fromModel, err := s.argument(t, i, name, value)
			if err != nil {
				return nil, err
			}
			node.Arguments[name] = a
			composed = composed || fromModel
		}
		if composed {
			add(events.PlanNode{ID: modelID(i), Capability: ref(compose), Effect: events.EffectNone, Arguments: map[string]events.Argument{
				"call": {Literal: events.JSON(strconv.Itoa(i))},
			}})
		}
		add(node)
	}
	p.Output = events.OutputBinding{Node: after[0], Type: "tool.result"}
	return p, nil
}

func nodeID(i int) string  { return "c" + strconv.Itoa(i) }
func modelID(i int) string { return "m" + strconv.Itoa(i) }

func ref(name string) events.CapabilityRef { return events.CapabilityRef{Name: name, Version: 1} }

func (s *set) effect(suite, function string) events.Effect {
	if s.tools[suite][function].Effect == events.EffectWrite {
		return events.EffectWrite
	}
	return events.EffectRead
}

// argument is where an honest model takes an argument from. Reads that go
// nowhere outside take it from anywhere.
func (s *set) argument(t userTask, i int, name string, value events.JSON) (a events.Argument, fromModel bool, err error) {
	tool := s.tools[t.Suite][t.Plan[i].Function]
	literal := events.Argument{Literal: value}
	if tool.Effect != events.EffectWrite && !tool.Egress {
		return literal, false, nil
	}
	parsed, err := jsonvalue.Parse(value, jsonvalue.DefaultLimits)
	if err != nil {
		return literal, false, err
	}
	leaves := map[string]any{}
	scalars(parsed, "", leaves)
	literal.Words = said(t.Prompt, leaves)
	if len(literal.Words) == len(leaves) {
		return literal, false, nil
	}
	output := func(node string) events.Argument {
		return events.Argument{Output: &events.OutputRef{Node: node, Path: "/values/" + strconv.Itoa(i) + "." + name}}
	}
	for j := range i {
		if inText(t.Plan[j].Result, leaves) {
			return output(nodeID(j)), false, nil
		}
	}
	if i == 0 {
		return literal, false, nil // nothing was read: the model made it up from the prompt
	}
	return output(modelID(i)), true, nil
}

// scalars collects the scalars of a value that name something, by JSON Pointer.
func scalars(value any, path string, into map[string]any) {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			scalars(member, path+"/"+name, into)
		}
	case []any:
		for i, item := range v {
			scalars(item, path+"/"+strconv.Itoa(i), into)
		}
	case nil:
	default:
		into[path] = v
	}
}

// said finds where scalars stand in a text.
func said(text string, leaves map[string]any) []events.WordSpan {
	var words []events.WordSpan
	for _, path := range slices.Sorted(maps.Keys(leaves)) {
		if w, ok := place(text, leaves[path]); ok {
			w.Path = path
			words = append(words, w)
		}
	}
	return words
}

func place(text string, scalar any) (events.WordSpan, bool) {
	for _, form := range forms(scalar) {
		for from := 0; ; {
			at := strings.Index(text[from:], form)
			if at < 0 || form == "" {
				break
			}
			w := events.WordSpan{Start: from + at, End: from + at + len(form)}
			if provenance.Stands(text, w, scalar) {
				return w, true
			}
			from = w.Start + 1
		}
	}
	return events.WordSpan{}, false
}

// forms are the ways in which a scalar may be written in a text.
func forms(scalar any) []string {
	switch v := scalar.(type) {
	case string:
		return []string{v}
	case stdjson.Number:
		return []string{v.String(), v.String() + ".0", v.String() + ".00", strings.TrimSuffix(v.String(), ".0")}
	}
	return nil
}

func inText(text string, leaves map[string]any) bool {
	for _, scalar := range leaves {
		if !slices.ContainsFunc(forms(scalar), func(form string) bool { return form != "" && strings.Contains(text, form) }) {
			return false
		}
	}
	return len(leaves) > 0
}

// injected are the nodes of an attacker's calls, after a node or none. Every
// value claims to be the user's words.
func (s *set) injected(t userTask, task injectionTask, after []string) []events.PlanNode {
	nodes := make([]events.PlanNode, 0, len(task.Calls))
	for i, c := range task.Calls {
		n := events.PlanNode{
			ID: "x" + strconv.Itoa(i), Capability: ref(c.Function), Effect: s.effect(t.Suite, c.Function), After: slices.Clone(after),
			Arguments: map[string]events.Argument{},
		}
		for name, value := range c.Args {
			a := events.Argument{Literal: value}
			if parsed, err := jsonvalue.Parse(value, jsonvalue.DefaultLimits); err == nil {
				leaves := map[string]any{}
				scalars(parsed, "", leaves)
				for path, scalar := range leaves {
					w, ok := place(t.Prompt, scalar)
					if !ok {
						w = events.WordSpan{End: min(len(fmt.Sprint(scalar)), len(t.Prompt))}
					}
					w.Path = path
					a.Words = append(a.Words, w)
				}
			}
			n.Arguments[name] = a
		}
		after = []string{n.ID}
		nodes = append(nodes, n)
	}
	return nodes
}

func parse(value events.JSON) (any, error) { return jsonvalue.Parse(value, jsonvalue.DefaultLimits) }
