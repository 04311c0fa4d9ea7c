package admission

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/authority"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/outcome"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/registry"
)

// candidate is a proposal with everything that follows from checking it.
type candidate struct {
	formalization string
	specBody      events.Body
	planBody      events.Body
	origin        events.Origin
	sources       map[string]string
	spec          events.OutcomeSpec
	plan          events.Plan
	request       events.IntentRequest
	agent         *registry.Agent
	checked       plan.Checked
	found         []events.Diagnostic
}

// propose takes a proposal of the interpreter up.
func propose(s State, in decider.Input, spec *events.SpecProposed) (decider.Decision, error) {
	switch {
	case s.Sealed == nil:
		return decider.Decision{}, nonsense(events.CodeRunUnknown, "a proposal before sealing")
	case s.Over || s.Pending != nil || s.Admitted != nil:
		return decider.Decision{}, nonsense(events.CodeRunConcluded, "a proposal that nothing waits for")
	case spec.Request != s.Sealed.Request.Commitment:
		return decider.Decision{}, nonsense(events.CodeDigestMismatch, "a proposal for another request")
	}
	proposed := planOf(in.Commit)
	if proposed == nil || proposed.Formalization != spec.Formalization {
		return decider.Decision{}, nonsense(events.CodePlanInvalid, "a specification without its plan")
	}
	if in.At >= s.Sealed.Deadline {
		return expire(s, in, spec.Spec), nil
	}
	c := check(s, in, spec, proposed)
	if tag, diagnostic, exhausted := countAttempt(s); exhausted {
		c.found = []events.Diagnostic{diagnostic}
		return c.rejected(s, in, tag), nil
	}
	if len(c.found) > 0 {
		return c.rejected(s, in, events.TagRejected), nil
	}
	return c.approve(s, in), nil
}

func planOf(c *events.Commit) *events.PlanProposed {
	for i := range c.Events {
		if p, ok := c.Events[i].Data.(*events.PlanProposed); ok {
			return p
		}
	}
	return nil
}

// countAttempt refuses a candidate beyond the limits of attempts and
// revisions: with limit zero, the first.
func countAttempt(s State) (events.Tag, events.Diagnostic, bool) {
	for _, limit := range []struct {
		name string
		left int64
	}{
		{"attempts", s.Sealed.Ceiling.Attempts - int64(s.Attempts)},
		{"revisions", s.Sealed.Ceiling.Revisions},
	} {
		if limit.left < 1 {
			return events.TagUnresolved, events.Diagnostic{
				Code: events.CodeBudgetExhausted, Path: "limits." + limit.name,
				Message: "no " + limit.name + " are left for a candidate", Action: "allow more " + limit.name,
			}, true
		}
	}
	return "", events.Diagnostic{}, false
}

// check reads and checks a proposal completely; problems are in found.
func check(s State, in decider.Input, spec *events.SpecProposed, proposed *events.PlanProposed) *candidate {
	c := &candidate{
		formalization: spec.Formalization, specBody: spec.Spec, planBody: proposed.Plan,
		origin: proposed.Origin, sources: proposed.Sources,
	}
	c.examine(s, in)
	return c
}

// examine fills in what follows from the bodies. It is used again when a
// person approved, against the registry of that moment.
func (c *candidate) examine(s State, in decider.Input) {
	c.read(s.Sealed.Request, &c.request, "request")
	c.read(c.specBody, &c.spec, "outcome")
	c.read(c.planBody, &c.plan, "plan")
	if len(c.found) > 0 {
		return
	}
	agent, ok := in.Registry.Compiled(s.Sealed.Agent.Digest)
	if !ok {
		c.add(events.CodeDependencyChanged, "intent.agent", "the agent that the run is pinned to is not in the registry", "submit the request again")
		return
	}
	c.agent = agent
	input, err := jsonvalue.Parse(c.request.Input.Value, jsonvalue.DefaultLimits)
	if err != nil {
		c.add(events.CodeInputInvalid, "input.value", "the input cannot be read", "correct the input")
		return
	}
	checked, found := plan.Check(&c.plan, plan.Against{
		Agent: agent, View: in.Registry, Bound: s.Sealed.EffectBound, Operations: agent.Policy.Operations, Input: input,
	})
	c.checked = checked
	c.found = append(c.found, found...)
	nodes := make([]string, 0, len(c.plan.Nodes))
	for i := range c.plan.Nodes {
		nodes = append(nodes, c.plan.Nodes[i].ID)
	}
	c.found = append(c.found, outcome.Check(&c.spec, nodes)...)
	if len(c.found) == 0 {
		c.contract(s)
	}
}

func (c *candidate) add(code events.Code, path, message, action string) {
	c.found = append(c.found, events.Diagnostic{Code: code, Path: path, Message: message, Action: action})
}

func (c *candidate) read(b events.Body, into any, path string) {
	content, ok := b.Content()
	if !ok {
		c.add(events.CodeContentUnavailable, path, "the content cannot be read", "submit the request again")
		return
	}
	if err := jsonvalue.Scan(content, jsonvalue.DefaultLimits); err != nil {
		c.add(events.CodePlanInvalid, path, err.Error(), "correct the document")
		return
	}
	if err := json.Unmarshal(content, into, json.RejectUnknownMembers(true)); err != nil {
		c.add(events.CodePlanInvalid, path, err.Error(), "correct the field")
	}
}

// contract checks the composed plan against the specification, not only each
// node by itself (C3-RUN-003.x, C3-RUN-002.y2 to y5).
func (c *candidate) contract(s State) {
	if n, most := int64(len(c.plan.Nodes)), s.Sealed.Allotments[events.OwnerExecutor].Actions; n > most {
		c.add(events.CodeBudgetExceeded, "plan.nodes", fmt.Sprintf("%d actions are needed and %d allowed", n, most), "allow more actions or make the plan smaller")
	}
	for _, name := range authority.Unkept(c.bounds(s)) {
		c.add(events.CodeBoundUnenforced, "limits."+name, "no part of this deployment keeps this limit", "submit a request that needs no model")
	}
	for i, d := range c.spec.Deliverables {
		node, _ := plan.Find(&c.plan, d.Result)
		capability, _ := c.agent.Capability(node.Capability)
		if d.Type != "" && d.Type != capability.Definition.ResultType {
			c.add(events.CodePlanCoverage, fmt.Sprintf("outcome.deliverables[%d].type", i), "the node produces "+capability.Definition.ResultType, "name a node that produces the type")
		}
	}
	for i, r := range c.spec.Requirements {
		for _, gated := range r.Before {
			for _, node := range subjects(r.Predicate) {
				if !c.precedes(node, gated) {
					c.add(events.CodePlanCoverage, fmt.Sprintf("outcome.requirements[%d].before", i), node+" does not certainly end before "+gated, "add "+node+" to the after of "+gated)
				}
			}
		}
	}
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		capability, _ := c.agent.Capability(n.Capability)
		if _, static := c.checked.Static[n.ID]; !static && capability.Definition.Confirmation != events.ConfirmationNone {
			c.add(events.CodeConfirmationUnbound, fmt.Sprintf("plan.nodes[%d].arguments", i), "a confirmation needs exact arguments, and one comes from another node's output", "use literals or request inputs")
		}
	}
}

// bounds are the bounds of the revision that the candidate would become. A
// candidate that waited for a person was checked for bounds that nothing keeps
// before the person was asked.
func (c *candidate) bounds(s State) []events.Bound {
	usesModel := c.origin != "" && c.origin != events.OriginExplicit
	return authority.Bounds(s.Sealed.Ceiling, c.checked.Effects, c.agent.Policy.LeaseSeconds*1000, len(c.agent.Policy.Operations), usesModel)
}

// subjects lists the nodes that a predicate looks at.
func subjects(p events.Predicate) []string {
	switch {
	case p.Field != nil:
		return []string{p.Field.Result}
	case p.Contains != nil:
		return []string{p.Contains.Result}
	case p.Newer != nil:
		return []string{p.Newer.Left.Result, p.Newer.Right.Result}
	case p.Producer != nil:
		return []string{p.Producer.Result}
	case p.Exists != nil:
		return []string{p.Exists.Result}
	case p.Unit != nil:
		return []string{p.Unit.Result}
	}
	return nil
}

func (c *candidate) precedes(node, gated string) bool {
	n, ok := plan.Find(&c.plan, gated)
	return ok && slices.ContainsFunc(n.After, func(after string) bool { return after == node || c.precedes(node, after) })
}

func (c *candidate) rejected(s State, in decider.Input, tag events.Tag) decider.Decision {
	shown := c.found[:min(len(c.found), maxDiagnostics)]
	used := consumed(s, in)
	used.Attempts++
	return decider.Decision{Events: []events.Payload{&events.PlanRejected{
		Formalization: c.formalization, Plan: c.planBody.Commitment, Attempt: s.Attempts + 1,
		Diagnostics: shown, Omitted: len(c.found) - len(shown), Final: true, Tag: tag,
		Request: s.Sealed.Request, Spec: c.specBody, Consumed: used, Heads: decider.Heads(s.Heads, in.Commit),
	}}}
}

// items lists the uses of capabilities that need a confirmation which the
// request itself does not give.
func (c *candidate) items() (items []events.ApprovalItem, explicit bool) {
	for _, id := range c.checked.Order {
		n, _ := plan.Find(&c.plan, id)
		capability, _ := c.agent.Capability(n.Capability)
		mode := capability.Definition.Confirmation
		if mode == events.ConfirmationNone {
			continue
		}
		if mode == events.ConfirmationExplicit && c.origin == events.OriginExplicit {
			explicit = true
			continue
		}
		item := events.ApprovalItem{
			Node: id, Capability: n.Capability, Definition: capability.Digest, Effect: n.Effect,
			Arguments: events.NewBody(events.ClassPlan, events.MediaJSON, c.checked.Static[id]), Sources: map[string]string{},
		}
		for name := range n.Arguments {
			item.Sources[name] = c.sources[id+"."+name]
		}
		items = append(items, item)
	}
	return items, explicit
}

// approve finds who approves the interpretation: a standing policy, the
// submitter's own explicit request, or a person who is asked.
func (c *candidate) approve(s State, in decider.Input) decider.Decision {
	items, explicit := c.items()
	material := slices.ContainsFunc(c.spec.Alternatives, func(a events.Alternative) bool { return a.Material })
	var uncovered []events.Effect
	for _, e := range c.checked.Effects {
		if e != events.EffectNone && !slices.Contains(c.agent.Policy.StandingApproval, e) && (e != events.EffectWrite || !explicit) {
			uncovered = append(uncovered, e)
		}
	}
	if len(items) == 0 && len(uncovered) == 0 && !material {
		approver := events.Approver{Policy: c.agent.PolicyName}
		if explicit {
			approver = events.Approver{Principal: &s.Sealed.Principal}
		}
		approved := &events.SpecApproved{Formalization: c.formalization, Spec: c.specBody.Commitment, Approver: approver}
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
	}
	requested.Digest = approvalDigest(in.Run, requested)
	return decider.Decision{
		Events: []events.Payload{requested},
		Work:   []decider.Work{decider.SetTimer{Name: TimerApproval, At: expires}},
	}
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
	case s.Pending == nil || s.Pending.Approval != e.Approval:
		return decider.Decision{}, nonsense(events.CodeInteractionUnknown, "nothing waits for this approval")
	case e.Digest != s.Pending.Digest:
		return decider.Decision{}, nonsense(events.CodeApprovalMismatch, "the approval is for other content")
	case !authority.Allows(s.Pending.Approvers, e.Principal):
		return decider.Decision{}, nonsense(events.CodePrincipalDenied, "the policy does not let this principal decide")
	case in.At >= s.Pending.Expires:
		return approvalOverdue(s, in), nil
	}
	clear := decider.ClearTimer{Name: TimerApproval}
	if e.Decision != events.DecisionApprove {
		return decider.Decision{Work: []decider.Work{clear}, Events: []events.Payload{&events.SpecDenied{
			Formalization: s.Pending.Formalization, Approval: e.Approval, Principal: &e.Principal, Tag: events.TagRejected,
			Diagnostic: events.Diagnostic{Code: events.CodeApprovalDenied, Message: "a person denied the approval", Action: "change the request and submit it again"},
			Request:    s.Sealed.Request, Spec: s.Pending.Spec, Consumed: consumed(s, in), Heads: decider.Heads(s.Heads, in.Commit),
		}}}, nil
	}
	c := &candidate{formalization: s.Pending.Formalization, specBody: s.Pending.Spec, planBody: s.Pending.Plan}
	c.examine(s, in)
	if len(c.found) > 0 {
		// What was approved is not what would run today.
		d := c.rejected(s, in, events.TagRejected)
		d.Work = []decider.Work{clear}
		return d, nil
	}
	approved := &events.SpecApproved{
		Formalization: c.formalization, Spec: c.specBody.Commitment,
		Approver: events.Approver{Principal: &e.Principal}, Approval: e.Approval, Digest: e.Digest,
	}
	return decider.Decision{
		Events: []events.Payload{approved, c.admitted(s, in, s.Pending)},
		Work:   []decider.Work{clear},
	}, nil
}

// admitted is the revision that may run.
func (c *candidate) admitted(s State, in decider.Input, approval *events.ApprovalRequested) *events.RevisionAdmitted {
	lease := events.Lease{
		ID:      canon.ID("lease", in.Run.Tenant, in.Run.Run, c.formalization),
		Expires: min(in.At.Add(time.Duration(c.agent.Policy.LeaseSeconds)*time.Second), s.Sealed.Deadline),
		Epoch:   in.Registry.Epoch,
	}
	used := consumed(s, in)
	used.Attempts++
	used.Revisions = 1
	return &events.RevisionAdmitted{
		Revision: 1, ID: canon.ID("revision", in.Run.Tenant, in.Run.Run, c.formalization),
		Formalization: c.formalization, SpecRevision: c.spec.Revision,
		Request: s.Sealed.Request, Spec: c.specBody, Plan: c.planBody,
		Agent: s.Sealed.Agent, Policy: s.Sealed.Policy, Principal: s.Sealed.Principal,
		Nodes: c.admittedNodes(approval), Effects: c.checked.Effects,
		Bounds: c.bounds(s),
		Budget: s.Sealed.Allotments[events.OwnerExecutor], Checks: s.Sealed.Allotments[events.OwnerEvaluator],
		Consumed: used, Lease: lease, Deadline: s.Sealed.Deadline, SealedAt: s.Sealed.SealedAt,
		Thread: s.Sealed.Thread, Heads: decider.Heads(s.Heads, in.Commit),
		Decision: events.DecisionRecord{
			Inputs: []string{string(c.specBody.Commitment), string(c.planBody.Commitment)}, Selected: c.formalization,
			Algorithm: "admission.plan@1", Disposition: "admitted",
		},
	}
}

func (c *candidate) admittedNodes(approval *events.ApprovalRequested) []events.AdmittedNode {
	nodes := make([]events.AdmittedNode, 0, len(c.checked.Order))
	for _, id := range c.checked.Order {
		n, _ := plan.Find(&c.plan, id)
		capability, _ := c.agent.Capability(n.Capability)
		admitted := events.AdmittedNode{
			ID: id, Capability: n.Capability, Definition: capability.Digest, Effect: n.Effect,
			After: slices.Sorted(slices.Values(n.After)), Level: c.checked.Level[id],
		}
		for _, r := range c.spec.Requirements {
			if slices.Contains(r.Before, id) {
				admitted.Prechecks = append(admitted.Prechecks, r.ID)
			}
		}
		if approval != nil {
			for _, item := range approval.Items {
				if item.Node == id {
					admitted.Confirmation, admitted.Arguments = approval.Approval, item.Arguments
				}
			}
		}
		nodes = append(nodes, admitted)
	}
	return nodes
}
