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
	"example.org/mandate/internal/provenance"
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
	input := c.executeInput(s, in)
	clarify := true
	conditional := c.agent.Rules.Conditional(events.OperationExecute) || in.Registry.Policy(c.agent.PolicyName).Conditional(events.OperationExecute)
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		c.use(n, &input)
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

// executeInput is what policies see of the plan when they decide on a use.
func (c *candidate) executeInput(s State, in decider.Input) policy.Input {
	input := asPrincipal(in.Run, c.agent.Name, s.Sealed.Principal, s.Sealed.Roles)
	input.Budget, input.Origin, input.Ambiguous = s.Sealed.Ceiling, c.shownOrigin(), c.ambiguous()
	input.Effects = append([]events.Effect{events.EffectIntent}, c.checked.Effects...)
	return input
}

// use gives the policy the capability of a node, and where its arguments are
// from.
func (c *candidate) use(n *events.PlanNode, into *policy.Input) {
	capability, _ := c.agent.Capability(n.Capability)
	into.Capability = policy.Capability{
		Name: n.Capability.Name, Version: n.Capability.Version,
		Effect: capability.Definition.Effect, Confirmation: capability.Definition.Confirmation,
	}
	into.Arguments, into.Sources, into.Unknown = nil, map[string]string{}, nil
	for name := range n.Arguments {
		into.Sources[name] = provenance.Kind(c.sources[n.ID], name)
	}
}

// decideUse lets the policy decide on a use whose arguments are all known. A
// person is asked in any case, so that allow and confirm are the same.
func (c *candidate) decideUse(s State, in decider.Input, e *events.ConfirmationNeeded) *events.Diagnostic {
	n, ok := plan.Find(&c.plan, e.Node)
	content, open := e.Arguments.Content()
	value, err := jsonvalue.Parse(content, jsonvalue.DefaultLimits)
	arguments, object := value.(map[string]any)
	if !ok || !open || err != nil || !object {
		return &events.Diagnostic{Code: events.CodeContentUnavailable, Path: "plan.nodes." + e.Node, Message: "the arguments cannot be read", Action: "check the content keys"}
	}
	input := c.executeInput(s, in)
	c.use(n, &input)
	input.Arguments = arguments
	decision, record := authorize(c.agent, in, events.OperationExecute, &input)
	c.decisions[e.Node] = record
	switch decision.Verdict {
	case events.PolicyAllow, events.PolicyConfirm:
		return nil
	case events.PolicyDeny, events.PolicyClarify:
	}
	why := decision.Diagnostic("plan.nodes." + e.Node)
	return &why
}

// arguments gives the policy the arguments of a node whose values are known
// before the run, and the names of the others: outputs of earlier nodes.
func (c *candidate) arguments(n *events.PlanNode, into *policy.Input) {
	data, static := c.checked.Static[n.ID]
	var err error
	if !static {
		fixed := events.PlanNode{Arguments: maps.Clone(n.Arguments)}
		maps.DeleteFunc(fixed.Arguments, func(_ string, a events.Argument) bool { return a.Output != nil })
		data, err = plan.Resolve(&fixed, c.input, nil)
	}
	if err == nil {
		var value any
		if value, err = jsonvalue.Parse(data, jsonvalue.DefaultLimits); err == nil {
			into.Arguments, _ = value.(map[string]any)
		}
	}
	for name, a := range n.Arguments {
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
func (c *candidate) approver(s State, in decider.Input, e *events.ApprovalDecided, items []events.ApprovalItem) (*events.PolicyDecision, *events.Diagnostic) {
	input := asPrincipal(in.Run, c.agent.Name, e.Principal, e.Roles)
	input.Run = policy.Run{ID: in.Run.Run, Submitter: s.Sealed.Principal.ID}
	for _, item := range items {
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
