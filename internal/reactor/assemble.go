package reactor

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/sealing"
)

// Draft is what a commit is made of.
type Draft struct {
	Subject     events.Subject
	After       events.Head
	Cause       events.Cause
	Correlation string // empty for the first commit of a run
	Writer      string
	At          events.Time
	Payloads    []events.Payload
}

// Assemble builds the commit of one decision. Its ID follows from what it
// reacts to, so that reacting again makes the same ID; the IDs of its events
// follow from the commit's.
func Assemble(d Draft) events.Commit {
	c := events.Commit{
		Subject: d.Subject, Number: d.After.Number + 1, Previous: d.After.Digest, Cause: d.Cause,
		Correlation: d.Correlation, Writer: d.Writer, Protocol: events.Protocol,
	}
	parts := []string{string(d.Subject.Owner), d.Subject.Tenant, d.Subject.Run, d.Cause.Commit, d.Cause.Event}
	if d.Cause.Commit == "" {
		// Not a reaction to something unique: the place in the chain is.
		parts = append(parts, strconv.FormatUint(c.Number, 10))
	}
	c.ID = canon.ID("commit", parts...)
	if c.Correlation == "" {
		c.Correlation = c.ID
	}
	for i, p := range d.Payloads {
		c.Events = append(c.Events, events.Event{
			ID: eventID(d.At, c.ID, i), Source: "/mandate/" + string(d.Subject.Owner), Subject: d.Subject.Run, Time: d.At, Data: p,
		})
	}
	return c
}

// eventID is a ULID whose time is the event's and whose other bits follow from
// the commit and the place in it.
func eventID(at events.Time, commit string, index int) string {
	digest := canon.Parts("event-id", commit, strconv.Itoa(index)).Hex()
	var id ulid.ULID
	if err := id.SetTime(uint64(max(at.Std().UnixMilli(), 0))); err != nil {
		return digest[:26]
	}
	entropy, err := hex.DecodeString(digest[:20])
	if err != nil || id.SetEntropy(entropy) != nil {
		return digest[:26]
	}
	return id.String()
}

// observeTries bounds how often the outcome of a call is offered to streams
// that do not take it: about ten minutes.
const observeTries = 80

// appendTries bounds how often the same commit is offered again when nobody
// knows whether it was stored.
const appendTries = 6

func backoff(attempt int) time.Duration {
	return min(50*time.Millisecond<<min(attempt, 8), 10*time.Second)
}

// pause waits, and reports false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// permanent reports whether trying again cannot help: the bytes are wrong, not
// the moment.
func permanent(err error) bool {
	if _, ok := errors.AsType[*panicError](err); ok {
		return true
	}
	for _, poison := range []error{
		journal.ErrCorrupt, journal.ErrRefused, events.ErrMalformed, events.ErrVersion, events.ErrTooLarge,
		events.ErrSubject, events.ErrChain, sealing.ErrDamaged,
	} {
		if errors.Is(err, poison) {
			return true
		}
	}
	return false
}
