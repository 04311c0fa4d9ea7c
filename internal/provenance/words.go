package provenance

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// Stands reports whether a scalar stands at a span of a text, whole: not as a
// part of a longer word, number, date, path or address. Texts are compared byte
// for byte and numbers by value. Truth values and null are no words, and
// neither is a blank.
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

// whole reports whether a span begins and ends where a word does. Blanks at its
// ends do not make it another word.
func whole(text string, span events.WordSpan) bool {
	inner := strings.TrimFunc(text[span.Start:span.End], unicode.IsSpace)
	if inner == "" {
		return false
	}
	start := span.Start + strings.Index(text[span.Start:span.End], inner)
	before, after := text[:start], text[start+len(inner):]
	return begins(before, inner) && ends(inner, after) && !grouped(before, inner, after)
}

// begins reports whether nothing before a word belongs to it.
func begins(before, inner string) bool {
	first, _ := utf8.DecodeRuneInString(inner)
	r, rest := lastOf(before)
	switch {
	case unicode.Is(unicode.Sc, r): // the sign of an amount is before its currency
		r, _ = lastOf(rest)
		return !dash(r)
	case boundary(first), boundary(r):
		return true
	case apostrophe(r): // it quotes, or it is inside of a word
		r, _ = lastOf(rest)
		return boundary(r)
	}
	return false
}

// ends reports whether nothing after a word belongs to it: only marks that end
// a sentence or a quotation may follow.
func ends(inner, after string) bool {
	last, _ := lastOf(inner)
	r, rest := firstOf(after)
	if boundary(last) || boundary(r) {
		return true
	}
	if !inWord(last) {
		return false // "." is not the word in "...", nor "/" in "a/b"
	}
	for strings.ContainsRune(".,:;!?…'’-/%。、，！？：；", r) {
		r, rest = firstOf(rest)
	}
	return boundary(r)
}

// grouped reports whether a number goes on before or after a blank, as in
// "1 000".
func grouped(before, inner, after string) bool {
	isDigit := func(r rune) bool { return unicode.IsDigit(r) }
	notDigit := func(r rune) bool { return !unicode.IsDigit(r) }
	joins := func(blank rune, left, right string) bool {
		onLeft := utf8.RuneCountInString(left[len(strings.TrimRightFunc(left, isDigit)):])
		onRight := utf8.RuneCountInString(right)
		if end := strings.IndexFunc(right, notDigit); end >= 0 {
			onRight = utf8.RuneCountInString(right[:end])
		}
		switch {
		case onLeft == 0 || onRight == 0:
			return false
		case blank == ' ':
			return onLeft <= 3 && onRight == 3
		}
		return unicode.Is(unicode.Zs, blank)
	}
	r, rest := lastOf(before)
	if joins(r, rest, inner) {
		return true
	}
	r, rest = firstOf(after)
	return joins(r, inner, rest)
}

// none is what is before the first and after the last character.
const none rune = -1

func firstOf(text string) (r rune, rest string) {
	r, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return none, ""
	}
	return r, text[size:]
}

func lastOf(text string) (r rune, rest string) {
	r, size := utf8.DecodeLastRuneInString(text)
	if size == 0 {
		return none, ""
	}
	return r, text[:len(text)-size]
}

// boundary reports whether a character is between words: blanks, quotation
// marks, brackets and currencies. Every other one that is not of a word itself
// joins what is on both sides of it to one name, number, date, path or address.
func boundary(r rune) bool {
	return r == none || unicode.IsSpace(r) || strings.ContainsRune("\"`<>", r) ||
		unicode.In(r, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf, unicode.Sc) && !apostrophe(r)
}

// inWord reports whether a character is a part of a word: also one that is
// drawn onto the character before it, or that nobody sees.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || unicode.Is(unicode.Cf, r) || r == '_'
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' }

func dash(r rune) bool { return unicode.Is(unicode.Pd, r) || r == '−' }
