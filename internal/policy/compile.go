package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"

	"example.org/mandate/events"
)

// Bounds of a policy.
const (
	MaxRules       = 100
	MaxListEntries = 1000
	MaxReasonBytes = 300
)

var ruleID = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// compiler collects what is wrong with a policy.
type compiler struct {
	policy       *Policy
	environments map[events.PolicyOperation]*cel.Env
	found        []events.Diagnostic
}

// Compile compiles a policy, or says everything that is wrong with it. digest
// is that of the resource.
func Compile(name string, definition events.Policy, digest events.Digest) (*Policy, []events.Diagnostic) {
	c := compiler{
		policy:       &Policy{Name: name, Digest: digest, Definition: definition, rules: map[events.PolicyOperation][]rule{}},
		environments: map[events.PolicyOperation]*cel.Env{},
	}
	c.lists()
	if n := len(definition.Rules); n > MaxRules {
		c.add(events.CodePolicyInvalid, "spec.rules", fmt.Sprintf("%d rules, at most %d are possible", n, MaxRules), "split the policy")
		return nil, c.found
	}
	seen := map[string]bool{}
	for i := range definition.Rules {
		c.rule(i, &definition.Rules[i], seen)
	}
	if len(c.found) > 0 {
		return nil, c.found
	}
	return c.policy, nil
}

func (c *compiler) add(code events.Code, path, message, action string) {
	c.found = append(c.found, events.Diagnostic{Code: code, Path: path, Message: message, Action: action})
}

// lists checks everything but the rules.
func (c *compiler) lists() {
	p := c.policy.Definition
	for _, list := range [][]string{p.Operations, p.Submitters, p.Approvers} {
		if len(list) > MaxListEntries {
			c.add(events.CodePolicyInvalid, "spec", fmt.Sprintf("a list of %d entries, at most %d are possible", len(list), MaxListEntries), "write a rule over roles")
		}
	}
	if slices.Contains(p.StandingApproval, events.EffectWrite) {
		c.add(events.CodeWriteConfirmation, "spec.standing_approval", "a standing approval cannot cover writes", "remove write")
	}
	for i, e := range p.StandingApproval {
		if !e.Valid() {
			c.add(events.CodeResourceInvalid, fmt.Sprintf("spec.standing_approval[%d]", i), "the effect is not none or read", "use one of these")
		}
	}
	if c.policy.Name == events.TenantPolicy {
		if len(p.Operations)+len(p.Submitters)+len(p.Approvers)+len(p.StandingApproval) > 0 || p.FourEyes {
			c.add(events.CodePolicyInvalid, "spec", "the policy "+events.TenantPolicy+" is not for runs: it has rules for operate and read-content only", "write these into the policy that the agent names")
		}
		return
	}
	if p.ApprovalSeconds < 1 || p.LeaseSeconds < 1 {
		c.add(events.CodeResourceInvalid, "spec", "approval_seconds and lease_seconds must be at least 1", "set both")
	}
}

// operations are the operations that the policy may have rules for.
func (c *compiler) operations() []events.PolicyOperation {
	if c.policy.Name == events.TenantPolicy {
		return []events.PolicyOperation{events.OperationOperate, events.OperationReadContent}
	}
	return []events.PolicyOperation{events.OperationSubmit, events.OperationApprove, events.OperationExecute}
}

func (c *compiler) rule(i int, r *events.PolicyRule, seen map[string]bool) {
	path := fmt.Sprintf("spec.rules[%d]", i)
	switch {
	case !ruleID.MatchString(r.ID) || len(r.ID) > 64 || slices.Contains([]string{RuleSubmitters, RuleApprovers, RuleOperations, RuleStanding}, r.ID):
		c.add(events.CodePolicyInvalid, path+".id", "the id is not lower-case words joined by hyphens, or it is the name of a list", "choose another id")
	case seen[r.ID]:
		c.add(events.CodePolicyInvalid, path+".id", "two rules have this id", "give each rule its own id")
	}
	seen[r.ID] = true
	if len(r.Reason) > MaxReasonBytes || strings.ContainsFunc(r.Reason, func(x rune) bool { return x < ' ' }) {
		c.add(events.CodePolicyInvalid, path+".reason", fmt.Sprintf("the reason is not one line of at most %d bytes", MaxReasonBytes), "shorten it")
	}
	if !slices.Contains(c.operations(), r.Operation) {
		c.add(events.CodePolicyInvalid, path+".operation", fmt.Sprintf("a policy of this name has no rules for %.40q", r.Operation), "use one of "+list(c.operations()))
		return
	}
	verdicts := []events.PolicyVerdict{events.PolicyAllow, events.PolicyDeny}
	if r.Operation == events.OperationExecute {
		verdicts = append(verdicts, events.PolicyConfirm, events.PolicyClarify)
	}
	if !slices.Contains(verdicts, r.Decision) {
		c.add(events.CodePolicyInvalid, path+".decision", fmt.Sprintf("the decision on %s is not one of these", r.Operation), "use one of "+list(verdicts))
	}
	environment, err := c.environment(r.Operation)
	if err != nil {
		c.add(events.CodeInternal, path+".when", "conditions cannot be compiled: "+bounded(err.Error()), "report it")
		return
	}
	program, wrong := compile(environment, r.When)
	for _, message := range wrong {
		c.add(events.CodePolicyInvalid, path+".when", message, "correct the condition; see docs/policies.md for what it can name")
	}
	if len(wrong) == 0 {
		c.policy.rules[r.Operation] = append(c.policy.rules[r.Operation], rule{PolicyRule: *r, program: program})
	}
}

// environment makes what is known about an operation once for a policy.
func (c *compiler) environment(operation events.PolicyOperation) (*cel.Env, error) {
	if e, ok := c.environments[operation]; ok {
		return e, nil
	}
	e, err := newEnvironment(operation)
	if err == nil {
		c.environments[operation] = e
	}
	return e, err
}

func list[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}
