package outcome

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// Evaluator is the identity and version that verdicts carry.
const Evaluator = "mandate.predicates@1"

// Facts is everything that a judgment may rest on: exact results and evidence
// of one run, and the request's input. Nothing else is looked at.
type Facts struct {
	Run      string
	Input    any
	Results  map[string]Result // by plan node
	Evidence []events.EvidenceRecord
}

// Result is a result record with its value parsed. Known is false where the
// content is not at hand.
type Result struct {
	events.ResultRecord
	Content any
	Known   bool
}

// Verdict is a judgment before it becomes an evaluation.
type Verdict struct {
	Verdict  events.Verdict
	Strength events.Strength
	Method   string
	Reason   string
	Results  []string
	Evidence []string
}

// Judge judges one requirement. It never fails: what cannot be established is
// unknown, with the reason.
func Judge(r events.Requirement, f Facts) Verdict {
	v := judge(r.Predicate, f)
	if v.Verdict != events.VerdictMet {
		return v
	}
	v.Strength = f.strength(v)
	if v.Strength.Rank() < r.Strength.Rank() {
		// The predicate holds on what was said, but not on what was seen.
		v.Verdict, v.Reason = events.VerdictUnknown, "the evidence is weaker than the requirement asks for"
	}
	return v
}

func judge(p events.Predicate, f Facts) Verdict {
	switch {
	case p.Field != nil:
		return f.field(*p.Field)
	case p.Contains != nil:
		return f.contains(*p.Contains)
	case p.Newer != nil:
		return f.newer(*p.Newer)
	case p.Producer != nil:
		return f.producer(*p.Producer)
	case p.Exists != nil:
		return f.exists(*p.Exists)
	case p.Unit != nil:
		return f.unit(*p.Unit)
	}
	return unknown("none", "the requirement has no predicate that this build knows")
}

func unknown(method, reason string) Verdict {
	return Verdict{Verdict: events.VerdictUnknown, Method: method, Reason: reason}
}

// use looks a result up and starts a verdict on it.
func (f Facts) use(method, node string) (Result, Verdict, bool) {
	r, ok := f.Results[node]
	switch {
	case !ok:
		return r, unknown(method, "there is no result of node "+node), false
	case r.Run != f.Run:
		return r, unknown(method, "the result belongs to another run"), false
	case r.Status != events.ResultComplete || !r.Valid:
		return r, unknown(method, "the result of node "+node+" is not complete and valid"), false
	case !r.Known:
		return r, unknown(method, "the content of the result is not available"), false
	}
	v := Verdict{Method: method, Results: []string{r.ID}, Evidence: f.evidenceOf(r)}
	return r, v, true
}

// evidenceOf lists the evidence that a result rests on, of this run only.
func (f Facts) evidenceOf(r Result) []string {
	var ids []string
	for _, id := range r.Evidence {
		for _, e := range f.Evidence {
			if e.ID == id && e.Run == f.Run && e.Scope == f.Run && e.Action == r.Action {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// strength is that of the result established least: a result is as well
// established as the strongest evidence that it names, and without any it is
// only asserted.
func (f Facts) strength(v Verdict) events.Strength {
	weakest := events.StrengthAttested
	for _, r := range f.Results {
		if !slices.Contains(v.Results, r.ID) {
			continue
		}
		best := events.StrengthAsserted
		for _, e := range f.Evidence {
			if e.Action == r.Action && slices.Contains(v.Evidence, e.ID) && e.Strength.Rank() > best.Rank() {
				best = e.Strength
			}
		}
		if best.Rank() < weakest.Rank() {
			weakest = best
		}
	}
	return weakest
}

func decide(v Verdict, holds bool, yes, no string) Verdict {
	if holds {
		v.Verdict, v.Reason = events.VerdictMet, yes
	} else {
		v.Verdict, v.Reason = events.VerdictUnmet, no
	}
	return v
}

func (f Facts) field(p events.FieldPredicate) Verdict {
	const method = "field comparison"
	r, v, ok := f.use(method, p.Result)
	if !ok {
		return v
	}
	have, ok := jsonvalue.At(r.Content, p.Path)
	if !ok {
		return unknown(method, "the result has no field "+p.Path)
	}
	want, err := jsonvalue.Parse(p.Value, jsonvalue.DefaultLimits)
	if err != nil {
		return unknown(method, "the bound cannot be read")
	}
	order, comparable := jsonvalue.Compare(have, want)
	if !comparable {
		_, haveBool := have.(bool)
		_, wantBool := want.(bool)
		if haveBool && wantBool && (p.Op == "eq" || p.Op == "ne") {
			return decide(v, p.Op == "ne", "the field has the required value", "the field does not have the required value")
		}
		return unknown(method, "the field and the bound are of different kinds")
	}
	var holds bool
	switch p.Op {
	case "eq":
		holds = order == 0
	case "ne":
		holds = order != 0
	case "lt":
		holds = order < 0
	case "le":
		holds = order <= 0
	case "gt":
		holds = order > 0
	case "ge":
		holds = order >= 0
	default:
		return unknown(method, "the comparison is not known")
	}
	return decide(v, holds, "the field has the required value", "the field does not have the required value")
}

func (f Facts) contains(p events.ContainsPredicate) Verdict {
	const method = "whole-word text search"
	r, v, ok := f.use(method, p.Result)
	if !ok {
		return v
	}
	have, ok := jsonvalue.At(r.Content, p.Path)
	text, isText := have.(string)
	if !ok || !isText {
		return unknown(method, "the result has no text at "+p.Path)
	}
	want, ok := f.operand(p.Text)
	if !ok || want == "" {
		return unknown(method, "the text to look for is not known")
	}
	return decide(v, containsWord(text, want), "the text is there", "the text is not there")
}

func (f Facts) operand(o events.Operand) (string, bool) {
	if o.Literal != nil {
		value, err := jsonvalue.Parse(o.Literal, jsonvalue.DefaultLimits)
		if err != nil {
			return "", false
		}
		return scalar(value)
	}
	value, ok := jsonvalue.At(f.Input, o.Input)
	if !ok {
		return "", false
	}
	return scalar(value)
}

func scalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	}
	return "", false
}

// containsWord reports whether want stands in text with no letter, digit, or
// continuing number next to it: "1.2" is not in "11.2" nor in "1.2.3".
func containsWord(text, want string) bool {
	for offset := 0; ; {
		i := strings.Index(text[offset:], want)
		if i < 0 {
			return false
		}
		start := offset + i
		end := start + len(want)
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, width := utf8.DecodeRuneInString(text[end:])
		if !wordRune(before) && !continues(before, text[:start], false) &&
			!wordRune(after) && !continues(after, text[end+min(width, len(text)-end):], true) {
			return true
		}
		_, step := utf8.DecodeRuneInString(text[start:])
		offset = start + step
	}
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// continues reports whether a dot or hyphen next to the match joins it to more
// of the same word.
func continues(r rune, rest string, after bool) bool {
	if r != '.' && r != '-' {
		return false
	}
	var next rune
	if after {
		next, _ = utf8.DecodeRuneInString(rest)
	} else {
		next, _ = utf8.DecodeLastRuneInString(strings.TrimSuffix(rest, string(r)))
	}
	return wordRune(next) && next != utf8.RuneError
}

func (f Facts) newer(p events.NewerPredicate) Verdict {
	const method = "comparison of evidence times"
	left, okLeft := f.time(p.Left)
	right, okRight := f.time(p.Right)
	_, v, ok := f.use(method, p.Left.Result)
	if !ok {
		return v
	}
	other, w, ok := f.use(method, p.Right.Result)
	if !ok {
		return w
	}
	if other.Node != p.Left.Result {
		v.Results = append(v.Results, w.Results...)
		v.Evidence = append(v.Evidence, w.Evidence...)
	}
	if !okLeft || !okRight {
		return unknown(method, "one of the times is not known")
	}
	return decide(v, left >= right, "the first time is not before the second", "the first time is before the second")
}

func (f Facts) time(ref events.TimeRef) (events.Time, bool) {
	var newest events.Time
	named := f.evidenceOf(f.Results[ref.Result])
	for _, e := range f.Evidence {
		if !slices.Contains(named, e.ID) {
			continue
		}
		var at events.Time
		switch ref.Time {
		case "observed":
			if e.Kind == "invocation" {
				at = e.Observed
			}
		case "source_modified":
			at = e.SourceModified
		case "published":
			at = e.Published
		}
		newest = max(newest, at)
	}
	return newest, newest != 0
}

func (f Facts) producer(p events.ProducerPredicate) Verdict {
	r, v, ok := f.use("producer identity", p.Result)
	if !ok {
		return v
	}
	return decide(v, r.Producer == p.Capability, "the named capability produced the result", "another capability produced the result")
}

func (f Facts) exists(p events.ExistsPredicate) Verdict {
	r, v, ok := f.use("required field", p.Result)
	if !ok {
		return v
	}
	_, found := jsonvalue.At(r.Content, p.Path)
	return decide(v, found, "the result has the field", "the result lacks the field")
}

func (f Facts) unit(p events.UnitPredicate) Verdict {
	const method = "unit of a quantity"
	r, v, ok := f.use(method, p.Result)
	if !ok {
		return v
	}
	have, ok := jsonvalue.At(r.Content, p.Path+"/unit")
	if !ok {
		return unknown(method, "the quantity has no unit")
	}
	return decide(v, have == p.Unit, "the quantity has the required unit", "the quantity has another unit")
}
