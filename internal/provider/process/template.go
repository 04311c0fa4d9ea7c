package process

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Errors of a template and its arguments. None quotes an argument's value.
var (
	errTemplate = errors.New("process: the command of the capability is malformed")
	errArgument = errors.New("process: an argument cannot be used in the command")
)

// expandCommand replaces the placeholders of a command. The program itself,
// its first element, is never made of arguments.
func expandCommand(command []string, arguments map[string]jsontext.Value) ([]string, error) {
	if len(command) == 0 || command[0] == "" {
		return nil, fmt.Errorf("%w: no program", errTemplate)
	}
	if hasPlaceholder(command[0]) || strings.ContainsRune(command[0], 0) {
		return nil, fmt.Errorf("%w: the program is not fixed", errTemplate)
	}
	expanded := []string{command[0]}
	for i, element := range command[1:] {
		value, err := expand(element, arguments)
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", i+1, err)
		}
		expanded = append(expanded, value)
	}
	return expanded, nil
}

// expand replaces the placeholders in one element, once: a value that looks
// like a placeholder stays as it is. A brace that does not enclose a name is
// an ordinary character.
func expand(element string, arguments map[string]jsontext.Value) (string, error) {
	var b strings.Builder
	rest := element
	for {
		before, name, after, found := cutPlaceholder(rest)
		b.WriteString(before)
		if !found {
			break
		}
		value, err := scalar(arguments, name)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
		rest = after
	}
	expanded := b.String()
	if strings.ContainsRune(expanded, 0) {
		return "", fmt.Errorf("%w: a NUL character", errArgument)
	}
	// A value could otherwise turn an argument into an option.
	if strings.HasPrefix(expanded, "-") && !strings.HasPrefix(element, "-") {
		return "", fmt.Errorf("%w: it would begin with a dash", errArgument)
	}
	return expanded, nil
}

// hasPlaceholder reports whether element is made of arguments.
func hasPlaceholder(element string) bool {
	_, _, _, found := cutPlaceholder(element)
	return found
}

// cutPlaceholder finds the first "{name}".
func cutPlaceholder(s string) (before, name, after string, found bool) {
	for from := 0; ; {
		open := strings.IndexByte(s[from:], '{')
		if open < 0 {
			return s, "", "", false
		}
		open += from
		length := strings.IndexByte(s[open:], '}')
		if length < 0 {
			return s, "", "", false
		}
		if candidate := s[open+1 : open+length]; isName(candidate) {
			return s[:open], candidate, s[open+length+1:], true
		}
		from = open + 1
	}
}

// isName reports whether s can be the name of an argument in a placeholder.
func isName(s string) bool {
	for i, c := range s {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c != '-' && c != '.' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// scalar returns the text of a string, number or boolean argument.
func scalar(arguments map[string]jsontext.Value, name string) (string, error) {
	value, ok := arguments[name]
	if !ok {
		return "", fmt.Errorf("%w: it is missing", errArgument)
	}
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return "", fmt.Errorf("%w: it is not a valid string", errArgument)
		}
		return string(text), nil
	case '0', 't', 'f':
		return string(value), nil
	default:
		return "", fmt.Errorf("%w: it is not a scalar", errArgument)
	}
}
