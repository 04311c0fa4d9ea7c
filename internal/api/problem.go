package api

import (
	"errors"
	"net/http"

	"example.org/mandate/events"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/projector"
)

// Problem is an answer about a failure, after RFC 9457.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what happened and what to do about it.
	Detail      string              `json:"detail"`
	Code        events.Code         `json:"code"`
	Diagnostics []events.Diagnostic `json:"diagnostics"`
}

// Error implements the error interface.
func (p *Problem) Error() string { return p.Code.String() + " " + p.Detail }

// fail returns a problem with one diagnostic.
func fail(status int, d events.Diagnostic) *Problem {
	return newProblem(status, []events.Diagnostic{d})
}

func newProblem(status int, found []events.Diagnostic) *Problem {
	first := found[0]
	detail := first.Message
	if first.Path != "" {
		detail = first.Path + ": " + detail
	}
	if first.Action != "" {
		detail += "; " + first.Action
	}
	return &Problem{
		Type: "urn:mandate:problem:" + first.Code.String(), Title: http.StatusText(status), Status: status,
		Detail: detail, Code: first.Code, Diagnostics: found,
	}
}

func notFound(code events.Code, message, action string) *Problem {
	return fail(http.StatusNotFound, events.Diagnostic{Code: code, Message: message, Action: action})
}

func unknownRun() *Problem {
	return notFound(events.CodeRunUnknown, "there is no such run", "see mandate runs")
}

// asProblem says what a caller is told about an error. Only refusals are told;
// the rest is logged.
func asProblem(err error) (*Problem, bool) {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p, true
	}
	if refused, ok := errors.AsType[*intake.Error](err); ok && len(refused.Diagnostics) > 0 {
		return newProblem(statusOf(refused.Diagnostics[0].Code), refused.Diagnostics), true
	}
	if errors.Is(err, projector.ErrUnknownRun) || errors.Is(err, bundle.ErrUnknownRun) {
		return unknownRun(), true
	}
	return fail(http.StatusServiceUnavailable, events.Diagnostic{
		Code: events.CodeUnavailable, Message: "the request could not be handled", Action: "try again; the log of the gateway says more",
	}), false
}

func statusOf(code events.Code) int {
	switch code {
	case events.CodeRequestMalformed, events.CodeRequestTooDeep, events.CodeNonceInvalid:
		return http.StatusBadRequest
	case events.CodeRequestTooLarge:
		return http.StatusRequestEntityTooLarge
	case events.CodeNonceConflict, events.CodeConflict, events.CodeApprovalMismatch, events.CodeApprovalExpired, events.CodeRunConcluded:
		return http.StatusConflict
	case events.CodeRunUnknown, events.CodeInteractionUnknown, events.CodeResourceUnknown, events.CodeNotFound:
		return http.StatusNotFound
	case events.CodePrincipalDenied:
		return http.StatusForbidden
	case events.CodeOwnershipUnresolved, events.CodeUnavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusUnprocessableEntity
}
