package api

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events"
)

// CloudEvent is a recorded event in the JSON format of CloudEvents 1.0. Bodies
// are named by their commitments; their content is not in it.
type CloudEvent struct {
	SpecVersion     string         `json:"specversion"`
	ID              string         `json:"id"`
	Source          string         `json:"source"`
	Type            string         `json:"type"`
	Subject         string         `json:"subject"`
	Time            events.Time    `json:"time"`
	DataContentType string         `json:"datacontenttype"`
	DataSchema      string         `json:"dataschema"`
	Tenant          string         `json:"tenant"`
	Commit          string         `json:"commit"`
	Number          string         `json:"number"` // of the commit in its chain
	Chain           string         `json:"chain"`  // digest of the commit
	CausationID     string         `json:"causationid,omitzero"`
	CorrelationID   string         `json:"correlationid"`
	Data            jsontext.Value `json:"data"`
}

// cloudEvents returns the events of a commit.
func cloudEvents(c *events.Commit) ([]CloudEvent, error) {
	batch := make([]CloudEvent, 0, len(c.Events))
	for i := range c.Events {
		e := &c.Events[i]
		data, err := json.Marshal(e.Data, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("event %s as JSON: %w", e.ID, err)
		}
		batch = append(batch, CloudEvent{
			SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: e.Type(), Subject: e.Subject, Time: e.Time,
			DataContentType: events.MediaJSON, DataSchema: events.DataSchema(e.Type()),
			Tenant: c.Subject.Tenant, Commit: c.ID, Number: fmt.Sprint(c.Number), Chain: string(c.Digest),
			CausationID: c.Cause.Commit, CorrelationID: c.Correlation, Data: data,
		})
	}
	return batch, nil
}
