package decider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/internal/decider"
)

// What was kept of a state stays as it was.
func TestMapsAreCopied(t *testing.T) {
	var none map[string]int
	one := decider.With(none, "a", 1)
	two := decider.With(one, "b", 2)
	rest := decider.Without(two, "a")
	for _, test := range []struct{ got, want map[string]int }{
		{none, nil},
		{one, map[string]int{"a": 1}},
		{two, map[string]int{"a": 1, "b": 2}},
		{rest, map[string]int{"b": 2}},
		{decider.Without(none, "a"), nil},
		{decider.With(two, "a", 3), map[string]int{"a": 3, "b": 2}},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Error(diff)
		}
	}
}
