package req

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// ErrMalformed reports a requirements file whose layout this package does not understand.
var ErrMalformed = errors.New("malformed requirements file")

// ContradictionArea is the area of the contradictions between specifications. They can be claimed like requirements
// but are not counted among them.
const ContradictionArea = "X"

// A Requirement is one line of docs/requirements.md.
type Requirement struct {
	ID    string // stable identifier, such as C3-RUN-001.r
	Area  string // first word of the heading above its table
	Title string // rest of that heading
	Text  string // what must hold
	Owner string // tag of the part that answers for it; empty for a contradiction
}

// idPattern is what an ID looks like: a specification's prefix, an area and a line, or a contradiction.
var idPattern = regexp.MustCompile(`^(?:(?:C3-RUN|IK|OD|BNAR)-[0-9]+(?:\.[0-9a-z]+)+|X[0-9]+)$`)

// LoadFile reads and parses a requirements file.
func LoadFile(name string) ([]Requirement, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("load requirements: %w", err)
	}
	list, err := Parse(string(data))
	if err != nil {
		return nil, fmt.Errorf("load requirements %s: %w", name, err)
	}
	return list, nil
}

// Parse reads the tables of a requirements file, in order. A row of three cells under an area heading is a
// requirement; a duplicate or unlikely ID is an error, so that a typing mistake cannot drop a line silently.
func Parse(text string) ([]Requirement, error) {
	var (
		list        []Requirement
		area, title string
		seen        = map[string]bool{}
		number      int
	)
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "### "):
			area, title, _ = strings.Cut(strings.TrimPrefix(line, "### "), " ")
		case strings.HasPrefix(line, "## "):
			area, title = "", ""
		case area != "" && strings.HasPrefix(line, "|"):
			cells := splitRow(line)
			if len(cells) != 3 {
				return nil, fmt.Errorf("%w: line %d: %d cells, want 3", ErrMalformed, number, len(cells))
			}
			if cells[0] == "ID" || strings.HasPrefix(cells[0], "---") {
				continue
			}
			if !idPattern.MatchString(cells[0]) {
				return nil, fmt.Errorf("%w: line %d: %q is not an ID", ErrMalformed, number, cells[0])
			}
			if seen[cells[0]] {
				return nil, fmt.Errorf("%w: line %d: %s is listed twice", ErrMalformed, number, cells[0])
			}
			seen[cells[0]] = true
			entry := Requirement{ID: cells[0], Area: area, Title: title, Text: cells[1], Owner: cells[2]}
			if area == ContradictionArea {
				entry.Owner = ""
			}
			list = append(list, entry)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no requirement found", ErrMalformed)
	}
	return list, nil
}

// splitRow splits a table row into its cells; a bar written as \| belongs to its cell.
func splitRow(line string) []string {
	const escaped = "\x00"
	line = strings.ReplaceAll(line, `\|`, escaped)
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(line, "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(cell, escaped, "|"))
	}
	return cells
}
