package record

import (
	"slices"
	"strconv"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Source identifies a document that a run was given.
type Source struct {
	Digest string
	Bytes  uint64
}

// Evidence is the self-sufficient record of a run: what it was given, its Trace, how it ended and what it used.
type Evidence struct {
	RunID         string
	Profile, Task Source
	TraceDigest   string
	TraceBytes    uint64
	Trace         string
	Status        Status
	// MessageDigest is empty when there is no final message.
	MessageDigest string
	MessageBytes  uint64
	LastTurn      uint64
	Budget        Budget
}

// Budget is what a run used of everything that is bounded.
type Budget struct {
	Models, Tools, Capabilities uint64
	Turns, ProviderAttempts     uint64
	InputBytes, OutputBytes     uint64
	InputTokens, OutputTokens   uint64
	USDMicrounits               uint64
	ToolCalls                   uint64
	ArgumentBytes, ResultBytes  uint64
	RetainedStateBytes          uint64
	TraceEvents, TraceBytes     uint64
	EvidenceBytes               uint64
	BuilderBytes                uint64
	ElapsedMillis               uint64
	Concurrency                 uint64
}

func (b *Budget) counters() []counter {
	return []counter{
		{"used_models", &b.Models},
		{"used_tools", &b.Tools},
		{"used_capabilities", &b.Capabilities},
		{"used_turns", &b.Turns},
		{"used_provider_attempts", &b.ProviderAttempts},
		{"used_provider_input_bytes", &b.InputBytes},
		{"used_provider_output_bytes", &b.OutputBytes},
		{"used_reported_model_input_tokens", &b.InputTokens},
		{"used_reported_model_output_tokens", &b.OutputTokens},
		{"used_usd_microunits", &b.USDMicrounits},
		{"used_tool_calls", &b.ToolCalls},
		{"used_tool_argument_bytes", &b.ArgumentBytes},
		{"used_tool_result_bytes", &b.ResultBytes},
		{"used_retained_state_bytes", &b.RetainedStateBytes},
		{"used_trace_events", &b.TraceEvents},
		{"used_trace_bytes", &b.TraceBytes},
		{"used_evidence_bytes", &b.EvidenceBytes},
		{"used_builder_bytes", &b.BuilderBytes},
		{"used_elapsed_ms", &b.ElapsedMillis},
		{"used_concurrency", &b.Concurrency},
	}
}

// use fills in what the usage of a run says.
func (b *Budget) use(u *Usage) {
	b.Turns, b.ProviderAttempts = u.Turns, u.ProviderAttempts
	b.InputBytes, b.OutputBytes = u.InputBytes, u.OutputBytes
	b.InputTokens, b.OutputTokens = u.InputTokens, u.OutputTokens
	b.USDMicrounits, b.ToolCalls = u.USDMicrounits, u.ToolCalls
	b.ArgumentBytes, b.ResultBytes = u.ArgumentBytes, u.ResultBytes
	b.RetainedStateBytes, b.ElapsedMillis, b.Concurrency = u.RetainedStateBytes, u.ElapsedMillis, u.MaxConcurrency
}

// Write writes the Evidence; the writer has the style of records.
func (e *Evidence) Write(w *wire.Writer) {
	e.writeHead(w)
	w.Text(e.Trace)
	e.writeTail(w)
}

// writeHead writes what comes before the Trace.
func (e *Evidence) writeHead(w *wire.Writer) {
	w.Raw(`{"schema":"` + SchemaEvidence + `","run_id":`)
	w.Text(e.RunID)
	w.Raw(`,"profile":{"schema":"` + document.SchemaProfile + `","digest":`)
	w.Text(e.Profile.Digest)
	w.Raw(`,"bytes":`)
	w.Uint(e.Profile.Bytes)
	w.Raw(`},"task":{"schema":"` + document.SchemaTask + `","digest":`)
	w.Text(e.Task.Digest)
	w.Raw(`,"bytes":`)
	w.Uint(e.Task.Bytes)
	w.Raw(`},"trace":{"schema":"` + SchemaTrace + `","digest":`)
	w.Text(e.TraceDigest)
	w.Raw(`,"bytes":`)
	w.Uint(e.TraceBytes)
	w.Raw(`,"document":`)
}

// writeTail writes what comes after the Trace.
func (e *Evidence) writeTail(w *wire.Writer) {
	w.Raw(`},"result":{"status":`)
	w.Text(string(e.Status))
	w.Raw(`,"final_message_digest":`)
	w.Optional(e.MessageDigest)
	w.Raw(`,"final_message_bytes":`)
	w.Uint(e.MessageBytes)
	w.Raw(`,"last_turn":`)
	w.Uint(e.LastTurn)
	w.Raw(`},"limits":`)
	document.WriteCaps(w)
	w.Raw(`,"budget":`)
	writeCounters(w, e.Budget.counters())
	w.Raw(`,"nonclaims":`)
	w.Texts(document.Nonclaims())
	w.Raw("}\n")
}

// Seal sets used_evidence_bytes to the length that the Evidence has with it, and returns the document.
func (e *Evidence) Seal() ([]byte, error) {
	e.Budget.EvidenceBytes = 0
	counter := wire.NewCounter(wire.StyleRecord)
	e.Write(counter)
	size, err := fixedPoint(counter.Size() - 1)
	if err != nil {
		return nil, err
	}
	e.Budget.EvidenceBytes = size
	w := wire.NewSizedWriter(wire.StyleRecord, int(min(size, document.Caps().EvidenceBytes)))
	e.Write(w)
	if w.Size() != size {
		return nil, diagnostic.Replay()
	}
	return w.Bytes(), nil
}

// fixedPoint returns the length of a document of base bytes and that length in decimal digits.
func fixedPoint(base uint64) (uint64, error) {
	const rounds = 24
	size := base + 1
	for range rounds {
		next := base + digits(size)
		if next == size {
			return size, nil
		}
		size = next
	}
	return 0, diagnostic.Replay()
}

func digits(value uint64) uint64 { return uint64(len(strconv.FormatUint(value, 10))) }

// ParseEvidence reads Evidence. What is no line of JSON is a fault of grammar; what is no Evidence disagrees with replay.
func ParseEvidence(data []byte) (*Evidence, error) {
	grammar := diagnostic.Grammar("evidence", SchemaEvidence)
	if err := scanned(data, document.Caps().EvidenceBytes, document.FieldEvidenceBytes, grammar); err != nil {
		return nil, err
	}
	d := wire.NewDecoder(data)
	var e Evidence
	e.decode(d)
	d.End()
	if d.Failed() {
		return nil, diagnostic.Replay()
	}
	w := wire.NewSizedWriter(wire.StyleRecord, len(data))
	if e.Write(w); !w.Same(data) {
		return nil, diagnostic.Replay()
	}
	return &e, nil
}

func (e *Evidence) decode(d *wire.Decoder) {
	d.Expect(`{"schema":"` + SchemaEvidence + `","run_id":`)
	e.RunID = d.Text()
	e.Profile.decode(d, `,"profile":{"schema":"`+document.SchemaProfile)
	d.Expect("}")
	e.Task.decode(d, `,"task":{"schema":"`+document.SchemaTask)
	d.Expect(`},"trace":{"schema":"` + SchemaTrace + `","digest":`)
	e.TraceDigest = d.Text()
	d.Expect(`,"bytes":`)
	e.TraceBytes = d.Uint()
	d.Expect(`,"document":`)
	e.Trace = d.Text()
	d.Expect(`},"result":{"status":`)
	e.Status = Status(d.Text())
	d.Expect(`,"final_message_digest":`)
	e.MessageDigest = d.Optional()
	d.Expect(`,"final_message_bytes":`)
	e.MessageBytes = d.Uint()
	d.Expect(`,"last_turn":`)
	e.LastTurn = d.Uint()
	caps := wire.NewWriter(wire.StyleRecord)
	document.WriteCaps(caps)
	d.Expect(`},"limits":` + string(caps.Bytes()) + `,"budget":`)
	decodeCounters(d, e.Budget.counters())
	d.Expect(`,"nonclaims":`)
	if !slices.Equal(d.Texts(len(document.Nonclaims())), document.Nonclaims()) {
		d.Fail()
	}
	d.Expect("}")
}

func (s *Source) decode(d *wire.Decoder, start string) {
	d.Expect(start + `","digest":`)
	s.Digest = d.Text()
	d.Expect(`,"bytes":`)
	s.Bytes = d.Uint()
}

// Account fills in the budget from what the Trace says, and from how much the builder used.
func (e *Evidence) Account(t *Trace, builderBytes uint64) {
	e.Budget.use(&t.Usage)
	e.Budget.TraceEvents, e.Budget.TraceBytes, e.Budget.BuilderBytes = uint64(len(t.Events)), e.TraceBytes, builderBytes
}
