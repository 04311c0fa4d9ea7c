// Package plan checks typed plans against an agent, and orders and resolves
// them.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package plan

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/plan/candidate"
	"example.org/mandate/internal/registry"
)

// MaxNodes bounds a plan.
const MaxNodes = 256

var nodeID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)

// Against is what a plan is checked against.
type Against struct {
	Agent *registry.Agent
	View  registry.View
	// Bound are the effects that the run may have.
	Bound []events.Effect
	// Operations is the policy's allowlist.
	Operations []string
	// Input is the request's input value, parsed.
	Input any
	// Checkers are those of candidates that are no typed plans; none is built
	// in.
	Checkers candidate.Checkers
}

// Checked is a plan that may be admitted as far as its typing goes.
type Checked struct {
	// Order is the stable topological order: ties by node ID (C3-RUN-003.o).
	Order []string
	// Level of each node: 0 depends on nothing.
	Level map[string]int
	// After of each node is what has to end before it: what the plan says, and
	// the nodes that provide facts that it requires.
	After map[string][]string
	// Static holds the exact arguments, canonical JSON, of every node none of
	// whose arguments is an output of another node.
	Static map[string][]byte
	// Pending lists what the schemas leave open and only the bytes of a run can
	// show, in the plan's order.
	Pending []events.PendingCheck
	// Effects are the effects of the plan, sorted.
	Effects []events.Effect
}

// Check reports everything wrong with p, or returns it checked.
func Check(p *events.Plan, against Against) (Checked, []events.Diagnostic) {
	c := checker{plan: p, against: against, nodes: map[string]*events.PlanNode{}}
	c.shape()
	if len(c.found) > 0 {
		return Checked{}, c.found
	}
	c.after = predecessors(p, against)
	order, level := c.order()
	if len(c.found) > 0 {
		return Checked{}, c.found
	}
	checked := Checked{Order: order, Level: level, After: c.after, Static: map[string][]byte{}}
	ancestors := c.ancestors(order)
	c.facts()
	for i := range p.Nodes {
		c.node(i, ancestors, &checked)
	}
	c.interference(order, ancestors)
	c.output(&checked)
	effects := map[events.Effect]bool{}
	for i := range p.Nodes {
		effects[p.Nodes[i].Effect] = true
	}
	checked.Effects = slices.Sorted(maps.Keys(effects))
	slices.SortFunc(checked.Pending, func(a, b events.PendingCheck) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Node), slices.Index(order, b.Node)), cmp.Compare(a.Argument, b.Argument))
	})
	return checked, c.found
}

type checker struct {
	plan    *events.Plan
	against Against
	nodes   map[string]*events.PlanNode
	after   map[string][]string // what has to end before each node
	found   []events.Diagnostic
}

func (c *checker) add(code events.Code, path, message, action string) {
	c.found = append(c.found, events.Diagnostic{Code: code, Path: path, Message: message, Action: action})
}

// shape checks what must hold before the graph can be walked.
func (c *checker) shape() {
	if c.plan.SchemaVersion != 1 {
		c.add(events.CodePlanInvalid, "plan.schema_version", "schema version must be 1", "write schema_version: 1")
	}
	if kind := c.plan.Candidate; kind != events.CandidatePlan {
		// A plan document states no product, so that a checker alone does not
		// make one admissible either.
		c.found = append(c.found, c.against.Checkers.Admissible(candidate.Product{Kind: kind}, candidate.Contract{Bound: c.against.Bound})...)
	}
	if n := len(c.plan.Nodes); n == 0 || n > MaxNodes {
		c.add(events.CodePlanTooLarge, "plan.nodes", fmt.Sprintf("%d nodes; 1 to %d are possible", n, MaxNodes), "split the work into runs")
		return
	}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		path := fmt.Sprintf("plan.nodes[%d]", i)
		if !nodeID.MatchString(n.ID) {
			c.add(events.CodePlanInvalid, path+".id", "the id must be a letter followed by up to 63 letters, digits, hyphens and underscores", "choose another id")
		}
		if _, taken := c.nodes[n.ID]; taken {
			c.add(events.CodePlanDuplicateNode, path+".id", "two nodes have this id", "give each node its own id")
		}
		c.nodes[n.ID] = n
	}
	for i := range c.plan.Nodes {
		for j, after := range c.plan.Nodes[i].After {
			if _, ok := c.nodes[after]; !ok {
				c.add(events.CodePlanReference, fmt.Sprintf("plan.nodes[%d].after[%d]", i, j), "there is no such node", "name a node of the plan")
			}
		}
	}
}

// order returns the stable topological order and the levels, by taking the
// smallest free ID again and again.
func (c *checker) order() ([]string, map[string]int) {
	level := map[string]int{}
	var order []string
	waiting := slices.Sorted(maps.Keys(c.nodes))
	for len(waiting) > 0 {
		free := slices.IndexFunc(waiting, func(id string) bool {
			for _, after := range c.after[id] {
				if _, done := level[after]; !done {
					return false
				}
			}
			return true
		})
		if free < 0 {
			c.add(events.CodePlanCycle, "plan.nodes", "these nodes wait for each other: "+fmt.Sprint(waiting[:min(len(waiting), 8)]), "remove an edge of the cycle")
			return nil, nil
		}
		id := waiting[free]
		at := 0
		for _, after := range c.after[id] {
			at = max(at, level[after]+1)
		}
		level[id] = at
		order = append(order, id)
		waiting = slices.Delete(waiting, free, free+1)
	}
	return order, level
}

// ancestors returns for each node every node that certainly ends before it.
func (c *checker) ancestors(order []string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, id := range order {
		mine := map[string]bool{}
		for _, after := range c.after[id] {
			mine[after] = true
			maps.Copy(mine, all[after])
		}
		all[id] = mine
	}
	return all
}

func (c *checker) node(i int, ancestors map[string]map[string]bool, checked *Checked) {
	n := &c.plan.Nodes[i]
	path := fmt.Sprintf("plan.nodes[%d]", i)
	capability, ok := c.against.Agent.Capability(n.Capability)
	if !ok {
		c.add(events.CodeCapabilityUnknown, path+".capability", "the agent has no such capability in this version", "use a capability of the agent: mandate get agents "+c.against.Agent.Name)
		return
	}
	if reason, revoked := c.against.View.Revoked(n.Capability.Name); revoked {
		c.add(events.CodeCapabilityRevoked, path+".capability", "the capability is revoked: "+reason, "use another capability")
	}
	if !slices.Contains(c.against.Operations, n.Capability.Name) {
		c.add(events.CodeOperationNotAllowed, path+".capability", "the policy does not allow this operation", "ask an operator to allow it")
	}
	if n.Effect != capability.Definition.Effect {
		c.add(events.CodePlanUntyped, path+".effect", "the declared effect is not the capability's", "write effect: "+string(capability.Definition.Effect))
	}
	if !slices.Contains(c.against.Bound, capability.Definition.Effect) {
		c.add(events.CodeEffectOutsideBound, path+".effect", "the effect is outside the run's effect bound", "use an agent whose bound has it")
	}
	c.arguments(n, path, capability, ancestors[n.ID], checked)
}

// interference refuses writes that could happen at the same time, unless both
// say what they change and share nothing (C3-RUN-003.w).
func (c *checker) interference(order []string, ancestors map[string]map[string]bool) {
	var writes []string
	for _, id := range order {
		if capability, ok := c.against.Agent.Capability(c.nodes[id].Capability); ok && capability.Definition.Effect == events.EffectWrite {
			writes = append(writes, id)
		}
	}
	for i, a := range writes {
		for _, b := range writes[i+1:] {
			if ancestors[a][b] || ancestors[b][a] {
				continue
			}
			if x, y := c.touches(a), c.touches(b); len(x) == 0 || len(y) == 0 || overlap(x, y) {
				c.add(events.CodePlanInterference, "plan.nodes", "the writes "+a+" and "+b+" may interfere and have no order", "put one after the other")
			}
		}
	}
}

func (c *checker) touches(id string) []string {
	capability, _ := c.against.Agent.Capability(c.nodes[id].Capability)
	return capability.Definition.Interferes
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
