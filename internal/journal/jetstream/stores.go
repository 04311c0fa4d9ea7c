package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
)

// put publishes a message that may be stored again without harm, until it is
// stored or ctx ends.
func (j *Journal) put(ctx context.Context, msg *nats.Msg) error {
	for {
		_, err := j.publish(ctx, msg)
		if err == nil {
			return nil
		}
		var api *apiError
		if errors.As(err, &api) && !api.unavailable() {
			return err
		}
		if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrMaxPayload) {
			return err
		}
		if wait(ctx, retryPause) != nil {
			return fmt.Errorf("%w: %w", journal.ErrUnknownOutcome, err)
		}
	}
}

// How long a fired timer waits for its consumer, and the trace of a cancelled
// one stays.
const (
	firedTTL     = "168h"
	cancelledTTL = "1h"
)

// Schedule implements [journal.Timers].
func (j *Journal) Schedule(ctx context.Context, timer journal.Timer) error {
	if err := timer.Run.Validate(); err != nil {
		return fmt.Errorf("schedule %.80q: %w: %w", timer.Name, journal.ErrRefused, err)
	}
	if !events.ValidToken(timer.Name) || timer.At.IsZero() {
		return fmt.Errorf("schedule %.80q: %w: bad name or no time", timer.Name, journal.ErrRefused)
	}
	msg := nats.NewMsg(timerSubject(schedPrefix, timer.Run, timer.Name))
	// Nanoseconds, not the client library's whole seconds, which are early.
	msg.Header["Nats-Schedule"] = []string{"@at " + timer.At.UTC().Format(time.RFC3339Nano)}
	msg.Header["Nats-Schedule-Target"] = []string{timerSubject(firedPrefix, timer.Run, timer.Name)}
	msg.Header["Nats-Schedule-TTL"] = []string{firedTTL}
	if err := j.put(ctx, msg); err != nil {
		return fmt.Errorf("schedule %s of %s: %w", timer.Name, timer.Run, err)
	}
	return nil
}

// CancelTimer implements [journal.Timers].
func (j *Journal) CancelTimer(ctx context.Context, run events.Subject, name string) error {
	if err := run.Validate(); err != nil || !events.ValidToken(name) {
		return fmt.Errorf("cancel timer %.80q: %w: bad name or run", name, journal.ErrRefused)
	}
	msg := nats.NewMsg(timerSubject(cancelPrefix, run, name))
	msg.Header["Nats-Scheduler"] = []string{timerSubject(schedPrefix, run, name)}
	msg.Header["Nats-Schedule-Next"] = []string{"purge"}
	msg.Header["Nats-TTL"] = []string{cancelledTTL}
	if err := j.put(ctx, msg); err != nil {
		return fmt.Errorf("cancel timer %s of %s: %w", name, run, err)
	}
	return nil
}

// PutBlob implements [journal.Blobs].
func (j *Journal) PutBlob(ctx context.Context, digest events.Digest, data []byte) error {
	if len(data) > journal.MaxBlobBytes || canon.Sum("blob", data) != digest {
		return fmt.Errorf("put blob %.80q of %d bytes: %w", digest, len(data), journal.ErrRefused)
	}
	if err := j.putOnce(ctx, StreamBlobs, &nats.Msg{Subject: "blob." + digest.Hex(), Data: data}); err != nil {
		return fmt.Errorf("put blob %s: %w", digest, err)
	}
	return nil
}

// putOnce stores the one message that its subject will ever have.
func (j *Journal) putOnce(ctx context.Context, stream string, msg *nats.Msg) error {
	err := j.put(ctx, msg)
	var api *apiError
	if !errors.As(err, &api) || api.ErrCode != codeStoreFailed {
		return err
	}
	// The subject has its message, or the stream has no room.
	_, err = j.get(ctx, stream, msgQuery{LastFor: msg.Subject})
	if errors.Is(err, errNotFound) {
		return fmt.Errorf("%w: %w", ErrFull, api)
	}
	return err
}

// Blob implements [journal.Blobs]. Any replica may answer, since the digest
// proves the bytes; that it is not there is only believed of the leader.
func (j *Journal) Blob(ctx context.Context, digest events.Digest) ([]byte, error) {
	if _, err := canon.ParseDigest(string(digest)); err != nil {
		return nil, fmt.Errorf("blob %.80q: %w: %w", digest, journal.ErrNotFound, err)
	}
	subject := "blob." + digest.Hex()
	try, cancel := context.WithTimeout(ctx, j.config.Try)
	reply, err := j.conn.RequestWithContext(try, "$JS.API.DIRECT.GET."+StreamBlobs+"."+subject, nil)
	cancel()
	if err == nil && reply.Header.Get(headerStatus) == "" && canon.Sum("blob", reply.Data) == digest {
		return reply.Data, nil
	}
	m, err := j.get(ctx, StreamBlobs, msgQuery{LastFor: subject})
	if errors.Is(err, errNotFound) {
		return nil, fmt.Errorf("blob %s: %w", digest, journal.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", digest, err)
	}
	if canon.Sum("blob", m.data) != digest {
		return nil, fmt.Errorf("%w: blob %s has other bytes", journal.ErrCorrupt, digest)
	}
	return m.data, nil
}

func valueSubject(bucket journal.Bucket, key string) string {
	return "$KV." + string(bucket) + "." + key
}

// Value implements [journal.Values].
func (j *Journal) Value(ctx context.Context, bucket journal.Bucket, key string) ([]byte, error) {
	if err := journal.CheckKey(bucket, key); err != nil {
		return nil, err
	}
	m, err := j.get(ctx, "KV_"+string(bucket), msgQuery{LastFor: valueSubject(bucket, key)})
	if errors.Is(err, errNotFound) || err == nil && m.header.Get("KV-Operation") != "" {
		return nil, fmt.Errorf("value %s %s: %w", bucket, key, journal.ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("value %s %s: %w", bucket, key, err)
	}
	return m.data, nil
}

// PutValue implements [journal.Values].
func (j *Journal) PutValue(ctx context.Context, bucket journal.Bucket, key string, value []byte) error {
	if err := journal.CheckKey(bucket, key); err != nil {
		return err
	}
	if err := j.put(ctx, &nats.Msg{Subject: valueSubject(bucket, key), Data: value}); err != nil {
		return fmt.Errorf("put %s %s: %w", bucket, key, err)
	}
	return nil
}

// CreateValue implements [journal.Values]. When an answer was lost, a value
// with the same bytes counts as created.
func (j *Journal) CreateValue(ctx context.Context, bucket journal.Bucket, key string, value []byte) error {
	if err := journal.CheckKey(bucket, key); err != nil {
		return err
	}
	msg := &nats.Msg{Subject: valueSubject(bucket, key), Data: value, Header: nats.Header{headerExpected: {"0"}}}
	lost := false
	for {
		_, err := j.publish(ctx, msg)
		if err == nil {
			return nil
		}
		var api *apiError
		isAPI := errors.As(err, &api)
		if isAPI && (api.ErrCode == codeWrongSequence || api.ErrCode == codeWrongSequenceR3) {
			stored, err := j.Value(ctx, bucket, key)
			switch {
			case err == nil && lost && string(stored) == string(value):
				return nil
			case err == nil:
				return fmt.Errorf("create %s %s: %w", bucket, key, journal.ErrExists)
			case !errors.Is(err, journal.ErrNotFound):
				return err
			}
		} else if isAPI && !api.unavailable() {
			return fmt.Errorf("create %s %s: %w", bucket, key, err)
		}
		lost = lost || !isAPI
		if errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, nats.ErrMaxPayload) || wait(ctx, retryPause) != nil {
			return fmt.Errorf("create %s %s: %w: %w", bucket, key, journal.ErrUnknownOutcome, err)
		}
	}
}

// DeleteValue implements [journal.Values]. It purges the key's subject, so
// that neither the value nor a mark of it stays.
func (j *Journal) DeleteValue(ctx context.Context, bucket journal.Bucket, key string) error {
	if err := journal.CheckKey(bucket, key); err != nil {
		return err
	}
	request := struct {
		Filter string `json:"filter"`
	}{valueSubject(bucket, key)}
	if _, err := insist[apiAnswer](ctx, j, "$JS.API.STREAM.PURGE.KV_"+string(bucket), request); err != nil {
		return fmt.Errorf("delete %s %s: %w", bucket, key, err)
	}
	return nil
}

// ValueKeys implements [journal.Values].
func (j *Journal) ValueKeys(ctx context.Context, bucket journal.Bucket) ([]string, error) {
	var keys []string
	prefix := valueSubject(bucket, "")
	for {
		state, err := j.streamState(ctx, "KV_"+string(bucket), prefix+">", len(keys))
		if err != nil {
			return nil, err
		}
		for subject := range state.Subjects {
			keys = append(keys, strings.TrimPrefix(subject, prefix))
		}
		if len(state.Subjects) == 0 || len(keys) >= state.total {
			return keys, nil
		}
	}
}

// Park implements [journal.Parking].
func (j *Journal) Park(ctx context.Context, parked journal.Parked) error {
	if !events.ValidToken(parked.Reader) || !events.ValidToken(parked.Stream) {
		return fmt.Errorf("park for %.80q: %w: bad reader or stream", parked.Reader, journal.ErrRefused)
	}
	parked.ID = ""
	data, err := json.Marshal(parked)
	if err != nil {
		return fmt.Errorf("park: %w", err)
	}
	subject := fmt.Sprintf("parked.%s.%s.%d", parked.Reader, parked.Stream, parked.Sequence)
	if err := j.putOnce(ctx, StreamParked, &nats.Msg{Subject: subject, Data: data}); err != nil {
		return fmt.Errorf("park %s: %w", subject, err)
	}
	return nil
}

// ParkedMessages implements [journal.Parking].
func (j *Journal) ParkedMessages(ctx context.Context) ([]journal.Parked, error) {
	state, err := j.streamState(ctx, StreamParked, "", 0)
	if err != nil {
		return nil, err
	}
	var list []journal.Parked
	for next := uint64(1); next <= state.LastSeq; {
		page, err := j.batch(ctx, StreamParked, msgQuery{Seq: next, Batch: pageMessages, MaxBytes: pageBytes})
		if err != nil {
			if wait(ctx, retryPause) != nil {
				return nil, fmt.Errorf("read parked messages: %w", err)
			}
			continue
		}
		if len(page) == 0 {
			// No replica has it yet: the leader does, since it counted it.
			m, err := j.get(ctx, StreamParked, msgQuery{Seq: next})
			if err != nil {
				return nil, fmt.Errorf("read parked messages: %w", err)
			}
			page = append(page, m)
		}
		for _, m := range page {
			var p journal.Parked
			if err := json.Unmarshal(m.data, &p); err != nil {
				return nil, fmt.Errorf("%w: parked message %d: %w", journal.ErrCorrupt, m.sequence, err)
			}
			p.ID = strconv.FormatUint(m.sequence, 10)
			list = append(list, p)
			next = m.sequence + 1
		}
	}
	return list, nil
}
