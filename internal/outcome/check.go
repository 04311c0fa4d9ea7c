package outcome

import (
	"fmt"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// Bounds of a specification.
const (
	MaxDeliverables = 32
	MaxRequirements = 128
	MaxIDBytes      = 64
)

// Check reports everything wrong with a specification by itself; nodes are the
// IDs of the plan that results refer to.
func Check(spec *events.OutcomeSpec, nodes []string) []events.Diagnostic {
	c := checker{nodes: nodes}
	if spec.SchemaVersion != 1 {
		c.add(events.CodeSpecInvalid, "outcome.schema_version", "schema version must be 1", "write schema_version: 1")
	}
	if spec.ID == "" || spec.Revision < 1 {
		c.add(events.CodeSpecInvalid, "outcome.id", "the specification needs an id and a revision from 1", "set outcome.id and outcome.revision")
	}
	if spec.Objective == "" {
		c.add(events.CodeSpecInvalid, "outcome.objective", "the objective is empty", "say in a sentence what is wanted")
	}
	if n := len(spec.Deliverables); n == 0 || n > MaxDeliverables {
		c.add(events.CodeSpecInvalid, "outcome.deliverables", fmt.Sprintf("%d deliverables; 1 to %d are possible", n, MaxDeliverables), "list what is wanted")
	}
	if n := len(spec.Requirements); n > MaxRequirements {
		c.add(events.CodeSpecInvalid, "outcome.requirements", fmt.Sprintf("%d requirements; at most %d are possible", n, MaxRequirements), "drop or merge requirements")
	}
	deliverables := c.deliverables(spec)
	c.requirements(spec, deliverables)
	for i, id := range spec.Partial {
		if !slices.Contains(deliverables, id) {
			c.add(events.CodeSpecReference, fmt.Sprintf("outcome.partial[%d]", i), "there is no such deliverable", "name a deliverable")
		}
	}
	return c.found
}

type checker struct {
	nodes []string
	found []events.Diagnostic
}

func (c *checker) add(code events.Code, path, message, action string) {
	c.found = append(c.found, events.Diagnostic{Code: code, Path: path, Message: message, Action: action})
}

func (c *checker) deliverables(spec *events.OutcomeSpec) []string {
	var ids []string
	for i, d := range spec.Deliverables {
		path := fmt.Sprintf("outcome.deliverables[%d]", i)
		if d.ID == "" || len(d.ID) > MaxIDBytes || slices.Contains(ids, d.ID) {
			c.add(events.CodeSpecInvalid, path+".id", "the id is empty, too long or used twice", "give each deliverable its own short id")
		}
		ids = append(ids, d.ID)
		c.node(path+".result", d.Result)
	}
	for i, d := range spec.Deliverables {
		for _, dependency := range d.DependsOn {
			if !slices.Contains(ids, dependency) || dependency == d.ID {
				c.add(events.CodeSpecReference, fmt.Sprintf("outcome.deliverables[%d].depends_on", i), "there is no such other deliverable", "name another deliverable")
			}
		}
	}
	return ids
}

func (c *checker) requirements(spec *events.OutcomeSpec, deliverables []string) {
	var ids []string
	for i, r := range spec.Requirements {
		path := fmt.Sprintf("outcome.requirements[%d]", i)
		if r.ID == "" || len(r.ID) > MaxIDBytes || slices.Contains(ids, r.ID) {
			c.add(events.CodeSpecInvalid, path+".id", "the id is empty, too long or used twice", "give each requirement its own short id")
		}
		ids = append(ids, r.ID)
		if !slices.Contains(deliverables, r.Deliverable) {
			c.add(events.CodeSpecReference, path+".deliverable", "there is no such deliverable", "name a deliverable")
		}
		if r.Importance != events.Must && r.Importance != events.Prefer {
			c.add(events.CodeSpecInvalid, path+".importance", "the importance is neither must nor prefer", "write must or prefer")
		}
		if r.Origin != events.OriginExplicit && r.Origin != events.OriginInherited && r.Origin != events.OriginInferred {
			c.add(events.CodeSpecInvalid, path+".origin", "the origin is not explicit, inherited or inferred", "say where the requirement comes from")
		}
		if r.Strength.Rank() == 0 {
			c.add(events.CodeSpecInvalid, path+".strength", "the strength is not asserted, observed or attested", "say how well it must be established")
		}
		for j, node := range r.Before {
			c.node(fmt.Sprintf("%s.before[%d]", path, j), node)
		}
		c.predicate(path+".predicate", r.Predicate)
	}
}

func (c *checker) node(path, node string) {
	if !slices.Contains(c.nodes, node) {
		c.add(events.CodeSpecReference, path, "the plan has no such node", "name a node of the plan")
	}
}

func (c *checker) pointer(path, pointer string) {
	if !jsonvalue.ValidPointer(pointer) {
		c.add(events.CodeSpecInvalid, path, "not a JSON Pointer", "write a path such as /failed")
	}
}

func (c *checker) predicate(path string, p events.Predicate) {
	set := 0
	if f := p.Field; f != nil {
		set++
		c.node(path+".field.result", f.Result)
		c.pointer(path+".field.path", f.Path)
		if !slices.Contains([]string{"eq", "ne", "lt", "le", "gt", "ge"}, f.Op) {
			c.add(events.CodeSpecInvalid, path+".field.op", "the comparison is not eq, ne, lt, le, gt or ge", "use one of these")
		}
		if value, err := jsonvalue.Parse(f.Value, jsonvalue.DefaultLimits); err != nil {
			c.add(events.CodeSpecInvalid, path+".field.value", "the value cannot be read", "write a number, text, true, false or null")
		} else if _, ok := jsonvalue.Compare(value, value); !ok {
			c.add(events.CodeSpecInvalid, path+".field.value", "the value is not a scalar", "write a number, text, true, false or null")
		}
	}
	if f := p.Contains; f != nil {
		set++
		c.node(path+".contains.result", f.Result)
		c.pointer(path+".contains.path", f.Path)
		c.pointer(path+".contains.text.input", f.Text.Input)
		if (f.Text.Literal == nil) == (f.Text.Input == "") {
			c.add(events.CodeSpecInvalid, path+".contains.text", "exactly one of literal and input is needed", "write literal: … or input: /path")
		}
	}
	if f := p.Newer; f != nil {
		set++
		for _, side := range []events.TimeRef{f.Left, f.Right} {
			c.node(path+".newer", side.Result)
			if !slices.Contains([]string{"observed", "source_modified", "published"}, side.Time) {
				c.add(events.CodeSpecInvalid, path+".newer", "the time is not observed, source_modified or published", "use one of these")
			}
		}
	}
	if f := p.Producer; f != nil {
		set++
		c.node(path+".producer.result", f.Result)
	}
	if f := p.Exists; f != nil {
		set++
		c.node(path+".exists.result", f.Result)
		c.pointer(path+".exists.path", f.Path)
	}
	if f := p.Unit; f != nil {
		set++
		c.node(path+".unit.result", f.Result)
		c.pointer(path+".unit.path", f.Path)
	}
	if set != 1 {
		c.add(events.CodeSpecInvalid, path, "exactly one kind of predicate is needed", "use field, contains, newer, producer, exists or unit")
	}
}
