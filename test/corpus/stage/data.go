package stage

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/capability"
)

// Document reads a file of one JSON value.
func Document(name string, into any) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Lines reads a file of one JSON value a line.
func Lines[T any](name string, take func(T)) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var one T
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		take(one)
	}
	return scanner.Err()
}

// Canonical is the canonical JSON of arguments, nil if they have none.
func Canonical(arguments map[string]events.JSON) []byte {
	data, err := canon.JSON(arguments)
	if err != nil {
		return nil
	}
	return data
}

// Done is the outcome of a call that worked.
func Done(text string, values map[string]events.JSON) capability.Outcome {
	content := map[string]any{"text": text}
	if values != nil {
		content["values"] = values
	}
	value, err := json.Marshal(content, json.Deterministic(true))
	if err != nil {
		return Failed(err.Error())
	}
	return capability.Outcome{Status: capability.StatusCompleted, Value: value, MediaType: events.MediaJSON, Receipt: "done"}
}

// Failed is the outcome of a call that certainly did nothing.
func Failed(message string) capability.Outcome {
	return capability.Outcome{Status: capability.StatusFailed, NotApplied: true, Code: events.CodeActionFailed, Message: message}
}

// Data returns the folder of a set of outside data, and whether it is whole.
// Where the set is not at hand it is the part that is kept with the test, and
// the log says loudly that the rest was not run.
func Data(tb testing.TB, set string) (dir string, whole bool) {
	tb.Helper()
	root := os.Getenv("MANDATE_DATA")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	dir = filepath.Join(root, set)
	if _, err := os.Stat(dir); err != nil {
		tb.Logf("SKIPPED: most of the set %s, which is not at %s (MANDATE_DATA says where it is)", set, root)
		return filepath.Join("testdata", "subset"), false
	}
	return dir, true
}

// Part returns every one of a list if MANDATE_CORPUS is all, else one in so
// many: the other steps of the tests do not need all of it.
func Part[T any](tb testing.TB, list []T, one int) []T {
	tb.Helper()
	if os.Getenv("MANDATE_CORPUS") == "all" || len(list) < 50 {
		return list
	}
	var part []T
	for i := 0; i < len(list); i += one {
		part = append(part, list[i])
	}
	tb.Logf("%d of %d cases; MANDATE_CORPUS=all runs all", len(part), len(list))
	return part
}
