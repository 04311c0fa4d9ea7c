package gotest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events"
)

// Errors that Parse wraps.
var (
	// ErrLimit means that the stream exceeds a limit.
	ErrLimit = errors.New("gotest: stream exceeds a limit")
	// ErrMalformed means that the stream is not what "go test -json" writes.
	ErrMalformed = errors.New("gotest: not the output of go test -json")
	// ErrIncomplete means that the stream is empty or ends too early.
	ErrIncomplete = errors.New("gotest: incomplete stream")
	// ErrContradiction means that parts of the stream exclude each other.
	ErrContradiction = errors.New("gotest: contradictory stream")
)

// Limits bounds what Parse accepts. Zero allows nothing.
type Limits struct {
	Bytes     int
	LineBytes int
	Lines     int
	Depth     int
	Packages  int
	Tests     int
	// OutputBytes is how much of each test's output is kept, TotalOutputBytes
	// of all of them together. Output beyond is dropped from the front.
	OutputBytes      int
	TotalOutputBytes int
}

// DefaultLimits returns limits that fit a large module.
func DefaultLimits() Limits {
	return Limits{
		Bytes: 16 << 20, LineBytes: 1 << 20, Lines: 200_000, Depth: 4,
		Packages: 2_000, Tests: 20_000,
		OutputBytes: 4 << 10, TotalOutputBytes: 256 << 10,
	}
}

// event is one line of the stream. Members that a newer tool adds are ignored.
type event struct {
	Time        events.Time `json:"Time"`
	Action      string      `json:"Action"`
	Package     string      `json:"Package"`
	ImportPath  string      `json:"ImportPath"`
	Test        string      `json:"Test"`
	Elapsed     float64     `json:"Elapsed"`
	Output      string      `json:"Output"`
	FailedBuild string      `json:"FailedBuild"`
}

// Parse reads a whole stream. With an error there is no verdict: the report is
// not complete and its counts are not set.
func Parse(data []byte, limits Limits) (Report, error) {
	none := Report{Tool: Tool}
	if len(data) > limits.Bytes {
		return none, fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, len(data), limits.Bytes)
	}
	reader := newReader(limits)
	line := 0
	for raw := range bytes.Lines(data) {
		line++
		if err := reader.line(line, bytes.TrimSpace(raw)); err != nil {
			return none, fmt.Errorf("line %d: %w", line, err)
		}
	}
	report, err := reader.report()
	if err != nil {
		return none, err
	}
	return report, nil
}

// line takes in one line of the stream.
func (r *reader) line(number int, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	if number > r.limits.Lines {
		return fmt.Errorf("%w: more than %d lines", ErrLimit, r.limits.Lines)
	}
	if len(raw) > r.limits.LineBytes {
		return fmt.Errorf("%w: %d bytes in a line, at most %d", ErrLimit, len(raw), r.limits.LineBytes)
	}
	if err := checkDepth(raw, r.limits.Depth); err != nil {
		return err
	}
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		// The decoder's message may quote the line, which is not ours to show.
		return fmt.Errorf("%w: an event cannot be decoded", ErrMalformed)
	}
	if e.Action == "" {
		return fmt.Errorf("%w: an event has no action", ErrMalformed)
	}
	if !(e.Elapsed >= 0 && e.Elapsed < maxElapsedSeconds) {
		return fmt.Errorf("%w: an elapsed time is out of range", ErrMalformed)
	}
	return r.take(e)
}

// maxElapsedSeconds is far above any real duration and far below overflow.
const maxElapsedSeconds = 1e9

// checkDepth refuses anything but one JSON object nested at most limit deep.
func checkDepth(raw []byte, limit int) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if decoder.PeekKind() != '{' {
		return fmt.Errorf("%w: a line is not an object", ErrMalformed)
	}
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return fmt.Errorf("%w: a line is not valid JSON", ErrMalformed)
		}
		depth := decoder.StackDepth()
		if depth > limit {
			return fmt.Errorf("%w: nested more than %d deep", ErrLimit, limit)
		}
		if depth == 0 {
			break
		}
	}
	if int(decoder.InputOffset()) != len(raw) {
		return fmt.Errorf("%w: a line holds more than one value", ErrMalformed)
	}
	return nil
}
