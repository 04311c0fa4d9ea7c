package testkit

import "context"

// Keys gives every erasure scope a data key of its own that follows from its
// name, without a store.
type Keys struct{}

// Create returns the key of a scope.
func (Keys) Create(_ context.Context, scope string) ([]byte, error) { return keyOf(scope), nil }

// Key returns the key of a scope.
func (Keys) Key(_ context.Context, scope string) ([]byte, error) { return keyOf(scope), nil }

func keyOf(scope string) []byte {
	return []byte(scope + "0123456789abcdef0123456789abcdef")[:32]
}
