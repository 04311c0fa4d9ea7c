package capability

import "example.org/mandate/events"

// Status is how an invocation ended. The set is closed: whatever a provider
// reports otherwise is a failure (IK-5.5.3).
type Status string

// The statuses of an invocation.
const (
	// StatusCompleted: the work is done and Value holds the result.
	StatusCompleted Status = "completed"
	// StatusNeedsInput: an argument is missing or unusable; nothing was done.
	StatusNeedsInput Status = "needs_input"
	// StatusNeedsDependency: a fact is missing; nothing was done.
	StatusNeedsDependency Status = "needs_dependency"
	// StatusNeedsConfirmation: the capability itself asks for confirmation;
	// nothing was done.
	StatusNeedsConfirmation Status = "needs_confirmation"
	// StatusFailed: a safe failure; NotApplied says whether it is certain that
	// no effect took place.
	StatusFailed Status = "failed"
	// StatusUncertain: nobody knows whether the effect took place.
	StatusUncertain Status = "uncertain"
)

// Invocation is one dispatch of a capability, as handed to a provider.
type Invocation struct {
	Tenant  string
	Run     string
	Action  string // stable across crashes
	Name    string
	Version int
	Effect  events.Effect
	// Arguments is the canonical JSON object of the arguments, already
	// checked against the input schema.
	Arguments []byte
	// IdempotencyKey is the same for every dispatch of the same effect.
	IdempotencyKey string
	OutputBytes    int64
	Provider       events.ProviderBinding
}

// Outcome is what a provider observed. It is data: no field of it can grant,
// approve or conclude anything.
type Outcome struct {
	Status Status
	// Value is the canonical JSON of the result value, for StatusCompleted.
	Value []byte
	// Raw is what the capability really returned, bounded, with its media
	// type, for exact display.
	Raw       []byte
	MediaType string
	// NotApplied is meaningful for StatusFailed only.
	NotApplied bool
	// Code and Message explain anything but completion. Message holds no
	// arguments, credentials or output.
	Code    events.Code
	Message string
	// Evidence is what was observed about the world on the way.
	Evidence []Observation
	// Started and Finished are by the provider's host clock.
	Started, Finished events.Time
	// Receipt identifies the effect at the provider, if it told: an exit
	// status, a transaction number. Public; never credentials.
	Receipt string
}

// Observation is one piece of evidence from an invocation.
type Observation struct {
	Kind string // "invocation", "output", "source-files"
	// Method is how it was acquired: "process-exit", "adapter:go-test-json",
	// "mcp-tool-result", "file-stat".
	Method string
	// Observed is when the host saw it; SourceModified is the newest
	// modification time of what it is about, zero if unknown; Published is the
	// source's own date, zero if unknown.
	Observed, SourceModified, Published events.Time
	// Subject digests what the observation is about (a file tree), "" if
	// unknown.
	Subject events.Digest
	// Content is the evidence itself, bounded; may be empty.
	Content   []byte
	MediaType string
}
