package policy

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"

	"example.org/mandate/events"
)

// The names under which the lists of a policy decide, beside the IDs of rules.
const (
	RuleSubmitters = "submitters"
	RuleApprovers  = "approvers"
	RuleOperations = "operations"
	// RuleStanding: the standing approval, where no person is needed.
	RuleStanding = "standing-approval"
)

// Policy is a compiled policy. It never changes and may be used concurrently.
type Policy struct {
	Name       string
	Digest     events.Digest
	Definition events.Policy
	rules      map[events.PolicyOperation][]rule
}

// rule is a compiled rule.
type rule struct {
	events.PolicyRule
	program cel.Program
}

// Decision is what a policy decides on one operation.
type Decision struct {
	Verdict events.PolicyVerdict
	// Rule is the ID of the rule that decided, "" where nothing allowed.
	Rule   string
	Reason string
	// Code is set unless the operation is allowed.
	Code events.Code
	// Cost is what the conditions spent.
	Cost uint64
}

// Allowed reports whether the operation may be done without more.
func (d Decision) Allowed() bool { return d.Verdict == events.PolicyAllow }

// Diagnostic explains a decision that does not allow.
func (d Decision) Diagnostic(path string) events.Diagnostic {
	action := "ask whoever applies the policies of the tenant"
	if d.Verdict == events.PolicyClarify {
		action = "say what the policy asks for and submit the request again"
	}
	message := d.Reason
	if d.Rule != "" {
		message = "rule " + d.Rule + ": " + message
	}
	return events.Diagnostic{Code: d.Code, Path: path, Message: message, Action: action}
}

// Record returns a decision as it is recorded.
func (p *Policy) Record(operation events.PolicyOperation, d Decision) *events.PolicyDecision {
	return &events.PolicyDecision{Operation: operation, Policy: p.Name, Digest: p.Digest, Rule: d.Rule, Verdict: d.Verdict}
}

// Decide decides whether the input may do the operation. A nil policy refuses
// everything.
func (p *Policy) Decide(operation events.PolicyOperation, in *Input) Decision {
	if p == nil {
		return Decision{Verdict: events.PolicyDeny, Code: events.CodePolicyMissing, Reason: "there is no policy"}
	}
	if err := in.check(); err != nil {
		return Decision{Verdict: events.PolicyDeny, Code: events.CodePolicyFailed, Reason: err.Error()}
	}
	result, asks := p.listed(operation, in), Decision{}
	variables := &activation{in: in}
	for i := range p.rules[operation] {
		r := &p.rules[operation][i]
		if asks.Rule != "" && (result.Allowed() || r.Decision != events.PolicyAllow) {
			continue // the first that does not allow was found; only whether something allows is open
		}
		holds, spent, err := evaluate(r.program, variables)
		result.Cost += spent
		if err == nil && result.Cost > MaxDecisionCost {
			err = errTotalCost
		}
		switch {
		case err != nil:
			return Decision{
				Verdict: events.PolicyDeny, Rule: r.ID, Cost: result.Cost, Code: events.CodePolicyFailed,
				Reason: "its condition cannot be decided here: " + bounded(err.Error()),
			}
		case !holds:
		case r.Decision == events.PolicyDeny:
			return Decision{Verdict: r.Decision, Rule: r.ID, Cost: result.Cost, Code: codeOf(r.Decision), Reason: reasonOf(r)}
		case r.Decision != events.PolicyAllow:
			asks = Decision{Verdict: r.Decision, Rule: r.ID, Code: codeOf(r.Decision), Reason: reasonOf(r)}
		case !result.Allowed():
			result.Verdict, result.Rule, result.Reason, result.Code = events.PolicyAllow, r.ID, r.Reason, 0
		}
	}
	if asks.Rule != "" && result.Allowed() {
		asks.Cost = result.Cost
		return asks
	}
	return result
}

// listed is what the lists of the policy decide.
func (p *Policy) listed(operation events.PolicyOperation, in *Input) Decision {
	allowed := Decision{Verdict: events.PolicyAllow}
	switch operation {
	case events.OperationSubmit:
		if names(p.Definition.Submitters, in.Principal.ID) {
			allowed.Rule = RuleSubmitters
			return allowed
		}
	case events.OperationApprove:
		if names(p.Definition.Approvers, in.Principal.ID) {
			allowed.Rule = RuleApprovers
			return allowed
		}
	case events.OperationExecute:
		if slices.Contains(p.Definition.Operations, in.Capability.Name) {
			allowed.Rule = RuleOperations
			return allowed
		}
		return Decision{
			Verdict: events.PolicyDeny, Code: events.CodeOperationNotAllowed,
			Reason: fmt.Sprintf("nothing in the policy %s lets %.64s execute here", p.Name, in.Capability.Name),
		}
	case events.OperationOperate, events.OperationReadContent:
	}
	return Decision{
		Verdict: events.PolicyDeny, Code: events.CodePrincipalDenied,
		Reason: fmt.Sprintf("nothing in the policy %s lets this principal %s", p.Name, verbOf(operation)),
	}
}

// names reports whether a list names a principal; "*" is everybody who was
// authenticated.
func names(list []string, principal string) bool {
	return principal != "" && (slices.Contains(list, principal) || slices.Contains(list, "*"))
}

// MayExecute lists those of some capabilities that the policy could let execute
// with some arguments.
func (p *Policy) MayExecute(capabilities []string) []string {
	if slices.ContainsFunc(p.rules[events.OperationExecute], func(r rule) bool { return r.Decision == events.PolicyAllow }) {
		return capabilities
	}
	return p.Definition.Operations
}

// Conditional reports whether the policy has rules for an operation, and not
// only lists.
func (p *Policy) Conditional(operation events.PolicyOperation) bool {
	return p != nil && len(p.rules[operation]) > 0
}

// Stricter returns the decision that permits less; the first if they permit
// the same.
func Stricter(a, b Decision) Decision {
	if rank(b.Verdict) > rank(a.Verdict) {
		return b
	}
	return a
}

func rank(v events.PolicyVerdict) int {
	switch v {
	case events.PolicyAllow:
		return 0
	case events.PolicyConfirm:
		return 1
	case events.PolicyClarify:
		return 2
	case events.PolicyDeny:
	}
	return 3
}

func codeOf(v events.PolicyVerdict) events.Code {
	switch v {
	case events.PolicyAllow:
		return 0
	case events.PolicyConfirm:
		return events.CodeConfirmationMissing
	case events.PolicyClarify:
		return events.CodePolicyClarification
	case events.PolicyDeny:
	}
	return events.CodePolicyDenied
}

func reasonOf(r *rule) string {
	if r.Reason != "" {
		return r.Reason
	}
	switch r.Decision {
	case events.PolicyAllow, events.PolicyDeny:
	case events.PolicyConfirm:
		return "a person has to confirm it"
	case events.PolicyClarify:
		return "the request has to say more"
	}
	return "the policy does not allow it"
}

func verbOf(operation events.PolicyOperation) string {
	if operation == events.OperationReadContent {
		return "read content"
	}
	return string(operation)
}
