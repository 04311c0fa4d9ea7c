package diagnostic

import (
	"strconv"
	"strings"
)

// Closed reports whether a diagnostic is one that a run can end with: a known code with a text from its closed set.
// bounds is the highest value of each field that a bound may name.
func Closed(d Diagnostic, bounds map[string]uint64) bool {
	if d.Code == CodeBound {
		return closedBound(d.Message, bounds)
	}
	for _, known := range endings() {
		if *Of(known) == d {
			return true
		}
	}
	return false
}

// endings are the diagnostics other than a bound that a run can end with.
func endings() []error {
	return []error{
		NoRoute(),
		Unauthorized(UnknownTool), Unauthorized(ToolNotAllowed), Unauthorized(CapabilityMissing),
		Unauthorized(ArgumentsMismatch), Unauthorized(ResultMismatch), Unauthorized(PolicyRevoked),
		Provider(NotStarted), Provider(StartUncertain), Provider(ResponseInvalid), Provider(UsageInvalid),
		Tool(InvocationFailed), Tool(ResultInvalid),
		Cancelled(), Deadline(),
	}
}

// closedBound reports whether message names a known field and a canonical number within its highest value.
func closedBound(message string, bounds map[string]uint64) bool {
	field, number, found := strings.Cut(message, boundMiddle)
	if !found {
		return false
	}
	most, known := bounds[field]
	value, err := strconv.ParseUint(number, 10, 64)
	return known && err == nil && value <= most && strconv.FormatUint(value, 10) == number
}

// Longest returns the diagnostics that can end a run and take the most bytes, one of each code that matters for size.
// A document that has room for each of them has room for every ending.
func Longest() []Diagnostic {
	longest := []Diagnostic{
		// No ending has this code any more, and it is the longest text of all: room for it is kept.
		*Of(Grammar("provider request", "semaprax.agent-runtime-provider-request.v1")),
		*Of(Bound("reported_model_output_tokens", 1<<18)),
		*Of(Bound("total_provider_output_bytes", 1<<23)),
	}
	for _, known := range endings() {
		longest = append(longest, *Of(known))
	}
	return longest
}
