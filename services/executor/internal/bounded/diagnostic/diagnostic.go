// Package diagnostic holds the closed set of diagnostics of the bounded profile. Their texts are fixed: nothing that a
// model, a provider or a tool wrote is ever part of one.
package diagnostic

import (
	"errors"
	"strconv"
)

// Code is a stable diagnostic code of the bounded profile.
type Code string

// The codes. The set is closed.
const (
	// CodeGrammar: a document is not canonical.
	CodeGrammar Code = "SPX-G204"
	// CodeInvariant: a profile breaks an invariant.
	CodeInvariant Code = "SPX-G205"
	// CodeRoute: no model is eligible.
	CodeRoute Code = "SPX-G206"
	// CodeAuthorization: an action or a tool is not authorized.
	CodeAuthorization Code = "SPX-G207"
	// CodeBound: a number is above its bound.
	CodeBound Code = "SPX-G208"
	// CodeReplay: Trace or Evidence is not what the state machine does.
	CodeReplay Code = "SPX-G209"
	// CodeProvider: a provider attempt failed.
	CodeProvider Code = "SPX-I218"
	// CodeTool: a tool invocation failed.
	CodeTool Code = "SPX-I219"
	// CodeCancelled: the run was cancelled.
	CodeCancelled Code = "SPX-I220"
	// CodeDeadline: the time of the run is over.
	CodeDeadline Code = "SPX-I221"
)

// Diagnostic is a code and its fixed text.
type Diagnostic struct {
	Code    Code
	Message string
}

// Error implements the error interface.
func (d *Diagnostic) Error() string { return string(d.Code) + ": " + d.Message }

// Of returns the diagnostic in err, or nil when there is none.
func Of(err error) *Diagnostic {
	if d, ok := errors.AsType[*Diagnostic](err); ok {
		return d
	}
	return nil
}

// Grammar says that a document is not canonical; name and schema are constants of the program.
func Grammar(name, schema string) error {
	return &Diagnostic{CodeGrammar, "Agent Runtime " + name + " is not canonical " + schema + " JSON"}
}

// Invariant says which field of a profile breaks an invariant; field is a constant of the program.
func Invariant(field string) error {
	return &Diagnostic{CodeInvariant, "Agent Runtime profile invariant failed: " + field}
}

// NoRoute says that no model is eligible.
func NoRoute() error {
	return &Diagnostic{CodeRoute, "Agent Runtime has no eligible model under the frozen routing policy"}
}

// Reason says why an action or a tool is not authorized.
type Reason string

// The reasons of a rejected authorization.
const (
	UnknownTool        Reason = "unknown tool"
	ToolNotAllowed     Reason = "tool not allowed"
	CapabilityMissing  Reason = "required capability missing"
	ArgumentsMismatch  Reason = "arguments schema mismatch"
	ResultMismatch     Reason = "result schema mismatch"
	PolicyRevoked      Reason = "policy revoked"
	authorizationStart        = "Agent Runtime action or tool authorization was rejected: "
)

// Unauthorized says that an action or a tool was rejected.
func Unauthorized(reason Reason) error {
	return &Diagnostic{CodeAuthorization, authorizationStart + string(reason)}
}

// Bound says that field is above most; field is a constant of the program.
func Bound(field string, most uint64) error {
	return &Diagnostic{CodeBound, field + boundMiddle + strconv.FormatUint(most, 10)}
}

const boundMiddle = " exceeds "

// Replay says that a record is not what the state machine does.
func Replay() error {
	return &Diagnostic{CodeReplay, "Agent Runtime trace or Evidence disagrees with the replayed state machine"}
}

// ProviderFault says how a provider attempt failed.
type ProviderFault string

// The faults of a provider attempt.
const (
	NotStarted      ProviderFault = "definitely not started"
	StartUncertain  ProviderFault = "start uncertain"
	ResponseInvalid ProviderFault = "response invalid"
	UsageInvalid    ProviderFault = "usage invalid"
	providerStart                 = "Agent Runtime provider adapter failed: "
)

// Provider says that a provider attempt failed.
func Provider(fault ProviderFault) error {
	return &Diagnostic{CodeProvider, providerStart + string(fault)}
}

// ToolFault says how a tool invocation failed.
type ToolFault string

// The faults of a tool invocation.
const (
	InvocationFailed ToolFault = "invocation failed"
	ResultInvalid    ToolFault = "result invalid"
	toolStart                  = "Agent Runtime tool adapter failed: "
)

// Tool says that a tool invocation failed.
func Tool(fault ToolFault) error { return &Diagnostic{CodeTool, toolStart + string(fault)} }

// Cancelled says that the run was cancelled.
func Cancelled() error { return &Diagnostic{CodeCancelled, "Agent Runtime run was cancelled"} }

// Deadline says that the time of the run is over.
func Deadline() error { return &Diagnostic{CodeDeadline, "Agent Runtime deadline was exceeded"} }
