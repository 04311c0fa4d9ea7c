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
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

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
	for _, name := range slices.Sorted(maps.Keys(n.Arguments)) {
		a := n.Arguments[name]
		one := events.ArgumentSource{Argument: name, Authority: Bears(facts.Capability, name)}
		switch {
		case a.Literal != nil && facts.Own:
			one.Kind = events.SourceRequest
			sources = append(sources, one)
		case a.Literal != nil:
			sources = append(sources, literal(one, a, facts.Text)...)
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

// Bears reports whether an argument decides what an effect touches. Every
// argument of a write does whose definition does not say.
func Bears(c *events.Capability, argument string) bool {
	if c.AuthorityArguments == nil {
		return c.Effect == events.EffectWrite
	}
	return slices.Contains(c.AuthorityArguments, argument)
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

// literal returns the sources of the scalars of a literal. One that nobody
// wrote is the model's, and so is one whose place cannot be read.
func literal(one events.ArgumentSource, a events.Argument, text string) []events.ArgumentSource {
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
	walk(value, "", "", func(path, place string, scalar any) bool {
		source := one
		source.Path = place
		if scalar == nil {
			// Nothing is nobody's word, and names nothing.
			source.Authority = false
		}
		if span, claimed := spans[path]; claimed && Stands(text, span, scalar) {
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

// walk calls f for every scalar of a value in a fixed order, until it returns
// false. path is a JSON Pointer; place is the same with positions for names,
// which may be private: members of an object count in the order of their names.
func walk(value any, path, place string, f func(path, place string, scalar any) bool) bool {
	switch v := value.(type) {
	case map[string]any:
		for i, name := range slices.Sorted(maps.Keys(v)) {
			token := strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
			if !walk(v[name], path+"/"+token, place+"/"+strconv.Itoa(i), f) {
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
	return f(path, place, value)
}

// Stands reports whether a scalar stands at a span of a text, whole: not as a
// part of a longer word, number, date or address. Texts are compared byte for
// byte and numbers by value. Truth values and null are no words.
func Stands(text string, span events.WordSpan, scalar any) bool {
	if span.Start < 0 || span.End <= span.Start || span.End > len(text) {
		return false
	}
	words := text[span.Start:span.End]
	if !utf8.ValidString(words) || !whole(text, span) {
		return false
	}
	switch v := scalar.(type) {
	case string:
		return words == v
	case json.Number:
		number, err := jsonvalue.Parse([]byte(words), jsonvalue.DefaultLimits)
		if _, is := number.(json.Number); err != nil || !is {
			return false
		}
		order, ok := jsonvalue.Compare(number, v)
		return ok && order == 0
	}
	return false
}

// whole reports whether a span begins and ends where a word does.
func whole(text string, span events.WordSpan) bool {
	first, _ := utf8.DecodeRuneInString(text[span.Start:])
	last, _ := utf8.DecodeLastRuneInString(text[:span.End])
	before, after := text[:span.Start], text[span.End:]
	if wordRune(first) {
		r, size := utf8.DecodeLastRuneInString(before)
		if size > 0 && (wordRune(r) || unicode.IsDigit(first) && sign(r)) {
			return false
		}
		if connector(r) {
			if r, size = utf8.DecodeLastRuneInString(before[:len(before)-size]); size > 0 && wordRune(r) {
				return false
			}
		}
	}
	if wordRune(last) {
		r, size := utf8.DecodeRuneInString(after)
		if size > 0 && wordRune(r) {
			return false
		}
		if connector(r) {
			if r, size = utf8.DecodeRuneInString(after[size:]); size > 0 && wordRune(r) {
				return false
			}
		}
	}
	return true
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func sign(r rune) bool { return r == '-' || r == '−' }

// connector reports whether a character joins what is on both sides of it to
// one name, number, date or address.
func connector(r rune) bool { return strings.ContainsRune("-.,:/@+#%&=~'’", r) }
