package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// apiTry is the wait for one answer of the stream and consumer API. Requests
// sent while there is no meta leader are never answered, so they are sent
// again.
const apiTry = 2 * time.Second

// Provision creates the streams, buckets and durables of config, or brings
// them to it. It is idempotent and needs the rights of the bootstrap identity.
func Provision(ctx context.Context, conn *nats.Conn, config Config) error {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return fmt.Errorf("provision: %w", err)
	}
	for _, stream := range config.streams() {
		if err := untilAnswered(ctx, func(ctx context.Context) error { return putStream(ctx, js, stream) }); err != nil {
			return fmt.Errorf("provision stream %s: %w", stream.Name, err)
		}
	}
	for _, reader := range config.Readers {
		for _, g := range config.groups() {
			consumer := config.consumer(reader, g)
			err := untilAnswered(ctx, func(ctx context.Context) error {
				_, err := js.CreateOrUpdateConsumer(ctx, streamOf(reader.Source), consumer)
				return err
			})
			if err != nil {
				return fmt.Errorf("provision consumer %s of %s: %w", consumer.Durable, streamOf(reader.Source), err)
			}
		}
	}
	return nil
}

func putStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) error {
	_, err := js.CreateStream(ctx, config)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		_, err = js.UpdateStream(ctx, config)
	}
	return err
}

// untilAnswered repeats a request that got no answer, or an answer that there
// is no leader, until ctx ends.
func untilAnswered(ctx context.Context, request func(context.Context) error) error {
	for {
		try, cancel := context.WithTimeout(ctx, apiTry)
		err := request(try)
		cancel()
		if err == nil || ctx.Err() != nil || !transient(err) {
			return err
		}
		if wait(ctx, retryPause) != nil {
			return err
		}
	}
}

// transient reports whether a request to the API may succeed when sent again.
func transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		// A cluster that forms has no peers at first.
		return api.Code == 503 || api.ErrorCode == codeNoPeers
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, jetstream.ErrJetStreamNotEnabled)
}

// retryPause is the wait between tries.
const retryPause = 20 * time.Millisecond

// wait pauses unless ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
