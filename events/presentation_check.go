package events

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// ErrDocument is returned for bytes or values that are not a presentation
// document within the bounds.
var ErrDocument = errors.New("events: not a presentation document")

func documentError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDocument, fmt.Sprintf(format, args...))
}

// ParseDocument reads a presentation document. Unknown and duplicate members,
// invalid UTF-8, another version and everything beyond the bounds are errors.
func ParseDocument(data []byte) (Document, error) {
	if len(data) > MaxDocumentBytes {
		return Document{}, documentError("%d bytes", len(data))
	}
	var d Document
	if err := json.Unmarshal(data, &d, json.RejectUnknownMembers(true)); err != nil {
		return Document{}, fmt.Errorf("%w: %w", ErrDocument, err)
	}
	if err := d.Check(); err != nil {
		return Document{}, err
	}
	return d, nil
}

// Check reports the first thing that is wrong with d.
func (d *Document) Check() error {
	switch {
	case d.SchemaVersion != DocumentVersion:
		return documentError("schema version %d", d.SchemaVersion)
	case d.Run == "" || len(d.Run) > MaxCellBytes || len(d.Title) > MaxCellBytes:
		return documentError("run or title empty or too long")
	case d.Tag != "" && !slices.Contains(Tags(), d.Tag):
		return documentError("tag %.40q", d.Tag)
	case d.Completion != "" && !d.Completion.known():
		return documentError("completion %.40q", d.Completion)
	case len(d.Blocks) > MaxDocumentBlocks || d.OmittedBlocks < 0:
		return documentError("%d blocks", len(d.Blocks))
	}
	for i := range d.Blocks {
		if err := d.Blocks[i].check(); err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
	}
	return nil
}

func (c Completion) known() bool {
	switch c {
	case CompletionComplete, CompletionPartial, CompletionBlocked, CompletionFailed, CompletionCancelled:
		return true
	}
	return false
}

// check finds the one member that is set and checks it.
func (b *Block) check() error {
	var checks []func() error
	add := func(set bool, check func() error) {
		if set {
			checks = append(checks, check)
		}
	}
	add(b.Heading != nil, b.Heading.check)
	add(b.Paragraph != nil, b.Paragraph.check)
	add(b.List != nil, b.List.check)
	add(b.Table != nil, b.Table.check)
	add(b.Code != nil, b.Code.check)
	add(b.TestReport != nil, b.TestReport.check)
	add(b.Terminal != nil, b.Terminal.check)
	add(b.Callout != nil, b.Callout.check)
	add(b.Citations != nil, b.Citations.check)
	add(b.Diff != nil, b.Diff.check)
	add(b.KeyValues != nil, b.KeyValues.check)
	add(b.Fallback != nil, b.Fallback.check)
	if len(checks) != 1 {
		return documentError("%d members, want exactly one", len(checks))
	}
	if b.Result == nil && (b.TestReport != nil || b.Terminal != nil || b.Diff != nil || b.Fallback != nil) {
		return documentError("a block of a result does not name the result")
	}
	if err := b.Result.check(); err != nil {
		return err
	}
	return checks[0]()
}

func (r *ResultOutcome) check() error {
	if r == nil {
		return nil
	}
	switch r.Role {
	case RoleOutput, RoleSupporting, RolePartial:
	default:
		return documentError("role %.40q", r.Role)
	}
	switch r.Status {
	case ResultPartial, ResultComplete, ResultFailed, ResultCancelled, ResultUnavailable:
	default:
		return documentError("result status %.40q", r.Status)
	}
	if r.ResultID == "" {
		return documentError("result without ID")
	}
	return short(r.ResultID, r.Node, r.Type, r.Producer.Name)
}

// short checks texts that fit into a cell.
func short(texts ...string) error {
	for _, t := range texts {
		if len(t) > MaxCellBytes {
			return documentError("text of %d bytes", len(t))
		}
	}
	return nil
}

func checkText(text string, total int64) error {
	if len(text) > MaxBlockTextBytes || total < int64(len(text)) || total > maxExact {
		return documentError("text of %d bytes out of %d", len(text), total)
	}
	return nil
}

// maxExact is the largest integer that every JSON reader keeps.
const maxExact = 1 << 53

// checkTotal checks that what is shown is not more than there is.
func checkTotal(shown, most, total int) error {
	if shown > most || total < shown || total > maxExact {
		return documentError("%d entries out of %d", shown, total)
	}
	return nil
}

func (b *HeadingBlock) check() error {
	if b.Level < 1 || b.Level > 4 || b.Text == "" {
		return documentError("heading of level %d", b.Level)
	}
	return short(b.Text)
}

func checkSpans(spans []Span) error {
	if len(spans) > MaxSpans {
		return documentError("%d spans", len(spans))
	}
	for i := range spans {
		s := &spans[i]
		if len(s.Text) > MaxSpanBytes || len(s.Citations) > MaxSpanCitations {
			return documentError("span of %d bytes with %d citations", len(s.Text), len(s.Citations))
		}
		if err := short(s.Citations...); err != nil {
			return err
		}
		if s.Link != "" && !SafeLink(s.Link) {
			return documentError("link %.80q", s.Link)
		}
	}
	return nil
}

// SafeLink reports whether text is an absolute http or https address without
// user information or unusual characters.
func SafeLink(text string) bool {
	if len(text) > MaxCellBytes {
		return false
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '<' || c == '>' || c == '\\' || c == '`' || c == '\'' {
			return false
		}
	}
	rest, ok := strings.CutPrefix(text, "https://")
	if !ok {
		rest, ok = strings.CutPrefix(text, "http://")
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	host, _, _ = strings.Cut(host, "#")
	return ok && host != "" && host[0] != ':' && !strings.Contains(host, "@")
}

func (b *ParagraphBlock) check() error { return checkSpans(b.Spans) }

func (b *ListBlock) check() error {
	for i := range b.Items {
		if err := checkSpans(b.Items[i].Spans); err != nil {
			return err
		}
	}
	return checkTotal(len(b.Items), MaxListItems, b.Total)
}

func (b *TableBlock) check() error {
	if len(b.Columns) == 0 || len(b.Columns) > MaxTableColumns || b.CutCells < 0 || b.CutCells > maxExact {
		return documentError("table with %d columns", len(b.Columns))
	}
	for _, c := range b.Columns {
		if err := short(c.Name); err != nil {
			return err
		}
	}
	for _, row := range b.Rows {
		if len(row) != len(b.Columns) {
			return documentError("row of %d cells in a table of %d columns", len(row), len(b.Columns))
		}
		if err := short(row...); err != nil {
			return err
		}
	}
	if err := checkTotal(len(b.Rows), MaxTableRows, b.TotalRows); err != nil {
		return err
	}
	return short(b.Caption)
}

func (b *CodeBlock) check() error {
	for i := range len(b.Language) {
		if c := b.Language[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '+' || i >= 32 {
			return documentError("language %.40q", b.Language)
		}
	}
	return checkText(b.Text, b.TotalBytes)
}

func (b *TerminalBlock) check() error { return checkText(b.Text, b.TotalBytes) }

func (b *DiffBlock) check() error { return checkText(b.Text, b.TotalBytes) }

func (b *TestReportBlock) check() error {
	if b.Origin != ReportObserved && b.Origin != ReportImported || b.Source == "" {
		return documentError("test report of origin %.40q without a source", b.Origin)
	}
	for _, n := range [...]int{b.Packages, b.Passed, b.Failed, b.Skipped} {
		if n < 0 || n > maxExact {
			return documentError("test report with a count of %d", n)
		}
	}
	shown := map[TestStatus]int{}
	for i := range b.Tests {
		t := &b.Tests[i]
		shown[t.Status]++
		if t.ElapsedMillis < 0 || t.ElapsedMillis > maxExact {
			return documentError("test of %d ms", t.ElapsedMillis)
		}
		if err := short(t.Package, t.Name, t.Output); err != nil {
			return err
		}
	}
	if shown[TestPassed]+shown[TestFailed]+shown[TestSkipped] != len(b.Tests) {
		return documentError("test of unknown status")
	}
	if shown[TestPassed] > b.Passed || shown[TestFailed] > b.Failed || shown[TestSkipped] > b.Skipped ||
		b.Passed+b.Failed+b.Skipped != b.TotalTests {
		return documentError("the counts of the test report do not add up")
	}
	if err := checkTotal(len(b.Tests), MaxTestEntries, b.TotalTests); err != nil {
		return err
	}
	return short(b.Tool, b.Source)
}

func (b *CalloutBlock) check() error {
	switch b.Kind {
	case CalloutInfo, CalloutWarning, CalloutError:
	default:
		return documentError("callout kind %.40q", b.Kind)
	}
	if err := short(b.Title); err != nil {
		return err
	}
	return checkSpans(b.Spans)
}

func (b *CitationsBlock) check() error {
	for i := range b.Entries {
		c := &b.Entries[i]
		switch c.Kind {
		case CiteEvaluation, CiteResult, CiteEvidence, CiteConclusion:
		default:
			return documentError("citation kind %.40q", c.Kind)
		}
		if c.ID == "" {
			return documentError("citation without ID")
		}
		if err := short(c.ID, c.What, c.Method, string(c.Strength), string(c.Digest)); err != nil {
			return err
		}
	}
	return checkTotal(len(b.Entries), MaxCitations, b.Total)
}

func (b *KeyValuesBlock) check() error {
	for _, e := range b.Entries {
		if err := short(e.Key, e.Value); err != nil {
			return err
		}
	}
	if b.CutCells < 0 || b.CutCells > maxExact {
		return documentError("%d cut values", b.CutCells)
	}
	if err := checkTotal(len(b.Entries), MaxKeyValues, b.Total); err != nil {
		return err
	}
	return short(b.Caption)
}

func (b *FallbackBlock) check() error {
	if len(b.Text) > MaxBlockTextBytes || b.ShownBytes < 0 || b.TotalBytes < b.ShownBytes || b.TotalBytes > maxExact {
		return documentError("source of %d bytes out of %d", b.ShownBytes, b.TotalBytes)
	}
	shown := int64(len(b.Text))
	switch b.Encoding {
	case EncodingUTF8:
		if !utf8.ValidString(b.Text) {
			return documentError("source that is not UTF-8")
		}
	case EncodingBase64:
		decoded, err := base64.StdEncoding.Strict().DecodeString(b.Text)
		if err != nil {
			return documentError("source that is not base64")
		}
		shown = int64(len(decoded))
	default:
		return documentError("encoding %.40q", b.Encoding)
	}
	if shown != b.ShownBytes {
		return documentError("source of %d bytes that says %d", shown, b.ShownBytes)
	}
	return short(b.MediaType, string(b.Commitment))
}
