package bfcl_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tool is one function of the corpus.
type tool struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Effect     string          `json:"effect"`
}

// call is one call that is expected: with its arguments, or with a list of
// accepted values for each, where "" means that it may be left out.
type call struct {
	Name      string           `json:"name"`
	Arguments map[string]any   `json:"arguments"`
	Accepted  map[string][]any `json:"accepted"`
	Effect    string           `json:"effect"`
}

// row is one case: of several turns, or of one request.
type row struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Classes  []string        `json:"tool_classes"`
	Withheld json.RawMessage `json:"withheld_tools"`
	Tools    []tool          `json:"tools"`
	Turns    []struct {
		Calls []call `json:"calls"`
	} `json:"turns"`
	Expected []call `json:"expected_calls"`
}

// corpus is the cases with the tools of the classes that they name.
type corpus struct {
	rows    []row
	classes map[string][]tool
}

// open reads the corpus out of a folder; ok is false where there is none.
func open(t *testing.T, folder string) (c corpus, ok bool) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, "multi_turn_tools.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return c, false
	}
	if err == nil {
		err = json.Unmarshal(data, &c.classes)
	}
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(folder, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		decoder := json.NewDecoder(strings.NewReader(lines.Text()))
		decoder.UseNumber()
		var r row
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		c.rows = append(c.rows, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return c, true
}

// tools lists what a case offers in a turn. Some tools of it appear only later,
// and some never.
func (c corpus) tools(t *testing.T, r row, turn int) []tool {
	t.Helper()
	all := slices.Clone(r.Tools)
	for _, class := range r.Classes {
		if c.classes[class] == nil {
			t.Fatalf("%s: there are no tools of class %s", r.ID, class)
		}
		all = append(all, c.classes[class]...)
	}
	never, later := r.withheld(t)
	return slices.DeleteFunc(all, func(candidate tool) bool {
		from, named := later[candidate.Name]
		return named && turn < from || slices.Contains(never, candidate.Name)
	})
}

// withheld returns the tools that are never offered, and those that are offered
// from a turn on.
func (r row) withheld(t *testing.T) (never []string, later map[string]int) {
	t.Helper()
	later = map[string]int{}
	if len(r.Withheld) == 0 || json.Unmarshal(r.Withheld, &never) == nil {
		return never, later
	}
	var turns map[int][]string
	if err := json.Unmarshal(r.Withheld, &turns); err != nil {
		t.Fatalf("%s: %v", r.ID, err)
	}
	for turn, names := range turns {
		for _, name := range names {
			later[name] = turn
		}
	}
	return nil, later
}

// steps lists the turns of a case; a request of its own is one turn.
func (r row) steps() [][]call {
	if r.Turns == nil {
		return [][]call{r.Expected}
	}
	var all [][]call
	for _, turn := range r.Turns {
		all = append(all, turn.Calls)
	}
	return all
}

// arguments returns the arguments of a call, the first that is accepted of each.
func (c call) arguments() map[string]any {
	if c.Accepted == nil {
		return c.Arguments
	}
	chosen := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.Accepted)) {
		if value, ok := first(c.Accepted[name]); ok {
			chosen[name] = value
		}
	}
	return chosen
}

// first returns the first accepted value that is one. Inside objects there are
// lists of accepted values again.
func first(accepted []any) (any, bool) {
	if slices.Contains(scalars(accepted), "") {
		return nil, false // it may be left out
	}
	if len(accepted) == 0 {
		return nil, false
	}
	return chosen(accepted[0]), true
}

func scalars(values []any) (texts []string) {
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

func chosen(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, inner := range v {
			accepted, ok := inner.([]any)
			if !ok {
				out[name] = chosen(inner)
				continue
			}
			if one, ok := first(accepted); ok {
				out[name] = one
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = chosen(v[i])
		}
		return out
	}
	return value
}
