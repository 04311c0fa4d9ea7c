package host

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
)

// ErrVariable is returned for a variable that no environment can hold.
var ErrVariable = errors.New("host: a variable has an impossible name or value")

// Environment describes the environment of a program. It is empty but for
// what is listed.
type Environment struct {
	// Pass lists variables of the host that are passed on where they are set.
	Pass []string
	// Set holds fixed values; they win over passed ones.
	Set map[string]string
	// Own holds the runtime's own values; they win over everything.
	Own map[string]string
	// Lookup reads the host's environment; nil is the process's own.
	Lookup func(string) (string, bool)
}

// List returns the variables as "NAME=value", sorted. It is never nil, which
// would mean the whole environment of this process.
func (e Environment) List() ([]string, error) {
	lookup := e.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	merged := make(map[string]string)
	for _, name := range e.Pass {
		if value, ok := lookup(name); ok {
			merged[name] = value
		} else if !validName(name) {
			return nil, ErrVariable
		}
	}
	maps.Copy(merged, e.Set)
	maps.Copy(merged, e.Own)
	list := make([]string, 0, len(merged))
	for name, value := range merged {
		if !validName(name) || strings.ContainsRune(value, 0) {
			return nil, ErrVariable
		}
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list, nil
}

// validName reports whether name can be the name of a variable.
func validName(name string) bool {
	return name != "" && !strings.ContainsAny(name, "=\x00")
}
