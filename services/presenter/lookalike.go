package presenter

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// maxLookalikes bounds the characters that one warning names.
const maxLookalikes = 8

// lookalike is a character in the name or the value of an argument that does not
// show what it is.
type lookalike struct {
	argument string
	r        rune
}

// lookalikes lists the characters in arguments that look like others, or that a
// screen puts in another order than they have, up to a bound.
func lookalikes(members map[string]jsontext.Value) []lookalike {
	var found []lookalike
	for _, name := range slices.Sorted(maps.Keys(members)) {
		look := func(text string) bool {
			for _, r := range deceptive(text) {
				if one := (lookalike{name, r}); !slices.Contains(found, one) {
					found = append(found, one)
				}
			}
			return len(found) < maxLookalikes
		}
		value, err := jsonvalue.Parse(members[name], jsonvalue.DefaultLimits)
		if !look(name) || err == nil && !texts(value, look) {
			return found[:min(len(found), maxLookalikes)]
		}
	}
	return found
}

// texts calls f for every text and every name in a value, until it returns
// false.
func texts(value any, f func(string) bool) bool {
	switch v := value.(type) {
	case string:
		return f(v)
	case []any:
		for _, one := range v {
			if !texts(one, f) {
				return false
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !f(name) || !texts(v[name], f) {
				return false
			}
		}
	}
	return true
}

// deceptive lists the characters of a text that can be taken for others: letters
// of an alphabet that looks like the Latin one in a word that has both, forms of
// ASCII characters that are none, blanks that are no space, and what is written
// from right to left beside what is not.
func deceptive(text string) []rune {
	var found []rune
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }) {
		latin := strings.ContainsFunc(word, func(r rune) bool { return r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) })
		for _, r := range word {
			if standsIn(r) || latin && unicode.In(r, similar...) {
				found = append(found, r)
				break
			}
		}
	}
	return found
}

// similar are the scripts with letters that look like Latin ones, or that change
// the order in which what is beside them is shown.
var similar = []*unicode.RangeTable{
	unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Coptic, unicode.Lisu, unicode.Deseret, unicode.Osage,
	unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko,
}

// standsIn reports whether a character is a form of another one.
func standsIn(r rune) bool {
	switch {
	case r >= 0xff01 && r <= 0xff5e, r >= 0x1d400 && r <= 0x1d7ff, r >= 0x2100 && r <= 0x214f && unicode.IsLetter(r):
		return true // fullwidth, mathematical and letterlike forms
	case r == 0x131, r == 0x237, r == 0x251, r == 0x261, r == 0x26a, r == 0x2800:
		return true
	case r == 0x2024, r == 0x2044, r == 0x2215, r == 0x2236, r == 0xa789, r == 0x29f8, r == 0x2010, r == 0x2011, r == 0x2212:
		return true // as . / : and -
	}
	return r != ' ' && unicode.Is(unicode.Zs, r)
}

// lookClosely points out what cannot be told by looking.
func lookClosely(found []lookalike) events.Block {
	var words []string
	for _, one := range found {
		words = append(words, fmt.Sprintf("U+%04X in %s", one.r, line(one.argument, wordBytes)))
	}
	return events.Block{Callout: &events.CalloutBlock{
		Kind: events.CalloutWarning, Title: "Not what it looks like",
		Spans: []events.Span{{Text: "Look closely: some characters look like others, or are shown in another order than they have: " + strings.Join(words, ", ") + "."}},
	}}
}
