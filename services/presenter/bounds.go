package presenter

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
)

// Bounds of what one part may take of a document, in bytes as written.
const (
	documentBytes = events.MaxDocumentBytes - 8<<10 // what surrounds the blocks
	citationBytes = 128 << 10                       // kept for resolving what is cited
	nativeBytes   = 64 << 10
	sourceBytes   = 64 << 10
	argumentBytes = 128 << 10
	titleBytes    = 200
	wordBytes     = 300 // of a text within a sentence
	maxResults    = 64
	maxRows       = 200
	maxEntries    = 64
	maxTests      = 500
	maxSentences  = 200
	outputBytes   = 2 << 10 // of what a failed test printed
)

// composer collects blocks within the bounds of a document.
type composer struct {
	document events.Document
	left     int
	reserved int // blocks that are kept free for what follows
}

func newComposer(run, title string) *composer {
	return &composer{
		document: events.Document{SchemaVersion: events.DocumentVersion, Run: run, Title: line(title, titleBytes), Blocks: []events.Block{}},
		left:     documentBytes - citationBytes,
	}
}

// add appends blocks that belong together, all or none.
func (c *composer) add(blocks ...events.Block) {
	if !c.fits(blocks) {
		c.document.OmittedBlocks += len(blocks)
	}
}

// fits appends blocks if there is room for all of them.
func (c *composer) fits(blocks []events.Block) bool {
	size := 0
	for i := range blocks {
		data, err := json.Marshal(&blocks[i])
		if err != nil {
			return false
		}
		size += len(data) + 1
	}
	if size > c.left || len(c.document.Blocks)+len(blocks) > events.MaxDocumentBlocks-1-c.reserved {
		return false
	}
	c.left -= size
	c.document.Blocks = append(c.document.Blocks, blocks...)
	return true
}

// firstOf appends the first group of blocks that fits, and returns its index.
func (c *composer) firstOf(groups ...[]events.Block) int {
	for i, group := range groups {
		if c.fits(group) {
			return i
		}
	}
	c.document.OmittedBlocks += len(groups[0])
	return len(groups)
}

// line returns text as one line of valid UTF-8 of at most limit bytes.
func line(text string, limit int) string {
	text, _ = cell(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " "), limit)
	return text
}

const ellipsis = "…"

// cell returns text cut to limit bytes, and whether it was cut.
func cell(text string, limit int) (string, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text, false
	}
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis, true
}

// prefix returns the longest prefix of valid UTF-8 text whose JSON form takes
// at most limit bytes.
func prefix(text string, limit int) string {
	size := 0
	for i, r := range text {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
			size += 2
		case r < 0x20:
			size += 6
		default:
			size += utf8.RuneLen(r)
		}
		if size > limit {
			return text[:i]
		}
	}
	return text
}

func heading(level int, text string) events.Block {
	return events.Block{Heading: &events.HeadingBlock{Level: level, Text: text}}
}

func reference(c events.CapabilityRef) string {
	return line(fmt.Sprintf("%s@%d", c.Name, c.Version), wordBytes)
}

// grid builds a table within its bounds, row by row.
type grid struct{ table events.TableBlock }

func newGrid(caption string, columns ...string) *grid {
	g := &grid{events.TableBlock{Caption: caption, Rows: [][]string{}}}
	for _, name := range columns {
		g.table.Columns = append(g.table.Columns, events.Column{Name: name})
	}
	return g
}

func (g *grid) row(cells ...string) {
	g.table.TotalRows++
	if len(g.table.Rows) == maxRows {
		return
	}
	row := make([]string, len(cells))
	for i, text := range cells {
		var cut bool
		if row[i], cut = cell(text, events.MaxCellBytes); cut {
			g.table.CutCells++
		}
	}
	g.table.Rows = append(g.table.Rows, row)
}

func (g *grid) block() events.Block { return events.Block{Table: &g.table} }
