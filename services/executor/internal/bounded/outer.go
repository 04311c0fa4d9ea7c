package bounded

import (
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
)

// Outer are budgets of whoever calls an agent. They can only lower what the profile allows. Nil is no budget of the
// caller's; zero is a budget that is used up, and refuses.
type Outer struct {
	ElapsedMillis    *uint64
	ProviderAttempts *uint64
	InputTokens      *uint64
	OutputTokens     *uint64
	USDMicrounits    *uint64
	ToolCalls        *uint64
	EvidenceBytes    *uint64
}

// lower returns the limits, each lowered to the budget that it has.
func (o *Outer) lower(limits document.Limits) (document.Limits, error) {
	for _, budget := range []struct {
		field string
		outer *uint64
		limit *uint64
	}{
		{"elapsed_ms", o.ElapsedMillis, &limits.ElapsedMillis},
		{document.FieldProviderAttempts, o.ProviderAttempts, &limits.ProviderAttempts},
		{document.FieldInputTokens, o.InputTokens, &limits.InputTokens},
		{document.FieldOutputTokens, o.OutputTokens, &limits.OutputTokens},
		{document.FieldUSDMicrounits, o.USDMicrounits, &limits.USDMicrounits},
		{document.FieldToolCalls, o.ToolCalls, &limits.ToolCalls},
		{document.FieldEvidenceBytes, o.EvidenceBytes, &limits.EvidenceBytes},
	} {
		if budget.outer == nil {
			continue
		}
		if *budget.outer == 0 {
			return limits, diagnostic.Bound(budget.field, 0)
		}
		*budget.limit = min(*budget.limit, *budget.outer)
	}
	return limits, nil
}
