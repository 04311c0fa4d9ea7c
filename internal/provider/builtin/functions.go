package builtin

import (
	"context"

	"example.org/mandate/internal/capability"
)

// Noop does nothing and returns an empty object.
func Noop(context.Context, capability.Invocation) ([]byte, error) { return []byte("{}"), nil }

// Echo does nothing and returns its arguments.
func Echo(_ context.Context, invocation capability.Invocation) ([]byte, error) {
	if len(invocation.Arguments) == 0 {
		return []byte("{}"), nil
	}
	return invocation.Arguments, nil
}
