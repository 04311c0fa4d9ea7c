package jetstream

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Redeliver implements [journal.Parking]. It moves the durable of the
// partition back, so what came after the delivery comes again as well.
func (j *Journal) Redeliver(ctx context.Context, parked journal.Parked) error {
	subject, err := events.ParseSubject(parked.Subject)
	if err != nil {
		return fmt.Errorf("redeliver: %w: %w", journal.ErrRefused, err)
	}
	reader := Reader{Name: parked.Reader, Source: journal.Source{Owner: subject.Owner, Timers: parked.Timer != ""}}
	if streamOf(reader.Source) != parked.Stream || !events.ValidToken(parked.Reader) {
		return fmt.Errorf("redeliver %s %d to %.80q: %w", parked.Stream, parked.Sequence, parked.Reader, journal.ErrRefused)
	}
	for _, g := range j.config.groups() {
		if partition := subject.Partition(); partition < g.first || partition > g.last {
			continue
		}
		request := nats.NewMsg("$JS.API.CONSUMER.RESET." + parked.Stream + "." + durable(reader, g))
		if request.Data, err = json.Marshal(map[string]uint64{"seq": parked.Sequence}); err != nil {
			return fmt.Errorf("redeliver: %w", err)
		}
		var answer apiAnswer
		if err := j.ask(ctx, request, &answer); err != nil {
			return fmt.Errorf("redeliver to %s: %w", parked.Reader, err)
		}
		if answer.Error != nil {
			return fmt.Errorf("redeliver to %s: %w", parked.Reader, answer.Error)
		}
	}
	return nil
}
