// Package record holds what a run leaves behind: the Trace, the Evidence about it and the accounting receipt. They hold
// identities, decisions, lengths, usage, statuses and digests, and nothing of what was said. [Verify] replays them.
package record

import (
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// The schemas of records. They are part of the contract.
const (
	SchemaTrace    = "semaprax.agent-runtime-trace.v1"
	SchemaEvidence = "semaprax.agent-runtime-evidence.v1"
	SchemaReceipt  = "semaprax.agent-runtime-accounting-receipt.v1"
)

// Kind is the kind of an event. The set is closed.
type Kind string

// The kinds of events.
const (
	RunStarted      Kind = "run_started"
	RouteSelected   Kind = "route_selected"
	AttemptStarted  Kind = "provider_attempt_started"
	AttemptFinished Kind = "provider_attempt_finished"
	ActionAccepted  Kind = "action_accepted"
	ToolAuthorized  Kind = "tool_authorized"
	ToolFinished    Kind = "tool_finished"
	RunFinished     Kind = "run_finished"
)

// Status is the status of an event or of a run. The set is closed; which kind has which is in the grammar.
type Status string

// The statuses.
const (
	Started              Status = "started"
	Selected             Status = "selected"
	Succeeded            Status = "succeeded"
	DefinitelyNotStarted Status = "definitely_not_started"
	FailedUncertain      Status = "failed_uncertain"
	AcceptedFinal        Status = "final"
	AcceptedTool         Status = "tool"
	Authorized           Status = "authorized"
	Failed               Status = "failed"
	Completed            Status = "completed"
	Cancelled            Status = "cancelled"
	DeadlineExceeded     Status = "deadline_exceeded"
	BudgetExhausted      Status = "budget_exhausted"
	ProviderFailed       Status = "provider_failed"
	ToolFailed           Status = "tool_failed"
	PolicyRejected       Status = "policy_rejected"
)

// StatusOf is the status of a run that ends with a diagnostic.
func StatusOf(code diagnostic.Code) Status {
	switch code {
	case diagnostic.CodeCancelled:
		return Cancelled
	case diagnostic.CodeDeadline:
		return DeadlineExceeded
	case diagnostic.CodeProvider:
		return ProviderFailed
	case diagnostic.CodeTool:
		return ToolFailed
	case diagnostic.CodeBound:
		return BudgetExhausted
	case diagnostic.CodeGrammar, diagnostic.CodeInvariant, diagnostic.CodeRoute, diagnostic.CodeAuthorization, diagnostic.CodeReplay:
	}
	return PolicyRejected
}

// counter is one number of a record with its name.
type counter struct {
	name  string
	value *uint64
}

// writeCounters writes an object of numbers.
func writeCounters(w *wire.Writer, counters []counter) {
	separator := `{"`
	for _, c := range counters {
		w.Raw(separator)
		w.Raw(c.name)
		w.Raw(`":`)
		w.Uint(*c.value)
		separator = `,"`
	}
	w.Raw("}")
}

// decodeCounters reads an object of numbers.
func decodeCounters(d *wire.Decoder, counters []counter) {
	separator := `{"`
	for _, c := range counters {
		d.Expect(separator + c.name + `":`)
		*c.value = d.Uint()
		separator = `,"`
	}
	d.Expect("}")
}

// Delta is what one event adds to the usage of a run.
type Delta struct {
	InputBytes, OutputBytes   uint64
	InputTokens, OutputTokens uint64
	USDMicrounits             uint64
	ArgumentBytes             uint64
	ResultBytes               uint64
	ElapsedMillis             uint64
}

func (d *Delta) counters() []counter {
	return []counter{
		{"provider_input_bytes", &d.InputBytes},
		{"provider_output_bytes", &d.OutputBytes},
		{"reported_model_input_tokens", &d.InputTokens},
		{"reported_model_output_tokens", &d.OutputTokens},
		{"usd_microunits", &d.USDMicrounits},
		{"tool_argument_bytes", &d.ArgumentBytes},
		{"tool_result_bytes", &d.ResultBytes},
		{"elapsed_ms", &d.ElapsedMillis},
	}
}

// Usage is what a run used.
type Usage struct {
	Turns, ProviderAttempts   uint64
	InputBytes, OutputBytes   uint64
	InputTokens, OutputTokens uint64
	USDMicrounits             uint64
	ToolCalls                 uint64
	ArgumentBytes             uint64
	ResultBytes               uint64
	RetainedStateBytes        uint64
	ElapsedMillis             uint64
	MaxConcurrency            uint64
}

func (u *Usage) counters() []counter {
	return []counter{
		{"turns", &u.Turns},
		{"provider_attempts", &u.ProviderAttempts},
		{"provider_input_bytes", &u.InputBytes},
		{"provider_output_bytes", &u.OutputBytes},
		{"reported_model_input_tokens", &u.InputTokens},
		{"reported_model_output_tokens", &u.OutputTokens},
		{"usd_microunits", &u.USDMicrounits},
		{"tool_calls", &u.ToolCalls},
		{"tool_argument_bytes", &u.ArgumentBytes},
		{"tool_result_bytes", &u.ResultBytes},
		{"retained_state_bytes", &u.RetainedStateBytes},
		{"elapsed_ms", &u.ElapsedMillis},
		{"max_concurrency", &u.MaxConcurrency},
	}
}

// Event is one event of a Trace. Its index is its place. An empty text is null.
type Event struct {
	Turn                        uint64
	Kind                        Kind
	ProviderID, ModelID, ToolID string
	InputDigest, OutputDigest   string
	Status                      Status
	Delta                       Delta
}

// Termination is how a run ended. Code and Message are empty when it completed.
type Termination struct {
	Status  Status
	Code    diagnostic.Code
	Message string
}

// TerminationOf is how a run ends with a diagnostic.
func TerminationOf(d *diagnostic.Diagnostic) Termination {
	return Termination{StatusOf(d.Code), d.Code, d.Message}
}
