package reactor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// subscriber gives the deliveries of a journal to a Watermill router. A topic
// is "<reader>/<source>".
type subscriber struct {
	journal journal.Consumer
	types   map[string]map[string]bool // by topic: what is not passed over
	mu      sync.Mutex
	cancels []context.CancelFunc
	closed  bool
	active  sync.WaitGroup
}

func newSubscriber(j journal.Consumer) *subscriber {
	return &subscriber{journal: j, types: map[string]map[string]bool{}}
}

// only lets a topic pass over commits without an event of some types. It is
// called before Subscribe.
func (s *subscriber) only(topic string, types []string) {
	if len(types) == 0 {
		return
	}
	s.types[topic] = make(map[string]bool, len(types))
	for _, t := range types {
		s.types[topic][events.TypeName(t)] = true
	}
}

// concerns reports whether a record has an event of one of the types. A record
// that does not name its types concerns everybody.
func concerns(r events.Record, types map[string]bool) bool {
	names := r.Header[events.HeaderTypes]
	if types == nil || names == "" {
		return true
	}
	for name := range strings.SplitSeq(names, ",") {
		// Whatever the version: one that this build cannot read is refused
		// where it is read, not passed over.
		if types[events.TypeName(name)] {
			return true
		}
	}
	return false
}

func topicOf(s journal.Source) string {
	if s.Timers {
		return "timers." + string(s.Owner)
	}
	return string(s.Owner)
}

func cutTopic(topic string) (reader string, source journal.Source, ok bool) {
	reader, rest, ok := strings.Cut(topic, "/")
	owner, timers := strings.CutPrefix(rest, "timers.")
	return reader, journal.Source{Owner: events.Owner(owner), Timers: timers}, ok
}

type deliveryKey struct{}

func deliveryOf(m *message.Message) (journal.Delivery, bool) {
	d, ok := m.Context().Value(deliveryKey{}).(journal.Delivery)
	return d, ok
}

// retryDelay is how long a delivery rests that could not be handled now.
const retryDelay = time.Second

// Subscribe implements message.Subscriber.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	reader, source, ok := cutTopic(topic)
	if !ok {
		return nil, fmt.Errorf("topic %q is not READER/SOURCE", topic)
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		cancel()
		return nil, fmt.Errorf("subscribe %s: closed", topic)
	}
	deliveries, err := s.journal.Consume(ctx, reader, source)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("subscribe %s: %w", topic, err)
	}
	s.cancels = append(s.cancels, cancel)
	out := make(chan *message.Message)
	types := s.types[topic]
	s.active.Go(func() {
		defer close(out)
		for d := range deliveries {
			if d.Timer() == "" && !concerns(d.Record(), types) {
				d.Pass()
				continue
			}
			s.emit(ctx, d, out)
		}
	})
	return out, nil
}

// emit hands one delivery to the router and settles it when the router did.
func (s *subscriber) emit(ctx context.Context, d journal.Delivery, out chan<- *message.Message) {
	record := d.Record()
	m := message.NewMessage(record.Header[events.HeaderCommit], record.Data)
	middleware.SetCorrelationID(record.Header[events.HeaderCorrelation], m)
	m.SetContext(context.WithValue(ctx, deliveryKey{}, d))
	select {
	case out <- m:
	case <-ctx.Done():
		return // not acknowledged: it comes again
	}
	s.active.Go(func() {
		select {
		case <-m.Acked():
			d.Ack()
		case <-m.Nacked():
			d.Retry(retryDelay)
		case <-ctx.Done():
			// A handler that is draining may still acknowledge.
			select {
			case <-m.Acked():
				d.Ack()
			case <-m.Nacked():
			case <-time.After(interruptGrace):
			}
		}
	})
}

// Close implements message.Subscriber.
func (s *subscriber) Close() error {
	s.mu.Lock()
	s.closed = true
	cancels := s.cancels
	s.cancels = nil
	s.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
	s.active.Wait()
	return nil
}
