package jetstream

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/nats-io/nats.go"
)

// A server handles what comes over one connection one after the other, and
// reads a page of a stream while it does. So a journal may have several
// connections: one for reading pages, and the others by what they carry, so
// that what has to stay in order does.

// line returns the connection for what is sent to a subject.
func (j *Journal) line(subject string) *nats.Conn {
	if len(j.lines) == 1 || strings.HasPrefix(subject, "$JS.API.") {
		return j.lines[0]
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(lineKey(subject))) // it cannot fail
	return j.lines[h.Sum32()%uint32(len(j.lines)-1)]
}

// reads returns the connection for reading pages.
func (j *Journal) reads() *nats.Conn { return j.lines[len(j.lines)-1] }

// lineKey is the part of a subject that decides over which connection it goes:
// the stream of an owner, the durable of an acknowledgment, or the bucket.
func lineKey(subject string) string {
	tokens := 2
	switch {
	case strings.HasPrefix(subject, "mandate."):
		tokens = 3
	case strings.HasPrefix(subject, "$JS.ACK."):
		tokens = 4
	}
	end := 0
	for range tokens {
		next := strings.IndexByte(subject[end:], '.')
		if next < 0 {
			return subject
		}
		end += next + 1
	}
	return subject[:end]
}

// watch makes what the broker reports aside end the process: a denied publish
// or request is otherwise only a timeout.
func (j *Journal) watch() {
	for _, conn := range j.lines {
		before := conn.ErrorHandler()
		conn.SetErrorHandler(func(conn *nats.Conn, sub *nats.Subscription, err error) {
			if before != nil {
				before(conn, sub, err)
			}
			if errors.Is(err, nats.ErrPermissionViolation) || errors.Is(err, nats.ErrAuthorization) {
				j.config.Fatal(fmt.Errorf("jetstream: %w", err))
			}
		})
	}
}
