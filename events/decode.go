package events

import (
	"fmt"
	"strconv"
	"strings"

	"example.org/mandate/events/canon"
)

// Decode reads a stored commit. It checks the subject, the headers, the limits
// and the one canonical form, and computes the chain digest; whether the chain
// holds is for [CheckNext]. Bodies are not opened. The commit refers to r.Data,
// which must not be changed any more.
func Decode(r Record) (Commit, error) {
	c, err := DecodeHeader(r)
	if err != nil {
		return Commit{}, err
	}
	if len(r.Data) > MaxCommitBytes {
		return Commit{}, fmt.Errorf("%w: %d bytes", ErrTooLarge, len(r.Data))
	}
	if err := guard(r.Data); err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", c.ID, err)
	}
	d := cursor{data: r.Data}
	if names := r.Header[HeaderTypes]; names != "" {
		d.types = strings.Split(names, ",")
	}
	if err := d.commit(&c); err != nil {
		return Commit{}, fmt.Errorf("commit %s: %w", c.ID, err)
	}
	if d.types != nil && len(d.types) != len(c.Events) {
		return Commit{}, fmt.Errorf("commit %s: %w: the header names %d events of %d", c.ID, ErrMalformed, len(d.types), len(c.Events))
	}
	return c, nil
}

// DecodeHeader reads what the subject and the headers of a record say, and
// computes the chain digest over the body bytes without decoding them.
func DecodeHeader(r Record) (Commit, error) {
	subject, err := ParseSubject(r.Subject)
	if err != nil {
		return Commit{}, err
	}
	c := Commit{
		ID: r.Header[HeaderCommit], Subject: subject,
		Previous:    Digest(r.Header[HeaderPrevious]),
		Cause:       Cause{Commit: r.Header[HeaderCause], Event: r.Header[HeaderCauseEvent]},
		Correlation: r.Header[HeaderCorrelation], Writer: r.Header[HeaderWriter],
		Traceparent: r.Header[HeaderTrace],
	}
	number, schema := r.Header[HeaderNumber], r.Header[HeaderSchema]
	if c.Number, err = strconv.ParseUint(number, 10, 64); err != nil || c.Number == 0 || strconv.FormatUint(c.Number, 10) != number {
		return Commit{}, fmt.Errorf("%w: commit number %.40q", ErrMalformed, number)
	}
	if c.Protocol, err = strconv.Atoi(schema); err != nil || c.Protocol < 1 || strconv.Itoa(c.Protocol) != schema {
		return Commit{}, fmt.Errorf("%w: protocol version %.40q", ErrMalformed, schema)
	}
	if c.Previous != "" {
		if _, err := canon.ParseDigest(string(c.Previous)); err != nil {
			return Commit{}, fmt.Errorf("%w: previous: %w", ErrMalformed, err)
		}
	}
	if c.Protocol > Protocol {
		return Commit{}, fmt.Errorf("%w: protocol %d, this build reads up to %d", ErrVersion, c.Protocol, Protocol)
	}
	if c.ID == "" {
		return Commit{}, fmt.Errorf("%w: commit without ID", ErrMalformed)
	}
	c.Digest = ChainDigest(&c, r.Data)
	return c, nil
}

// Header returns the headers of c, ready to be stored beside its body.
func (c *Commit) Header() map[string]string {
	var names []byte
	for i, e := range c.Events {
		if i > 0 {
			names = append(names, ',')
		}
		names = append(names, e.Type()...)
	}
	header := map[string]string{
		HeaderCommit: c.ID,
		HeaderTypes:  string(names),
		HeaderNumber: strconv.FormatUint(c.Number, 10),
		HeaderSchema: strconv.Itoa(c.Protocol),
	}
	for name, value := range map[string]string{
		HeaderPrevious: string(c.Previous), HeaderCause: c.Cause.Commit, HeaderCauseEvent: c.Cause.Event,
		HeaderCorrelation: c.Correlation, HeaderWriter: c.Writer, HeaderTrace: c.Traceparent,
	} {
		if value != "" {
			header[name] = value
		}
	}
	return header
}

// DecodePayload reads the data of an event of a given type, in canonical form.
func DecodePayload(eventType string, data []byte) (Payload, error) {
	if err := guard(data); err != nil {
		return nil, err
	}
	d := cursor{data: data}
	return d.payload(eventType)
}
