package req

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// module is the module path whose root holds docs/requirements.md. Nested modules have other paths and are passed by.
const module = "example.org/mandate"

// marker starts the line that Covers logs and ReadTestJSON looks for.
const marker = "req: covers "

// Covers records that the running test decides the requirements with the given IDs: the test would fail if one of them
// were broken. It logs one line per ID and fails the test on an ID that docs/requirements.md does not list. A claim
// counts only when the test or subtest that made it passes, so a subtest claims its own lines.
func Covers(tb testing.TB, ids ...string) {
	tb.Helper()
	if len(ids) == 0 {
		tb.Error("req: Covers needs at least one requirement ID")
		return
	}
	known, err := knownIDs()
	if err != nil {
		tb.Errorf("req: %v", err)
		return
	}
	for _, id := range ids {
		if !known[id] {
			tb.Errorf("req: %q is not an ID in docs/requirements.md", id)
			continue
		}
		tb.Logf("%s%s", marker, id)
	}
}

// knownIDs reads the requirements once per test binary.
var knownIDs = sync.OnceValues(func() (map[string]bool, error) {
	root, err := ModuleRoot()
	if err != nil {
		return nil, err
	}
	list, err := LoadFile(filepath.Join(root, "docs", "requirements.md"))
	if err != nil {
		return nil, err
	}
	known := make(map[string]bool, len(list))
	for _, requirement := range list {
		known[requirement.ID] = true
	}
	return known, nil
})

// ModuleRoot returns the directory of this module's go.mod. It walks up from the working directory and, when a test has
// changed that, from this source file.
func ModuleRoot() (string, error) {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	for _, start := range starts {
		for dir := start; ; dir = filepath.Dir(dir) {
			if isRoot(dir) {
				return dir, nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("no go.mod of %s above %s", module, strings.Join(starts, " or "))
}

// isRoot reports whether dir holds the go.mod of this module.
func isRoot(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" {
			return fields[1] == module
		}
	}
	return false
}
