package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// consumerKey is one reader of one source: what a durable consumer is to a
// broker.
type consumerKey struct {
	reader string
	source journal.Source
}

// consumer hands the records of a source out, per run in order.
type consumer struct {
	key   consumerKey
	taken int // records of the source that were put into lanes
	lanes map[events.Subject]*lane
	ready []*lane // lanes with something to deliver, oldest first
}

// lane is the queue of one run.
type lane struct {
	items  []*item // not acknowledged, in stream order
	queued bool    // in consumer.ready
	delay  int     // deliveries lost on their way still to come
}

// item is one record in a lane.
type item struct {
	lane     *lane
	consumer *consumer
	record   *events.Record
	run      events.Subject
	timer    string
	inHand   bool
	released bool
	settled  bool
	waiting  bool // given back with a delay that has not passed
	holder   *session
}

// session is one call of Consume, or the pulls of a simulation.
type session struct{ ended bool }

// Next hands out the next delivery of source to reader, chosen by the seed
// among the runs that have one, or false if there is none: everything is
// acknowledged or in hand. Deliveries are settled with their own methods, in
// any order. It is meant for simulations.
func (j *Journal) Next(reader string, source journal.Source) (journal.Delivery, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	d := j.next(consumerKey{reader, source}, nil)
	return d, d != nil
}

// Unsettled returns how many deliveries of source reader has yet to
// acknowledge, in hand or to come.
func (j *Journal) Unsettled(reader string, source journal.Source) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.consumer(consumerKey{reader, source})
	j.fill(c)
	n := 0
	for _, l := range c.lanes {
		n += len(l.items)
	}
	return n
}

// Consume implements [journal.Consumer].
func (j *Journal) Consume(ctx context.Context, reader string, source journal.Source) (<-chan journal.Delivery, error) {
	if !source.Owner.Valid() || reader == "" {
		return nil, fmt.Errorf("consume as %.80q: %w: owner %.80q", reader, events.ErrSubject, source.Owner)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.usable(); err != nil {
		return nil, err
	}
	out := make(chan journal.Delivery)
	j.running.Add(1)
	go j.deliver(ctx, consumerKey{reader, source}, out)
	return out, nil
}

// deliver sends deliveries to out until ctx ends, then gives back what was
// not acknowledged.
func (j *Journal) deliver(ctx context.Context, key consumerKey, out chan<- journal.Delivery) {
	defer j.running.Done()
	defer close(out)
	held := &session{}
	defer func() {
		j.mu.Lock()
		held.ended = true
		j.consumer(key).giveBack(func(i *item) bool { return i.holder == held })
		j.changed()
		j.mu.Unlock()
	}()
	for {
		j.mu.Lock()
		d, wake := j.next(key, held), j.wakeLocked()
		j.mu.Unlock()
		if d == nil {
			select {
			case <-ctx.Done():
				return
			case <-j.stop:
				return
			case <-wake:
				continue
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-j.stop:
			return
		case out <- d:
		}
	}
}

func (j *Journal) consumer(key consumerKey) *consumer {
	c := j.consumers[key]
	if c == nil {
		c = &consumer{key: key, lanes: make(map[events.Subject]*lane)}
		j.consumers[key] = c
		j.order = append(j.order, c)
	}
	return c
}

// fill puts new records of the source into lanes.
func (j *Journal) fill(c *consumer) {
	if c.key.source.Timers {
		fired := j.timers.fired[c.key.source.Owner]
		for ; c.taken < len(fired); c.taken++ {
			f := fired[c.taken]
			c.add(&item{record: &f.record, run: f.timer.Run, timer: f.timer.Name})
		}
		return
	}
	s := j.streams[c.key.source.Owner]
	if s == nil {
		return
	}
	for ; c.taken < len(s.records); c.taken++ {
		e := s.records[c.taken]
		c.add(&item{record: &e.record, run: e.subject})
	}
}

func (c *consumer) add(i *item) {
	l := c.lanes[i.run]
	if l == nil {
		l = &lane{}
		c.lanes[i.run] = l
	}
	i.lane, i.consumer = l, c
	l.items = append(l.items, i)
	c.enqueue(l)
}

// enqueue lists a lane as ready if it is.
func (c *consumer) enqueue(l *lane) {
	if !l.queued && l.head() != nil {
		l.queued = true
		c.ready = append(c.ready, l)
	}
}

// head returns the record to deliver next: the first that is not in hand,
// behind only released ones.
func (l *lane) head() *item {
	for _, i := range l.items {
		switch {
		case i.waiting:
			return nil
		case !i.inHand:
			return i
		case !i.released:
			return nil
		}
	}
	return nil
}

// next hands out one delivery, nil if there is none.
func (j *Journal) next(key consumerKey, held *session) journal.Delivery {
	if j.usable() != nil {
		return nil
	}
	j.landDelayed()
	c := j.consumer(key)
	j.fill(c)
	l := j.pick(c)
	if l == nil {
		return nil
	}
	i := l.head()
	i.inHand, i.released, i.holder = true, false, held
	if j.chance(j.options.Faults.Redeliver) {
		// The broker takes the delivery for lost: a copy comes later, beside
		// the one in hand.
		i.inHand = false
		c.enqueue(l)
	}
	return &delivery{journal: j, item: i, life: j.life}
}

// pick takes a ready lane off the list. A lane whose delivery is lost on its
// way goes back to the end, so that others come first.
func (j *Journal) pick(c *consumer) *lane {
	for len(c.ready) > 0 {
		n := 0
		if j.options.Faults.Shuffle {
			n = j.random.IntN(len(c.ready))
		}
		l := c.ready[n]
		c.ready = slices.Delete(c.ready, n, n+1)
		if l.head() == nil {
			l.queued = false
			continue
		}
		if l.delay == 0 && j.chance(j.options.Faults.DelayDelivery) {
			l.delay = 1 + j.random.IntN(maxDelay)
		}
		if l.delay > 1 && len(c.ready) > 0 {
			l.delay--
			c.ready = append(c.ready, l)
			continue
		}
		l.queued, l.delay = false, 0
		return l
	}
	return nil
}

// giveBack returns deliveries in hand to their lanes.
func (c *consumer) giveBack(which func(*item) bool) {
	for _, l := range c.sortedLanes() {
		for _, i := range l.items {
			if which(i) {
				i.inHand, i.released, i.waiting, i.holder = false, false, false, nil
			}
		}
		c.enqueue(l)
	}
}

// sortedLanes returns the lanes in the order of their oldest record, so that a
// restart is the same each time.
func (c *consumer) sortedLanes() []*lane {
	lanes := make([]*lane, 0, len(c.lanes))
	for _, l := range c.lanes {
		if len(l.items) > 0 {
			lanes = append(lanes, l)
		}
	}
	slices.SortFunc(lanes, func(a, b *lane) int {
		return cmp.Compare(a.items[0].record.Sequence, b.items[0].record.Sequence)
	})
	return lanes
}

// delivery implements [journal.Delivery].
type delivery struct {
	journal *Journal
	item    *item
	life    int
}

func (d *delivery) Record() events.Record { return *d.item.record }
func (d *delivery) Timer() string         { return d.item.timer }
func (d *delivery) Run() events.Subject   { return d.item.run }

// live reports whether the delivery still counts: there was no crash since,
// and whoever it was handed to still consumes.
func (d *delivery) live() bool {
	return d.life == d.journal.life && (d.item.holder == nil || !d.item.holder.ended)
}

// Release implements [journal.Delivery].
func (d *delivery) Release() {
	d.journal.mu.Lock()
	defer d.journal.mu.Unlock()
	if !d.live() || d.item.settled || !d.item.inHand {
		return
	}
	d.item.released = true
	d.item.consumer.enqueue(d.item.lane)
	d.journal.changed()
}

// Ack implements [journal.Delivery].
func (d *delivery) Ack() {
	j := d.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	i := d.item
	if !d.live() || i.settled || j.step() != nil {
		return
	}
	if j.chance(j.options.Faults.LoseAck) {
		i.inHand, i.released, i.holder = false, false, nil
	} else {
		i.settled = true
		i.lane.items = slices.DeleteFunc(i.lane.items, func(other *item) bool { return other == i })
	}
	i.consumer.enqueue(i.lane)
	j.changed()
}

// Pass implements [journal.Delivery].
func (d *delivery) Pass() { d.Ack() }

// Retry implements [journal.Delivery].
func (d *delivery) Retry(delay time.Duration) {
	j := d.journal
	j.mu.Lock()
	defer j.mu.Unlock()
	i := d.item
	if !d.live() || i.settled || !i.inHand {
		return
	}
	i.inHand, i.released, i.holder = false, false, nil
	if delay > 0 && !j.options.Simulated {
		i.waiting = true
		time.AfterFunc(delay, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			i.waiting = false
			i.consumer.enqueue(i.lane)
			j.changed()
		})
		return
	}
	i.consumer.enqueue(i.lane)
	j.changed()
}
