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
	"example.org/mandate/internal/journal"
)

// puller fetches what one durable has, in order. The durable is pinned to one
// process at a time. Whoever becomes it resets the durable to what is
// acknowledged and drops what was on its way, so that nothing is out of order
// after another process died with deliveries in hand. From then on the durable
// counts its deliveries from 1, and a count that is missed, because the
// delivery went to somebody who no longer listens, is reason to reset again.
type puller struct {
	journal *Journal
	reader  Reader
	group   group
	lanes   *lanes
	stream  string
	durable string

	sub         *nats.Subscription
	inbox       string
	pin         string    // "" while another process, or nobody, is pinned
	count       uint64    // of the last delivery since the reset
	awaiting    bool      // a reset was done and its first delivery has not come
	resetAt     time.Time // of the last reset
	outstanding int       // messages asked for and not sent
	doubt       uint64    // the sequence at which a gap was seen before the last reset
}

func newPuller(j *Journal, r Reader, g group, l *lanes) *puller {
	return &puller{journal: j, reader: r, group: g, lanes: l, stream: streamOf(r.Source), durable: durable(r, g)}
}

// line is the connection over which the durable's deliveries come and are
// acknowledged.
func (p *puller) line() *nats.Conn {
	return p.journal.line("$JS.ACK." + p.stream + "." + p.durable + ".")
}

// errReset asks for a reset of the durable.
var errReset = errors.New("jetstream: start over from what is acknowledged")

// run pulls until ctx ends or the stream turns out to be broken.
func (p *puller) run(ctx context.Context) {
	defer p.release(ctx)
	for ctx.Err() == nil {
		err := p.session(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case errors.Is(err, journal.ErrCorrupt):
			err = fmt.Errorf("consumption of %s by %s stopped: %w", p.stream, p.durable, err)
			p.journal.config.Logger.ErrorContext(ctx, "gap or broken chain: consumption stopped",
				"stream", p.stream, "durable", p.durable, "err", err)
			p.journal.config.Alarm(err)
			return
		case errors.Is(err, nats.ErrConnectionClosed):
			p.journal.config.Fatal(fmt.Errorf("consume %s as %s: %w", p.stream, p.durable, err))
			return
		default:
			_ = wait(ctx, p.journal.config.Try)
		}
	}
}

// release stops listening and lets the next process have the durable at once.
// Without it the pin runs out by itself.
func (p *puller) release(ctx context.Context) {
	p.close()
	if p.pin == "" {
		return
	}
	request := nats.NewMsg("$JS.API.CONSUMER.UNPIN." + p.stream + "." + p.durable)
	request.Data = []byte(`{"group":"` + pinGroup + `"}`)
	// The consumption has ended; this is its last word.
	_ = p.journal.ask(context.WithoutCancel(ctx), request, &struct{}{})
}

func (p *puller) close() {
	if p.sub != nil {
		_ = p.sub.Unsubscribe() // the connection may be gone
		p.sub = nil
	}
}

// reset moves the durable back to what is acknowledged. What comes before the
// first delivery after it is dropped.
func (p *puller) reset(ctx context.Context) {
	subject := "$JS.API.CONSUMER.RESET." + p.stream + "." + p.durable
	for ctx.Err() == nil {
		var answer apiAnswer
		err := p.journal.ask(ctx, nats.NewMsg(subject), &answer)
		if err == nil && answer.Error == nil {
			p.awaiting, p.resetAt = true, time.Now()
			return
		}
		_ = wait(ctx, retryPause)
	}
}

// inherit resets a durable that nobody is pinned to and that has deliveries
// out: whoever had them is gone, and without a reset they would come only
// after AckWait.
func (p *puller) inherit(ctx context.Context) {
	var answer struct {
		Error   *apiError `json:"error"`
		Pending int       `json:"num_ack_pending"`
		Groups  []struct {
			Pinned string `json:"pinned_client_id"`
		} `json:"priority_groups"`
	}
	err := p.journal.ask(ctx, nats.NewMsg("$JS.API.CONSUMER.INFO."+p.stream+"."+p.durable), &answer)
	if err != nil || answer.Error != nil || answer.Pending == 0 {
		return // it is only a hint
	}
	for _, g := range answer.Groups {
		if g.Pinned != "" {
			return
		}
	}
	p.reset(ctx)
}

// expiry is how long one pull request stands. A pull renews the pin, so it
// must end well before the pin does.
func (p *puller) expiry() time.Duration { return p.journal.config.PinnedTTL / 2 }

// session listens until something is wrong.
func (p *puller) session(ctx context.Context) error {
	p.close()
	p.inbox = p.line().NewInbox()
	sub, err := p.line().SubscribeSync(p.inbox)
	if err != nil {
		return err
	}
	// What is in flight is bounded by the pulls; nothing may be dropped here.
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return err
	}
	p.sub, p.outstanding, p.pin = sub, 0, ""
	stop := context.AfterFunc(ctx, func() { _ = sub.Unsubscribe() })
	defer stop()
	p.inherit(ctx)
	for ctx.Err() == nil {
		if err := p.pull(); err != nil {
			return err
		}
		msg, err := sub.NextMsg(p.expiry() + p.journal.config.Try)
		switch {
		case errors.Is(err, nats.ErrTimeout):
			p.outstanding = 0 // the request was lost with its leader
			continue
		case err != nil:
			return err
		}
		if status := msg.Header.Get(headerStatus); status != "" && len(msg.Data) == 0 && msg.Reply == "" {
			err = p.status(ctx, status, msg)
		} else {
			p.outstanding--
			err = p.take(msg)
		}
		if errors.Is(err, errReset) {
			p.reset(ctx)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// pull asks for more when half of what was asked for has come.
func (p *puller) pull() error {
	window := min(p.journal.config.groupPending(p.group), pageMessages)
	if p.outstanding > window/2 {
		return nil
	}
	request := struct {
		Batch   int           `json:"batch"`
		Expires time.Duration `json:"expires"`
		Group   string        `json:"group"`
		Pin     string        `json:"id,omitempty"`
	}{window - max(p.outstanding, 0), p.expiry(), pinGroup, p.pin}
	data, err := json.Marshal(request)
	if err != nil {
		return err
	}
	p.outstanding = window
	return p.line().PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+p.stream+"."+p.durable, p.inbox, data)
}

// status handles an answer that is no message.
func (p *puller) status(ctx context.Context, status string, msg *nats.Msg) error {
	switch status {
	case "100":
		return nil
	case "423": // another process is pinned
		p.pin, p.outstanding = "", 0
		return nil
	case "404", "408": // the request ended; what it did not deliver is named
		pending, err := strconv.Atoi(msg.Header.Get("Nats-Pending-Messages"))
		if err != nil {
			pending = p.outstanding
		}
		p.outstanding -= pending
		if p.pin == "" && !p.awaiting {
			p.inherit(ctx)
		}
		return nil
	case "503": // nobody answers: no such durable, or no leader now
		p.outstanding = 0
		return wait(ctx, p.journal.config.Try)
	}
	p.outstanding = 0
	description := msg.Header.Get("Description")
	p.journal.config.Logger.DebugContext(ctx, "pull request ended", "durable", p.durable, "status", status, "description", description)
	return wait(ctx, retryPause)
}

// take handles one message.
func (p *puller) take(msg *nats.Msg) error {
	meta, err := msg.Metadata()
	if err != nil {
		return fmt.Errorf("delivery on %s: %w", p.durable, err)
	}
	if keep, err := p.inOrder(msg.Header.Get(headerPin), meta.Sequence.Consumer); !keep {
		return err
	}
	m := &message{subject: msg.Subject, sequence: meta.Sequence.Stream, stored: meta.Timestamp, header: msg.Header, data: msg.Data}
	d := &delivery{reply: msg.Reply, record: m.record(p.stream)}
	if p.reader.Source.Timers {
		err = p.timer(d)
	} else {
		err = p.commit(d)
	}
	if err != nil {
		return err
	}
	if p.lanes.add(d) {
		// Acknowledged before; the broker had not heard.
		return p.line().Publish(msg.Reply, []byte("+ACK"))
	}
	return nil
}

// inOrder decides by the durable's own count of deliveries whether one is
// kept, dropped, or shows that others are missing. The first since a reset is
// always in order, whoever is pinned.
func (p *puller) inOrder(pin string, count uint64) (keep bool, err error) {
	changed := pin != p.pin
	p.pin = pin
	switch {
	case count == 1 && (changed || p.awaiting):
		p.awaiting, p.count = false, 1
		return true, nil
	case count == 1 && p.count > 0 && !p.awaiting:
		// Somebody else moved the durable back, to have deliveries again that
		// were acknowledged.
		p.lanes.again()
		p.count = 1
		return true, nil
	case changed && !p.awaiting:
		return false, errReset
	case p.awaiting:
		if time.Since(p.resetAt) > p.journal.config.Try {
			return false, errReset // the first went astray
		}
		return false, nil // sent before the reset
	case count != p.count+1:
		return false, errReset
	}
	p.count = count
	return true, nil
}

// commit checks that a delivery belongs here and follows what was delivered of
// its run before.
func (p *puller) commit(d *delivery) error {
	c, err := journal.ParseHeader(d.record)
	if err != nil {
		// No commit of any chain, so no chain has a gap for it. Whoever reads it
		// cannot decode it either, and parks it.
		d.run = events.Subject{Owner: p.reader.Source.Owner, Run: d.record.Subject}
		return nil //nolint:nilerr // the reader finds the same error
	}
	d.run = c.Subject
	if p.lanes.has(d.record.Sequence) {
		return nil // checked when it came first
	}
	head, seen := p.lanes.chains.get(c.Subject)
	next := events.Head{Number: c.Number, Digest: c.Digest}
	switch {
	case !seen && c.Number == 1:
		head = events.Head{}
	case !seen:
		p.lanes.chains.put(c.Subject, next)
		return nil
	case c.Number == head.Number && c.Digest != head.Digest:
		return fmt.Errorf("%w: %s has two commits numbered %d", journal.ErrCorrupt, c.Subject, c.Number)
	case c.Number <= head.Number:
		return nil // comes again after a reset
	}
	if next, err = journal.Follows(head, &c); err != nil {
		// What the broker sends again may come late; from the start it comes
		// in order. A gap that is there twice is real.
		if c.Number > head.Number+1 && p.doubt != d.record.Sequence {
			p.doubt = d.record.Sequence
			return errReset
		}
		return fmt.Errorf("%s/%d: %w", p.stream, d.record.Sequence, err)
	}
	p.lanes.chains.put(c.Subject, next)
	return nil
}

// timer reads the run and the name of a fired timer from its subject.
func (p *puller) timer(d *delivery) error {
	run, name, err := parseFired(d.record.Subject)
	if err != nil || run.Owner != p.reader.Source.Owner {
		return fmt.Errorf("%w: %s/%d has the foreign subject %.120q", journal.ErrCorrupt, p.stream, d.record.Sequence, d.record.Subject)
	}
	d.run, d.timer = run, name
	d.record.Subject, d.record.Data, d.record.Header = run.String(), nil, nil
	return nil
}

// Prefixes of the subjects of timers.
const (
	schedPrefix  = "timer.sched."
	firedPrefix  = "timer.fired."
	cancelPrefix = "timer.cancelled."
)

// timerSubject returns <prefix><owner>.<pp>.<tenant>.<run>.<name>.
func timerSubject(prefix string, run events.Subject, name string) string {
	return fmt.Sprintf("%s%s.%02d.%s.%s.%s", prefix, run.Owner, run.Partition(), run.Tenant, run.Run, name)
}

// parseFired is the inverse of timerSubject for a fired timer.
func parseFired(subject string) (run events.Subject, name string, err error) {
	rest, ok := strings.CutPrefix(subject, firedPrefix)
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 || !events.ValidToken(rest[dot+1:]) {
		return run, "", fmt.Errorf("%w: timer %.120q", events.ErrSubject, subject)
	}
	run, err = events.ParseSubject("mandate.v1." + rest[:dot])
	return run, rest[dot+1:], err
}
