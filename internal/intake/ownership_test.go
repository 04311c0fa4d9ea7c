package intake_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/journal/memory"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/sealing"
	"example.org/mandate/internal/testkit/cases"
)

var errGone = errors.New("the journal is gone")

// gone is a journal that takes commits for good and shows none: whoever comes
// second cannot find out who came first.
type gone struct{ *memory.Journal }

func (g gone) Load(context.Context, events.Subject, uint64) ([]events.Record, error) {
	return nil, errGone
}

type worldView struct{ view registry.View }

func (w worldView) View(context.Context, string, uint64) (registry.View, error) { return w.view, nil }

// Who cannot find out whether a request was recorded before is refused:
// nothing runs twice because the journal could not be read.
func TestOwnershipThatCannotBeResolved(t *testing.T) {
	req.Covers(t, "C3-RUN-001.s")
	streams := memory.New(memory.Options{})
	t.Cleanup(func() { _ = streams.Close() })
	keys, err := sealing.NewKeyring(streams, make([]byte, sealing.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	open := func(j intake.Streams) *intake.Intake {
		return intake.New(intake.Options{
			Streams: j, Sealer: sealing.New(keys, streams), Registries: worldView{cases.NewWorld().View()}, Writer: "test", Clock: time.Now,
		})
	}
	nonce := ulid.Make().String()
	request := cases.Request(cases.Plan(cases.Read("a")))
	if _, err := open(streams).Submit(t.Context(), cases.Tenant, nonce, cases.Person(), request); err != nil {
		t.Fatal(err)
	}
	_, err = open(gone{streams}).Submit(t.Context(), cases.Tenant, nonce, cases.Person(), request)
	var refused *intake.Error
	if !errors.As(err, &refused) || refused.Diagnostics[0].Code != events.CodeOwnershipUnresolved {
		t.Fatalf("submitted again: %v", err)
	}
	records := 0
	for _, err := range streams.Read(t.Context(), events.OwnerRequest, 1) {
		if err != nil {
			t.Fatal(err)
		}
		records++
	}
	if records != 1 {
		t.Errorf("%d submissions are recorded", records)
	}
	again, err := open(streams).Submit(t.Context(), cases.Tenant, nonce, cases.Person(), request)
	if err != nil || !again.Joined {
		t.Errorf("where it can be found out: %+v %v", again, err)
	}
}
