package reactor

import (
	"context"
	"fmt"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Opener opens the sealed bodies of a commit.
type Opener interface {
	Open(ctx context.Context, c *events.Commit) error
}

// LoadChain reads a whole chain, checks that it is one, and opens it. The
// position is its end, zero if there is nothing.
func LoadChain(ctx context.Context, streams journal.Loader, opener Opener, subject events.Subject) ([]events.Commit, journal.Position, error) {
	records, err := streams.Load(ctx, subject, 0)
	if err != nil {
		return nil, journal.Position{}, fmt.Errorf("load %s: %w", subject, err)
	}
	chain := make([]events.Commit, 0, len(records))
	var end journal.Position
	for i := range records {
		c, err := events.Decode(records[i])
		if err != nil {
			return nil, journal.Position{}, fmt.Errorf("load %s: %w", subject, err)
		}
		if err := events.CheckNext(end.Head, &c); err != nil {
			return nil, journal.Position{}, fmt.Errorf("load %s: %w: %w", subject, journal.ErrCorrupt, err)
		}
		if err := opener.Open(ctx, &c); err != nil {
			return nil, journal.Position{}, fmt.Errorf("load %s: %w", subject, err)
		}
		end = journal.Position{Sequence: records[i].Sequence, Head: c.Head()}
		chain = append(chain, c)
	}
	return chain, end, nil
}
