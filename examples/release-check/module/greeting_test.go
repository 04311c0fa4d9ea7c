package greeting_test

import (
	"fmt"
	"testing"

	"example.org/greeting"
)

func TestFor(t *testing.T) {
	tests := map[string]struct{ name, want string }{
		"named":  {"Ada", "Hello, Ada!"},
		"spaces": {"  Grace ", "Hello, Grace!"},
		"nobody": {"", "Hello!"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := greeting.For(test.name); got != test.want {
				t.Errorf("For(%q) = %q, want %q", test.name, got, test.want)
			}
		})
	}
}

func ExampleFor() {
	fmt.Println(greeting.For("Ada"))
	// Output: Hello, Ada!
}
