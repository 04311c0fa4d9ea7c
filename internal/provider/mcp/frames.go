package mcp

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"
)

// errMessageTooLarge ends the connection to a server whose message exceeds
// what the calls in flight may return.
var errMessageTooLarge = errors.New("mcp: a message of the server exceeds its limit")

// chunkBytes bounds one read, and so how far beyond the limit anything is read.
const chunkBytes = 32 << 10

// frames reads a stream of lines and refuses a line beyond the limit while it
// arrives. Read is called by one goroutine; the rest is safe for all.
type frames struct {
	source   io.ReadCloser
	limit    atomic.Int64
	exceeded atomic.Bool
	line     int64
}

// Read implements io.Reader.
func (f *frames) Read(p []byte) (int, error) {
	if f.exceeded.Load() {
		return 0, errMessageTooLarge
	}
	if len(p) > chunkBytes {
		p = p[:chunkBytes]
	}
	n, err := f.source.Read(p)
	limit := f.limit.Load()
	for rest := p[:n]; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		if f.line += int64(end); f.line > limit {
			f.exceeded.Store(true)
			return 0, errMessageTooLarge
		}
		if end == len(rest) {
			break
		}
		f.line, rest = 0, rest[end+1:]
	}
	return n, err
}

// Close implements io.Closer.
func (f *frames) Close() error { return f.source.Close() }
