package provenance

import (
	"slices"
	"strings"

	"example.org/mandate/events"
)

// weakest orders kinds from what is least a principal's own.
var weakest = []events.SourceKind{
	events.SourceModel, events.SourceOutput, events.SourceInput, events.SourceChoice, events.SourceWords, events.SourceRequest,
}

// Weakest returns the source of an argument that is least the principal's own.
func Weakest(sources []events.ArgumentSource, argument string) (events.ArgumentSource, bool) {
	var found events.ArgumentSource
	rank := len(weakest)
	for _, s := range sources {
		if r := slices.Index(weakest, s.Kind); s.Argument == argument && r >= 0 && r < rank {
			found, rank = s, r
		}
	}
	return found, rank < len(weakest)
}

// Kind names the weakest source of an argument as conditions of a policy see
// it: a kind, and for an output the capability after a colon.
func Kind(sources []events.ArgumentSource, argument string) string {
	s, ok := Weakest(sources, argument)
	switch {
	case !ok:
		return string(events.SourceModel)
	case s.Kind == events.SourceOutput && s.Producer != nil:
		return acceptOutputPrefix + s.Producer.Name
	}
	return string(s.Kind)
}

// Words says for people where the values of an argument come from.
func Words(sources []events.ArgumentSource, argument string) string {
	var all []string
	for _, s := range sources {
		if s.Argument != argument {
			continue
		}
		if text := words(s); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}

func words(s events.ArgumentSource) string {
	switch s.Kind {
	case events.SourceRequest:
		return "written in the request's plan"
	case events.SourceInput:
		return strings.TrimSpace("request input " + s.From)
	case events.SourceWords:
		return "the request's own words at " + s.From
	case events.SourceChoice:
		return "chosen by a person"
	case events.SourceOutput:
		if s.Producer != nil {
			return "the output of " + s.Producer.Name + " at " + s.From
		}
		return "the output of " + s.From
	case events.SourceModel:
	}
	return "made up by whoever proposed the plan"
}

// AllWords returns [Words] of every argument that sources speak of.
func AllWords(sources []events.ArgumentSource) map[string]string {
	all := map[string]string{}
	for _, s := range sources {
		if _, done := all[s.Argument]; !done {
			all[s.Argument] = Words(sources, s.Argument)
		}
	}
	return all
}
