package process

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	tests := []struct {
		pattern, name string
		match         bool
		contain       bool // whether something below name could match
	}{
		{"*.go", "a.go", true, false},
		{"*.go", "d/a.go", false, false},
		{"**/*.go", "a.go", true, true},
		{"**/*.go", "d/e/a.go", true, true},
		{"**/*.go", "d/e/a.txt", false, true},
		{"**", "d/e", true, true},
		{"d/**", "d", true, true},
		{"d/**/x/*.go", "d/x/a.go", true, true},
		{"d/**/x/*.go", "d/y/x/a.go", true, true},
		{"d/**/x/*.go", "e/x/a.go", false, false},
		{"d/*/a.go", "d/e", false, true},
		{"d/*/a.go", "d/e/a.go", true, false},
		{"d/*/a.go", "d/e/f", false, false},
	}
	for _, test := range tests {
		pattern, name := strings.Split(test.pattern, "/"), strings.Split(test.name, "/")
		if got := matches(pattern, name); got != test.match {
			t.Errorf("matches(%q, %q) = %v", test.pattern, test.name, got)
		}
		if got := canContain(pattern, name); got != test.contain {
			t.Errorf("canContain(%q, %q) = %v", test.pattern, test.name, got)
		}
	}
}
