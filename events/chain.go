package events

import (
	"errors"
	"fmt"
)

// ErrChain is returned where a commit does not follow the one before it.
var ErrChain = errors.New("events: broken chain")

// CheckNext checks that c directly follows head in its chain.
func CheckNext(head Head, c *Commit) error {
	if c.Number != head.Number+1 {
		return fmt.Errorf("%w: %s commit %s has number %d after %d", ErrChain, c.Subject, c.ID, c.Number, head.Number)
	}
	if c.Previous != head.Digest {
		return fmt.Errorf("%w: %s commit %s (number %d) does not follow the digest before it", ErrChain, c.Subject, c.ID, c.Number)
	}
	return nil
}

// Head returns the end of the chain after c.
func (c *Commit) Head() Head { return Head{Number: c.Number, Digest: c.Digest} }
