package admission

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/authority"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/provenance"
)

// items lists the uses of capabilities that need a confirmation which the
// request itself does not give.
func (c *candidate) items() (items []events.ApprovalItem, explicit bool) {
	for _, id := range c.checked.Order {
		n, _ := plan.Find(&c.plan, id)
		capability, _ := c.agent.Capability(n.Capability)
		whose := c.wordOf(id)
		explicit = explicit || whose == wordOwn
		if whose != wordPerson {
			continue
		}
		item := events.ApprovalItem{
			Node: id, Capability: n.Capability, Definition: capability.Digest, Effect: n.Effect,
			Arguments: events.NewBody(events.ClassPlan, events.MediaJSON, c.checked.Static[id]), Sources: provenance.AllWords(c.sources[id]),
			Authorization: c.decisions[id],
		}
		items = append(items, item)
	}
	return items, explicit
}

// approve finds who approves the interpretation: a standing policy, the
// submitter's own explicit request, or a person who is asked.
func (c *candidate) approve(s State, in decider.Input) decider.Decision {
	items, explicit := c.items()
	material := c.ambiguous()
	if len(items) == 0 && c.covered(in) && !material {
		approved := &events.SpecApproved{
			Formalization: c.formalization, Spec: c.specBody.Commitment, Approver: events.Approver{Policy: c.agent.PolicyName},
			Way: events.ApprovalStanding, Authorization: c.standing(),
		}
		if explicit {
			approved.Approver = events.Approver{Principal: &s.Sealed.Principal}
			approved.Way, approved.Authorization = events.ApprovalExplicit, s.Sealed.Authorization
		}
		return decider.Decision{Events: []events.Payload{approved, c.admitted(s, in, nil)}}
	}
	reason := "the plan has effects that a person confirms"
	if material {
		reason = "the request can be read in materially different ways"
	}
	expires := min(in.At.Add(time.Duration(c.agent.Policy.ApprovalSeconds)*time.Second), s.Sealed.Deadline)
	requested := &events.ApprovalRequested{
		Approval:      canon.ID("approval", in.Run.Tenant, in.Run.Run, c.formalization),
		Formalization: c.formalization, Revision: 1, Items: items, Reason: reason, Expires: expires,
		Request: s.Sealed.Request, Spec: c.specBody, Plan: c.planBody,
		Approvers: c.agent.Policy.Approvers, Policy: s.Sealed.Policy, Heads: decider.Heads(s.Heads, in.Commit),
		Terms: &events.ApprovalTerms{FourEyes: c.agent.Policy.FourEyes, Origin: c.origin, Sources: c.allWords()},
	}
	requested.Digest = approvalDigest(in.Run, requested)
	return decider.Decision{
		Events: []events.Payload{requested},
		Work:   []decider.Work{decider.SetTimer{Name: TimerApproval, At: expires}},
	}
}

// covered reports whether every effect of the plan is within what the policy
// approves without asking, or waits for the word that it needs: that of the
// principal's own request, or a person's at dispatch. What the policy of now
// does not approve any more is not approved.
func (c *candidate) covered(in decider.Input) bool {
	now := in.Registry.Policy(c.agent.PolicyName)
	standing := func(e events.Effect) bool {
		return slices.Contains(c.agent.Policy.StandingApproval, e) && now != nil && slices.Contains(now.Definition.StandingApproval, e)
	}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		if n.Effect == events.EffectNone || standing(n.Effect) {
			continue
		}
		switch c.wordOf(n.ID) {
		case wordDispatch:
		case wordOwn:
			if n.Effect != events.EffectWrite {
				return false
			}
		case wordNobody, wordPerson:
			return false
		}
	}
	return true
}

// standing is the decision of the policy that no person is needed.
func (c *candidate) standing() *events.PolicyDecision {
	return c.agent.Rules.Record(events.OperationApprove, policy.Decision{Verdict: events.PolicyAllow, Rule: policy.RuleStanding})
}

// approvalDigest binds everything that a person decides on: which capability
// in which version with exactly which arguments, of which revision, under
// which policy.
func approvalDigest(run events.Subject, a *events.ApprovalRequested) events.Digest {
	parts := []string{run.Tenant, run.Run, a.Approval, a.Formalization, strconv.Itoa(a.Revision), string(a.Policy.Digest), string(a.Spec.Commitment), string(a.Plan.Commitment)}
	for _, item := range a.Items {
		arguments, _ := item.Arguments.Content()
		parts = append(parts, item.Node, item.Capability.Name, strconv.Itoa(item.Capability.Version), string(item.Definition), string(arguments))
	}
	return canon.Parts("approval", parts...)
}

func decideApproval(s State, in decider.Input, e *events.ApprovalDecided) (decider.Decision, error) {
	switch {
	case s.Over:
		return decider.Decision{}, nonsense(events.CodeRunConcluded, "an approval after the end")
	case s.Uses[e.Approval] != nil:
		return decideApprovedUse(s, in, e, s.Uses[e.Approval])
	case s.Pending == nil || s.Pending.Approval != e.Approval:
		return decider.Decision{}, nonsense(events.CodeInteractionUnknown, "nothing waits for this approval")
	case e.Digest != s.Pending.Digest:
		return decider.Decision{}, nonsense(events.CodeApprovalMismatch, "the approval is for other content")
	case in.At >= s.Pending.Expires:
		return approvalOverdue(s, in), nil
	}
	c := pending(s)
	c.examine(s, in)
	if c.agent == nil && !authority.Allows(s.Pending.Approvers, e.Principal) {
		return decider.Decision{}, nonsense(events.CodePrincipalDenied, "the policy does not let this principal decide")
	}
	if c.agent == nil {
		d := c.rejected(s, in, events.TagRejected)
		d.Work = []decider.Work{decider.ClearTimer{Name: TimerApproval}}
		return d, nil
	}
	authorization, denied := c.approver(s, in, e, s.Pending.Items)
	if denied != nil {
		return decider.Decision{}, nonsense(denied.Code, denied.Message)
	}
	clear := decider.ClearTimer{Name: TimerApproval}
	if e.Decision != events.DecisionApprove {
		return decider.Decision{Work: []decider.Work{clear}, Events: []events.Payload{&events.SpecDenied{
			Formalization: s.Pending.Formalization, Approval: e.Approval, Principal: &e.Principal, Tag: events.TagRejected,
			Diagnostic: events.Diagnostic{Code: events.CodeApprovalDenied, Message: because("a person denied the approval", e.Reason), Action: "change the request and submit it again"},
			Request:    s.Sealed.Request, Spec: s.Pending.Spec, Consumed: consumed(s, in), Heads: decider.Heads(s.Heads, in.Commit),
		}}}, nil
	}
	c.unconfirmed(s.Pending)
	if len(c.found) > 0 {
		// What was approved is not what would run today.
		d := c.rejected(s, in, events.TagRejected)
		d.Work = []decider.Work{clear}
		return d, nil
	}
	approved := &events.SpecApproved{
		Formalization: c.formalization, Spec: c.specBody.Commitment,
		Approver: events.Approver{Principal: &e.Principal}, Approval: e.Approval, Digest: e.Digest,
		Way: events.ApprovalPerson, Authorization: authorization,
	}
	return decider.Decision{
		Events: []events.Payload{approved, c.admitted(s, in, s.Pending)},
		Work:   []decider.Work{clear},
	}, nil
}

// pending is the candidate that waits for a person.
func pending(s State) *candidate {
	c := &candidate{
		formalization: s.Pending.Formalization, specBody: s.Pending.Spec, planBody: s.Pending.Plan, origin: events.OriginInferred,
	}
	if terms := s.Pending.Terms; terms != nil {
		c.origin = terms.Origin
	}
	return c
}

// unconfirmed refuses a candidate of which the policy wants a use confirmed
// today that the person was not asked about, and will not be at its dispatch.
func (c *candidate) unconfirmed(approval *events.ApprovalRequested) {
	for i := range c.plan.Nodes {
		id := c.plan.Nodes[i].ID
		if c.confirm[id] && c.wordOf(id) != wordDispatch && !slices.ContainsFunc(approval.Items, func(item events.ApprovalItem) bool { return item.Node == id }) {
			c.add(events.CodeConfirmationMissing, fmt.Sprintf("plan.nodes[%d]", i), "the policy wants a person to confirm this use, and nobody was asked", "submit the request again")
		}
	}
}
