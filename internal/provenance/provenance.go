// Package provenance says where the values in a plan come from, and which of
// them need a person.
//
// A model that is controlled by somebody else can propose any plan. It cannot
// make a value the principal's own: what a plan says about its values is a
// claim, and everything here is found out from the request itself.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package provenance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// MaxSources bounds the sources of one node.
const MaxSources = 512

// The sources that a capability may accept beside the principal's own.
const (
	AcceptModel        = "model"
	AcceptOutput       = "output"
	acceptOutputPrefix = "output:"
)

// ValidAccept reports whether a capability may name a source like this.
func ValidAccept(text string) bool {
	name, of := strings.CutPrefix(text, acceptOutputPrefix)
	return text == AcceptModel || text == AcceptOutput || of && name != ""
}

// Facts are what the sources of a node are found out from.
type Facts struct {
	// Own says that the plan is the one that the principal submitted, byte for
	// byte.
	Own bool
	// Text is the principal's own text.
	Text string
	// Plan is the plan that the node is in.
	Plan *events.Plan
	// Capability is the definition of the node's capability.
	Capability *events.Capability
}

// Of returns where every value of the arguments of a node comes from, sorted
// by argument and path, or nil and false if there are more than [MaxSources].
// A literal that is not a single value is followed to its scalars.
func Of(n *events.PlanNode, facts Facts) ([]events.ArgumentSource, bool) {
	sources := []events.ArgumentSource{}
	listed := listedBy(facts.Capability)
	for _, name := range slices.Sorted(maps.Keys(n.Arguments)) {
		a := n.Arguments[name]
		one := events.ArgumentSource{Argument: name, Authority: listed.bears(facts.Capability, name)}
		switch {
		case a.Literal != nil && facts.Own:
			one.Kind = events.SourceRequest
			sources = append(sources, one)
		case a.Literal != nil:
			sources = append(sources, literal(one, a, literalFacts{text: facts.Text, listed: listed})...)
		case a.Input != nil:
			one.Kind, one.From = events.SourceInput, *a.Input
			sources = append(sources, one)
		case a.Output != nil:
			one.Kind, one.From = events.SourceOutput, a.Output.Node+a.Output.Path
			for i := range facts.Plan.Nodes {
				if p := &facts.Plan.Nodes[i]; p.ID == a.Output.Node {
					one.Producer = &p.Capability
				}
			}
			sources = append(sources, one)
		}
		if len(sources) > MaxSources {
			return nil, false
		}
	}
	for i := range sources {
		sources[i].Accepted = accepted(&sources[i], facts.Capability)
	}
	return sources, true
}

// accepted reports whether a value needs no person.
func accepted(s *events.ArgumentSource, c *events.Capability) bool {
	if !s.Authority || s.Kind.Own() {
		return true
	}
	return slices.ContainsFunc(c.AuthoritySources[s.Argument], func(accept string) bool {
		switch {
		case s.Kind == events.SourceModel:
			return accept == AcceptModel
		case s.Kind == events.SourceOutput && accept == AcceptOutput:
			return true
		}
		return s.Kind == events.SourceOutput && s.Producer != nil && accept == acceptOutputPrefix+s.Producer.Name
	})
}

// Accepted reports whether no value needs a person.
func Accepted(sources []events.ArgumentSource) bool {
	return !slices.ContainsFunc(sources, func(s events.ArgumentSource) bool { return !s.Accepted })
}

// literalFacts are what the sources of a literal are found out from.
type literalFacts struct {
	text   string
	listed names
}

// literal returns the sources of the scalars of a literal, and of the names in
// it that the schema does not list: they are values as well. One that nobody
// wrote is the model's, and so is one whose place cannot be read.
func literal(one events.ArgumentSource, a events.Argument, facts literalFacts) []events.ArgumentSource {
	one.Kind = events.SourceModel
	value, err := jsonvalue.Parse(a.Literal, jsonvalue.DefaultLimits)
	if err != nil {
		return []events.ArgumentSource{one}
	}
	spans := map[string]events.WordSpan{}
	for _, w := range a.Words {
		spans[w.Path] = w
	}
	var sources []events.ArgumentSource
	walk(value, "", "", func(f found) bool {
		source := one
		source.Path = f.place
		if f.named {
			if !facts.listed.anywhere[f.name] {
				sources = append(sources, source)
			}
			return len(sources) <= MaxSources
		}
		if f.scalar == nil {
			// Nothing is nobody's word, and names nothing.
			source.Authority = false
		}
		if span, claimed := spans[f.path]; claimed && Stands(facts.text, span, f.scalar) {
			source.Kind, source.From = events.SourceWords, fmt.Sprintf("%d-%d", span.Start, span.End)
		}
		sources = append(sources, source)
		return len(sources) <= MaxSources
	})
	if len(sources) == 0 { // an empty list or object
		one.Authority = false
		sources = append(sources, one)
	}
	return sources
}

// found is a scalar in a literal, or the name of a member. path is a JSON
// Pointer; place is the same with positions for names, which may be private:
// members of an object count in the order of their names.
type found struct {
	path, place string
	scalar      any
	name        string
	named       bool
}

// walk calls f for every name and every scalar of a value in a fixed order,
// until it returns false.
func walk(value any, path, place string, f func(found) bool) bool {
	switch v := value.(type) {
	case map[string]any:
		for i, name := range slices.Sorted(maps.Keys(v)) {
			token := "/" + strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
			at := place + "/" + strconv.Itoa(i)
			if !f(found{path: path + token, place: at, name: name, named: true}) || !walk(v[name], path+token, at, f) {
				return false
			}
		}
		return true
	case []any:
		for i := range v {
			token := "/" + strconv.Itoa(i)
			if !walk(v[i], path+token, place+token, f) {
				return false
			}
		}
		return true
	}
	return f(found{path: path, place: place, scalar: value})
}
