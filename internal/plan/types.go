package plan

import (
	"fmt"
	"maps"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/schema"
)

// call is one node whose arguments are checked.
type call struct {
	node       *events.PlanNode
	path       string
	capability *registry.Capability
	before     map[string]bool
	// static are the values that are known, and shapes what is known of those
	// that only a run shows.
	static map[string]any
	shapes map[string]schema.Shape
	// known says that every argument is in static, and sound that nothing was
	// found wrong with one of them.
	known, sound bool
}

func (c *checker) arguments(n *events.PlanNode, path string, capability *registry.Capability, before map[string]bool, checked *Checked) {
	k := &call{
		node: n, path: path, capability: capability, before: before,
		static: map[string]any{}, shapes: map[string]schema.Shape{}, known: true, sound: true,
	}
	for _, name := range slices.Sorted(maps.Keys(n.Arguments)) {
		c.argument(k, name)
	}
	if !k.known {
		c.unfinished(k, checked)
		return
	}
	data, err := jsonvalue.Format(k.static)
	if err != nil {
		c.add(events.CodePlanType, path+".arguments", "the arguments cannot be written as JSON", "correct them")
		return
	}
	for _, problem := range capability.Input.Validate(data) {
		c.add(events.CodePlanType, path+".arguments"+problem.Pointer, "does not follow the capability's input schema ("+problem.Keyword+")", "see mandate get capabilities "+n.Capability.Name)
	}
	checked.Static[n.ID] = data
}

func (c *checker) argument(k *call, name string) {
	at := k.path + ".arguments." + name
	if closed, listed := k.capability.Input.Closed(name); closed && !listed {
		c.add(events.CodePlanType, at, "the capability has no such argument", "remove it")
		k.sound = false
		return
	}
	a := k.node.Arguments[name]
	set := 0
	for _, is := range []bool{a.Literal != nil, a.Input != nil, a.Output != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		c.add(events.CodePlanUntyped, at, "exactly one of literal, input and output is needed", "say where the value comes from")
		k.known, k.sound = false, false
	case a.Output != nil:
		k.known = false
		shape, ok := c.outputShape(k, at, a.Output)
		if k.sound = k.sound && ok; ok {
			k.shapes[name] = shape
		}
	default:
		value, err := c.value(a)
		if err != nil {
			c.add(events.CodePlanReference, at, err.Error(), "name a value of the request's input")
			k.known, k.sound = false, false
			return
		}
		k.static[name] = value
	}
}

// unfinished checks arguments of which some are known only in a run: each by
// itself, so that what is wrong has a place, and all of them together. What
// the schemas leave open is pending.
func (c *checker) unfinished(k *call, checked *Checked) {
	for _, name := range k.capability.Input.Required() {
		if _, ok := k.node.Arguments[name]; !ok {
			c.add(events.CodePlanType, k.path+".arguments", "the required argument "+name+" is missing", "add it")
			k.sound = false
		}
	}
	proven := true
	for name, value := range k.static {
		k.shapes[name] = schema.Constant(value)
	}
	for _, name := range slices.Sorted(maps.Keys(k.shapes)) {
		switch v := schema.Fits(k.shapes[name], k.capability.Input.Member(name)); v.Status {
		case schema.Impossible:
			c.add(events.CodePlanType, k.path+".arguments."+name, v.Reason(), "bind a value of the right type")
			k.sound = false
		case schema.Pending:
			proven = false
			checked.Pending = append(checked.Pending, events.PendingCheck{Node: k.node.ID, Argument: name, Reason: v.Reason()})
		case schema.Proven:
		}
	}
	if !k.sound {
		return
	}
	switch v := schema.Fits(schema.Object(k.shapes), k.capability.Input); {
	case v.Status == schema.Impossible:
		c.add(events.CodePlanType, k.path+".arguments", v.Reason(), "bind values that fit together")
	case v.Status == schema.Pending && proven:
		checked.Pending = append(checked.Pending, events.PendingCheck{Node: k.node.ID, Reason: v.Reason()})
	}
}

func (c *checker) value(a events.Argument) (any, error) {
	if a.Literal != nil {
		return jsonvalue.Parse(a.Literal, jsonvalue.DefaultLimits)
	}
	value, ok := jsonvalue.At(c.against.Input, *a.Input)
	if !ok {
		return nil, fmt.Errorf("the request's input has no %.80q", *a.Input)
	}
	return value, nil
}

// outputShape is what is known of an argument that is an output of an earlier
// node.
func (c *checker) outputShape(k *call, at string, o *events.OutputRef) (schema.Shape, bool) {
	from, ok := c.nodes[o.Node]
	if !ok {
		c.add(events.CodePlanReference, at, "there is no such node", "name a node of the plan")
		return schema.Shape{}, false
	}
	if !k.before[o.Node] {
		c.add(events.CodePlanPredecessor, at, "the node does not certainly end before this one", "add it to after")
		return schema.Shape{}, false
	}
	if !jsonvalue.ValidPointer(o.Path) {
		c.add(events.CodePlanReference, at, "not a JSON Pointer", "write a path such as /text")
		return schema.Shape{}, false
	}
	producer, ok := c.against.Agent.Capability(from.Capability)
	if !ok {
		return schema.Shape{}, false // reported at that node
	}
	return producer.Output.At(o.Path), true
}

// output checks what the plan selects as the run's output.
func (c *checker) output(checked *Checked) {
	o := c.plan.Output
	n, ok := c.nodes[o.Node]
	if !ok {
		c.add(events.CodePlanOutput, "plan.output.node", "there is no such node", "select the output of a node of the plan")
		return
	}
	if !jsonvalue.ValidPointer(o.Path) {
		c.add(events.CodePlanOutput, "plan.output.path", "not a JSON Pointer", "write a path such as /text, or leave it out")
		return
	}
	capability, ok := c.against.Agent.Capability(n.Capability)
	if !ok {
		return // reported at that node
	}
	if o.Path == "" && o.Type != capability.Definition.ResultType {
		c.add(events.CodePlanOutput, "plan.output.type", "the node's result type is another one", "write type: "+capability.Definition.ResultType)
	}
	switch v := schema.Fits(capability.Output.At(o.Path), c.against.Agent.Output); v.Status {
	case schema.Impossible:
		c.add(events.CodePlanOutput, "plan.output", v.Reason(), "select an output of the declared type")
	case schema.Pending:
		checked.Pending = append(checked.Pending, events.PendingCheck{Reason: v.Reason()})
	case schema.Proven:
	}
}
