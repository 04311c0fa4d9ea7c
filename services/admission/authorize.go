package admission

import (
	"maps"
	"slices"
	"strconv"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/registry"
)

// authorize decides under the policy that the run is pinned to, and under what
// its name means now: what was added since counts from the next run on, what
// was withdrawn counts at once. The stricter decision is the one that is
// recorded, with the policy that took it.
func authorize(agent *registry.Agent, in decider.Input, operation events.PolicyOperation, input *policy.Input) (policy.Decision, *events.PolicyDecision) {
	pinned := agent.Rules.Decide(operation, input)
	if now := in.Registry.Policy(agent.PolicyName); now == nil || now.Digest != agent.PolicyDigest {
		today := now.Decide(operation, input)
		if now != nil && policy.Stricter(pinned, today) != pinned {
			return today, now.Record(operation, today)
		}
		if now == nil {
			return today, &events.PolicyDecision{Operation: operation, Policy: agent.PolicyName, Digest: agent.PolicyDigest, Verdict: today.Verdict}
		}
	}
	return pinned, agent.Rules.Record(operation, pinned)
}

// asPrincipal is what policies see of who acts.
func asPrincipal(run events.Subject, agent string, principal events.Principal, roles []string) policy.Input {
	return policy.Input{Principal: principal, Roles: roles, Tenant: run.Tenant, Agent: agent}
}

// authorizeNodes decides on every use of a capability. Refusals are findings;
// uses that a person has to confirm are remembered.
func (c *candidate) authorizeNodes(s State, in decider.Input) {
	c.decisions = map[string]*events.PolicyDecision{}
	c.confirm = map[string]bool{}
	input := asPrincipal(in.Run, c.agent.Name, s.Sealed.Principal, s.Sealed.Roles)
	input.Budget, input.Origin, input.Ambiguous = s.Sealed.Ceiling, c.origin, c.ambiguous()
	input.Effects = append([]events.Effect{events.EffectIntent}, c.checked.Effects...)
	clarify := true
	conditional := c.agent.Rules.Conditional(events.OperationExecute) || in.Registry.Policy(c.agent.PolicyName).Conditional(events.OperationExecute)
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		capability, _ := c.agent.Capability(n.Capability)
		input.Capability = policy.Capability{
			Name: n.Capability.Name, Version: n.Capability.Version,
			Effect: capability.Definition.Effect, Confirmation: capability.Definition.Confirmation,
		}
		if conditional {
			c.arguments(n, &input)
		}
		decision, record := authorize(c.agent, in, events.OperationExecute, &input)
		c.decisions[n.ID] = record
		switch decision.Verdict {
		case events.PolicyAllow:
		case events.PolicyConfirm:
			c.confirm[n.ID] = true
		case events.PolicyClarify, events.PolicyDeny:
			c.found = append(c.found, decision.Diagnostic("plan.nodes["+strconv.Itoa(i)+"].capability"))
			if clarify = clarify && decision.Verdict == events.PolicyClarify; c.refused == nil || !clarify {
				c.refused = record
			}
		}
	}
	c.unclear = clarify && c.refused != nil
}

// arguments gives the policy the arguments of a node whose values are known
// before the run, and the names of the others: outputs of earlier nodes.
func (c *candidate) arguments(n *events.PlanNode, into *policy.Input) {
	fixed := events.PlanNode{Arguments: maps.Clone(n.Arguments)}
	maps.DeleteFunc(fixed.Arguments, func(_ string, a events.Argument) bool { return a.Output != nil })
	into.Arguments, into.Sources, into.Unknown = nil, map[string]string{}, nil
	data, err := plan.Resolve(&fixed, c.input, nil)
	if err == nil {
		var value any
		if value, err = jsonvalue.Parse(data, jsonvalue.DefaultLimits); err == nil {
			into.Arguments, _ = value.(map[string]any)
		}
	}
	for name, a := range n.Arguments {
		into.Sources[name] = c.sources[n.ID+"."+name]
		if a.Output != nil || err != nil {
			into.Unknown = append(into.Unknown, name)
		}
	}
	slices.Sort(into.Unknown)
}

// ambiguous reports whether the request can be read in ways that differ
// materially.
func (c *candidate) ambiguous() bool {
	return slices.ContainsFunc(c.spec.Alternatives, func(a events.Alternative) bool { return a.Material })
}

// approver decides whether a principal may approve what is waited for. With
// four eyes nobody approves what they asked for themselves.
func (c *candidate) approver(s State, in decider.Input, e *events.ApprovalDecided) (*events.PolicyDecision, *events.Diagnostic) {
	input := asPrincipal(in.Run, c.agent.Name, e.Principal, e.Roles)
	input.Run = policy.Run{ID: in.Run.Run, Submitter: s.Sealed.Principal.ID}
	for _, item := range s.Pending.Items {
		input.Capabilities = append(input.Capabilities, item.Capability.Name)
	}
	decision, record := authorize(c.agent, in, events.OperationApprove, &input)
	if !decision.Allowed() {
		d := decision.Diagnostic("")
		return record, &d
	}
	now := in.Registry.Policy(c.agent.PolicyName)
	fourEyes := c.agent.Policy.FourEyes || now != nil && now.Definition.FourEyes
	if fourEyes && e.Decision == events.DecisionApprove && e.Principal.ID == s.Sealed.Principal.ID {
		return record, &events.Diagnostic{
			Code: events.CodePrincipalDenied, Message: "the policy wants another person to approve than who submitted", Action: "ask one of the other approvers",
		}
	}
	return record, nil
}
