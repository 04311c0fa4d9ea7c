package events_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
)

// bombs are bytes that make careless readers reserve, recurse or guess.
func bombs() map[string][]byte {
	deep := func(open []byte, n int) []byte { return append(bytes.Repeat(open, n), 0xc0) }
	filled := func(head string, n int) []byte { return append([]byte(head), bytes.Repeat([]byte{0xc0}, n)...) }
	return map[string][]byte{
		"nothing":                        {},
		"array of 4G elements":           []byte("\xdd\xff\xff\xff\xff"),
		"array of 4G, some there":        filled("\xdd\xff\xff\xff\xff", 1000),
		"map of 1M pairs":                []byte("\xdf\x00\x10\x00\x00"),
		"map of 4G pairs":                []byte("\xdf\xff\xff\xff\xff"),
		"binary of 4G":                   []byte("\xc6\xff\xff\xff\xff"),
		"text of 4G":                     []byte("\xdb\xff\xff\xff\xff"),
		"text of 2G, some there":         append([]byte("\xdb\x80\x00\x00\x00"), bytes.Repeat([]byte("a"), 1000)...),
		"a million arrays":               deep([]byte{0x91}, 1_000_000),
		"a million maps":                 deep([]byte("\x81\xa1a"), 1_000_000),
		"arrays in wide form":            deep([]byte("\xdc\x00\x01"), 100_000),
		"200000 elements":                filled("\xdd\x00\x03\x0d\x40", 200_000),
		"60000 pairs":                    filled("\xde\xea\x60", 120_000),
		"extension 1":                    []byte("\xd4\x01\x00"),
		"extension 16":                   append([]byte("\xd8\x01"), make([]byte, 16)...),
		"extension 8":                    []byte("\xc7\x01\x01\x00"),
		"extension of 4G":                []byte("\xc9\xff\xff\xff\xff\x01"),
		"time extension":                 []byte("\xd6\xff\x00\x00\x00\x00"),
		"float 32":                       []byte("\xca\x00\x00\x00\x00"),
		"float 64":                       []byte("\xcb\x00\x00\x00\x00\x00\x00\x00\x00"),
		"the code that is never used":    []byte("\xc1"),
		"1 in two bytes":                 []byte("\xcc\x01"),
		"1 in three bytes":               []byte("\xcd\x00\x01"),
		"1 in nine bytes":                []byte("\xcf\x00\x00\x00\x00\x00\x00\x00\x01"),
		"1 with a sign":                  []byte("\xd0\x01"),
		"-1 in two bytes":                []byte("\xd0\xff"),
		"-200 in five bytes":             []byte("\xd2\xff\xff\xff\x38"),
		"200 with a sign":                []byte("\xd1\x00\xc8"),
		"short text in wide form":        []byte("\xd9\x01a"),
		"short array in wide form":       []byte("\xdc\x00\x01\xc0"),
		"short map in wide form":         []byte("\xde\x00\x01\xa1a\xc0"),
		"short binary in wide form":      []byte("\xc5\x00\x01a"),
		"a key twice":                    []byte("\x82\xa1a\xc0\xa1a\xc0"),
		"keys not in order":              []byte("\x82\xa1b\xc0\xa1a\xc0"),
		"the empty key twice":            []byte("\x82\xa0\xc0\xa0\xc0"),
		"a number as key":                []byte("\x81\x01\xc0"),
		"a binary as key":                []byte("\x81\xc4\x01a\xc0"),
		"a map as key":                   []byte("\x81\x80\xc0"),
		"text that is not UTF-8":         []byte("\xa1\xff"),
		"text with a surrogate":          []byte("\xa3\xed\xa0\x80"),
		"text in overlong form":          []byte("\xa2\xc0\x80"),
		"bytes after the end":            []byte("\x80\xc0"),
		"cut in a length":                []byte("\xdb\x00"),
		"cut in a text":                  []byte("\xa5ab"),
		"cut in a map":                   []byte("\x82\xa1a\xc0"),
		"integer beyond what is counted": []byte("\xcf\xff\xff\xff\xff\xff\xff\xff"),
	}
}

// allocated returns how many bytes run allocates.
func allocated(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// bombMemory is what refusing a bomb may allocate: far below what it announces.
const bombMemory = 2 << 20

func TestBombs(t *testing.T) {
	record := eventstest.Record(t, eventstest.Commit(eventstest.Payload(t, "mandate.request.submitted.v1")))
	inData := func(bomb []byte) []byte {
		whole := bytes.Clone(record.Data)
		at := bytes.Index(whole, []byte("\xa4data")) + len("\xa4data")
		return append(whole[:at:at], bomb...)
	}
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			whole := record
			whole.Data = inData(bomb)
			for _, read := range []struct {
				as  string
				run func() error
			}{
				{"a commit", func() error { r := record; r.Data = bomb; _, err := events.Decode(r); return err }},
				{"the data of an event", func() error { _, err := events.Decode(whole); return err }},
				{"a payload", func() error { _, err := events.DecodePayload("mandate.request.submitted.v1", bomb); return err }},
				{"an unknown payload", func() error { _, err := events.DecodePayload("other.event.v1", bomb); return err }},
			} {
				var err error
				used := allocated(func() { err = read.run() })
				if !errors.Is(err, events.ErrMalformed) && !errors.Is(err, events.ErrTooLarge) {
					t.Errorf("as %s: %v", read.as, err)
				}
				if used > bombMemory {
					t.Errorf("as %s: %d bytes allocated", read.as, used)
				}
			}
		})
	}
}

// A commit of the largest size that is full of the smallest elements is read
// within a small multiple of its size, or refused.
func TestLargestCommitIsReadInBoundedMemory(t *testing.T) {
	c := eventstest.Commit(&events.ContextBuilt{Inclusions: make([]string, events.MaxElements-100)})
	record := eventstest.Record(t, c)
	var err error
	if used := allocated(func() { _, err = events.Decode(record) }); err != nil || used > 16*events.MaxCommitBytes {
		t.Errorf("%d bytes allocated for %d: %v", used, len(record.Data), err)
	}
	c = eventstest.Commit(&events.ContextBuilt{Inclusions: make([]string, events.MaxElements+1)})
	if _, err := events.Encode(c); !errors.Is(err, events.ErrTooLarge) || !errors.Is(err, events.ErrMalformed) {
		t.Errorf("more than %d elements: %v", events.MaxElements, err)
	}
	c = eventstest.Commit(&events.CancelRequested{Reason: string(make([]byte, events.MaxCommitBytes))})
	if _, err := events.Encode(c); !errors.Is(err, events.ErrTooLarge) {
		t.Errorf("a commit over the limit: %v", err)
	}
	record.Data = make([]byte, events.MaxCommitBytes+1)
	if _, err := events.Decode(record); !errors.Is(err, events.ErrTooLarge) {
		t.Errorf("a record over the limit: %v", err)
	}
}

// The rows of a public test suite: every encoding that is not the one
// canonical form is refused, and the canonical one is kept as it is.
func TestPublicMsgpackSuite(t *testing.T) {
	dir := os.Getenv("MANDATE_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(dir, "json-robustness", "msgpack.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: the msgpack test suite is not here (set MANDATE_DATA)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var accepted, refused int
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var row struct {
			ID       string   `json:"id"`
			Type     string   `json:"type"`
			Encoding []string `json:"msgpack_hex"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		canonical := 0
		for _, text := range row.Encoding {
			data, err := hex.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			if checkDecodePayload(t, "other.event.v1", data) {
				canonical++
				accepted++
			} else {
				refused++
			}
		}
		if canonical > 1 || canonical > 0 && (row.Type == "ext" || row.Type == "timestamp") {
			t.Errorf("%s: %d encodings of one %s are accepted", row.ID, canonical, row.Type)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d encodings accepted, %d refused", accepted, refused)
	if accepted < 25 || refused < 60 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}
