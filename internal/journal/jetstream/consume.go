package jetstream

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Consume implements [journal.Consumer] on the durables that [Provision] made.
// Of several processes that consume as one reader, one at a time has each
// group of partitions.
func (j *Journal) Consume(ctx context.Context, reader string, source journal.Source) (<-chan journal.Delivery, error) {
	if !source.Owner.Valid() || !events.ValidToken(reader) {
		return nil, fmt.Errorf("consume as %.80q: %w: owner %.80q", reader, events.ErrSubject, source.Owner)
	}
	r := Reader{Name: reader, Source: source}
	for _, g := range j.config.groups() {
		// A durable that bootstrap did not make would be waited for in silence.
		if _, err := insist[apiAnswer](ctx, j, "$JS.API.CONSUMER.INFO."+streamOf(source)+"."+durable(r, g), struct{}{}); err != nil {
			return nil, fmt.Errorf("consume %s as %s: %w", streamOf(source), durable(r, g), err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(j.ctx, cancel)
	out := make(chan journal.Delivery)
	err := j.run(func() {
		defer close(out)
		defer cancel()
		defer unhook()
		var groups sync.WaitGroup
		for _, g := range j.config.groups() {
			l := newLanes(ctx, j, r, g)
			groups.Go(func() { l.send(out) })
			groups.Go(l.keepAlive)
			groups.Go(func() { newPuller(j, r, g, l).run(ctx) })
		}
		groups.Wait()
	})
	if err != nil {
		unhook()
		cancel()
		return nil, err
	}
	return out, nil
}

// lanes is what one group of partitions has in hand: a queue per run.
type lanes struct {
	ctx     context.Context //nolint:containedctx // the life of the consumption
	journal *Journal
	reader  Reader
	group   group

	mu      sync.Mutex
	byRun   map[events.Subject]*lane
	ready   []*lane              // with something to deliver, oldest first
	held    map[uint64]*delivery // received and not confirmed as acknowledged
	settled *recent[uint64, struct{}]
	chains  *recent[events.Subject, events.Head]
	wake    chan struct{} // holds one token when ready may have grown
}

type lane struct {
	items  []*delivery // not acknowledged, in stream order
	queued bool        // in lanes.ready
}

// Bounds of what a group remembers: sequences that it acknowledged, and ends
// of chains that it has seen.
const (
	rememberedAcks   = 4096
	rememberedChains = 32768
)

func newLanes(ctx context.Context, j *Journal, r Reader, g group) *lanes {
	return &lanes{
		ctx: ctx, journal: j, reader: r, group: g,
		byRun: make(map[events.Subject]*lane), held: make(map[uint64]*delivery),
		settled: newRecent[uint64, struct{}](rememberedAcks),
		chains:  newRecent[events.Subject, events.Head](rememberedChains),
		wake:    make(chan struct{}, 1),
	}
}

// add takes in a delivery, unless it is in hand or done with already. It
// reports an acknowledgment to send at once as again.
func (l *lanes) add(d *delivery) (again bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sequence := d.record.Sequence
	if held, ok := l.held[sequence]; ok {
		held.reply = d.reply // the broker listens to the newest
		return false
	}
	if _, ok := l.settled.get(sequence); ok {
		return true
	}
	q := l.byRun[d.run]
	if q == nil {
		q = &lane{}
		l.byRun[d.run] = q
	}
	d.lanes, d.lane = l, q
	l.held[sequence] = d
	q.items = append(q.items, d)
	l.enqueue(q)
	return false
}

// again forgets what was settled, so that it is taken in when it comes again.
func (l *lanes) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settled = newRecent[uint64, struct{}](rememberedAcks)
}

// has reports whether a sequence is in hand or done with.
func (l *lanes) has(sequence uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, held := l.held[sequence]
	_, settled := l.settled.get(sequence)
	return held || settled
}

// enqueue lists a lane as ready if it is, and wakes the sender.
func (l *lanes) enqueue(q *lane) {
	if q.queued || q.head() == nil {
		return
	}
	q.queued = true
	l.ready = append(l.ready, q)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// head returns the delivery to hand out next: the first that is not in hand,
// behind only released ones.
func (q *lane) head() *delivery {
	for _, d := range q.items {
		switch {
		case d.waiting:
			return nil
		case !d.inHand:
			return d
		case !d.released:
			return nil
		}
	}
	return nil
}

// take returns the next delivery to hand out, nil if there is none.
func (l *lanes) take() *delivery {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.ready) > 0 {
		q := l.ready[0]
		l.ready = l.ready[1:]
		q.queued = false
		if d := q.head(); d != nil {
			d.inHand, d.released = true, false
			return d
		}
	}
	return nil
}

// send hands deliveries out until the consumption ends.
func (l *lanes) send(out chan<- journal.Delivery) {
	for {
		d := l.take()
		if d == nil {
			select {
			case <-l.ctx.Done():
				return
			case <-l.wake:
				continue
			}
		}
		select {
		case <-l.ctx.Done():
			return
		case out <- d:
		}
	}
}

// keepAlive tells the broker that everything in hand is being worked on.
func (l *lanes) keepAlive() {
	ticker := time.NewTicker(l.journal.config.AckWait / 3)
	defer ticker.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C:
		}
		l.mu.Lock()
		replies := make([]string, 0, len(l.held))
		for _, d := range l.held {
			replies = append(replies, d.reply)
		}
		l.mu.Unlock()
		for _, reply := range replies {
			// A lost heartbeat is made up for by the next.
			_ = l.journal.line(reply).Publish(reply, []byte("+WPI"))
		}
	}
}

// remove takes a settled delivery out of its lane.
func (l *lanes) remove(d *delivery) {
	q := d.lane
	for i, other := range q.items {
		if other == d {
			q.items = append(q.items[:i], q.items[i+1:]...)
			break
		}
	}
	if len(q.items) == 0 && !q.queued {
		delete(l.byRun, d.run)
		return
	}
	l.enqueue(q)
}
