package journal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
)

// MaxHeaderBytes bounds the headers of one commit, names and values together.
const MaxHeaderBytes = 16 << 10

// maxHeaderValue bounds one identity in a header.
const maxHeaderValue = 512

// HeaderNames are the headers that belong to a commit. Adapters keep these in
// a record and drop what their broker added, so that a record is the same
// however it was read.
func HeaderNames() []string {
	return []string{
		events.HeaderCommit, events.HeaderTypes, events.HeaderNumber, events.HeaderPrevious,
		events.HeaderCause, events.HeaderCauseEvent, events.HeaderCorrelation,
		events.HeaderWriter, events.HeaderSchema, events.HeaderTrace,
	}
}

// Header returns the headers of c. Empty fields have none.
func Header(c *events.Commit) map[string]string {
	h := make(map[string]string, 10)
	set := func(name, value string) {
		if value != "" {
			h[name] = value
		}
	}
	set(events.HeaderCommit, c.ID)
	set(events.HeaderTypes, eventTypes(c.Events))
	set(events.HeaderNumber, strconv.FormatUint(c.Number, 10))
	set(events.HeaderPrevious, string(c.Previous))
	set(events.HeaderCause, c.Cause.Commit)
	set(events.HeaderCauseEvent, c.Cause.Event)
	set(events.HeaderCorrelation, c.Correlation)
	set(events.HeaderWriter, c.Writer)
	set(events.HeaderSchema, strconv.Itoa(c.Protocol))
	set(events.HeaderTrace, c.Traceparent)
	return h
}

func eventTypes(list []events.Event) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0].Type()
	}
	types := make([]string, len(list))
	for i := range list {
		types[i] = list[i].Type()
	}
	return strings.Join(types, ",")
}

// ParseHeader returns what the subject and the headers of a record say about
// its commit, with the chain digest over them and the data. Events and bodies
// are left to the codec. A header that cannot be read is [ErrCorrupt].
func ParseHeader(r events.Record) (events.Commit, error) {
	subject, err := events.ParseSubject(r.Subject)
	if err != nil {
		return events.Commit{}, fmt.Errorf("%w: record %s/%d: %w", ErrCorrupt, r.Stream, r.Sequence, err)
	}
	c := events.Commit{
		ID: r.Header[events.HeaderCommit], Subject: subject,
		Previous:    events.Digest(r.Header[events.HeaderPrevious]),
		Cause:       events.Cause{Commit: r.Header[events.HeaderCause], Event: r.Header[events.HeaderCauseEvent]},
		Correlation: r.Header[events.HeaderCorrelation],
		Writer:      r.Header[events.HeaderWriter],
		Traceparent: r.Header[events.HeaderTrace],
	}
	number, err := strconv.ParseUint(r.Header[events.HeaderNumber], 10, 64)
	if err != nil || number == 0 || c.ID == "" {
		return events.Commit{}, fmt.Errorf("%w: record %s/%d: commit %.80q number %.20q", ErrCorrupt, r.Stream, r.Sequence, c.ID, r.Header[events.HeaderNumber])
	}
	c.Number = number
	if c.Protocol, err = strconv.Atoi(r.Header[events.HeaderSchema]); err != nil {
		return events.Commit{}, fmt.Errorf("%w: record %s/%d: protocol %.20q", ErrCorrupt, r.Stream, r.Sequence, r.Header[events.HeaderSchema])
	}
	if c.Previous != "" {
		if _, err := canon.ParseDigest(string(c.Previous)); err != nil {
			return events.Commit{}, fmt.Errorf("%w: record %s/%d: previous: %w", ErrCorrupt, r.Stream, r.Sequence, err)
		}
	}
	c.Digest = events.ChainDigest(&c, r.Data)
	return c, nil
}

// Check reports, as [ErrRefused], why commit with this encoding can never be
// stored after a position: a bad subject, a number or digest that does not
// follow, bytes over the limit, an identity that does not survive a header.
func Check(c *events.Commit, data []byte, after Position) error {
	if err := checkCommit(c, data, after); err != nil {
		return fmt.Errorf("%w: commit %.80q: %w", ErrRefused, c.ID, err)
	}
	return nil
}

func checkCommit(c *events.Commit, data []byte, after Position) error {
	if err := c.Subject.Validate(); err != nil {
		return err
	}
	if c.Number != after.Number+1 || c.Previous != after.Digest {
		return fmt.Errorf("number %d does not follow %d, or the previous digest differs", c.Number, after.Number)
	}
	if (after.Number == 0) != (after.Sequence == 0) {
		return fmt.Errorf("position has number %d and sequence %d", after.Number, after.Sequence)
	}
	if len(data) > events.MaxCommitBytes {
		return fmt.Errorf("%d bytes, at most %d", len(data), events.MaxCommitBytes)
	}
	if c.ID == "" {
		return errors.New("no commit ID")
	}
	for _, value := range []string{c.ID, c.Cause.Commit, c.Cause.Event, c.Correlation, c.Writer, c.Traceparent} {
		if !headerSafe(value) || len(value) > maxHeaderValue {
			return fmt.Errorf("identity %.80q cannot be a header", value)
		}
	}
	types := 0
	for i := range c.Events {
		name := c.Events[i].Type()
		if !headerSafe(name) || strings.Contains(name, ",") {
			return fmt.Errorf("event type %.80q cannot be a header", name)
		}
		types += len(name) + 1
	}
	if types > MaxHeaderBytes/2 {
		return fmt.Errorf("%d bytes of event types, at most %d", types, MaxHeaderBytes/2)
	}
	return nil
}

// headerSafe reports whether a value comes back from a header as it was: no
// control characters and no space at the ends.
func headerSafe(value string) bool {
	for _, b := range []byte(value) {
		if b < ' ' || b == 0x7f {
			return false
		}
	}
	return strings.TrimSpace(value) == value
}

// Follows checks that a commit is the next of a chain that ends at head, or
// the first if head is zero, and returns the new end. Otherwise the error is
// [ErrCorrupt] and names both.
func Follows(head events.Head, c *events.Commit) (events.Head, error) {
	if c.Number != head.Number+1 {
		return head, fmt.Errorf("%w: %s: number %d after %d", ErrCorrupt, c.Subject, c.Number, head.Number)
	}
	if c.Previous != head.Digest {
		return head, fmt.Errorf("%w: %s: commit %d names previous %.24s, the chain has %.24s", ErrCorrupt, c.Subject, c.Number, c.Previous, head.Digest)
	}
	return events.Head{Number: c.Number, Digest: c.Digest}, nil
}

// PositionOf returns the position of the chain that ends with record.
func PositionOf(r events.Record) (Position, error) {
	c, err := ParseHeader(r)
	if err != nil {
		return Position{}, err
	}
	return Position{Sequence: r.Sequence, Head: events.Head{Number: c.Number, Digest: c.Digest}}, nil
}
