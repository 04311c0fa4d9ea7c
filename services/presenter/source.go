package presenter

import (
	"encoding/base64"
	"unicode/utf8"

	"example.org/mandate/events"
)

// source returns the body that holds the exact source of a result: its value,
// or what was returned where there is no value.
func source(r *events.ResultRecord) (events.Body, bool) {
	for _, body := range []events.Body{r.Value, r.Raw} {
		if _, open := body.Content(); open {
			return body, true
		}
	}
	if !r.Value.IsZero() {
		return r.Value, false
	}
	return r.Raw, false
}

// fallback returns the exact source of a result, as much of it as limit bytes
// of the document hold; size and commitment refer to the whole.
func fallback(c *candidate, shown bool, limit int) events.Block {
	body, open := source(c.record)
	block := &events.FallbackBlock{
		Encoding: events.EncodingUTF8, Shown: shown, TotalBytes: max(body.Size, 0), Commitment: body.Commitment,
	}
	block.MediaType = line(body.MediaType, wordBytes)
	if content, _ := body.Content(); open && limit > 0 {
		block.TotalBytes = int64(len(content))
		if utf8.Valid(content) {
			block.Text = prefix(string(content[:min(len(content), limit+utf8.UTFMax)]), limit)
			block.ShownBytes = int64(len(block.Text))
		} else {
			part := content[:min(len(content), limit/4*3)]
			block.Encoding, block.Text, block.ShownBytes = events.EncodingBase64, base64.StdEncoding.EncodeToString(part), int64(len(part))
		}
	}
	return events.Block{Result: &c.outcome, Fallback: block}
}
