package jetstream

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
)

// delivery implements [journal.Delivery]. Its state is guarded by its lanes.
type delivery struct {
	lanes  *lanes
	lane   *lane
	record events.Record
	run    events.Subject
	timer  string
	reply  string // where the broker expects the newest acknowledgment

	inHand   bool
	released bool
	settled  bool
	waiting  bool // given back with a delay that has not passed
}

// Record implements [journal.Delivery].
func (d *delivery) Record() events.Record { return d.record }

// Timer implements [journal.Delivery].
func (d *delivery) Timer() string { return d.timer }

// Run implements [journal.Delivery].
func (d *delivery) Run() events.Subject { return d.run }

// Release implements [journal.Delivery].
func (d *delivery) Release() {
	l := d.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.inHand && !d.settled {
		d.released = true
		l.enqueue(d.lane)
	}
}

// Ack implements [journal.Delivery]. The next of the run goes out at once; the
// confirmation is awaited beside it.
func (d *delivery) Ack() {
	l := d.lanes
	l.mu.Lock()
	if d.settled {
		l.mu.Unlock()
		return
	}
	d.settled = true
	l.remove(d)
	l.mu.Unlock()
	for l.ctx.Err() == nil {
		l.mu.Lock()
		reply := d.reply
		l.mu.Unlock()
		if l.confirm(reply) {
			l.mu.Lock()
			delete(l.held, d.record.Sequence)
			l.settled.put(d.record.Sequence, struct{}{})
			l.mu.Unlock()
			return
		}
	}
}

// Pass implements [journal.Delivery]. An acknowledgment that is lost is sent
// again when the delivery comes again.
func (d *delivery) Pass() {
	l := d.lanes
	l.mu.Lock()
	if d.settled {
		l.mu.Unlock()
		return
	}
	d.settled = true
	l.remove(d)
	delete(l.held, d.record.Sequence)
	l.settled.put(d.record.Sequence, struct{}{})
	reply := d.reply
	l.mu.Unlock()
	_ = l.journal.line(reply).Publish(reply, []byte("+ACK"))
}

// confirm acknowledges and waits one try for the broker to say so.
func (l *lanes) confirm(reply string) bool {
	ctx, cancel := context.WithTimeout(l.ctx, l.journal.config.Try)
	defer cancel()
	_, err := l.journal.line(reply).RequestWithContext(ctx, reply, []byte("+ACK"))
	if err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		_ = wait(l.ctx, retryPause) // it answered at once: do not spin
	}
	return err == nil
}

// Retry implements [journal.Delivery]. The delivery stays with this process,
// which keeps it alive at the broker: given back there, it would come after
// later records of the run.
func (d *delivery) Retry(delay time.Duration) {
	l := d.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	if d.settled || !d.inHand {
		return
	}
	d.inHand, d.released = false, false
	if delay <= 0 {
		l.enqueue(d.lane)
		return
	}
	d.waiting = true
	time.AfterFunc(delay, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		d.waiting = false
		l.enqueue(d.lane)
	})
}

// recent is a map that forgets: it keeps at least the last limit/2 keys put
// and at most limit.
type recent[K comparable, V any] struct {
	half     int
	new, old map[K]V
}

func newRecent[K comparable, V any](limit int) *recent[K, V] {
	return &recent[K, V]{half: limit / 2, new: make(map[K]V)}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	if v, ok := r.new[key]; ok {
		return v, true
	}
	v, ok := r.old[key]
	return v, ok
}

func (r *recent[K, V]) put(key K, value V) {
	if len(r.new) >= r.half {
		r.new, r.old = make(map[K]V), r.new
	}
	r.new[key] = value
}
