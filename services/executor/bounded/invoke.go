package bounded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// Invocation is a run that somebody asks for as a capability.
type Invocation struct {
	Host Host
	// Arguments is an object with the texts of a profile and a task, and the budgets of the caller.
	Arguments []byte
	// OutputBytes is how long the result may be; nothing is refused.
	OutputBytes int64
	// Now is the clock that the deadline of the context is by; nil is the system's.
	Now func() time.Time
}

// arguments are the arguments of a run.
type arguments struct {
	Profile string  `json:"profile"`
	Task    string  `json:"task"`
	Budgets budgets `json:"budgets"`
}

// budgets are what the caller has left. What is not there is not bounded by the caller; zero refuses.
type budgets struct {
	ElapsedMillis    *uint64 `json:"elapsed_ms"`
	ProviderAttempts *uint64 `json:"provider_attempts"`
	InputTokens      *uint64 `json:"reported_model_input_tokens"`
	OutputTokens     *uint64 `json:"reported_model_output_tokens"`
	USDMicrounits    *uint64 `json:"usd_microunits"`
	ToolCalls        *uint64 `json:"tool_calls"`
}

// result is what a run gives back as a capability.
type result struct {
	Status string `json:"status"`
	Code   string `json:"code,omitzero"`
	Reason string `json:"reason,omitzero"`
	// Message is what the model said in the end: data that a model wrote.
	Message        string `json:"untrusted_final_message,omitzero"`
	TraceDigest    string `json:"trace_digest"`
	Evidence       string `json:"evidence"`
	EvidenceDigest string `json:"evidence_digest"`
	Receipt        string `json:"receipt"`
	ReceiptDigest  string `json:"receipt_digest"`
}

// Invoke runs a task as a capability and returns its result as JSON. The time that ctx leaves and the length that the
// result may have lower the limits of the profile, and nothing left refuses. A run that is interrupted leaves nothing to
// go on from: whoever asked decides what that means, and asking again is a new run.
func Invoke(ctx context.Context, invocation Invocation) ([]byte, error) {
	var a arguments
	if err := json.Unmarshal(invocation.Arguments, &a, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	outer, err := invocation.outer(ctx, &a)
	if err != nil {
		return nil, err
	}
	agent, err := New([]byte(a.Profile), invocation.Host, Options{Outer: outer})
	if err != nil {
		return nil, err
	}
	run, err := Run(ctx, agent, []byte(a.Task))
	if err != nil {
		return nil, err
	}
	trace, err := record.ParseTrace(run.Trace())
	if err != nil {
		return nil, err
	}
	message, _ := run.UntrustedFinalMessage()
	return json.Marshal(result{
		Status: run.Status(), Code: string(trace.Termination.Code), Reason: trace.Termination.Message, Message: message,
		TraceDigest: run.TraceDigest(), Evidence: string(run.Evidence()), EvidenceDigest: run.EvidenceDigest(),
		Receipt: string(run.Receipt()), ReceiptDigest: run.ReceiptDigest(),
	}, json.Deterministic(true))
}

// ErrArguments is returned for arguments that are not what [Invoke] takes. Every other refusal is a [Diagnostic].
var ErrArguments = errors.New("bounded: the arguments are not a profile, a task and budgets")

// outer is what the caller has left.
func (i *Invocation) outer(ctx context.Context, a *arguments) (Outer, error) {
	b := &a.Budgets
	outer := Outer{
		ElapsedMillis: b.ElapsedMillis, ProviderAttempts: b.ProviderAttempts, InputTokens: b.InputTokens, OutputTokens: b.OutputTokens,
		USDMicrounits: b.USDMicrounits, ToolCalls: b.ToolCalls,
	}
	if deadline, ok := ctx.Deadline(); ok {
		now := i.Now
		if now == nil {
			now = time.Now
		}
		left := uint64(max(0, deadline.Sub(now()).Milliseconds()))
		if outer.ElapsedMillis == nil || *outer.ElapsedMillis > left {
			outer.ElapsedMillis = &left
		}
	}
	evidence, err := evidenceBytes(i.OutputBytes, []byte(a.Profile))
	outer.EvidenceBytes = &evidence
	return outer, err
}

// evidenceBytes is how long Evidence may be so that the result fits: as a string of JSON it takes at most twice its
// length, and the receipt too; a message takes at most six times.
func evidenceBytes(output int64, profile []byte) (uint64, error) {
	p, err := document.ParseProfile(bytes.Clone(profile))
	if err != nil {
		return 0, err
	}
	const rest = 2*MaxReceiptBytes + 4096
	taken := rest + 6*p.Limits.ProviderResponseBytes
	if output <= 0 || uint64(output) <= taken {
		return 0, diagnostic.Bound(document.FieldEvidenceBytes, 0)
	}
	return (uint64(output) - taken) / 2, nil
}
