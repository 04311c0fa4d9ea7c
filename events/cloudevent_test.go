package events_test

import (
	"math"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/events/eventstest"
)

// Every event of a commit becomes an event with the required attributes and
// its data as its schema says.
func TestCloudEvents(t *testing.T) {
	for _, name := range events.Types() {
		payload := eventstest.Payload(t, name)
		c := eventstest.Commit(payload, payload)
		eventstest.Record(t, c)
		data, err := c.CloudEvents()
		if err != nil {
			t.Fatal(err)
		}
		var batch []map[string]any
		if err := json.Unmarshal(data, &batch); err != nil {
			t.Fatal(err)
		}
		var want any
		if err := json.Unmarshal(jsonOf(t, payload), &want); err != nil {
			t.Fatal(err)
		}
		if len(batch) != 2 {
			t.Fatalf("%s: %d events", name, len(batch))
		}
		if diff := cmp.Diff(batch[0], map[string]any{
			"specversion": "1.0", "id": c.Events[0].ID, "source": "/mandate/" + string(c.Subject.Owner), "type": name,
			"subject": eventstest.Run, "time": c.Events[0].Time.Std().Format(time.RFC3339Nano),
			"datacontenttype": "application/json", "dataschema": "urn:mandate:schema:" + name,
			"tenant": "acme", "commit": c.ID, "number": "1", "chain": string(c.Digest),
			"causationid": "cause-1", "correlationid": "commit-1", "data": want,
		}); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
		for attribute := range batch[0] {
			for _, c := range attribute {
				if (c < 'a' || c > 'z') && (c < '0' || c > '9') {
					t.Errorf("attribute %q has a name that CloudEvents does not permit", attribute)
				}
			}
		}
	}
}

func TestCloudEventOfAnUnknownType(t *testing.T) {
	raw := pack(t, map[string]any{
		"text": "a\"b", "list": []any{nil, true, false, 1, -1, -40000, uint64(math.MaxUint64), int64(math.MinInt64), map[string]any{}},
		"bytes": []byte{0xff}, "none": []any{},
	})
	c := eventstest.Commit(&events.Unknown{Type: "other.event.v1", Raw: raw})
	c.Events[0].Time = 0
	c.Cause = events.Cause{}
	data, err := c.CloudEvents()
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"commit":"commit-1","correlationid":"commit-1","chain":"","data":` +
		`{"bytes":"/w==","list":[null,true,false,1,-1,-40000,18446744073709551615,-9223372036854775808,{}],"none":[],"text":"a\"b"},` +
		`"datacontenttype":"application/json","dataschema":"urn:mandate:schema:other.event.v1","id":"01JGK3N1M0000000000000EV01",` +
		`"number":"1","source":"/mandate/request","specversion":"1.0","subject":"` + eventstest.Run + `","tenant":"acme","type":"other.event.v1"}]`
	got, err := canon.Canonicalize(data)
	if err != nil {
		t.Fatal(err)
	}
	if expected, _ := canon.Canonicalize([]byte(want)); string(got) != string(expected) {
		t.Errorf("%s\nwant %s", got, expected)
	}
	for name, wrong := range map[string]events.Payload{
		"damaged bytes":             &events.Unknown{Type: "other.event.v1", Raw: []byte{0x81}},
		"no bytes":                  &events.Unknown{Type: "other.event.v1"},
		"a definition that is none": &events.AgentApplied{Applied: events.Applied{Definition: events.JSON(`{"a":`)}},
	} {
		if data, err := eventstest.Commit(wrong).CloudEvents(); err == nil {
			t.Errorf("%s: %s", name, data)
		}
	}
	if data, err := eventstest.Commit().CloudEvents(); err != nil || string(data) != "[]" {
		t.Errorf("no events: %s, %v", data, err)
	}
}
