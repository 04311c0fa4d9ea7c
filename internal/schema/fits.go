package schema

import (
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Status says whether the values of one schema fit another.
type Status string

// The statuses.
const (
	// Proven: every value that the output allows is accepted by the input.
	Proven Status = "proven"
	// Pending: the schemas leave it open; only the value itself can tell.
	Pending Status = "pending"
	// Impossible: no value that the output allows is accepted by the input.
	Impossible Status = "impossible"
)

// Verdict says whether values fit, and what decided it where they do not
// certainly.
type Verdict struct {
	Status Status
	// Problem is the first place and keyword that is not certain to be
	// followed, or that cannot be. Its keyword is empty if the value is only
	// not certain to be there.
	Problem Problem
}

// Reason says in words why a verdict is not [Proven].
func (v Verdict) Reason() string {
	keyword := v.Problem.Keyword
	if v.Problem.Pointer != "" {
		keyword += " at " + v.Problem.Pointer
	}
	switch {
	case v.Status == Impossible:
		return "no value that the output allows follows " + keyword
	case v.Status == Pending && v.Problem.Keyword == "":
		return "the output may lack the value"
	case v.Status == Pending:
		return "not every value that the output allows is certain to follow " + keyword
	}
	return ""
}

// Compatible says whether the values that output allows are accepted by input.
// It is sound: what it calls proven has no counterexample, and what it calls
// impossible no example. It looks at what the schemas say; the limits on size
// and depth of a whole value are for [Schema.Validate].
func Compatible(output, input *Schema) Verdict { return Fits(output.Shape(), input) }

// Fits says whether the values of a shape are accepted by input.
func Fits(output Shape, input *Schema) Verdict {
	if output.dynamic || input.dynamic {
		return Verdict{Status: Pending, Problem: Problem{Keyword: "$dynamicRef"}}
	}
	var c comparer
	x := c.fits(flatten(nil, output.part), input.compiled)
	switch {
	case x.impossible:
		return Verdict{Status: Impossible, Problem: x.why}
	case !x.proven:
		return Verdict{Status: Pending, Problem: x.why}
	case output.absent:
		return Verdict{Status: Pending}
	}
	return Verdict{Status: Proven}
}

// answer is what is known: that every value fits, that none does, or neither.
// Of no values at all both are true.
type answer struct {
	proven, impossible bool
	why                Problem
}

func yes() answer { return answer{proven: true} }

func no(keyword string) answer { return answer{impossible: true, why: Problem{Keyword: keyword}} }

func open(keyword string) answer { return answer{why: Problem{Keyword: keyword}} }

// either answers yes where good, no where bad, and leaves it open otherwise.
func either(good, bad bool, keyword string) answer {
	switch {
	case good:
		return yes()
	case bad:
		return no(keyword)
	}
	return open(keyword)
}

// both is the answer to two conditions at once.
func both(a, b answer) answer {
	out := answer{proven: a.proven && b.proven, impossible: a.impossible || b.impossible}
	switch {
	case a.impossible:
		out.why = a.why
	case b.impossible || a.proven:
		out.why = b.why
	default:
		out.why = a.why
	}
	return out
}

// union is the answer for the values of two sets.
func union(a, b answer) answer {
	out := answer{proven: a.proven && b.proven, impossible: a.impossible && b.impossible, why: a.why}
	if a.proven && !b.proven || a.why.Keyword == "" {
		out.why = b.why
	}
	return out
}

// within is the answer at a place inside, which may be missing: then nothing
// that does not fit there makes the whole impossible.
func (a answer) within(step string, sure bool) answer {
	a.impossible = a.impossible && sure
	if a.why.Keyword != "" {
		a.why.Pointer = "/" + escape(step) + a.why.Pointer
	}
	return a
}

// Bounds of one comparison. What is not decided within them stays open.
const (
	maxSteps    = 20_000
	maxNested   = 32
	maxFinite   = 64
	maxBranches = 64
	maxIndexes  = 64
)

type comparer struct {
	steps  int
	nested int
}

// fits answers for every value that follows all parts of a.
func (c *comparer) fits(a side, b *jsonschema.Schema) answer {
	if c.steps++; c.steps > maxSteps || c.nested > maxNested {
		return open("depth")
	}
	if branches := a.branches(); branches != nil {
		all := answer{proven: true, impossible: true}
		for _, branch := range branches {
			all = union(all, c.fits(branch, b))
		}
		return all
	}
	if values, ok := a.finite(); ok {
		return listed(values, b)
	}
	all := answer{proven: true, impossible: true, why: Problem{Keyword: "false"}}
	for _, k := range a.kinds().each() {
		all = union(all, c.against(a, b, k))
	}
	return all
}

// listed answers for some values.
func listed(values []any, b *jsonschema.Schema) answer {
	out := answer{proven: true, impossible: true, why: Problem{Keyword: "enum"}}
	for _, value := range values {
		if b.Validate(value) == nil {
			out.impossible = false
		} else {
			out.proven = false
		}
	}
	return out
}

// against answers for the values of one kind that follow all parts of a, which
// has no branches.
func (c *comparer) against(a side, b *jsonschema.Schema, k kinds) answer {
	if c.steps++; c.steps > maxSteps {
		return open("depth")
	}
	if b.Bool != nil {
		return either(*b.Bool, true, "false")
	}
	if kindsOf(b)&k == 0 {
		return no("type")
	}
	out := both(c.applied(a, b, k), c.conditions(a, b, k))
	if b.Const != nil {
		out = both(out, possible(a, []any{*b.Const}, k, "const"))
	}
	if b.Enum != nil {
		out = both(out, possible(a, b.Enum.Values, k, "enum"))
	}
	if b.Format != nil && k == kindString {
		out = both(out, either(a.has(func(s *jsonschema.Schema) bool { return s.Format != nil && s.Format.Name == b.Format.Name }), false, "format"))
	}
	switch k {
	case kindString:
		out = both(out, text(a, b))
	case kindInteger, kindFraction:
		out = both(out, number(a, b, k == kindInteger))
	case kindArray:
		out = both(out, c.array(a, b))
	case kindObject:
		out = both(out, c.object(a, b))
	case kindNull, kindBoolean, kindAny:
	}
	return out
}

// possible answers for a list of values that b accepts: a is not known to allow
// only these, but may allow none of them.
func possible(a side, values []any, k kinds, keyword string) answer {
	for _, value := range values {
		if kindOf(value) == k && a.allows(value) {
			return open(keyword)
		}
	}
	return no(keyword)
}

// applied answers for the parts of b that all have to hold of the same value.
func (c *comparer) applied(a side, b *jsonschema.Schema, k kinds) answer {
	out := yes()
	if b.Ref != nil {
		out = both(out, c.against(a, b.Ref, k))
	}
	for _, part := range b.AllOf {
		out = both(out, c.against(a, part, k))
	}
	if len(b.Extensions) > 0 {
		out = both(out, open("extension"))
	}
	return out
}

// conditions answers for the parts of b of which some have to hold.
func (c *comparer) conditions(a side, b *jsonschema.Schema, k kinds) answer {
	out := yes()
	if len(b.AnyOf) > 0 {
		good, bad := false, true
		for _, part := range b.AnyOf {
			x := c.against(a, part, k)
			good, bad = good || x.proven, bad && x.impossible
		}
		out = both(out, either(good, bad, "anyOf"))
	}
	if len(b.OneOf) > 0 {
		proven, impossible := 0, 0
		for _, part := range b.OneOf {
			x := c.against(a, part, k)
			switch {
			case x.impossible:
				impossible++
			case x.proven:
				proven++
			}
		}
		n := len(b.OneOf)
		out = both(out, either(proven == 1 && impossible == n-1, impossible == n || proven > 1, "oneOf"))
	}
	if b.Not != nil {
		x := c.against(a, b.Not, k)
		out = both(out, either(x.impossible, x.proven, "not"))
	}
	if b.If != nil {
		out = both(out, c.conditional(a, b, k))
	}
	return out
}

func (c *comparer) conditional(a side, b *jsonschema.Schema, k kinds) answer {
	branch := func(part *jsonschema.Schema) answer {
		if part == nil {
			return yes()
		}
		return c.against(a, part, k)
	}
	then, otherwise := branch(b.Then), branch(b.Else)
	switch x := c.against(a, b.If, k); {
	case x.proven:
		return then
	case x.impossible:
		return otherwise
	}
	return answer{
		proven: then.proven && otherwise.proven, impossible: then.impossible && otherwise.impossible,
		why: Problem{Keyword: "if"},
	}
}
