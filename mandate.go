// Package mandate runs intents inside a Go program.
//
// An [Engine] is a whole Mandate in the process: the five services over an
// embedded or a remote NATS. [Run] asks it for a typed outcome:
//
//	engine, err := mandate.Start(ctx, mandate.Options{DataDir: dir, Functions: functions})
//	outcome, err := mandate.Run[Question, Answer](ctx, engine, mandate.Request[Question]{Agent: "support", Input: q, …})
//	if answer, ok := outcome.Value(); ok { … }
//
// A request names capabilities and holds no live handle; what reaches the world
// is registered with the engine. An outcome carries a value only if the run
// completed.
package mandate

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
)

// Function is a capability that is a Go function. It gets the arguments as
// canonical JSON and returns the result as JSON. The action ID and the
// idempotency key are the same for every dispatch of the same effect.
type Function func(ctx context.Context, call Call) ([]byte, error)

// Call is one dispatch of a function.
type Call struct {
	Run            string
	Action         string
	IdempotencyKey string
	Arguments      []byte
}

// NotAppliedError says that a write certainly had no effect. Every other error
// of a write leaves its effect uncertain.
type NotAppliedError struct{ Reason string }

// Error implements the error interface.
func (e *NotAppliedError) Error() string { return e.Reason }

// NotApplied reports that nothing was applied.
func (e *NotAppliedError) NotApplied() bool { return true }

// Options of an engine.
type Options struct {
	// DataDir is where an embedded server keeps everything. It is needed
	// without NATSURL.
	DataDir string
	// NATSURL connects to a deployment instead; KeyFile holds its wrapping key.
	NATSURL string
	KeyFile string
	// Functions are capabilities by the name that "builtin" bindings use.
	Functions map[string]Function
	// Workspace is the directory that process and MCP capabilities work in;
	// without one there are none.
	Workspace string
	// Tenant and Principal are in whose name runs act; "default" and "host".
	Tenant    string
	Principal string
	Logger    *slog.Logger
}

// Engine is a running Mandate. It is safe for concurrent use.
type Engine struct {
	app       *app.App
	tenant    string
	principal events.Principal
}

// Start starts an engine. Close it.
func Start(ctx context.Context, o Options) (*Engine, error) {
	if o.Tenant == "" {
		o.Tenant = "default"
	}
	if o.Principal == "" {
		o.Principal = "host"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	functions, err := app.Functions(adapt(o.Functions))
	if err != nil {
		return nil, fmt.Errorf("mandate: %w", err)
	}
	options := app.DefaultOptions()
	options.DataDir, options.NATSURL, options.KeyFile = o.DataDir, o.NATSURL, o.KeyFile
	options.Workspace, options.Logger, options.Builtin, options.HTTPListen = o.Workspace, o.Logger, functions, ""
	a, err := app.New(options)
	if err != nil {
		return nil, fmt.Errorf("mandate: %w", err)
	}
	if err := a.Start(ctx); err != nil {
		return nil, fmt.Errorf("mandate: %w", err)
	}
	return &Engine{app: a, tenant: o.Tenant, principal: events.Principal{ID: o.Principal, Kind: events.PrincipalService}}, nil
}

func adapt(functions map[string]Function) map[string]app.Function {
	adapted := make(map[string]app.Function, len(functions))
	for name, function := range functions {
		adapted[name] = func(ctx context.Context, call app.Call) ([]byte, error) { return function(ctx, Call(call)) }
	}
	return adapted
}

// Close drains and stops the engine.
func (e *Engine) Close(ctx context.Context) error {
	if err := e.app.Stop(ctx); err != nil {
		return fmt.Errorf("mandate: %w", err)
	}
	return nil
}

// Apply registers resources: policies, then capabilities, then agents. value
// is the specification, such as an [events.Agent].
func (e *Engine) Apply(ctx context.Context, kind events.Kind, name string, value any) error {
	definition, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("mandate: apply %s: %w", name, err)
	}
	err = e.app.Apply(ctx, e.tenant, e.principal, []app.Resource{{Kind: kind, Name: name, Definition: definition}})
	if err != nil {
		return fmt.Errorf("mandate: apply %s: %w", name, err)
	}
	return nil
}

// Cancel asks a run to stop. What is in flight is not retracted.
func (e *Engine) Cancel(ctx context.Context, run, reason string) error {
	if err := e.app.Cancel(ctx, e.tenant, run, e.principal, reason); err != nil {
		return fmt.Errorf("mandate: cancel %s: %w", run, err)
	}
	return nil
}

// Request is a typed request. I is owned, serializable data: a type that
// holds a channel, a function or another handle is refused.
type Request[I any] struct {
	Agent  string
	Intent string // in the words of whoever asks
	Input  I
	Policy string
	Limits events.Limits
	// Outcome and Plan are explicit structured input.
	Outcome *events.OutcomeSpec
	Plan    *events.Plan
	Context []events.ContextItem
	Thread  string
	Parent  string
	// Nonce is the identity of the request, a ULID; "" lets the engine assign
	// one. Running with the same nonce again joins the recorded run.
	Nonce string
	// Approve decides on what waits for a person. Nil decides nothing: the run
	// waits until somebody else decides, or the time for it is over.
	Approve func(ctx context.Context, a Approval) (events.Decision, error)
}

// Approval is something that waits for a decision. Digest binds exactly it.
type Approval struct {
	ID           string
	Run          string
	Digest       events.Digest
	Capabilities []string
	Expires      time.Time
}

// Outcome is how a run ended. It has a value only if it completed
// (C3-RUN-001.b to .d).
type Outcome[O any] struct {
	Run        string
	Tag        events.Tag
	Completion events.Completion
	// Diagnostic is nil if and only if the run completed.
	Diagnostic *events.Diagnostic
	// Receipt has the phase, the last revision, what was consumed, and the
	// completed and uncertain effects.
	Receipt events.Receipt
	value   O
}

// Value returns the typed output, and whether there is one.
func (o Outcome[O]) Value() (O, bool) { return o.value, o.Tag == events.TagCompleted }

// Run submits a request and waits for its outcome. An error means that the
// request was refused before it was recorded, or that ctx ended first; the run
// then goes on.
func Run[I, O any](ctx context.Context, e *Engine, r Request[I]) (Outcome[O], error) {
	out := Outcome[O]{}
	document, err := document[I, O](r)
	if err != nil {
		return out, fmt.Errorf("mandate: %w", err)
	}
	out.Run, err = e.app.Submit(ctx, e.tenant, r.Nonce, e.principal, document)
	if err != nil {
		return out, fmt.Errorf("mandate: submit: %w", err)
	}
	concluded, err := e.app.Await(ctx, e.tenant, out.Run, e.asker(out.Run, r.Approve))
	if err != nil {
		return out, fmt.Errorf("mandate: %w", err)
	}
	out.Tag, out.Completion, out.Diagnostic, out.Receipt = concluded.Tag, concluded.Completion, concluded.Receipt.Diagnostic, concluded.Receipt
	if concluded.Tag != events.TagCompleted {
		return out, nil
	}
	content, ok := concluded.Output.Content()
	if !ok {
		return out, fmt.Errorf("mandate: the output of run %s cannot be read", out.Run)
	}
	if err := json.Unmarshal(content, &out.value); err != nil {
		return out, fmt.Errorf("mandate: the output of run %s is not a %T: %w", out.Run, out.value, err)
	}
	return out, nil
}

func document[I, O any](r Request[I]) (*events.IntentRequest, error) {
	if err := owned[I](); err != nil {
		return nil, err
	}
	if err := owned[O](); err != nil {
		return nil, err
	}
	input, err := json.Marshal(r.Input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	context := r.Context
	if context == nil {
		context = []events.ContextItem{}
	}
	mode := events.GeneratorExplicit
	if r.Outcome == nil || r.Plan == nil {
		mode = events.GeneratorModel
	}
	return &events.IntentRequest{
		Intent: events.IntentRef{Agent: r.Agent, Text: r.Intent}, Input: events.Value{Type: fmt.Sprintf("%T", r.Input), Value: input},
		Context: context, Policy: r.Policy, Generator: events.Generator{Mode: mode}, Limits: &r.Limits,
		Thread: r.Thread, Parent: r.Parent, Outcome: r.Outcome, Plan: r.Plan,
	}, nil
}

// asker adapts a decision function to what waits.
func (e *Engine) asker(run string, approve func(context.Context, Approval) (events.Decision, error)) app.Asker {
	if approve == nil {
		return nil
	}
	return func(ctx context.Context, w app.Waiting) error {
		decision, err := approve(ctx, Approval{
			ID: w.Interaction, Run: run, Digest: w.Digest, Capabilities: w.Items, Expires: w.Expires.Std(),
		})
		if err != nil {
			return err
		}
		return e.app.Decide(ctx, e.tenant, run, events.ApprovalDecided{
			Principal: e.principal, Approval: w.Interaction, Decision: decision, Digest: w.Digest,
		})
	}
}
