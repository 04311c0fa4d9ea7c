package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
)

var errNotYet = errors.New("not yet")

type grouper struct{ j *Journal }

func newGrouper(j *Journal) *grouper { return &grouper{j} }

func (g *grouper) publish(ctx context.Context, msg *nats.Msg) (pubAck, error) {
	return g.j.publish(ctx, msg)
}
