package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Headers of the broker.
const (
	headerStream   = "Nats-Expected-Stream"
	headerExpected = "Nats-Expected-Last-Subject-Sequence"
	headerPin      = "Nats-Pin-Id"
	headerStatus   = "Status"
)

// Error codes of the broker that decide something here.
const (
	codeNoPeers           = 10005
	codeMessageNotFound   = 10037
	codeWrongSequence     = 10071 // the literal expectation failed
	codeWrongSequenceR3   = 10164 // the same, against a proposal in flight
	codeDuplicateInFlight = 10158
	codeStoreFailed       = 10077 // a limit of the stream
	codeBatchDuplicate    = 10201
	codeBatchIncomplete   = 10176
	codeTooManyBatches    = 10210
)

// apiError is an error answer of the broker.
type apiError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

// Error implements error.
func (e *apiError) Error() string {
	return fmt.Sprintf("jetstream: %s (%d)", e.Description, e.ErrCode)
}

// errNotFound: the leader has no such message.
var errNotFound = errors.New("jetstream: message not found")

// unavailable reports whether the broker said that nobody can answer now.
func (e *apiError) unavailable() bool {
	switch e.ErrCode {
	case codeStoreFailed:
		return false
	case codeBatchIncomplete, codeTooManyBatches:
		return true
	}
	return e.Code == 503
}

// ask sends one request and waits one try for the answer.
func (j *Journal) ask(ctx context.Context, msg *nats.Msg, answer any) error {
	try, cancel := context.WithTimeout(ctx, j.config.Try)
	defer cancel()
	return j.askOnce(try, msg, answer)
}

// askOnce sends one request and waits for the answer until ctx ends.
func (j *Journal) askOnce(ctx context.Context, msg *nats.Msg, answer any) error {
	reply, err := j.line(msg.Subject).RequestMsgWithContext(ctx, msg)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(reply.Data, answer); err != nil {
		return fmt.Errorf("jetstream: answer on %s: %w", msg.Subject, err)
	}
	return nil
}

// apiAnswer is the part that all answers of the broker share.
type apiAnswer struct {
	Error *apiError `json:"error"`
}

func (a apiAnswer) failure() *apiError { return a.Error }

// insist repeats a request while the broker is silent or has no leader, until
// ctx ends. Each try decodes into a new answer: an error of an earlier one
// must not stay.
func insist[T interface{ failure() *apiError }](ctx context.Context, j *Journal, subject string, request any) (T, error) {
	var none T
	data, err := json.Marshal(request)
	if err != nil {
		return none, err
	}
	for {
		var answer T
		err := j.ask(ctx, &nats.Msg{Subject: subject, Data: data}, &answer)
		if err == nil {
			api := answer.failure()
			if api == nil {
				return answer, nil
			}
			if !api.unavailable() {
				return none, api
			}
			err = api
		}
		if errors.Is(err, nats.ErrConnectionClosed) {
			return none, err
		}
		if wait(ctx, retryPause) != nil {
			return none, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// message is a stored message.
type message struct {
	subject  string
	sequence uint64
	stored   time.Time
	header   nats.Header
	data     []byte
}

type getAnswer struct {
	apiAnswer
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

// get reads one message at the leader of a stream. query is a request of
// STREAM.MSG.GET.
func (j *Journal) get(ctx context.Context, stream string, query msgQuery) (*message, error) {
	answer, err := insist[getAnswer](ctx, j, "$JS.API.STREAM.MSG.GET."+stream, query)
	if err != nil {
		var api *apiError
		if errors.As(err, &api) && api.ErrCode == codeMessageNotFound {
			return nil, errNotFound
		}
		return nil, fmt.Errorf("read %s: %w", stream, err)
	}
	if answer.Message == nil {
		return nil, fmt.Errorf("read %s: answer without message", stream)
	}
	m := &message{
		subject: answer.Message.Subject, sequence: answer.Message.Seq, stored: answer.Message.Time,
		data: answer.Message.Data,
	}
	if len(answer.Message.Header) > 0 {
		if m.header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return nil, fmt.Errorf("%w: headers of %s/%d: %w", journal.ErrCorrupt, stream, m.sequence, err)
		}
	}
	return m, nil
}

// msgQuery is a request of STREAM.MSG.GET or, with a batch, of DIRECT.GET.
type msgQuery struct {
	Seq      uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
}

// record returns the message as a record of the port: with the headers of a
// commit and none of the broker's.
func (m *message) record(stream string) events.Record {
	r := events.Record{
		Stream: stream, Sequence: m.sequence, Stored: events.At(m.stored), Subject: m.subject,
		Header: make(map[string]string, 10), Data: m.data,
	}
	for _, name := range journal.HeaderNames() {
		if values := m.header[name]; len(values) > 0 {
			r.Header[name] = values[0]
		}
	}
	return r
}

// number reads a header as a number.
func (m *message) number(name string) (uint64, bool) {
	values := m.header[name]
	if len(values) != 1 {
		return 0, false
	}
	n, err := strconv.ParseUint(values[0], 10, 64)
	return n, err == nil
}

// pubAck is the answer to a publish.
type pubAck struct {
	Error     *apiError `json:"error"`
	Sequence  uint64    `json:"seq"`
	Duplicate bool      `json:"duplicate"`
	Batch     string    `json:"batch"`
	Count     int       `json:"count"`
}

// publish sends one message and waits one try for its acknowledgment.
func (j *Journal) publish(ctx context.Context, msg *nats.Msg) (pubAck, error) {
	var ack pubAck
	if err := j.ask(ctx, msg, &ack); err != nil {
		return pubAck{}, err
	}
	if ack.Error != nil {
		return pubAck{}, ack.Error
	}
	if ack.Sequence == 0 {
		return pubAck{}, fmt.Errorf("jetstream: acknowledgment on %s without sequence", msg.Subject)
	}
	return ack, nil
}
