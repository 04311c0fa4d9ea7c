package events_test

import (
	"errors"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
)

// What nobody could read is not written either: one such commit would stop
// every reader of its stream.
func TestEncodeRefusesWhatDecodeRefuses(t *testing.T) {
	heavy := &events.RevisionAdmitted{Nodes: []events.AdmittedNode{{ID: "n"}}}
	for len(heavy.Nodes[0].Sources) < 2000 {
		heavy.Nodes[0].Sources = append(heavy.Nodes[0].Sources, events.ArgumentSource{Argument: "to", Path: "/1", Kind: events.SourceModel})
	}
	c := eventstest.Commit(heavy)
	data, err := events.Encode(c)
	if !errors.Is(err, events.ErrTooLarge) || data != nil || c.Digest != "" {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
