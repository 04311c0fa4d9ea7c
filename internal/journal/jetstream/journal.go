package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Journal implements [journal.Journal]. It is safe for concurrent use.
type Journal struct {
	conn   *nats.Conn   // for everything that is not said below
	lines  []*nats.Conn // conn and those of config.More
	config Config
	ctx    context.Context //nolint:containedctx // the life of the journal, ended by Close
	cancel context.CancelFunc

	groupers map[events.Owner]*grouper // none where single publishes are faster

	mu      sync.Mutex
	closed  bool
	fresh   map[events.Owner]chan struct{} // closed at the next append through this journal
	running sync.WaitGroup
}

var _ journal.Journal = (*Journal)(nil)

var errClosed = errors.New("jetstream: journal closed")

// Open returns the journal on the streams that [Provision] made, or an error
// that names every stream and field that is weaker than config. The connection
// stays the caller's; its error handler is taken over to watch for permission
// violations, and calls the one before it.
func Open(ctx context.Context, conn *nats.Conn, config Config) (*Journal, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if err := guard(ctx, js, &config); err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	j := &Journal{conn: conn, lines: append([]*nats.Conn{conn}, config.More...), config: config, fresh: make(map[events.Owner]chan struct{})}
	// The journal outlives the call that opened it.
	j.ctx, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if config.SyncAlways && config.Replicas == 1 {
		j.groupers = make(map[events.Owner]*grouper)
		for _, owner := range events.Owners() {
			j.groupers[owner] = newGrouper(j)
		}
	}
	j.watch()
	return j, nil
}

// Close implements [journal.Journal]. It does not close the connection.
func (j *Journal) Close() error {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.cancel()
	j.running.Wait()
	return nil
}

// run starts a goroutine that Close waits for, unless the journal is closed.
func (j *Journal) run(f func()) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return errClosed
	}
	j.running.Go(f)
	return nil
}

// appended wakes followers in this process, who would find out by asking.
func (j *Journal) appended(owner events.Owner) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c, ok := j.fresh[owner]; ok {
		close(c)
		delete(j.fresh, owner)
	}
}

// next returns a channel that is closed at the next append of owner through
// this journal.
func (j *Journal) next(owner events.Owner) <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	c, ok := j.fresh[owner]
	if !ok {
		c = make(chan struct{})
		j.fresh[owner] = c
	}
	return c
}
