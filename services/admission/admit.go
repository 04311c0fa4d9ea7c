package admission

import (
	"cmp"
	"fmt"
	"slices"
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
	sources       map[string][]events.ArgumentSource // by node
	spec          events.OutcomeSpec
	plan          events.Plan
	request       events.IntentRequest
	agent         *registry.Agent
	input         any
	checked       plan.Checked
	kept          []events.Bound
	found         []events.Diagnostic
	// decisions are those of the policy by node; confirm are the nodes that it
	// wants a person for. refused is the decision that refused the candidate,
	// and unclear says that it only wants the request to say more.
	decisions map[string]*events.PolicyDecision
	confirm   map[string]bool
	refused   *events.PolicyDecision
	unclear   bool
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
		return c.rejected(s, in, c.tag()), nil
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
		origin: proposed.Origin,
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
	if c.originate(); len(c.found) > 0 {
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
	c.input = input
	checked, found := plan.Check(&c.plan, c.against(s, in))
	c.checked = checked
	c.found = append(c.found, found...)
	nodes := make([]string, 0, len(c.plan.Nodes))
	for i := range c.plan.Nodes {
		nodes = append(nodes, c.plan.Nodes[i].ID)
	}
	c.found = append(c.found, outcome.Check(&c.spec, nodes)...)
	if c.trace(); len(c.found) == 0 {
		c.recordable()
	}
	if len(c.found) == 0 {
		c.authorizeNodes(s, in)
	}
	if len(c.found) == 0 {
		c.contract(s, in)
	}
}

// against is what the plan is checked against.
func (c *candidate) against(s State, in decider.Input) plan.Against {
	return plan.Against{
		Agent: c.agent, View: in.Registry, Bound: s.Sealed.EffectBound, Operations: c.agent.Rules.MayExecute(capabilityNames(c.agent)), Input: c.input,
	}
}

func capabilityNames(agent *registry.Agent) []string {
	names := make([]string, len(agent.Definition.Capabilities))
	for i, ref := range agent.Definition.Capabilities {
		names[i] = ref.Name
	}
	return names
}

// tag is how a run ends whose candidate is refused: one that only has to be
// clearer is not resolved, and one of a kind that nothing can check is not
// supported.
func (c *candidate) tag() events.Tag {
	switch {
	case slices.ContainsFunc(c.found, func(d events.Diagnostic) bool { return d.Code == events.CodeCandidateKind }):
		return events.TagUnsupported
	case c.unclear && len(c.found) > 0:
		return events.TagUnresolved
	}
	return events.TagRejected
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
func (c *candidate) contract(s State, in decider.Input) {
	if n, most := int64(len(c.plan.Nodes)), s.Sealed.Allotments[events.OwnerExecutor].Actions; n > most {
		c.add(events.CodeBudgetExceeded, "plan.nodes", fmt.Sprintf("%d actions are needed and %d allowed", n, most), "allow more actions or make the plan smaller")
	}
	c.kept = c.bounds(s)
	for _, name := range authority.Unkept(c.kept) {
		c.add(events.CodeBoundUnenforced, cmp.Or(authority.Sources()[name], "bounds."+name), "no part of this deployment keeps this limit", "submit a request that needs no model")
	}
	c.found = append(c.found, plan.Contract(&c.spec, &c.plan, c.against(s, in))...)
}

// bounds are the bounds of the revision that the candidate would become. A
// candidate that waited for a person was checked for bounds that nothing keeps
// before the person was asked.
func (c *candidate) bounds(s State) []events.Bound {
	r := authority.Revision{
		Ceiling: s.Sealed.Ceiling, Effects: c.checked.Effects, Policy: c.agent.Policy, Nodes: len(c.plan.Nodes),
		Requirements: len(c.spec.Requirements), Routes: len(s.Sealed.Routes), UsesModel: c.origin != events.OriginExplicit && modelAllowed(s.Sealed.Ceiling),
	}
	for i := range c.plan.Nodes {
		if capability, ok := c.agent.Capability(c.plan.Nodes[i].Capability); ok {
			r.TimeoutMillis = max(r.TimeoutMillis, capability.Definition.TimeoutMillis)
			r.OutputBytes = max(r.OutputBytes, capability.Definition.OutputBytes)
		}
	}
	return authority.Bounds(r)
}

// modelAllowed reports whether a run may call a model at all. With nothing to
// spend the first call is refused.
func modelAllowed(l events.Limits) bool {
	return l.InputTokens > 0 || l.OutputTokens > 0 || l.CostMicros > 0
}

func (c *candidate) rejected(s State, in decider.Input, tag events.Tag) decider.Decision {
	shown := c.found[:min(len(c.found), maxDiagnostics)]
	used := consumed(s, in)
	used.Attempts++
	return decider.Decision{Events: []events.Payload{&events.PlanRejected{
		Formalization: c.formalization, Plan: c.planBody.Commitment, Attempt: s.Attempts + 1,
		Diagnostics: shown, Omitted: len(c.found) - len(shown), Final: true, Tag: tag,
		Request: s.Sealed.Request, Spec: c.specBody, Consumed: used, Heads: decider.Heads(s.Heads, in.Commit),
		Authorization: c.refused,
	}}}
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
		Bounds: c.kept,
		Budget: s.Sealed.Allotments[events.OwnerExecutor], Checks: s.Sealed.Allotments[events.OwnerEvaluator],
		Consumed: used, Lease: lease, Deadline: s.Sealed.Deadline, SealedAt: s.Sealed.SealedAt,
		Thread: s.Sealed.Thread, Heads: decider.Heads(s.Heads, in.Commit),
		Decision: events.DecisionRecord{
			Inputs: []string{string(c.specBody.Commitment), string(c.planBody.Commitment)}, Selected: c.formalization,
			Algorithm: "admission.plan@2", Disposition: "admitted",
		},
		Pending: c.checked.Pending,
	}
}

func (c *candidate) admittedNodes(approval *events.ApprovalRequested) []events.AdmittedNode {
	nodes := make([]events.AdmittedNode, 0, len(c.checked.Order))
	for _, id := range c.checked.Order {
		n, _ := plan.Find(&c.plan, id)
		capability, _ := c.agent.Capability(n.Capability)
		admitted := events.AdmittedNode{
			ID: id, Capability: n.Capability, Definition: capability.Digest, Effect: n.Effect,
			After: c.checked.After[id], Level: c.checked.Level[id],
			Authorization: c.decisions[id], Sources: c.sources[id],
		}
		if data, static := c.checked.Static[id]; static && slices.ContainsFunc(c.sources[id], func(s events.ArgumentSource) bool { return s.Authority }) {
			admitted.Arguments = events.NewBody(events.ClassPlan, events.MediaJSON, data)
		}
		if c.wordOf(id) == wordDispatch {
			admitted.Confirm = events.ConfirmAtDispatch
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
