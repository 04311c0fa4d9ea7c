package reactor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Handler handles what a service listens to. [Service] is one.
type Handler interface {
	Owner() events.Owner
	Deliver(ctx context.Context, c *events.Commit, decided func(), settled func(error))
	Fire(ctx context.Context, run events.Subject, name string, decided func(), settled func(error))
}

// RouterOptions of a router.
type RouterOptions struct {
	Journal interface {
		journal.Consumer
		journal.Parking
	}
	Sealer Sealer
	Clock  func() time.Time
	Logger *slog.Logger
	// DrainTimeout bounds how long Close waits for handlers.
	DrainTimeout time.Duration
}

// Router delivers the streams that services listen to.
type Router struct {
	router     *message.Router
	subscriber *subscriber
	o          RouterOptions
}

// NewRouter returns a router without handlers.
func NewRouter(o RouterOptions) (*Router, error) {
	if o.DrainTimeout == 0 {
		o.DrainTimeout = 20 * time.Second
	}
	logger := watermill.NewSlogLoggerWithLevelMapping(o.Logger, map[slog.Level]slog.Level{slog.LevelInfo: slog.LevelDebug})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: o.DrainTimeout}, logger)
	if err != nil {
		return nil, fmt.Errorf("new router: %w", err)
	}
	r := &Router{router: router, subscriber: newSubscriber(o.Journal), o: o}
	// From the outside in: park what cannot be handled, try again what may
	// pass, carry the identities, and turn panics into errors.
	router.AddMiddleware(
		r.park,
		middleware.Retry{
			MaxRetries: 4, InitialInterval: 50 * time.Millisecond, Multiplier: 2, MaxInterval: time.Second,
			ShouldRetry: func(p middleware.RetryParams) bool {
				return !permanent(p.Err) && !errors.Is(p.Err, errClosed) && !errors.Is(p.Err, context.Canceled)
			},
		}.Middleware,
		middleware.CorrelationID,
		middleware.Recoverer,
	)
	return r, nil
}

// Listen makes h handle a source, as the reader that is named after its owner.
// With types, commits without an event of these types are passed over unread.
func (r *Router) Listen(h Handler, source journal.Source, types ...string) {
	name := string(h.Owner()) + " from " + topicOf(source)
	topic := string(h.Owner()) + "/" + topicOf(source)
	r.subscriber.only(topic, types)
	r.router.AddConsumerHandler(name, topic, r.subscriber, func(m *message.Message) error {
		d, ok := deliveryOf(m)
		if !ok {
			return fmt.Errorf("%w: message without a delivery", events.ErrMalformed)
		}
		return r.handle(m.Context(), h, d)
	})
}

func (r *Router) handle(ctx context.Context, h Handler, d journal.Delivery) error {
	settled := make(chan error, 1)
	end := func(err error) { settled <- err }
	if name := d.Timer(); name != "" {
		h.Fire(ctx, d.Run(), name, d.Release, end)
		return wait(ctx, settled)
	}
	c, err := events.Decode(d.Record())
	if err != nil {
		return err
	}
	if err := r.o.Sealer.Open(ctx, &c); err != nil {
		return err
	}
	h.Deliver(ctx, &c, d.Release, end)
	return wait(ctx, settled)
}

// wait returns when an input is settled. When the process closes first, the
// delivery is left to come again.
func wait(ctx context.Context, settled <-chan error) error {
	select {
	case err := <-settled:
		return err
	case <-ctx.Done():
		return fmt.Errorf("work not settled: %w", context.Cause(ctx))
	}
}

// park keeps a delivery that no attempt will ever handle for people, with the
// reason, so that the rest of the stream goes on. What may pass later is given
// back instead.
func (r *Router) park(next message.HandlerFunc) message.HandlerFunc {
	return func(m *message.Message) ([]*message.Message, error) {
		out, err := next(m)
		d, ok := deliveryOf(m)
		var panicked middleware.RecoveredPanicError
		if err == nil || !ok || !permanent(err) && !errors.As(err, &panicked) {
			return out, err
		}
		record := d.Record()
		reader, _, _ := cutTopic(message.SubscribeTopicFromCtx(m.Context()))
		parked := journal.Parked{
			Reader: reader, Stream: record.Stream, Sequence: record.Sequence, Subject: record.Subject,
			Commit: record.Header[events.HeaderCommit], Timer: d.Timer(), Reason: err.Error(), At: events.At(r.o.Clock()),
		}
		if parkErr := r.o.Journal.Park(m.Context(), parked); parkErr != nil {
			return nil, errors.Join(err, parkErr)
		}
		r.o.Logger.ErrorContext(m.Context(), "delivery parked", "reader", reader, "stream", record.Stream, "seq", record.Sequence, "err", err)
		return nil, nil
	}
}

// Run delivers until ctx ends or Close is called, then drains.
func (r *Router) Run(ctx context.Context) error {
	if err := r.router.Run(ctx); err != nil {
		return fmt.Errorf("run router: %w", err)
	}
	return nil
}

// Running is closed once every handler is subscribed.
func (r *Router) Running() <-chan struct{} { return r.router.Running() }

// Close stops pulling and waits for what is in hand.
func (r *Router) Close() error {
	if err := r.router.Close(); err != nil {
		return fmt.Errorf("close router: %w", err)
	}
	return nil
}
