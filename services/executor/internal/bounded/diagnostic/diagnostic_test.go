package diagnostic_test

import (
	"errors"
	"fmt"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
)

// TestTexts pins every code with its text.
func TestTexts(t *testing.T) {
	const authorization = "Agent Runtime action or tool authorization was rejected: "
	for id, texts := range map[string]map[error]string{
		"BNAR-5.1": {diagnostic.Grammar("task", "s.v1"): "SPX-G204: Agent Runtime task is not canonical s.v1 JSON"},
		"BNAR-5.2": {diagnostic.Invariant("models"): "SPX-G205: Agent Runtime profile invariant failed: models"},
		"BNAR-5.3": {diagnostic.NoRoute(): "SPX-G206: Agent Runtime has no eligible model under the frozen routing policy"},
		"BNAR-5.4": {
			diagnostic.Unauthorized(diagnostic.UnknownTool):       "SPX-G207: " + authorization + "unknown tool",
			diagnostic.Unauthorized(diagnostic.ToolNotAllowed):    "SPX-G207: " + authorization + "tool not allowed",
			diagnostic.Unauthorized(diagnostic.CapabilityMissing): "SPX-G207: " + authorization + "required capability missing",
			diagnostic.Unauthorized(diagnostic.ArgumentsMismatch): "SPX-G207: " + authorization + "arguments schema mismatch",
			diagnostic.Unauthorized(diagnostic.ResultMismatch):    "SPX-G207: " + authorization + "result schema mismatch",
			diagnostic.Unauthorized(diagnostic.PolicyRevoked):     "SPX-G207: " + authorization + "policy revoked",
		},
		"BNAR-5.5": {diagnostic.Bound("turns", 16): "SPX-G208: turns exceeds 16"},
		"BNAR-5.6": {diagnostic.Replay(): "SPX-G209: Agent Runtime trace or Evidence disagrees with the replayed state machine"},
		"BNAR-5.7": {
			diagnostic.Provider(diagnostic.NotStarted):      "SPX-I218: Agent Runtime provider adapter failed: definitely not started",
			diagnostic.Provider(diagnostic.StartUncertain):  "SPX-I218: Agent Runtime provider adapter failed: start uncertain",
			diagnostic.Provider(diagnostic.ResponseInvalid): "SPX-I218: Agent Runtime provider adapter failed: response invalid",
			diagnostic.Provider(diagnostic.UsageInvalid):    "SPX-I218: Agent Runtime provider adapter failed: usage invalid",
		},
		"BNAR-5.8": {
			diagnostic.Tool(diagnostic.InvocationFailed): "SPX-I219: Agent Runtime tool adapter failed: invocation failed",
			diagnostic.Tool(diagnostic.ResultInvalid):    "SPX-I219: Agent Runtime tool adapter failed: result invalid",
		},
		"BNAR-5.9":  {diagnostic.Cancelled(): "SPX-I220: Agent Runtime run was cancelled"},
		"BNAR-5.10": {diagnostic.Deadline(): "SPX-I221: Agent Runtime deadline was exceeded"},
	} {
		t.Run(id, func(t *testing.T) {
			req.Covers(t, id)
			for err, want := range texts {
				if err.Error() != want {
					t.Errorf("%q, want %q", err, want)
				}
				if diagnostic.Of(fmt.Errorf("run: %w", err)) == nil {
					t.Errorf("%q is not found when it is wrapped", err)
				}
			}
		})
	}
	if diagnostic.Of(errors.New("other")) != nil || diagnostic.Of(nil) != nil {
		t.Error("another error is a diagnostic")
	}
}

// TestClosed knows the endings of a run, and nothing else.
func TestClosed(t *testing.T) {
	bounds := map[string]uint64{"turns": 16}
	for text, want := range map[diagnostic.Diagnostic]bool{
		*diagnostic.Of(diagnostic.NoRoute()):                                    true,
		*diagnostic.Of(diagnostic.Cancelled()):                                  true,
		*diagnostic.Of(diagnostic.Replay()):                                     false,
		{Code: diagnostic.CodeBound, Message: "turns exceeds 16"}:               true,
		{Code: diagnostic.CodeBound, Message: "turns exceeds 0"}:                true,
		{Code: diagnostic.CodeBound, Message: "turns exceeds 17"}:               false,
		{Code: diagnostic.CodeBound, Message: "turns exceeds 016"}:              false,
		{Code: diagnostic.CodeBound, Message: "turns exceeds +1"}:               false,
		{Code: diagnostic.CodeBound, Message: "turns exceeds "}:                 false,
		{Code: diagnostic.CodeBound, Message: "turns"}:                          false,
		{Code: diagnostic.CodeBound, Message: "hours exceeds 1"}:                false,
		{Code: diagnostic.CodeBound, Message: "turns exceeds 1 or so"}:          false,
		{Code: diagnostic.CodeProvider, Message: "the key sk-1 was refused"}:    false,
		{Code: diagnostic.CodeTool, Message: "Agent Runtime run was cancelled"}: false,
		{}: false,
	} {
		if got := diagnostic.Closed(text, bounds); got != want {
			t.Errorf("%+v: %t", text, got)
		}
	}
}
