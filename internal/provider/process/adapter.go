package process

import (
	"errors"
	"unicode/utf8"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/evidence/gotest"
	"example.org/mandate/internal/provider"
)

// The ways in which output becomes a value.
const (
	outputJSON   = "json"
	outputText   = "text"
	outputGoTest = "go-test-json"
)

// mediaLines is the media type of one JSON value per line.
const mediaLines = "application/x-ndjson"

// result is what an adapter made of output.
type result struct {
	value     []byte
	mediaType string // of the output as it is
	published events.Time
	adapter   bool // the value is an observation of its own
}

// adapter turns the output of a program that did its work into a value.
type adapter func(output []byte, exitCode int) (result, error)

// adapterFor returns the adapter of a binding's Output.
func adapterFor(name string) (adapter, bool) {
	switch name {
	case outputJSON:
		return adaptJSON, true
	case outputText:
		return adaptText, true
	case outputGoTest:
		return adaptGoTest, true
	}
	return nil, false
}

// adaptJSON takes the output as one JSON value.
func adaptJSON(output []byte, _ int) (result, error) {
	value, err := provider.CanonicalValue(output)
	return result{value: value, mediaType: events.MediaJSON}, err
}

// adaptText takes the output as text.
func adaptText(output []byte, _ int) (result, error) {
	value, err := provider.TextValue(string(output))
	return result{value: value, mediaType: mediaOf(output)}, err
}

// mediaOf returns the media type of output of unknown kind.
func mediaOf(output []byte) string {
	if utf8.Valid(output) {
		return events.MediaText
	}
	return events.MediaRaw
}

// errVerdict means that the exit code and the report exclude each other.
var errVerdict = errors.New("process: the exit code contradicts the test report")

// adaptGoTest takes the output as that of "go test -json". The tool's own
// verdict, its exit code, must be the report's: output that was cut between
// two packages has no other sign.
func adaptGoTest(output []byte, exitCode int) (result, error) {
	report, err := gotest.Parse(output, gotest.DefaultLimits())
	if err != nil {
		return result{}, err
	}
	if report.Succeeded() != (exitCode == 0) {
		return result{}, errVerdict
	}
	value, err := canon.JSON(report)
	return result{value: value, mediaType: mediaLines, published: report.Newest, adapter: true}, err
}
