package decider

import "maps"

// With returns a copy of a map with one more entry. States are kept, so that a
// fold never changes one in place.
func With[V any](m map[string]V, key string, value V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// Without returns a copy of a map without an entry.
func Without[V any](m map[string]V, key string) map[string]V {
	m = maps.Clone(m)
	delete(m, key)
	return m
}
