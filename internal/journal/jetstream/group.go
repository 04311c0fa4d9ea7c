package jetstream

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// Limits of one group. Below the smallest, single messages were never slower
// in any measurement, so that few writers at once are left alone whatever the
// estimates say. As many single messages may be on their way: more would not
// be faster, since the server takes them in turn.
const (
	groupSmallest = 24
	groupMessages = 500
	groupBytes    = 900 << 10
)

// A group is sent when it is expected to cost less than its commits one by
// one, with this margin for what is not measured.
const groupMargin = 2

// Where the estimates start, and how fast they follow what is measured.
const (
	firstSingleCost = 450 * time.Microsecond
	firstGroupCost  = 7 * time.Millisecond
	estimateWeight  = 0.1
)

// gatherTime is how long, after a group, the next may gather. Those who waited
// for the first come back together; without a pause half of them would go out
// alone ahead of the others.
const gatherTime = 2 * time.Millisecond

// grouper publishes the commits of one stream. Where the server syncs each
// message in turn, commits that wait together go out as one atomic batch, but
// only when enough of them wait: a batch costs as much as some fifteen single
// messages, whatever its size. Each keeps its own literal expectation.
type grouper struct {
	journal *Journal

	mu         sync.Mutex
	queue      []*waiting
	singles    int // on their way
	grouping   bool
	groups     int // sent so far
	gathering  *time.Timer
	target     int     // gather until so many wait
	singleCost float64 // moving average, in nanoseconds: one of several at once
	groupCost  float64 // one batch
}

// waiting is one commit in the queue.
type waiting struct {
	ctx  context.Context //nolint:containedctx // a call that waits for its turn
	msg  *nats.Msg
	done chan outcome // takes one without a receiver
}

type outcome struct {
	ack pubAck
	err error
}

func newGrouper(j *Journal) *grouper {
	return &grouper{journal: j, singleCost: float64(firstSingleCost), groupCost: float64(firstGroupCost)}
}

// publish sends a message alone or with others and returns its own
// acknowledgment.
func (g *grouper) publish(ctx context.Context, msg *nats.Msg) (pubAck, error) {
	g.mu.Lock()
	if g.gathering == nil && !g.grouping && len(g.queue) == 0 && g.singles < groupSmallest {
		g.singles++
		g.mu.Unlock()
		return g.single(ctx, msg)
	}
	w := &waiting{ctx: ctx, msg: msg, done: make(chan outcome, 1)}
	g.queue = append(g.queue, w)
	g.dispatch()
	g.mu.Unlock()
	select {
	case o := <-w.done:
		return o.ack, o.err
	case <-ctx.Done():
		return pubAck{}, ctx.Err()
	}
}

// worth returns from how many commits on a group is cheaper.
func (g *grouper) worth() int {
	return min(max(int(groupMargin*g.groupCost/g.singleCost), groupSmallest), groupMessages/2)
}

// dispatch sends what the queue allows. The lock is held.
func (g *grouper) dispatch() {
	if g.gathering != nil {
		if len(g.queue) < g.target {
			return
		}
		g.gathering.Stop()
		g.gathering = nil
	}
	if !g.grouping && len(g.queue) >= g.worth() {
		g.grouping = true
		g.groups++
		group := g.cut()
		go g.group(group)
	}
	for len(g.queue) > 0 && !g.grouping && g.singles < groupSmallest {
		w := g.queue[0]
		g.queue = g.queue[1:]
		g.singles++
		// A group that is never tried would keep its old price for ever.
		g.groupCost = max(g.groupCost*0.999, float64(time.Millisecond))
		go func() {
			ack, err := g.single(w.ctx, w.msg)
			w.done <- outcome{ack, err}
		}()
	}
}

// cut takes a group off the queue, at most one commit of each run: of two that
// expect the same place one would refuse the whole group.
func (g *grouper) cut() []*waiting {
	size := 0
	runs := make(map[string]struct{}, len(g.queue))
	var group, rest []*waiting
	for i, w := range g.queue {
		size += w.msg.Size()
		if len(group) == groupMessages || len(group) > 0 && size > groupBytes {
			rest = append(rest, g.queue[i:]...)
			break
		}
		if _, taken := runs[w.msg.Subject]; taken {
			size -= w.msg.Size()
			rest = append(rest, w)
			continue
		}
		runs[w.msg.Subject] = struct{}{}
		group = append(group, w)
	}
	g.queue = rest
	return group
}

// single publishes one message and measures it: with several on their way the
// server takes them in turn.
func (g *grouper) single(ctx context.Context, msg *nats.Msg) (pubAck, error) {
	g.mu.Lock()
	abreast, groups, beside := g.singles, g.groups, g.grouping
	g.mu.Unlock()
	start := time.Now()
	ack, err := g.journal.publish(ctx, msg)
	took := time.Since(start)
	g.mu.Lock()
	defer g.mu.Unlock()
	// Beside a group a single message pays for its part of the group.
	if err == nil && !beside && groups == g.groups {
		g.singleCost = follow(g.singleCost, float64(took)/float64(max(abreast, 1)))
	}
	g.singles--
	g.dispatch()
	return ack, err
}

func follow(estimate, measured float64) float64 {
	return estimate + estimateWeight*(measured-estimate)
}

// group publishes commits as one atomic batch and answers each.
func (g *grouper) group(group []*waiting) {
	start := time.Now()
	ack, err := g.journal.publishBatch(group)
	took := float64(time.Since(start))
	var api *apiError
	refused := errors.As(err, &api)
	for i, w := range group {
		switch {
		case err == nil:
			// One batch takes consecutive sequences and names its last.
			one := ack
			one.Sequence -= uint64(len(group) - 1 - i)
			w.done <- outcome{ack: one}
		case !refused:
			w.done <- outcome{err: err} // unknown: each looks for itself
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.grouping = false
	if refused {
		// One stale guard or duplicate refuses all: nothing is stored, and
		// each goes alone. Where that happens often, groups are not worth it.
		g.groupCost = follow(g.groupCost, 2*took)
		g.alone(group)
	} else if err == nil {
		g.groupCost = follow(g.groupCost, took)
	}
	g.target = max(len(group)*3/4, 1)
	g.gathering = time.AfterFunc(gatherTime, g.gathered)
	g.dispatch()
}

// gathered ends the pause after a group.
func (g *grouper) gathered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.gathering != nil {
		g.gathering, g.target = nil, 0
		g.dispatch()
	}
}

// alone sends each of a refused group by itself. The lock is held.
func (g *grouper) alone(group []*waiting) {
	for _, w := range group {
		g.singles++
		go func() {
			ack, err := g.single(w.ctx, w.msg)
			w.done <- outcome{ack, err}
		}()
	}
}

// publishBatch sends messages as one atomic batch: all are stored or none.
func (j *Journal) publishBatch(group []*waiting) (pubAck, error) {
	if len(group) == 1 {
		return j.publish(group[0].ctx, group[0].msg)
	}
	id := j.conn.NewInbox()
	id = id[max(0, len(id)-40):] // at most 64 bytes, and unique at its end
	last := len(group) - 1
	for i, w := range group[:last] {
		if err := j.line(w.msg.Subject).PublishMsg(batchMsg(w.msg, id, i+1, false)); err != nil {
			return pubAck{}, err
		}
	}
	ctx, cancel := context.WithTimeout(j.ctx, batchTries*j.config.Try)
	defer cancel()
	var ack pubAck
	if err := j.askOnce(ctx, batchMsg(group[last].msg, id, len(group), true), &ack); err != nil {
		return pubAck{}, err
	}
	if ack.Error != nil {
		return pubAck{}, ack.Error
	}
	if ack.Count != len(group) || ack.Sequence < uint64(len(group)) {
		return pubAck{}, errBatchAck
	}
	return ack, nil
}

// batchTries is how many tries long a batch is waited for.
const batchTries = 4

var errBatchAck = errors.New("jetstream: acknowledgment does not fit the batch")

// batchMsg returns a copy of msg as a part of a batch. The original is sent
// again as it is if the batch is refused.
func batchMsg(msg *nats.Msg, id string, sequence int, commit bool) *nats.Msg {
	header := maps.Clone(msg.Header)
	header["Nats-Batch-Id"] = []string{id}
	header["Nats-Batch-Sequence"] = []string{strconv.Itoa(sequence)}
	if commit {
		header["Nats-Batch-Commit"] = []string{"1"}
	}
	return &nats.Msg{Subject: msg.Subject, Header: header, Data: msg.Data}
}
