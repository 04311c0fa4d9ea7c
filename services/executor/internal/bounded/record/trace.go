package record

import (
	"slices"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Trace is the record of what happened in a run, in order.
type Trace struct {
	RunID, ProfileDigest, TaskDigest string
	Events                           []Event
	Usage                            Usage
	Termination                      Termination
}

// Write writes the Trace; the writer has the style of records.
func (t *Trace) Write(w *wire.Writer) {
	w.Raw(`{"schema":"` + SchemaTrace + `","run_id":`)
	w.Text(t.RunID)
	w.Raw(`,"profile_digest":`)
	w.Text(t.ProfileDigest)
	w.Raw(`,"task_digest":`)
	w.Text(t.TaskDigest)
	w.Raw(`,"events":[`)
	for i := range t.Events {
		if i > 0 {
			w.Raw(",")
		}
		t.Events[i].write(w, uint64(i))
	}
	w.Raw(`],"usage":`)
	writeCounters(w, t.Usage.counters())
	w.Raw(`,"termination":{"status":`)
	w.Text(string(t.Termination.Status))
	w.Raw(`,"code":`)
	w.Optional(string(t.Termination.Code))
	w.Raw(`,"message":`)
	w.Optional(t.Termination.Message)
	w.Raw(`},"nonclaims":`)
	w.Texts(document.Nonclaims())
	w.Raw("}\n")
}

// Bytes returns the Trace as a document.
func (t *Trace) Bytes() []byte {
	w := wire.NewWriter(wire.StyleRecord)
	t.Write(w)
	return w.Bytes()
}

func (e *Event) write(w *wire.Writer, index uint64) {
	w.Raw(`{"index":`)
	w.Uint(index)
	w.Raw(`,"turn":`)
	w.Uint(e.Turn)
	w.Raw(`,"kind":`)
	w.Text(string(e.Kind))
	w.Raw(`,"provider_id":`)
	w.Optional(e.ProviderID)
	w.Raw(`,"model_id":`)
	w.Optional(e.ModelID)
	w.Raw(`,"tool_id":`)
	w.Optional(e.ToolID)
	w.Raw(`,"input_digest":`)
	w.Optional(e.InputDigest)
	w.Raw(`,"output_digest":`)
	w.Optional(e.OutputDigest)
	w.Raw(`,"status":`)
	w.Text(string(e.Status))
	w.Raw(`,"usage":`)
	writeCounters(w, e.Delta.counters())
	w.Raw("}")
}

// scanned checks the bytes of a record before anything is built from them.
func scanned(data []byte, most uint64, field string, grammar error) error {
	if uint64(len(data)) > most {
		return diagnostic.Bound(field, most)
	}
	switch wire.ScanDocument(data) {
	case wire.FaultSyntax:
		return grammar
	case wire.FaultDepth:
		return diagnostic.Bound(document.FieldJSONDepth, wire.MaxDepth)
	case wire.FaultNone:
	}
	return nil
}

// ParseTrace reads a Trace. What is no line of JSON is a fault of grammar; what is no Trace disagrees with replay.
func ParseTrace(data []byte) (*Trace, error) {
	caps := document.Caps()
	if err := scanned(data, caps.TraceBytes, document.FieldTraceBytes, diagnostic.Grammar("trace", SchemaTrace)); err != nil {
		return nil, err
	}
	d := wire.NewDecoder(data)
	var t Trace
	d.Expect(`{"schema":"` + SchemaTrace + `","run_id":`)
	t.RunID = d.Text()
	d.Expect(`,"profile_digest":`)
	t.ProfileDigest = d.Text()
	d.Expect(`,"task_digest":`)
	t.TaskDigest = d.Text()
	d.Expect(`,"events":`)
	d.Each(func() {
		if uint64(len(t.Events)) == caps.TraceEvents {
			d.Fail()
			return
		}
		t.Events = append(t.Events, decodeEvent(d, uint64(len(t.Events))))
	})
	d.Expect(`,"usage":`)
	decodeCounters(d, t.Usage.counters())
	d.Expect(`,"termination":{"status":`)
	t.Termination.Status = Status(d.Text())
	d.Expect(`,"code":`)
	t.Termination.Code = diagnostic.Code(d.Optional())
	d.Expect(`,"message":`)
	t.Termination.Message = d.Optional()
	d.Expect(`},"nonclaims":`)
	nonclaims := d.Texts(len(document.Nonclaims()))
	d.Expect("}")
	d.End()
	if d.Failed() || !slices.Equal(nonclaims, document.Nonclaims()) {
		return nil, diagnostic.Replay()
	}
	w := wire.NewSizedWriter(wire.StyleRecord, len(data))
	if t.Write(w); !w.Same(data) {
		return nil, diagnostic.Replay()
	}
	return &t, nil
}

func decodeEvent(d *wire.Decoder, index uint64) Event {
	var e Event
	d.Expect(`{"index":`)
	if d.Uint() != index {
		d.Fail()
	}
	d.Expect(`,"turn":`)
	e.Turn = d.Uint()
	d.Expect(`,"kind":`)
	e.Kind = Kind(d.Text())
	d.Expect(`,"provider_id":`)
	e.ProviderID = d.Optional()
	d.Expect(`,"model_id":`)
	e.ModelID = d.Optional()
	d.Expect(`,"tool_id":`)
	e.ToolID = d.Optional()
	d.Expect(`,"input_digest":`)
	e.InputDigest = d.Optional()
	d.Expect(`,"output_digest":`)
	e.OutputDigest = d.Optional()
	d.Expect(`,"status":`)
	e.Status = Status(d.Text())
	d.Expect(`,"usage":`)
	decodeCounters(d, e.Delta.counters())
	d.Expect("}")
	return e
}
