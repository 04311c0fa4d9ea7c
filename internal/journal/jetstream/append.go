package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// ErrFull is returned by Append, PutBlob and Park when the stream is at its
// limit of bytes. What was offered is not stored; it can be offered again when
// there is room.
var ErrFull = errors.New("jetstream: stream is full")

// Append implements [journal.Appender]: a publish with the literal
// expectation, in short tries under one message ID, and a look at the leader
// whenever the answer leaves a doubt.
func (j *Journal) Append(ctx context.Context, commit *events.Commit, data []byte, after journal.Position) (journal.Position, error) {
	if err := journal.Check(commit, data, after); err != nil {
		return after, err
	}
	a := &offer{journal: j, commit: commit, stream: commit.Subject.Owner.Stream(), subject: commit.Subject.String(), after: after}
	a.head = events.Head{Number: commit.Number, Digest: events.ChainDigest(commit, data)}
	a.msg = commitMsg(a.stream, a.subject, commit, data, after.Sequence)
	for {
		if err := ctx.Err(); err != nil {
			return after, fmt.Errorf("append %s %d: %w: %w", a.subject, commit.Number, journal.ErrUnknownOutcome, context.Cause(ctx))
		}
		position, err := a.try(ctx)
		if err == nil {
			j.appended(commit.Subject.Owner)
			return position, nil
		}
		if !errors.Is(err, errUndecided) {
			return after, fmt.Errorf("append %s %d: %w", a.subject, commit.Number, err)
		}
		_ = wait(ctx, retryPause)
	}
}

// commitMsg builds the message of a commit.
func commitMsg(stream, subject string, commit *events.Commit, data []byte, expected uint64) *nats.Msg {
	fields := journal.Header(commit)
	header := make(nats.Header, len(fields)+2)
	for name, value := range fields {
		header[name] = []string{value}
	}
	header[headerStream] = []string{stream}
	header[headerExpected] = []string{strconv.FormatUint(expected, 10)}
	return &nats.Msg{Subject: subject, Header: header, Data: data}
}

// offer is one commit on its way into a stream.
type offer struct {
	journal *Journal
	commit  *events.Commit
	stream  string
	subject string
	after   journal.Position
	head    events.Head
	msg     *nats.Msg
}

// errUndecided: the commit is not stored as far as can be seen, and nothing
// keeps it from being stored. It is offered again.
var errUndecided = errors.New("jetstream: not decided yet")

// try publishes once and finds out what became of it.
func (a *offer) try(ctx context.Context) (journal.Position, error) {
	ack, err := a.submit(ctx)
	if err == nil && !ack.Duplicate {
		return a.at(ack.Sequence), nil
	}
	if err == nil {
		return a.duplicate(ctx, ack.Sequence)
	}
	var api *apiError
	if !errors.As(err, &api) {
		// Silence, or the connection broke: the tail of the run decides.
		if errors.Is(err, nats.ErrConnectionClosed) {
			return a.after, fmt.Errorf("%w: %w", journal.ErrUnknownOutcome, err)
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return a.after, fmt.Errorf("%w: %w", journal.ErrRefused, err)
		}
		return a.look(ctx)
	}
	switch {
	case api.ErrCode == codeWrongSequence, api.ErrCode == codeWrongSequenceR3,
		api.ErrCode == codeDuplicateInFlight, api.ErrCode == codeBatchDuplicate:
		return a.look(ctx)
	case api.unavailable():
		return a.after, errUndecided
	case api.ErrCode == codeStoreFailed:
		return a.after, fmt.Errorf("%w: %w", ErrFull, err)
	}
	return a.after, fmt.Errorf("%w: %w", journal.ErrRefused, err)
}

// submit publishes the commit, alone or with others that wait.
func (a *offer) submit(ctx context.Context) (pubAck, error) {
	if g := a.journal.groupers[a.commit.Subject.Owner]; g != nil {
		return g.publish(ctx, a.msg)
	}
	return a.journal.publish(ctx, a.msg)
}

func (a *offer) at(sequence uint64) journal.Position {
	return journal.Position{Sequence: sequence, Head: a.head}
}

// duplicate settles an acknowledgment that names an earlier message with the
// same ID: it is ours only if the bytes are.
func (a *offer) duplicate(ctx context.Context, sequence uint64) (journal.Position, error) {
	m, err := a.journal.get(ctx, a.stream, msgQuery{Seq: sequence})
	switch {
	case errors.Is(err, errNotFound):
		return a.look(ctx) // known to the window, not yet to the store
	case err != nil:
		return a.after, errUndecided
	}
	return a.compare(m)
}

// compare decides between our commit stored and another in its place.
func (a *offer) compare(m *message) (journal.Position, error) {
	stored, err := journal.ParseHeader(m.record(a.stream))
	if err != nil {
		return a.after, err
	}
	head := events.Head{Number: stored.Number, Digest: stored.Digest}
	switch {
	case stored.ID == a.commit.ID && stored.Subject == a.commit.Subject && head == a.head:
		return a.at(m.sequence), nil
	case stored.ID == a.commit.ID:
		return a.after, fmt.Errorf("%w: commit %s is stored with other content as %s %d", journal.ErrConflict, stored.ID, stored.Subject, stored.Number)
	}
	return a.after, fmt.Errorf("%w: commit %s is at number %d", journal.ErrConflict, stored.ID, stored.Number)
}

// look reads the run's tail at the leader. Ours can only be right behind the
// position it expects: if another is there, ours never will be. A leader that
// was cut off and does not know it yet may show an older tail, so that only
// what is there decides, never what is missing.
func (a *offer) look(ctx context.Context) (journal.Position, error) {
	last, err := a.journal.get(ctx, a.stream, msgQuery{LastFor: a.subject})
	switch {
	case errors.Is(err, errNotFound):
		return a.after, a.misplaced(ctx)
	case err != nil:
		return a.after, errUndecided // asked again, or ended with ctx
	case last.sequence == a.after.Sequence:
		return a.after, errUndecided // nothing there: try again
	case last.sequence < a.after.Sequence:
		return a.after, a.misplaced(ctx)
	}
	if expected, ok := last.number(headerExpected); ok && expected == a.after.Sequence {
		return a.compare(last)
	}
	first, err := a.journal.get(ctx, a.stream, msgQuery{Seq: a.after.Sequence + 1, NextFor: a.subject})
	if err != nil {
		return a.after, errUndecided
	}
	return a.compare(first)
}

// misplaced reports a conflict if the position that was given belongs to
// another chain.
func (a *offer) misplaced(ctx context.Context) error {
	if a.after.Sequence == 0 {
		return errUndecided
	}
	m, err := a.journal.get(ctx, a.stream, msgQuery{Seq: a.after.Sequence})
	if err == nil && m.subject != a.subject {
		return fmt.Errorf("%w: sequence %d belongs to another chain", journal.ErrConflict, a.after.Sequence)
	}
	return errUndecided
}
