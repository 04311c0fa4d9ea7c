package schema

import (
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// atLeastOf answers for a least count that b wants; low and high are what a
// count certainly is, high negative if there is no most.
func atLeastOf(low, high int, want *int, keyword string) answer {
	if want == nil {
		return yes()
	}
	return either(low >= *want, high >= 0 && high < *want, keyword)
}

func atMostOf(low, high int, want *int, keyword string) answer {
	if want == nil {
		return yes()
	}
	return either(high >= 0 && high <= *want, low > *want, keyword)
}

// text answers for the keywords of strings.
func text(a side, b *jsonschema.Schema) answer {
	low := a.atLeast(func(s *jsonschema.Schema) *int { return s.MinLength })
	high := a.atMost(func(s *jsonschema.Schema) *int { return s.MaxLength })
	out := both(atLeastOf(low, high, b.MinLength, "minLength"), atMostOf(low, high, b.MaxLength, "maxLength"))
	if b.Pattern != nil {
		same := a.has(func(s *jsonschema.Schema) bool { return s.Pattern != nil && s.Pattern.String() == b.Pattern.String() })
		out = both(out, either(same, false, "pattern"))
	}
	if b.ContentEncoding != nil || b.ContentMediaType != nil || b.ContentSchema != nil {
		out = both(out, open("contentEncoding"))
	}
	return out
}

// limit is one end of a range of numbers. A nil value is no end.
type limit struct {
	value    *big.Rat
	excluded bool
}

// whole returns the limit that integers meet: up is towards larger numbers.
func (l limit) whole(up bool) limit {
	if l.value == nil {
		return l
	}
	n := new(big.Int).Div(l.value.Num(), l.value.Denom()) // rounds down: the denominator is positive
	switch exact := l.value.IsInt(); {
	case up && (!exact || l.excluded):
		n.Add(n, big.NewInt(1))
	case !up && exact && l.excluded:
		n.Sub(n, big.NewInt(1))
	}
	return limit{value: new(big.Rat).SetInt(n)}
}

// stronger returns the limit that leaves less; sign is 1 for a lower limit.
func (l limit) stronger(other limit, sign int) limit {
	if other.value == nil || l.value != nil && l.implies(other, sign) {
		return l
	}
	return other
}

// implies reports whether what keeps l keeps other.
func (l limit) implies(other limit, sign int) bool {
	if l.value == nil {
		return false
	}
	order := l.value.Cmp(other.value) * sign
	return order > 0 || order == 0 && (l.excluded || !other.excluded)
}

// apart reports whether nothing is above low and below high.
func apart(low, high limit) bool {
	if low.value == nil || high.value == nil {
		return false
	}
	order := low.value.Cmp(high.value)
	return order > 0 || order == 0 && (low.excluded || high.excluded)
}

// ends returns the range of a part.
func ends(s *jsonschema.Schema, integer bool) (low, high limit) {
	low = limit{value: s.Minimum}.stronger(limit{s.ExclusiveMinimum, true}, 1)
	high = limit{value: s.Maximum}.stronger(limit{s.ExclusiveMaximum, true}, -1)
	if integer {
		low, high = low.whole(true), high.whole(false)
	}
	return low, high
}

// number answers for the keywords of numbers.
func number(a side, b *jsonschema.Schema, integer bool) answer {
	var low, high limit
	for _, part := range a {
		l, h := ends(part, integer)
		low, high = low.stronger(l, 1), high.stronger(h, -1)
	}
	out := yes()
	wantLow, wantHigh := ends(b, integer)
	if wantLow.value != nil {
		out = both(out, either(low.implies(wantLow, 1), apart(wantLow, high), "minimum"))
	}
	if wantHigh.value != nil {
		out = both(out, either(high.implies(wantHigh, -1), apart(low, wantHigh), "maximum"))
	}
	if b.MultipleOf != nil {
		good := integer && new(big.Rat).Inv(b.MultipleOf).IsInt() || a.has(func(s *jsonschema.Schema) bool {
			return s.MultipleOf != nil && new(big.Rat).Quo(s.MultipleOf, b.MultipleOf).IsInt()
		})
		out = both(out, either(good, false, "multipleOf"))
	}
	return out
}

// array answers for the keywords of arrays.
func (c *comparer) array(a side, b *jsonschema.Schema) answer {
	low := a.atLeast(func(s *jsonschema.Schema) *int { return s.MinItems })
	high := a.atMost(func(s *jsonschema.Schema) *int { return s.MaxItems })
	out := both(atLeastOf(low, high, b.MinItems, "minItems"), atMostOf(low, high, b.MaxItems, "maxItems"))
	if b.UniqueItems {
		out = both(out, either(high == 0 || high == 1 || a.has(func(s *jsonschema.Schema) bool { return s.UniqueItems }), false, "uniqueItems"))
	}
	if b.Contains != nil && (b.MinContains == nil || *b.MinContains != 0 || b.MaxContains != nil) {
		out = both(out, open("contains"))
	}
	if b.UnevaluatedItems != nil {
		out = both(out, open("unevaluatedItems"))
	}
	last := indexes(b)
	for _, part := range a {
		last = max(last, indexes(part))
	}
	if last > maxIndexes {
		return both(out, open("prefixItems"))
	}
	sure := low
	if b.MinItems != nil {
		sure = max(sure, *b.MinItems)
	}
	// The last index stands for all from there on.
	for i := 0; i <= last && (high < 0 || i < high); i++ {
		if part := itemPart(b, i); part != nil {
			out = both(out, c.inside(a.item(i), part, strconv.Itoa(i), i < sure))
		}
	}
	return out
}

func (c *comparer) inside(a side, b *jsonschema.Schema, step string, sure bool) answer {
	c.nested++
	x := c.fits(a, b).within(step, sure)
	c.nested--
	return x
}

// object answers for the keywords of objects.
func (c *comparer) object(a side, b *jsonschema.Schema) answer {
	out := c.required(a, b)
	names := map[string]bool{}
	for _, part := range append(slices.Clone(a), b) {
		for _, name := range part.Required {
			names[name] = true
		}
		for name := range part.Properties {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		for _, part := range propertyParts(b, name) {
			out = both(out, c.inside(a.property(name), part, name, a.requires(name) || slices.Contains(b.Required, name)))
		}
	}
	listed, closed := a.closed()
	if !closed {
		out = both(out, c.others(a, b))
	}
	out = both(out, count(a, b, listed, closed))
	return both(out, c.dependent(a, b, listed, closed))
}

// required answers for the names that b wants.
func (c *comparer) required(a side, b *jsonschema.Schema) answer {
	out := yes()
	for _, name := range b.Required {
		x := yes()
		if !a.requires(name) {
			x = either(false, c.fits(a.property(name), nothing).proven, "required")
			x.why.Pointer = "/" + escape(name)
		}
		out = both(out, x)
	}
	return out
}

// closed returns the names of a part that allows no others.
func (a side) closed() (names []string, closed bool) {
	for _, part := range a {
		next := orNever(part.AdditionalProperties)
		if len(part.PatternProperties) == 0 && next != nil && next.Bool != nil && !*next.Bool {
			return slices.Sorted(maps.Keys(part.Properties)), true
		}
	}
	return nil, false
}

// others answers for the properties that no part names.
func (c *comparer) others(a side, b *jsonschema.Schema) answer {
	var known side
	for _, part := range a {
		if len(part.PatternProperties) == 0 {
			known = flatten(known, orNever(part.AdditionalProperties))
		}
	}
	var wanted []*jsonschema.Schema
	for _, part := range b.PatternProperties {
		wanted = append(wanted, part)
	}
	if next := orNever(b.AdditionalProperties); next != nil {
		wanted = append(wanted, next)
	}
	out := yes()
	for _, part := range wanted {
		if x := c.inside(known, part, "*", false); !x.proven {
			out = both(out, open("additionalProperties"))
		}
	}
	return out
}

// count answers for the number of properties.
func count(a side, b *jsonschema.Schema, listed []string, closed bool) answer {
	certain := map[string]bool{}
	for _, part := range a {
		for _, name := range part.Required {
			certain[name] = true
		}
	}
	low := max(len(certain), a.atLeast(func(s *jsonschema.Schema) *int { return s.MinProperties }))
	high := a.atMost(func(s *jsonschema.Schema) *int { return s.MaxProperties })
	if closed && (high < 0 || len(listed) < high) {
		high = len(listed)
	}
	return both(atLeastOf(low, high, b.MinProperties, "minProperties"), atMostOf(low, high, b.MaxProperties, "maxProperties"))
}

// dependent answers for what b wants of names, and of some properties where
// others are there.
func (c *comparer) dependent(a side, b *jsonschema.Schema, listed []string, closed bool) answer {
	out := yes()
	if b.PropertyNames != nil {
		follows := func(name string) bool { return b.PropertyNames.Validate(name) == nil }
		good := closed && !slices.ContainsFunc(listed, func(name string) bool { return !follows(name) })
		bad := a.has(func(s *jsonschema.Schema) bool {
			return slices.ContainsFunc(s.Required, func(name string) bool { return !follows(name) })
		})
		out = both(out, either(good, bad, "propertyNames"))
	}
	if b.UnevaluatedProperties != nil {
		out = both(out, open("unevaluatedProperties"))
	}
	cannot := func(name string) bool { return closed && !slices.Contains(listed, name) }
	names := func(when string, then []string) {
		missing := func(name string) bool { return !a.requires(name) }
		out = both(out, either(cannot(when) || !slices.ContainsFunc(then, missing), false, "dependentRequired"))
	}
	part := func(when string, then *jsonschema.Schema) {
		x := c.against(a, then, kindObject)
		out = both(out, either(cannot(when) || x.proven, a.requires(when) && x.impossible, "dependentSchemas"))
	}
	for when, then := range b.DependentRequired {
		names(when, then)
	}
	for when, then := range b.DependentSchemas {
		part(when, then)
	}
	for when, value := range b.Dependencies {
		switch then := value.(type) {
		case []string:
			names(when, then)
		case *jsonschema.Schema:
			part(when, then)
		}
	}
	return out
}
