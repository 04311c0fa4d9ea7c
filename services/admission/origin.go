package admission

import (
	"fmt"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/provenance"
)

// originate finds out whose plan it is, whatever the proposal says of itself:
// the principal's own only if it is the one in the request, unchanged. A
// request that carries a specification is judged by that one and no other.
func (c *candidate) originate() {
	own := c.request.Outcome != nil && events.Same(*c.request.Outcome, c.spec)
	if c.request.Outcome != nil && !own {
		c.add(events.CodeSpecInvalid, "outcome", "the proposal is not the specification of the request", "propose it as it is, or none")
	}
	own = own && c.request.Plan != nil && events.Same(*c.request.Plan, c.plan)
	switch {
	case own:
		c.origin = events.OriginExplicit
	case c.request.Generator.Mode == events.GeneratorExplicit:
		c.add(events.CodePlanInvalid, "plan", "the proposal is not the plan of the request, and nothing else may be proposed", "propose the request's own plan")
	case c.origin == events.OriginExplicit:
		c.add(events.CodePlanInvalid, "plan", "the proposal says that the plan is the request's own, and it is not", "say where the plan is from")
	case c.origin != events.OriginInferred && c.origin != events.OriginInherited:
		c.add(events.CodePlanInvalid, "plan", fmt.Sprintf("the origin %.40q is not known", c.origin), "say where the plan is from")
	}
}

// trace finds out where every value of the plan comes from.
func (c *candidate) trace() {
	c.sources = map[string][]events.ArgumentSource{}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		capability, ok := c.agent.Capability(n.Capability)
		if !ok {
			continue // the check of the plan says so
		}
		sources, ok := provenance.Of(n, provenance.Facts{
			Own: c.origin == events.OriginExplicit, Text: c.request.Intent.Text, Plan: &c.plan, Capability: &capability.Definition,
		})
		if !ok {
			c.add(events.CodePlanTooLarge, fmt.Sprintf("plan.nodes[%d].arguments", i), fmt.Sprintf("more than %d values", provenance.MaxSources), "pass them as one value of the request's input")
		}
		c.sources[n.ID] = sources
	}
}

// word is whose word a use of a capability is.
type word int

const (
	wordNobody   word = iota // nobody's is needed
	wordOwn                  // the principal's own request is enough
	wordPerson               // a person decides on the arguments before the run
	wordDispatch             // a person decides once the arguments are known
)

// wordOf says whose word the use of a node needs (IK-5.4.6): a person's where
// the policy or the capability says so, and where a value that decides what an
// effect touches is neither the principal's own nor accepted.
func (c *candidate) wordOf(id string) word {
	n, _ := plan.Find(&c.plan, id)
	capability, _ := c.agent.Capability(n.Capability)
	mode := capability.Definition.Confirmation
	if !c.confirm[id] && mode != events.ConfirmationRequired && provenance.Accepted(c.sources[id]) && !c.unnamed(id, &capability.Definition) {
		if mode == events.ConfirmationExplicit {
			return wordOwn
		}
		return wordNobody
	}
	if _, static := c.checked.Static[id]; static {
		return wordPerson
	}
	return wordDispatch
}

// unnamed reports whether a write of which every argument bears authority names
// nothing at all, in a plan that is not the principal's own: then it touches
// what its capability takes by default, and nobody said so.
func (c *candidate) unnamed(id string, definition *events.Capability) bool {
	return c.origin != events.OriginExplicit && definition.Effect == events.EffectWrite && definition.AuthorityArguments == nil &&
		!slices.ContainsFunc(c.sources[id], func(s events.ArgumentSource) bool { return s.Authority })
}

// shownOrigin is the origin as far as something shows it. Nothing shows that a
// plan is inherited but the word of whoever proposed it.
func (c *candidate) shownOrigin() events.Origin {
	if c.origin == events.OriginExplicit {
		return c.origin
	}
	return events.OriginInferred
}

// allWords says for every "node.argument" where it comes from.
func (c *candidate) allWords() map[string]string {
	all := map[string]string{}
	for node, sources := range c.sources {
		for argument, text := range provenance.AllWords(sources) {
			all[node+"."+argument] = text
		}
	}
	return all
}
