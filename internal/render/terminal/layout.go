package terminal

import (
	"bytes"
	"strings"
	"unicode"

	"example.org/mandate/events"
	"example.org/mandate/internal/wording"
)

const (
	gap       = 2 // columns between cells
	minColumn = 6
)

// grid writes rows in columns that fit the width. Cells wrap; where even
// narrow columns do not fit, every cell gets a line of its own.
func (w *writer) grid(columns []events.Column, rows [][]string) {
	titled := false
	safe := make([][]string, 0, len(rows))
	widths := make([]int, len(columns))
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = wording.Line(c.Name)
		widths[i] = columnsOf(names[i])
		titled = titled || names[i] != ""
	}
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i := range min(len(row), len(columns)) {
			cells[i] = wording.Line(row[i])
			widths[i] = max(widths[i], columnsOf(cells[i]))
		}
		safe = append(safe, cells)
	}
	if !fit(widths, w.width) {
		w.records(names, safe)
		return
	}
	if titled {
		w.row(bold, columns, widths, names)
		rules := make([]string, len(widths))
		for i := range widths {
			rules[i] = strings.Repeat("-", widths[i])
		}
		w.row(dim, columns, widths, rules)
	}
	for _, row := range safe {
		w.row(plain, columns, widths, row)
	}
}

// fit narrows the widest columns until all fit, and reports whether they do.
func fit(widths []int, width int) bool {
	total := gap * (len(widths) - 1)
	for i := range widths {
		widths[i] = min(widths[i], width)
		total += widths[i]
	}
	for total > width {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minColumn {
			return false
		}
		widths[widest]--
		total--
	}
	return true
}

func (w *writer) row(s style, columns []events.Column, widths []int, cells []string) {
	lines := make([][]string, len(cells))
	height := 1
	for i, text := range cells {
		lines[i] = wrap(text, widths[i])
		height = max(height, len(lines[i]))
	}
	last := len(cells) - 1
	for n := range height {
		for i := range cells {
			text := ""
			if n < len(lines[i]) {
				text = lines[i][n]
			}
			padding := strings.Repeat(" ", max(0, widths[i]-columnsOf(text)))
			if columns[i].Numeric {
				w.out.WriteString(padding)
				padding = ""
			}
			w.put(s, text)
			if i < last {
				w.out.WriteString(padding + strings.Repeat(" ", gap))
			}
		}
		w.out.Truncate(len(bytes.TrimRight(w.out.Bytes(), " ")))
		w.blank()
	}
}

// records writes every row as lines of "name: value".
func (w *writer) records(names []string, rows [][]string) {
	for _, row := range rows {
		for i, text := range row {
			if names[i] != "" {
				text = names[i] + ": " + text
			}
			w.prose(plain, text, "  ")
		}
		w.blank()
	}
}

// wrap breaks one line of text into lines of at most width columns, at spaces
// where there are any.
func wrap(text string, width int) []string {
	var lines []string
	start, used, space := 0, 0, -1 // of the current line: its start, its columns, its last space
	for i, r := range text {
		size := columnsOfRune(r)
		if used+size > width && i > start {
			end, next := i, i
			if space > start {
				end, next = space, space+1
			}
			lines = append(lines, text[start:end])
			start, space = next, -1
			used = columnsOf(text[start:i])
			if r == ' ' && start == i {
				start, used = i+1, 0
				continue
			}
		}
		if r == ' ' {
			space = i
		}
		used += size
	}
	if start < len(text) || len(lines) == 0 {
		lines = append(lines, text[min(start, len(text)):])
	}
	return lines
}

func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n += columnsOfRune(r)
	}
	return n
}

// columnsOfRune says how many columns a character takes: none for what is
// drawn onto the one before, two for wide scripts and pictures.
func columnsOfRune(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f680 && r <= 0x1f6ff, r >= 0x1f900 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
