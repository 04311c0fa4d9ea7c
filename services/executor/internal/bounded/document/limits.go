package document

import (
	"strings"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Limits are the effective limits of a profile. Each may only be lower than its cap.
type Limits struct {
	Turns                 uint64
	ProviderAttempts      uint64
	RetriesPerTurn        uint64
	Concurrency           uint64
	ElapsedMillis         uint64
	ProviderRequestBytes  uint64
	ProviderResponseBytes uint64
	StreamChunks          uint64
	TotalInputBytes       uint64
	TotalOutputBytes      uint64
	InputTokens           uint64
	OutputTokens          uint64
	USDMicrounits         uint64
	ToolCalls             uint64
	ToolArgumentBytes     uint64
	ToolResultBytes       uint64
	TotalToolBytes        uint64
	RetainedStateBytes    uint64
	TraceEvents           uint64
	TraceBytes            uint64
	EvidenceBytes         uint64
	BuilderBytes          uint64
}

// The names of limits in diagnostics of a run.
const (
	FieldTurns                 = "turns"
	FieldProviderAttempts      = "provider_attempts"
	FieldTotalInputBytes       = "total_provider_input_bytes"
	FieldTotalOutputBytes      = "total_provider_output_bytes"
	FieldInputTokens           = "reported_model_input_tokens"
	FieldOutputTokens          = "reported_model_output_tokens"
	FieldUSDMicrounits         = "usd_microunits"
	FieldProviderResponseBytes = "provider_response_bytes"
	FieldStreamChunks          = "stream_chunks"
	FieldToolCalls             = "tool_calls"
	FieldToolArgumentBytes     = "tool_arguments_bytes"
	FieldToolResultBytes       = "tool_result_bytes"
	FieldTotalToolBytes        = "total_tool_bytes"
	FieldRetainedStateBytes    = "retained_state_bytes"
	FieldTraceEvents           = "trace_events"
	FieldTraceBytes            = "trace_bytes"
	FieldEvidenceBytes         = "evidence_bytes"
	FieldBuilderBytes          = "builder_bytes"
	FieldProfileBytes          = "profile_bytes"
	FieldTaskBytes             = "task_bytes"
	FieldJSONDepth             = "json_depth"
)

// Caps that are no limits of a profile.
const (
	MaxProfileBytes     = 1 << 20
	MaxTaskBytes        = 4 << 20
	MaxModels           = 32
	MaxTools            = 32
	MaxCapabilities     = 64
	MaxIdentifierBytes  = 240
	MaxDescriptionBytes = 4096
	MaxReceiptBytes     = 16 << 10
)

// Caps returns the production caps: the highest limits that a profile may have.
func Caps() Limits {
	return Limits{
		Turns: 16, ProviderAttempts: 32, RetriesPerTurn: 1, Concurrency: 1, ElapsedMillis: 300_000,
		ProviderRequestBytes: 4 << 20, ProviderResponseBytes: 1 << 20, StreamChunks: 8192,
		TotalInputBytes: 32 << 20, TotalOutputBytes: 8 << 20, InputTokens: 2 << 20, OutputTokens: 256 << 10,
		USDMicrounits: 10_000_000, ToolCalls: 32, ToolArgumentBytes: 256 << 10, ToolResultBytes: 1 << 20,
		TotalToolBytes: 16 << 20, RetainedStateBytes: 16 << 20, TraceEvents: 4096, TraceBytes: 16 << 20,
		EvidenceBytes: 20 << 20, BuilderBytes: 64 << 20,
	}
}

// limit is one limit with its name in a profile.
type limit struct {
	name  string
	value *uint64
	zero  bool // may be zero
}

// fields returns the limits in the order of a profile.
func (l *Limits) fields() []limit {
	return []limit{
		{"max_turns", &l.Turns, false},
		{"max_provider_attempts", &l.ProviderAttempts, false},
		{"max_retries_per_turn", &l.RetriesPerTurn, true},
		{"max_concurrency", &l.Concurrency, false},
		{"max_elapsed_ms", &l.ElapsedMillis, false},
		{"max_provider_request_bytes", &l.ProviderRequestBytes, false},
		{"max_provider_response_bytes", &l.ProviderResponseBytes, false},
		{"max_stream_chunks", &l.StreamChunks, false},
		{"max_total_provider_input_bytes", &l.TotalInputBytes, true},
		{"max_total_provider_output_bytes", &l.TotalOutputBytes, true},
		{"max_reported_model_input_tokens", &l.InputTokens, true},
		{"max_reported_model_output_tokens", &l.OutputTokens, true},
		{"max_usd_microunits", &l.USDMicrounits, true},
		{"max_tool_calls", &l.ToolCalls, true},
		{"max_tool_arguments_bytes", &l.ToolArgumentBytes, true},
		{"max_tool_result_bytes", &l.ToolResultBytes, true},
		{"max_total_tool_bytes", &l.TotalToolBytes, true},
		{"max_retained_state_bytes", &l.RetainedStateBytes, false},
		{"max_trace_events", &l.TraceEvents, false},
		{"max_trace_bytes", &l.TraceBytes, false},
		{"max_evidence_bytes", &l.EvidenceBytes, false},
		{"max_builder_bytes", &l.BuilderBytes, false},
	}
}

// decode reads the limits of a profile.
func (l *Limits) decode(d *wire.Decoder) {
	separator := "{"
	for _, field := range l.fields() {
		d.Expect(separator + `"` + field.name + `":`)
		*field.value = d.Uint()
		separator = ","
	}
	d.Expect("}")
}

// write writes the limits of a profile.
func (l *Limits) write(w *wire.Writer) {
	w.Raw("{")
	l.writeMembers(w)
	w.Raw("}")
}

func (l *Limits) writeMembers(w *wire.Writer) {
	for i, field := range l.fields() {
		if i > 0 {
			w.Raw(",")
		}
		w.Raw(`"` + field.name + `":`)
		w.Uint(*field.value)
	}
}

// check refuses limits above their caps, and zero where nothing could be done with it.
func (l *Limits) check() error {
	caps := Caps()
	for i, most := range caps.fields() {
		if field := l.fields()[i]; *field.value > *most.value {
			return diagnostic.Bound(field.name, *most.value)
		}
	}
	for _, field := range l.fields() {
		if *field.value == 0 && !field.zero {
			return diagnostic.Invariant("limits." + field.name)
		}
	}
	return nil
}

// WriteCaps writes the production caps as Evidence carries them.
func WriteCaps(w *wire.Writer) {
	caps := Caps()
	w.Raw(`{"max_profile_bytes":`)
	w.Uint(MaxProfileBytes)
	for _, extra := range []struct {
		name string
		most uint64
	}{{"max_task_bytes", MaxTaskBytes}, {"max_models", MaxModels}, {"max_tools", MaxTools}, {"max_capabilities", MaxCapabilities}} {
		w.Raw(`,"` + extra.name + `":`)
		w.Uint(extra.most)
	}
	w.Raw(",")
	caps.writeMembers(w)
	w.Raw(`,"max_json_depth":`)
	w.Uint(wire.MaxDepth)
	w.Raw(`,"max_identifier_bytes":`)
	w.Uint(MaxIdentifierBytes)
	w.Raw(`,"max_description_bytes":`)
	w.Uint(MaxDescriptionBytes)
	w.Raw("}")
}

// Bounds returns the highest value of every field that a bound in a diagnostic of a run may name.
func Bounds() map[string]uint64 {
	bounds := map[string]uint64{
		FieldProfileBytes: MaxProfileBytes, FieldTaskBytes: MaxTaskBytes, "models": MaxModels, "tools": MaxTools,
		"capabilities": MaxCapabilities, FieldJSONDepth: wire.MaxDepth, "identifier_bytes": MaxIdentifierBytes,
		"description_bytes": MaxDescriptionBytes,
	}
	caps := Caps()
	for _, field := range caps.fields() {
		bounds[strings.TrimPrefix(field.name, "max_")] = *field.value
	}
	return bounds
}
