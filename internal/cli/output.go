package cli

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"

	"example.org/mandate/events"
	"example.org/mandate/internal/render/markdown"
	"example.org/mandate/internal/render/terminal"
	"example.org/mandate/internal/wording"
)

// The output formats.
const (
	outputTable    = "table"
	outputJSON     = "json"
	outputYAML     = "yaml"
	outputMarkdown = "markdown"
)

// table is data for a person.
type table struct {
	columns []string
	rows    [][]string
}

func (t *table) row(cells ...string) { t.rows = append(t.rows, cells) }

// print writes value as JSON or YAML, or shown as a table.
func (c *cli) print(value any, shown table) error {
	data, err := json.Marshal(value, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	switch c.output {
	case outputJSON:
		return c.write(append(data, '\n'))
	case outputYAML:
		data, err := toYAML(data)
		if err != nil {
			return err
		}
		return c.write(data)
	case outputMarkdown:
		return c.write(shown.markdown())
	}
	return c.write(shown.text())
}

func (c *cli) write(data []byte) error {
	if _, err := c.Stdout.Write(data); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}

// text is the table in columns.
func (t *table) text() []byte {
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 4, 2, ' ', 0)
	if t.columns != nil {
		fmt.Fprintln(w, strings.ToUpper(strings.Join(t.columns, "\t")))
	}
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = wording.Line(cell)
			if cell == "" && t.columns != nil {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	_ = w.Flush() // into memory
	var trimmed bytes.Buffer
	for line := range strings.Lines(out.String()) {
		trimmed.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return trimmed.Bytes()
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "<", "&lt;", "[", `\[`)

// markdown is the table as one of Markdown.
func (t *table) markdown() []byte {
	var out bytes.Buffer
	columns := t.columns
	if columns == nil {
		columns = []string{"", ""}
	}
	line := func(cells []string) {
		for _, cell := range cells {
			out.WriteString("| " + markdownEscapes.Replace(wording.Line(cell)) + " ")
		}
		out.WriteString("|\n")
	}
	line(columns)
	out.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for _, row := range t.rows {
		line(row)
	}
	return out.Bytes()
}

// toYAML writes JSON as YAML in blocks.
func toYAML(data []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	plain(&document)
	out, err := yaml.Marshal(&document)
	if err != nil {
		return nil, fmt.Errorf("write YAML: %w", err)
	}
	return out, nil
}

func plain(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode && len(n.Content) > 0 {
		n.Style = 0
	}
	if n.Kind == yaml.ScalarNode && !strings.Contains(n.Value, "\n") {
		n.Style = 0
	}
	for _, inner := range n.Content {
		plain(inner)
	}
}

// show writes a document.
func (c *cli) show(d *events.Document) error {
	switch {
	case c.output == outputJSON, c.output == outputYAML:
		return c.print(d, table{})
	case c.output == outputMarkdown, !c.Terminal:
		return c.write(markdown.Render(*d))
	}
	return c.write(terminal.Render(*d, terminal.Options{Width: 100, Color: !c.noColor}))
}
