package events

import (
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// CloudEvent is an event of a commit in the JSON format of CloudEvents 1.0.
// Bodies are named by their commitments; their content is not in it. Members
// that this build does not know are left out of events whose type it knows.
type CloudEvent struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject"`
	Time            Time   `json:"time,omitzero"`
	DataContentType string `json:"datacontenttype"`
	DataSchema      string `json:"dataschema"`
	Tenant          string `json:"tenant"`
	Commit          string `json:"commit"`
	Number          string `json:"number"` // of the commit in its chain
	Chain           string `json:"chain"`  // digest of the commit
	CausationID     string `json:"causationid,omitzero"`
	CorrelationID   string `json:"correlationid,omitzero"`
	Data            JSON   `json:"data"`
}

// cloudEventsVersion is the version of the CloudEvents specification.
const cloudEventsVersion = "1.0"

// CloudEvents returns the events of c as one batch in the JSON format of
// CloudEvents 1.0: an array of [CloudEvent].
func (c *Commit) CloudEvents() ([]byte, error) {
	batch := make([]CloudEvent, 0, len(c.Events))
	for i := range c.Events {
		e := &c.Events[i]
		data, err := json.Marshal(e.Data, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("event %s as JSON: %w", e.ID, err)
		}
		batch = append(batch, CloudEvent{
			SpecVersion: cloudEventsVersion, ID: e.ID, Source: e.Source, Type: e.Type(), Subject: e.Subject, Time: e.Time,
			DataContentType: MediaJSON, DataSchema: DataSchema(e.Type()),
			Tenant: c.Subject.Tenant, Commit: c.ID, Number: strconv.FormatUint(c.Number, 10), Chain: string(c.Digest),
			CausationID: c.Cause.Commit, CorrelationID: c.Correlation, Data: data,
		})
	}
	out, err := json.Marshal(batch, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("commit %s as JSON: %w", c.ID, err)
	}
	return out, nil
}

// MarshalJSONTo writes the data of an event that this build does not know as
// JSON; binaries become base64.
func (u *Unknown) MarshalJSONTo(out *jsontext.Encoder) error {
	if err := guard(u.Raw); err != nil {
		return fmt.Errorf("%s: %w", u.Type, err)
	}
	d := cursor{data: u.Raw}
	return d.writeJSON(out)
}

// writeJSON writes the next value and its children. The guard bounds how deep
// they are.
func (d *cursor) writeJSON(out *jsontext.Encoder) error {
	start := d.at
	i, code, err := d.next()
	if err != nil {
		return err
	}
	switch {
	case code == msgpcode.Nil:
		return out.WriteToken(jsontext.Null)
	case code == msgpcode.True, code == msgpcode.False:
		return out.WriteToken(jsontext.Bool(code == msgpcode.True))
	case i.isString:
		return out.WriteToken(jsontext.String(string(d.data[i.body:i.end])))
	case code == msgpcode.Bin8, code == msgpcode.Bin16, code == msgpcode.Bin32:
		return out.WriteToken(jsontext.String(base64.StdEncoding.EncodeToString(d.data[i.body:i.end])))
	case i.isMap:
		return d.writeAll(out, i.children, jsontext.BeginObject, jsontext.EndObject)
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return d.writeAll(out, i.children, jsontext.BeginArray, jsontext.EndArray)
	}
	d.at = start
	magnitude, negative, err := d.number()
	if err != nil {
		return err
	}
	if negative < 0 {
		return out.WriteToken(jsontext.Int(negative))
	}
	return out.WriteToken(jsontext.Uint(magnitude))
}

func (d *cursor) writeAll(out *jsontext.Encoder, count uint64, begin, end jsontext.Token) error {
	if err := out.WriteToken(begin); err != nil {
		return err
	}
	for range count {
		if err := d.writeJSON(out); err != nil {
			return err
		}
	}
	return out.WriteToken(end)
}
