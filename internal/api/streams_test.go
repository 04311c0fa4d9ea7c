package api

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/projector"
	"example.org/mandate/projections/runs"
)

// behind is a view that has seen the request and nothing of the other streams.
type behind struct{ Views }

func (behind) View(context.Context, projector.Key) (runs.View, error) {
	return runs.View{Positions: map[events.Owner]uint64{events.OwnerRequest: 1}}, nil
}

func (behind) Changed() <-chan struct{} { return nil }

// loads keeps whose chains are read.
type loads struct {
	Streams
	owners []events.Owner
}

func (l *loads) Load(_ context.Context, subject events.Subject, _ uint64) ([]events.Record, error) {
	l.owners = append(l.owners, subject.Owner)
	return nil, nil
}

// An answer that ends with what there is looks at every chain, also where the
// view is behind.
func TestEventsWithoutFollowingReadEveryChain(t *testing.T) {
	read := &loads{}
	s := &server{o: Options{Views: behind{}, Streams: read}, streams: make(chan struct{}, 1), counts: newCounters()}
	r := httptest.NewRequest("GET", "/v1/runs/r/events?follow=false", nil)
	r.SetPathValue("run", "01M8QAJ3WX0NXS3FKD6RQC3KZW")
	if err := s.runEvents(&call{ResponseWriter: httptest.NewRecorder(), Request: r, tenant: "default"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read.owners, runOwners()) {
		t.Errorf("read %v, want %v", read.owners, runOwners())
	}
}
