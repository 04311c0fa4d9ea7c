package stage

import (
	stdjson "encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/provenance"
)

// Compose is the name of a capability without an effect that writes what a
// model makes of what was read. Its argument "call" is the place of the call in
// the script that takes it.
const Compose = "compose"

// Composer is that capability.
func Composer() events.Capability {
	return Capability(events.EffectNone, events.ConfirmationNone, events.JSON(`{"type":"object"}`))
}

// Call is one call of a script: what is recorded of a conversation that went
// well.
type Call struct {
	Function string
	Args     map[string]events.JSON
	Effect   events.Effect
	// Far says that the call reaches somewhere outside, so that where its
	// arguments come from matters, whatever its effect.
	Far    bool
	Result string
}

// Plan is the plan that an honest model makes of a script before anything is
// read: values of the prompt are literals with their place, values of a result
// are outputs of it, and what is made of several results is the output of a
// model. The values that call i takes from a result are at
// "/values/i.argument" of it.
func Plan(prompt string, script []Call) (*events.Plan, error) {
	p := &events.Plan{SchemaVersion: 1, Candidate: events.CandidatePlan}
	var after []string
	add := func(n events.PlanNode) {
		n.After = slices.Clone(after)
		if n.After == nil {
			n.After = []string{}
		}
		after = []string{n.ID}
		p.Nodes = append(p.Nodes, n)
	}
	for i, c := range script {
		node := events.PlanNode{ID: nodeID(i), Capability: Ref(c.Function), Effect: c.Effect, Arguments: map[string]events.Argument{}}
		composed := false
		for name, value := range c.Args {
			a, fromModel, err := argument(prompt, script, i, name, value)
			if err != nil {
				return nil, err
			}
			node.Arguments[name] = a
			composed = composed || fromModel
		}
		if composed {
			add(events.PlanNode{ID: "m" + strconv.Itoa(i), Capability: Ref(Compose), Effect: events.EffectNone, Arguments: map[string]events.Argument{
				"call": {Literal: events.JSON(strconv.Itoa(i))},
			}})
		}
		add(node)
	}
	if len(after) > 0 {
		p.Output = events.OutputBinding{Node: after[0], Type: Result}
	}
	return p, nil
}

func nodeID(i int) string { return "c" + strconv.Itoa(i) }

// Ref names a capability of a stage.
func Ref(name string) events.CapabilityRef { return events.CapabilityRef{Name: name, Version: 1} }

// argument is where an honest model takes an argument from. Reads that stay
// inside take it from anywhere.
func argument(prompt string, script []Call, i int, name string, value events.JSON) (a events.Argument, fromModel bool, err error) {
	literal := events.Argument{Literal: value}
	if script[i].Effect != events.EffectWrite && !script[i].Far {
		return literal, false, nil
	}
	leaves, err := Scalars(value)
	if err != nil {
		return literal, false, err
	}
	literal.Words = Said(prompt, leaves)
	if len(literal.Words) == len(leaves) {
		return literal, false, nil
	}
	output := func(node string) events.Argument {
		return events.Argument{Output: &events.OutputRef{Node: node, Path: "/values/" + strconv.Itoa(i) + "." + name}}
	}
	for j := range i {
		if inText(script[j].Result, leaves) {
			return output(nodeID(j)), false, nil
		}
	}
	if i == 0 {
		return literal, false, nil // nothing was read: the model made it up from the prompt
	}
	return output("m" + strconv.Itoa(i)), true, nil
}

// Values are what later calls of a script take from a result, or from what a
// model makes of them.
func Values(script []Call) map[string]events.JSON {
	values := map[string]events.JSON{}
	for n := range script {
		for name, value := range script[n].Args {
			values[strconv.Itoa(n)+"."+name] = value
		}
	}
	return values
}

// Scalars collects the scalars of a value that name something, by JSON Pointer.
func Scalars(value events.JSON) (map[string]any, error) {
	parsed, err := jsonvalue.Parse(value, jsonvalue.DefaultLimits)
	if err != nil {
		return nil, err
	}
	leaves := map[string]any{}
	scalars(parsed, "", leaves)
	return leaves, nil
}

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

// Said finds where scalars stand in a text.
func Said(text string, leaves map[string]any) []events.WordSpan {
	var words []events.WordSpan
	for _, path := range slices.Sorted(maps.Keys(leaves)) {
		if w, ok := Place(text, leaves[path]); ok {
			w.Path = path
			words = append(words, w)
		}
	}
	return words
}

// Place finds where a scalar stands in a text.
func Place(text string, scalar any) (events.WordSpan, bool) {
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
