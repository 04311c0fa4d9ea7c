package simulation

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
)

// sentinel stands in every private text of a request. answered is part of what
// every capability returns.
const (
	sentinel = "SENTINEL4711"
	answered = `"passed":`
)

// private returns a request of a kind whose every text is private.
func private(kind int) *events.IntentRequest {
	r := newRequest(kind)
	r.Intent.Text = "do it for " + sentinel
	r.Context = append(r.Context, events.ContextItem{Label: "note", Provenance: "caller", Content: sentinel})
	r.Outcome.Objective += " " + sentinel
	for i := range r.Outcome.Deliverables {
		r.Outcome.Deliverables[i].Description += " " + sentinel
	}
	for i := range r.Outcome.Requirements {
		r.Outcome.Requirements[i].Description += " " + sentinel
	}
	for i := range r.Plan.Nodes {
		r.Plan.Nodes[i].Arguments = map[string]events.Argument{"word": {Literal: events.JSON(fmt.Sprintf("%q", sentinel+r.Plan.Nodes[i].ID))}}
	}
	return r
}

// documents are the names of the documents that bodies hold.
var documents = []string{"document.intent-request", "document.outcome-spec", "document.plan", "document.document"}

// publishedSchemas compiles the published schemas of every event type and of
// documents.
func publishedSchemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	compiled := map[string]*jsonschema.Schema{}
	for _, name := range append(events.Types(), documents...) {
		data, err := fs.ReadFile(os.DirFS(filepath.Join(root, "docs", "protocol", "schemas")), name+".json")
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(events.DataSchema(name), document); err != nil {
			t.Fatal(err)
		}
		if compiled[name], err = c.Compile(events.DataSchema(name)); err != nil {
			t.Fatal(err)
		}
	}
	return compiled
}

// Whatever happens to a run, no private text of it is ever in what the streams
// hold, and every event follows its published schema.
func TestWhatIsRecorded(t *testing.T) {
	schemas := publishedSchemas(t)
	view := newRegistry()
	seen, opened := map[string]int{}, 0
	for seed := range uint64(40) {
		w := newWorld(seed, view)
		w.submit(t.Context(), fmt.Sprintf("01JGK3N1M000000000000000%02d", seed), private(int(seed)%kindCount))
		for range 120 {
			w.step(t.Context())
		}
		if err := w.drain(t.Context()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, owner := range events.Owners() {
			for record, err := range w.journal.Read(t.Context(), owner, 1) {
				if err != nil {
					t.Fatal(err)
				}
				opened += w.checkRecord(t, record, schemas, seen)
			}
		}
	}
	t.Logf("events by type: %v", seen)
	if len(seen) < 20 || seen["mandate.evaluator.run-concluded.v1"] < 40 {
		t.Errorf("only %d event types were recorded: %v", len(seen), seen)
	}
	for _, name := range documents {
		if seen[name] < 20 {
			t.Errorf("only %d of %s were recorded", seen[name], name)
		}
	}
	if opened < 100 {
		t.Errorf("only %d bodies with private text: the test hides nothing", opened)
	}
	req.Covers(t, "IK-3.10")
}

// checkRecord checks one record and returns how many of its bodies hold
// private text.
func (w *world) checkRecord(t *testing.T, record events.Record, schemas map[string]*jsonschema.Schema, seen map[string]int) (opened int) {
	t.Helper()
	texts := []string{string(record.Data)}
	for _, value := range record.Header {
		texts = append(texts, value)
	}
	c, err := events.Decode(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, sealed := range c.Sealed {
		for _, digest := range sealed.Chunks {
			blob, err := w.journal.Blob(t.Context(), digest)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(blob))
		}
	}
	data, err := c.CloudEvents()
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, string(data))
	for _, text := range texts {
		if strings.Contains(text, sentinel) || strings.Contains(text, answered) {
			t.Errorf("private text in %s", record.Header[events.HeaderTypes])
		}
	}
	var batch []events.CloudEvent
	if err := json.Unmarshal(data, &batch); err != nil {
		t.Fatal(err)
	}
	for _, e := range batch {
		seen[e.Type]++
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schemas[e.Type].Validate(document); err != nil {
			t.Errorf("%s does not follow its schema: %v", e.Type, err)
		}
	}
	if err := w.sealer.Open(t.Context(), &c); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Events {
		for _, body := range events.Bodies(e.Data) {
			content, _ := body.Content()
			if slices.ContainsFunc([]string{sentinel, answered}, func(s string) bool { return strings.Contains(string(content), s) }) {
				opened++
			}
		}
		if name, body := documentOf(e.Data); name != "" {
			content, open := body.Content()
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
			if err != nil || !open {
				t.Fatalf("%s of %s: %v", name, e.Type(), err)
			}
			seen[name]++
			if err := schemas[name].Validate(document); err != nil {
				t.Errorf("%s of %s does not follow its schema: %v", name, e.Type(), err)
			}
		}
	}
	return opened
}

// documentOf returns the document that an event is about, and its name.
func documentOf(payload events.Payload) (string, events.Body) {
	switch e := payload.(type) {
	case *events.Submitted:
		return documents[0], e.Request
	case *events.SpecProposed:
		return documents[1], e.Spec
	case *events.PlanProposed:
		return documents[2], e.Plan
	case *events.DocumentPresented:
		return documents[3], e.Document
	}
	return "", events.Body{}
}
