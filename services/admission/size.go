package admission

import (
	"fmt"

	"example.org/mandate/events"
)

// What parts of an admitted revision take at most in a commit, in bytes beside
// their texts and in elements.
const (
	baseBytes, baseElements     = 24 << 10, 2000
	nodeBytes, nodeElements     = 600, 48
	sourceBytes, sourceElements = 64, 11
	refBytes, refElements       = 24, 6
	checkBytes, checkElements   = 48, 7
	edgeBytes                   = 2
)

// recordable refuses a candidate whose admission would not fit into a commit:
// nothing could then be recorded about it, not even that it was refused.
func (c *candidate) recordable() {
	size, elements := baseBytes, baseElements
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		size += nodeBytes + len(n.ID) + len(n.Capability.Name)
		elements += nodeElements + len(n.After)
		for _, after := range n.After {
			size += edgeBytes + len(after)
		}
		for j := range c.sources[n.ID] {
			s := &c.sources[n.ID][j]
			size += sourceBytes + len(s.Argument) + len(s.Path) + len(s.From)
			elements += sourceElements
			if s.Producer != nil {
				size += refBytes + len(s.Producer.Name)
				elements += refElements
			}
		}
	}
	for i := range c.checked.Pending {
		p := &c.checked.Pending[i]
		size += checkBytes + len(p.Node) + len(p.Argument) + len(p.Reason)
		elements += checkElements
	}
	if size > events.MaxCommitBytes || elements > events.MaxElements {
		c.add(events.CodePlanTooLarge, "plan", fmt.Sprintf("it takes %d bytes and %d elements to record, of %d and %d", size, elements, events.MaxCommitBytes, events.MaxElements), "split the work into runs, or pass many values as one of the request's input")
	}
}
