package plan

import (
	"fmt"
	"slices"

	"example.org/mandate/events"
)

// predecessors returns for each node what has to end before it: what the plan
// says, and the nodes that provide a fact that its capability requires (IK-3.6,
// IK-6.3). Both are sorted and without repetition.
func predecessors(p *events.Plan, against Against) map[string][]string {
	providers := map[events.FactType][]string{}
	for i := range p.Nodes {
		if c, ok := against.Agent.Capability(p.Nodes[i].Capability); ok {
			for _, fact := range c.Definition.Provides {
				providers[fact] = append(providers[fact], p.Nodes[i].ID)
			}
		}
	}
	all := make(map[string][]string, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		after := slices.Clone(n.After)
		if c, ok := against.Agent.Capability(n.Capability); ok {
			for _, fact := range c.Definition.Requires {
				after = append(after, providers[fact]...)
			}
		}
		slices.Sort(after)
		all[n.ID] = slices.Compact(after)
	}
	return all
}

// facts refuses a node whose capability requires a fact that no node provides:
// what is not there is not made up.
func (c *checker) facts() {
	provided := map[events.FactType]bool{}
	for i := range c.plan.Nodes {
		if made, ok := c.against.Agent.Capability(c.plan.Nodes[i].Capability); ok {
			for _, fact := range made.Definition.Provides {
				provided[fact] = true
			}
		}
	}
	for i := range c.plan.Nodes {
		needs, ok := c.against.Agent.Capability(c.plan.Nodes[i].Capability)
		if !ok {
			continue // reported at that node
		}
		for _, fact := range needs.Definition.Requires {
			if !provided[fact] {
				c.add(events.CodeFactProviderMissing, fmt.Sprintf("plan.nodes[%d].capability", i),
					fmt.Sprintf("it requires the fact %s@%d, and no node of the plan provides it", fact.Type, fact.Version), "add a node that provides it")
			}
		}
	}
}
