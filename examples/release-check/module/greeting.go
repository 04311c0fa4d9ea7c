// Package greeting greets people.
package greeting

import "strings"

// For returns the greeting for a person. Spaces around the name do not matter;
// somebody without a name is greeted too.
func For(name string) string {
	name = strings.TrimSpace(name)
	if name == "" {
		return "Hello!"
	}
	return "Hello, " + name + "!"
}
