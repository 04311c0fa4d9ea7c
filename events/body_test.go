package events_test

import (
	"errors"
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
)

func TestWhatCannotBeEncoded(t *testing.T) {
	for name, payload := range map[string]events.Payload{
		"a body that is not sealed":        &events.Steered{Instruction: events.NewBody(events.ClassRequest, events.MediaText, []byte("x"))},
		"an optional body not sealed":      &events.RunConcluded{Output: events.NewBody(events.ClassResult, events.MediaJSON, []byte("{}"))},
		"an empty body that is not sealed": &events.Steered{Instruction: events.NewBody(events.ClassRequest, events.MediaText, nil)},
		"a nil pointer":                    (*events.Steered)(nil),
		"no data":                          nil,
	} {
		if data, err := events.Encode(eventstest.Commit(&events.CancelRequested{})); err != nil {
			t.Fatal(data, err)
		}
		c := eventstest.Commit(&events.CancelRequested{})
		c.Events[0].Data = payload
		if payload == nil && c.Events[0].Type() != "" {
			t.Error("an event without data has a type")
		}
		if name == "a nil pointer" {
			if data, err := events.EncodePayload(payload); !errors.Is(err, events.ErrMalformed) {
				t.Errorf("%s: %x, %v", name, data, err)
			}
		}
		if data, err := events.Encode(c); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %x, %v", name, data, err)
		}
	}
}

func TestBodies(t *testing.T) {
	total := 0
	for _, name := range events.Types() {
		payload := eventstest.Payload(t, name)
		bodies := events.Bodies(payload)
		total += len(bodies)
		again := events.Bodies(payload)
		if !slices.Equal(bodies, again) {
			t.Errorf("%s: two calls differ", name)
		}
		for i, body := range bodies {
			if body.IsZero() {
				t.Errorf("%s: body %d names nothing", name, i)
			}
			*body = events.NewBody(body.Class, body.MediaType, []byte("changed in place"))
		}
		for i, body := range events.Bodies(payload) {
			if content, open := body.Content(); !open || string(content) != "changed in place" {
				t.Errorf("%s: body %d is not the payload's own", name, i)
			}
		}
		empty, err := events.New(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := events.Bodies(empty); len(found) != 0 {
			t.Errorf("%s: an empty payload names %d bodies", name, len(found))
		}
	}
	if total < 60 {
		t.Errorf("only %d bodies", total)
	}
	if events.Bodies(nil) != nil || events.Bodies((*events.Steered)(nil)) != nil {
		t.Error("nothing names bodies")
	}
}

func TestBodyContent(t *testing.T) {
	key := []byte("key of a scope")
	body := events.NewBody(events.ClassRequest, events.MediaText, []byte("words"))
	committed, salt := body.Committed(key)
	if len(salt) != events.SaltBytes || committed.Commitment != events.Commitment(salt, []byte("words")) {
		t.Errorf("commitment %s", committed.Commitment)
	}
	if again, _ := committed.Committed([]byte("another key")); again.Commitment != committed.Commitment {
		t.Error("a commitment changed")
	}
	named := events.Body{Commitment: committed.Commitment, Size: committed.Size}
	if opened, ok := named.WithContent(salt, []byte("words")); !ok {
		t.Error("the content does not open the body")
	} else if content, open := opened.Content(); !open || string(content) != "words" {
		t.Errorf("content %q", content)
	}
	for name, attempt := range map[string]struct {
		body          events.Body
		salt, content string
	}{
		"other words":   {named, string(salt), "Words"},
		"another salt":  {named, "0123456789abcdef", "words"},
		"moved border":  {named, string(salt) + "w", "ords"},
		"another size":  {events.Body{Commitment: named.Commitment, Size: 4}, string(salt), "words"},
		"no commitment": {events.Body{Size: 5}, string(salt), "words"},
	} {
		if opened, ok := attempt.body.WithContent([]byte(attempt.salt), []byte(attempt.content)); ok {
			t.Errorf("%s: opened as %+v", name, opened)
		}
	}
	if _, err := events.NewDocument(events.ClassPlan, map[string]any{"f": func() {}}); err == nil {
		t.Error("a function became a document")
	}
	document, err := events.NewDocument(events.ClassPlan, map[string]any{"b": 1, "a": 2})
	if content, _ := document.Content(); err != nil || string(content) != `{"a":2,"b":1}` {
		t.Errorf("%s, %v", content, err)
	}
}

func TestBadge(t *testing.T) {
	for want, reports := range map[events.Badge][]events.TestReportBlock{
		events.BadgeNone:   {{}, {Origin: events.ReportImported, Passed: 5}, {Origin: "observed ", Passed: 1}},
		events.BadgePassed: {{Origin: events.ReportObserved, Passed: 1}, {Origin: events.ReportObserved, Passed: 1, Skipped: 9}},
		events.BadgeFailed: {{Origin: events.ReportObserved, Passed: 5, Failed: 1}, {Origin: events.ReportObserved, Passed: 5, BuildFailed: true}},
		events.BadgeEmpty:  {{Origin: events.ReportObserved}, {Origin: events.ReportObserved, Skipped: 3}},
	} {
		for _, report := range reports {
			if got := report.Badge(); got != want {
				t.Errorf("%+v: %q, want %q", report, got, want)
			}
		}
	}
}
