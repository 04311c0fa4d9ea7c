package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The limit is one of each line, however the lines arrive.
func TestFrames(t *testing.T) {
	wraps := map[string]func(io.Reader) io.Reader{
		"at once":      func(r io.Reader) io.Reader { return r },
		"byte by byte": iotest.OneByteReader,
		"in halves":    iotest.HalfReader,
	}
	tests := map[string]struct {
		stream string
		want   error
	}{
		"lines at the limit": {strings.Repeat("12345\n", 1000), nil},
		"empty lines":        {"\n\n\n12345\n\n", nil},
		"a line beyond":      {"12345\n123456\n", errMessageTooLarge},
		"no end":             {"1234567", errMessageTooLarge},
		"end at the limit":   {"12345", nil},
	}
	for name, test := range tests {
		for how, wrap := range wraps {
			t.Run(name+" "+how, func(t *testing.T) {
				f := &frames{source: io.NopCloser(wrap(strings.NewReader(test.stream)))}
				f.limit.Store(5)
				data, err := io.ReadAll(f)
				if !errors.Is(err, test.want) || f.exceeded.Load() != (test.want != nil) {
					t.Errorf("error = %v, want %v", err, test.want)
				}
				if test.want == nil && string(data) != test.stream {
					t.Errorf("read %d bytes of %d", len(data), len(test.stream))
				}
				if _, err := f.Read(make([]byte, 1)); test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("error afterwards = %v, want %v", err, test.want)
				}
			})
		}
	}
}

// A reader with much room is not given more than a chunk beyond the limit.
func TestFramesReadInChunks(t *testing.T) {
	f := &frames{source: io.NopCloser(strings.NewReader(strings.Repeat("x", 1<<20)))}
	f.limit.Store(1 << 20)
	if n, err := f.Read(make([]byte, 1<<20)); n != chunkBytes || err != nil {
		t.Errorf("Read = %d, %v", n, err)
	}
}
