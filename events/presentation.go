package events

// DocumentVersion is the version of the presentation documents that this
// build writes and reads.
const DocumentVersion = 1

// Bounds of a document.
const (
	MaxDocumentBytes  = 1 << 20
	MaxDocumentBlocks = 1024
	MaxBlockTextBytes = 256 << 10
	MaxSpans          = 256
	MaxSpanBytes      = 16 << 10
	MaxSpanCitations  = 32
	MaxListItems      = 256
	MaxTableColumns   = 32
	MaxTableRows      = 1000
	MaxCellBytes      = 4 << 10
	MaxTestEntries    = 2000
	MaxKeyValues      = 256
	MaxCitations      = 2048
)

// Document is what is shown of a run: a closed, versioned tree of blocks that
// every surface renders. It holds no markup, script or callback.
type Document struct {
	SchemaVersion int        `json:"schema_version"`
	Title         string     `json:"title"`
	Run           string     `json:"run"`
	Tag           Tag        `json:"tag,omitzero"` // empty before the run has ended
	Completion    Completion `json:"completion,omitzero"`
	Blocks        []Block    `json:"blocks"`
	// OmittedBlocks counts what was left out because of the bounds.
	OmittedBlocks int `json:"omitted_blocks,omitzero"`
}

// Block is one part of a document. Beside Result exactly one member is set.
type Block struct {
	// Result is the result that the block shows, with the outcome of that
	// result itself: never the run's or a neighbor's.
	Result *ResultOutcome `json:"result,omitzero"`

	Heading    *HeadingBlock    `json:"heading,omitzero"`
	Paragraph  *ParagraphBlock  `json:"paragraph,omitzero"`
	List       *ListBlock       `json:"list,omitzero"`
	Table      *TableBlock      `json:"table,omitzero"`
	Code       *CodeBlock       `json:"code,omitzero"`
	TestReport *TestReportBlock `json:"test_report,omitzero"`
	Terminal   *TerminalBlock   `json:"terminal,omitzero"`
	Callout    *CalloutBlock    `json:"callout,omitzero"`
	Citations  *CitationsBlock  `json:"citations,omitzero"`
	Diff       *DiffBlock       `json:"diff,omitzero"`
	KeyValues  *KeyValuesBlock  `json:"key_values,omitzero"`
	Fallback   *FallbackBlock   `json:"fallback,omitzero"`
}

// ResultRole says what a result is to the run.
type ResultRole string

// The result roles.
const (
	RoleOutput     ResultRole = "output"     // the run's typed output
	RoleSupporting ResultRole = "supporting" // of a completed run, beside the output
	RolePartial    ResultRole = "partial"    // of a run without success; not its output
)

// ResultOutcome is the state of one result.
type ResultOutcome struct {
	ResultID string        `json:"result_id"`
	Node     string        `json:"node"`
	Type     string        `json:"type"`
	Role     ResultRole    `json:"role"`
	Producer CapabilityRef `json:"producer"`
	Status   ResultStatus  `json:"status"`
	Valid    bool          `json:"valid"`
}

// HeadingBlock is a heading of level 1 to 4 below the document's title.
type HeadingBlock struct {
	Level int    `json:"level"`
	Text  string `json:"text"`
}

// Span is a piece of text, mostly one sentence, with what it rests on.
type Span struct {
	Text string `json:"text"`
	// Citations are evaluation, result or evidence IDs, or the conclusion's.
	Citations []string `json:"citations,omitzero"`
	// Code marks text that is shown exactly, in a fixed-width face.
	Code bool `json:"code,omitzero"`
	// Link is an absolute http or https address.
	Link string `json:"link,omitzero"`
}

// ParagraphBlock is running text.
type ParagraphBlock struct {
	Spans []Span `json:"spans"`
}

// ListBlock is a list; every item is running text.
type ListBlock struct {
	Ordered bool       `json:"ordered,omitzero"`
	Items   []ListItem `json:"items"`
	// Total counts all items, also those left out.
	Total int `json:"total"`
}

// ListItem is one item of a list.
type ListItem struct {
	Spans []Span `json:"spans"`
}

// Column is one column of a table.
type Column struct {
	Name    string `json:"name"`
	Numeric bool   `json:"numeric,omitzero"`
}

// TableBlock is a table. Every row has a cell for every column.
type TableBlock struct {
	Caption string     `json:"caption"`
	Columns []Column   `json:"columns"`
	Rows    [][]string `json:"rows"`
	// TotalRows counts all rows, also those left out.
	TotalRows int `json:"total_rows"`
	// CutCells counts the cells that are not shown whole.
	CutCells int `json:"cut_cells,omitzero"`
}

// CodeBlock is text shown exactly.
type CodeBlock struct {
	Language string `json:"language,omitzero"`
	Text     string `json:"text"`
	// TotalBytes is the size of the whole text, also of what was left out.
	TotalBytes int64 `json:"total_bytes"`
}

// TerminalBlock is what a command wrote. It says nothing about its success.
type TerminalBlock struct {
	Text       string `json:"text"`
	TotalBytes int64  `json:"total_bytes"`
}

// DiffBlock is a unified diff.
type DiffBlock struct {
	Text       string `json:"text"`
	TotalBytes int64  `json:"total_bytes"`
}

// ReportOrigin says who ran the tests of a report.
type ReportOrigin string

// The report origins.
const (
	ReportObserved ReportOrigin = "observed" // this system ran them
	ReportImported ReportOrigin = "imported" // somebody else did, or says so
)

// TestStatus is how a test ended.
type TestStatus string

// The test statuses.
const (
	TestPassed  TestStatus = "passed"
	TestFailed  TestStatus = "failed"
	TestSkipped TestStatus = "skipped"
)

// TestReportBlock is the report of one test execution.
type TestReportBlock struct {
	Tool     string       `json:"tool"`
	Origin   ReportOrigin `json:"origin"`
	Source   string       `json:"source"` // of an observed report, the evidence ID; else where it is from
	Packages int          `json:"packages"`
	Passed   int          `json:"passed"`
	Failed   int          `json:"failed"`
	Skipped  int          `json:"skipped"`
	// BuildFailed means that something did not compile.
	BuildFailed bool        `json:"build_failed,omitzero"`
	Tests       []TestEntry `json:"tests"`
	// TotalTests counts all tests, also those left out.
	TotalTests int `json:"total_tests"`
}

// Badge is what may be said of a report at a glance.
type Badge string

// The badges.
const (
	BadgeNone   Badge = ""       // nothing was observed
	BadgePassed Badge = "passed" // observed, tests passed and none failed
	BadgeFailed Badge = "failed" // observed, something failed
	BadgeEmpty  Badge = "no tests ran"
)

// Badge returns what may be said of the report. Only what this system
// observed gets one.
func (b *TestReportBlock) Badge() Badge {
	switch {
	case b.Origin != ReportObserved:
		return BadgeNone
	case b.Failed > 0 || b.BuildFailed:
		return BadgeFailed
	case b.Passed == 0:
		return BadgeEmpty
	}
	return BadgePassed
}

// TestEntry is one execution of a test.
type TestEntry struct {
	Package       string     `json:"package"`
	Name          string     `json:"name"`
	Status        TestStatus `json:"status"`
	ElapsedMillis int64      `json:"elapsed_millis"`
	// Output is the end of what a test printed that did not pass.
	Output string `json:"output,omitzero"`
}

// CalloutKind is how much attention a callout asks for.
type CalloutKind string

// The callout kinds.
const (
	CalloutInfo    CalloutKind = "info"
	CalloutWarning CalloutKind = "warning"
	CalloutError   CalloutKind = "error"
)

// CalloutBlock is a remark that stands out.
type CalloutBlock struct {
	Kind  CalloutKind `json:"kind"`
	Title string      `json:"title"`
	Spans []Span      `json:"spans"`
}

// CitationKind is what a citation leads to.
type CitationKind string

// The citation kinds.
const (
	CiteEvaluation CitationKind = "evaluation"
	CiteResult     CitationKind = "result"
	CiteEvidence   CitationKind = "evidence"
	CiteConclusion CitationKind = "conclusion" // the commit that ended the run
)

// Citation says what an ID stands for. Times that are not known are zero.
type Citation struct {
	ID             string       `json:"id"`
	Kind           CitationKind `json:"kind"`
	What           string       `json:"what"`
	Method         string       `json:"method,omitzero"`
	Strength       Strength     `json:"strength,omitzero"`
	At             Time         `json:"at,omitzero"`
	Observed       Time         `json:"observed,omitzero"`
	SourceModified Time         `json:"source_modified,omitzero"`
	Published      Time         `json:"published,omitzero"`
	Digest         Digest       `json:"digest,omitzero"`
}

// CitationsBlock resolves what the document cites, in the order of first use.
type CitationsBlock struct {
	Entries []Citation `json:"entries"`
	// Total counts all entries, also those left out.
	Total int `json:"total"`
}

// KeyValue is one named value.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// KeyValuesBlock is a list of named values.
type KeyValuesBlock struct {
	Caption  string     `json:"caption"`
	Entries  []KeyValue `json:"entries"`
	Total    int        `json:"total"` // also those left out
	CutCells int        `json:"cut_cells,omitzero"`
}

// SourceEncoding says how bytes became text.
type SourceEncoding string

// The source encodings.
const (
	EncodingUTF8   SourceEncoding = "utf-8"
	EncodingBase64 SourceEncoding = "base64"
)

// FallbackBlock keeps the exact source bytes of a result.
type FallbackBlock struct {
	Text      string         `json:"text"`
	Encoding  SourceEncoding `json:"encoding"`
	MediaType string         `json:"media_type,omitzero"`
	// Shown says that another block shows the result as its own type.
	Shown bool `json:"shown,omitzero"`
	// ShownBytes of TotalBytes source bytes are in Text; Commitment refers to
	// the whole.
	ShownBytes int64  `json:"shown_bytes"`
	TotalBytes int64  `json:"total_bytes"`
	Commitment Digest `json:"commitment,omitzero"`
}
