package memory

import (
	"context"
	"fmt"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Redeliver implements [journal.Parking].
func (j *Journal) Redeliver(_ context.Context, parked journal.Parked) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	subject, err := events.ParseSubject(parked.Subject)
	if err != nil {
		return fmt.Errorf("%w: %w", journal.ErrRefused, err)
	}
	again := &item{run: subject, timer: parked.Timer}
	if parked.Timer != "" {
		for _, f := range j.timers.fired[subject.Owner] {
			if f.record.Sequence == parked.Sequence {
				again.record = &f.record
			}
		}
	} else if s := j.streams[subject.Owner]; s != nil && parked.Sequence > 0 && parked.Sequence <= uint64(len(s.records)) {
		again.record = &s.records[parked.Sequence-1].record
	}
	c, ok := j.consumers[consumerKey{parked.Reader, journal.Source{Owner: subject.Owner, Timers: parked.Timer != ""}}]
	if again.record == nil || !ok {
		return fmt.Errorf("redeliver %s %d to %s: %w", parked.Stream, parked.Sequence, parked.Reader, journal.ErrNotFound)
	}
	c.add(again)
	j.changed()
	return nil
}
