package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Load implements [journal.Loader]. It starts at the chain's last message and
// goes back from each to the one it expected before it, all at the leader: no
// step searches the stream, however large and cold it is.
func (j *Journal) Load(ctx context.Context, subject events.Subject, after uint64) ([]events.Record, error) {
	if err := subject.Validate(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	stream, text := subject.Owner.Stream(), subject.String()
	m, err := j.get(ctx, stream, msgQuery{LastFor: text})
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", text, err)
	}
	var records []events.Record
	var later *events.Commit // the commit behind the one being read
	for {
		record := m.record(stream)
		c, err := journal.ParseHeader(record)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", text, err)
		}
		if c.Number <= after {
			break // after is ahead of the chain, or is its end
		}
		if c.Subject != subject {
			return nil, fmt.Errorf("load %s: %w: sequence %d belongs to %s", text, journal.ErrCorrupt, m.sequence, c.Subject)
		}
		if later != nil {
			if _, err := journal.Follows(events.Head{Number: c.Number, Digest: c.Digest}, later); err != nil {
				return nil, fmt.Errorf("load: %w", err)
			}
		}
		records, later = append(records, record), &c
		before, ok := m.number(headerExpected)
		if !ok || (before == 0) != (c.Number == 1) {
			return nil, fmt.Errorf("load %s: %w: commit %d expects sequence %d before it", text, journal.ErrCorrupt, c.Number, before)
		}
		if c.Number == 1 {
			if _, err := journal.Follows(events.Head{}, &c); err != nil {
				return nil, fmt.Errorf("load: %w", err)
			}
		}
		if c.Number == after+1 {
			break
		}
		if m, err = j.get(ctx, stream, msgQuery{Seq: before}); errors.Is(err, errNotFound) {
			return nil, fmt.Errorf("load %s: %w: sequence %d is missing", text, journal.ErrCorrupt, before)
		} else if err != nil {
			return nil, fmt.Errorf("load %s: %w", text, err)
		}
	}
	slices.Reverse(records)
	return records, nil
}

// Last implements [journal.Reader].
func (j *Journal) Last(ctx context.Context, owner events.Owner) (uint64, error) {
	state, err := j.streamState(ctx, owner.Stream(), "", 0)
	return state.LastSeq, err
}

type streamState struct {
	LastSeq  uint64         `json:"last_seq"`
	Subjects map[string]int `json:"subjects"`
	total    int
}

type infoAnswer struct {
	apiAnswer
	State streamState `json:"state"`
	Total int         `json:"total"`
}

// streamState asks the leader of a stream, with the subjects that match a
// filter from an offset on if there is one.
func (j *Journal) streamState(ctx context.Context, stream, filter string, offset int) (streamState, error) {
	request := struct {
		Filter string `json:"subjects_filter,omitempty"`
		Offset int    `json:"offset,omitempty"`
	}{filter, offset}
	answer, err := insist[infoAnswer](ctx, j, "$JS.API.STREAM.INFO."+stream, request)
	if err != nil {
		return streamState{}, fmt.Errorf("look at stream %s: %w", stream, err)
	}
	answer.State.total = answer.Total
	return answer.State, nil
}

// Pages are read in portions of this size.
const (
	pageMessages = 256
	pageBytes    = 4 << 20
)

// Read implements [journal.Reader]. Pages may come from any replica; a hole in
// one is asked for at the leader before it counts as corruption.
func (j *Journal) Read(ctx context.Context, owner events.Owner, from uint64) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		last, err := j.Last(ctx, owner)
		if err != nil {
			yield(events.Record{}, err)
			return
		}
		for next := max(from, 1); next <= last; {
			page, err := j.page(ctx, owner, next, int(min(pageMessages, last-next+1)))
			if err == nil && len(page) == 0 {
				page, err = j.atLeader(ctx, owner, next)
			}
			if err != nil {
				yield(events.Record{}, err)
				return
			}
			for _, record := range page {
				if !yield(record, nil) {
					return
				}
				next++
			}
		}
	}
}

// Followers that learn nothing in this process ask again after these pauses.
const (
	followSoon = 2 * time.Millisecond
	followLate = 100 * time.Millisecond
)

// Follow implements [journal.Reader].
func (j *Journal) Follow(ctx context.Context, owner events.Owner, from uint64) iter.Seq2[events.Record, error] {
	return func(yield func(events.Record, error) bool) {
		pause := followSoon
		for next := max(from, 1); ctx.Err() == nil; {
			fresh := j.next(owner)
			page, err := j.page(ctx, owner, next, pageMessages)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(events.Record{}, err)
				return
			}
			for _, record := range page {
				if !yield(record, nil) {
					return
				}
				next++
			}
			if len(page) > 0 {
				pause = followSoon
			}
			if len(page) == pageMessages {
				continue // there is more
			}
			if !j.idle(ctx, fresh, pause) {
				return
			}
			pause = min(2*pause, followLate)
		}
	}
}

// idle waits for news or the pause. It is false when ctx or the journal ended.
func (j *Journal) idle(ctx context.Context, fresh <-chan struct{}, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-j.ctx.Done():
		return false
	case <-fresh:
	case <-timer.C:
	}
	return true
}

// atLeader reads one sequence that no replica returned.
func (j *Journal) atLeader(ctx context.Context, owner events.Owner, sequence uint64) ([]events.Record, error) {
	m, err := j.get(ctx, owner.Stream(), msgQuery{Seq: sequence})
	if errors.Is(err, errNotFound) {
		return nil, fmt.Errorf("%w: %s has no sequence %d", journal.ErrCorrupt, owner.Stream(), sequence)
	}
	if err != nil {
		return nil, err
	}
	return []events.Record{m.record(owner.Stream())}, nil
}

// page reads up to count records from a sequence on, without a consumer. It
// returns none when the stream ends before from.
func (j *Journal) page(ctx context.Context, owner events.Owner, from uint64, count int) ([]events.Record, error) {
	for {
		messages, err := j.batch(ctx, owner.Stream(), msgQuery{Seq: from, Batch: count, MaxBytes: pageBytes})
		if err != nil {
			if errors.Is(err, nats.ErrConnectionClosed) || wait(ctx, retryPause) != nil {
				return nil, fmt.Errorf("read %s from %d: %w", owner.Stream(), from, err)
			}
			continue
		}
		records := make([]events.Record, 0, len(messages))
		for _, m := range messages {
			if want := from + uint64(len(records)); m.sequence != want {
				// A replica may have a hole that the leader has not.
				if len(records) > 0 {
					return records, nil
				}
				return j.atLeader(ctx, owner, want)
			}
			records = append(records, m.record(owner.Stream()))
		}
		return records, nil
	}
}

// batch sends one direct request and collects its answers.
func (j *Journal) batch(ctx context.Context, stream string, query msgQuery) ([]*message, error) {
	request, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	inbox := j.reads().NewInbox()
	// The room is for the answers and the status behind them: the default room
	// of a subscription is half a megabyte, for each question.
	answers := make(chan *nats.Msg, max(query.Batch, 1)+8)
	sub, err := j.reads().ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := j.reads().PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, request); err != nil {
		return nil, err
	}
	var list []*message
	patience := time.NewTimer(j.config.Try)
	defer patience.Stop()
	for {
		var msg *nats.Msg
		select {
		case msg = <-answers:
			patience.Reset(j.config.Try)
		case <-patience.C:
			return nil, nats.ErrTimeout
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		switch status := msg.Header.Get(headerStatus); {
		case status == "204" || status == "404":
			return list, nil
		case status != "" && len(msg.Data) == 0:
			return nil, fmt.Errorf("jetstream: direct get answers %s %s", status, msg.Header.Get("Description"))
		}
		m, err := directMessage(msg)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
}

// directMessage reads a message with the place that the server put behind its
// own headers.
func directMessage(msg *nats.Msg) (*message, error) {
	last := func(name string) string {
		values := msg.Header[name]
		if len(values) == 0 {
			return ""
		}
		return values[len(values)-1]
	}
	sequence, err := strconv.ParseUint(last("Nats-Sequence"), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("jetstream: direct get without sequence: %w", err)
	}
	stored, err := time.Parse(time.RFC3339Nano, last("Nats-Time-Stamp"))
	if err != nil {
		return nil, fmt.Errorf("jetstream: direct get without time: %w", err)
	}
	return &message{subject: last("Nats-Subject"), sequence: sequence, stored: stored, header: msg.Header, data: msg.Data}, nil
}
