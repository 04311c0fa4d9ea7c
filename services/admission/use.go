package admission

import (
	"strings"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/authority"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/provenance"
)

// timerUse begins the names of the wake-ups for uses that nobody decided on.
const timerUse = "use-"

// askUse asks a person about one node of the admitted revision, whose arguments
// are known only now.
func askUse(s State, in decider.Input, e *events.ConfirmationNeeded) (decider.Decision, error) {
	switch {
	case s.Admitted == nil:
		return decider.Decision{}, nonsense(events.CodeRunUnknown, "a use without a revision")
	case s.Over:
		return decider.Decision{}, nonsense(events.CodeRunConcluded, "a use after the end")
	case e.Revision != s.Admitted.Revision:
		return decider.Decision{}, nonsense(events.CodeConflict, "a use of another revision")
	case s.Asked[e.Node]:
		return decider.Decision{}, nonsense(events.CodeConflict, "a person was asked about this use")
	}
	c := admittedCandidate(s)
	c.examine(s, in)
	if why := c.unusable(s, in, e); why != nil {
		return decider.Decision{Events: []events.Payload{&events.UseDenied{
			Approval: useID(s, in, e.Node), Revision: e.Revision, Node: e.Node, Diagnostic: *why,
		}}}, nil
	}
	expires := min(in.At.Add(time.Duration(c.agent.Policy.ApprovalSeconds)*time.Second), s.Sealed.Deadline)
	requested := &events.ApprovalRequested{
		Approval: useID(s, in, e.Node), Formalization: s.Admitted.Formalization, Revision: e.Revision,
		Items: []events.ApprovalItem{{
			Node: e.Node, Capability: e.Capability, Definition: e.Definition, Effect: e.Effect, Arguments: e.Arguments,
			Sources: provenance.AllWords(c.sources[e.Node]), Authorization: c.decisions[e.Node],
		}},
		Reason:  "the arguments come from what the run found, and a person confirms them",
		Expires: expires, Request: s.Sealed.Request, Spec: s.Admitted.Spec, Plan: s.Admitted.Plan,
		Approvers: c.agent.Policy.Approvers, Policy: s.Sealed.Policy, Heads: decider.Heads(s.Heads, in.Commit),
		Terms: &events.ApprovalTerms{FourEyes: c.agent.Policy.FourEyes, Origin: c.origin, Sources: c.allWords()},
		Use:   e.Node,
	}
	requested.Digest = approvalDigest(in.Run, requested)
	return decider.Decision{
		Events: []events.Payload{requested},
		Work:   []decider.Work{decider.SetTimer{Name: timerUse + e.Node, At: expires}},
	}, nil
}

func useID(s State, in decider.Input, node string) string {
	return canon.ID("approval", in.Run.Tenant, in.Run.Run, s.Admitted.Formalization, "use", node)
}

// admittedCandidate is the candidate that the admitted revision was.
func admittedCandidate(s State) *candidate {
	return &candidate{
		formalization: s.Admitted.Formalization, specBody: s.Admitted.Spec, planBody: s.Admitted.Plan, origin: events.OriginInferred,
	}
}

// unusable says why a use cannot be asked about or approved: what waits is not
// what was admitted, or would not be admitted today. The arguments are those
// that the person will see, so the policy decides on them.
func (c *candidate) unusable(s State, in decider.Input, e *events.ConfirmationNeeded) *events.Diagnostic {
	if len(c.found) > 0 {
		return &c.found[0]
	}
	for _, n := range s.Admitted.Nodes {
		if n.ID != e.Node {
			continue
		}
		if n.Confirm == events.ConfirmAtDispatch && n.Capability == e.Capability && n.Definition == e.Definition && n.Effect == e.Effect {
			return c.decideUse(s, in, e)
		}
	}
	return &events.Diagnostic{
		Code: events.CodeDependencyChanged, Path: "plan.nodes." + e.Node, Message: "what waits for a person is not what was admitted", Action: "report this",
	}
}

// because adds the reason that a person gave, for whoever asked.
func because(message, reason string) string {
	if reason == "" {
		return message
	}
	return message + ": " + reason
}

// decideApprovedUse takes a person's decision on a use.
func decideApprovedUse(s State, in decider.Input, e *events.ApprovalDecided, asked *events.ApprovalRequested) (decider.Decision, error) {
	switch {
	case e.Digest != asked.Digest:
		return decider.Decision{}, nonsense(events.CodeApprovalMismatch, "the approval is for other content")
	case in.At >= asked.Expires:
		return useOverdue(asked), nil
	}
	c := admittedCandidate(s)
	c.examine(s, in)
	if c.agent == nil && !authority.Allows(asked.Approvers, e.Principal) {
		return decider.Decision{}, nonsense(events.CodePrincipalDenied, "the policy does not let this principal decide")
	}
	var authorization *events.PolicyDecision
	if c.agent != nil {
		var denied *events.Diagnostic
		if authorization, denied = c.approver(s, in, e, asked.Items); denied != nil {
			return decider.Decision{}, nonsense(denied.Code, denied.Message)
		}
	}
	item := asked.Items[0]
	denied := func(by *events.Principal, why events.Diagnostic) (decider.Decision, error) {
		return decider.Decision{
			Events: []events.Payload{&events.UseDenied{Approval: asked.Approval, Revision: asked.Revision, Node: asked.Use, Principal: by, Diagnostic: why}},
			Work:   []decider.Work{decider.ClearTimer{Name: timerUse + asked.Use}},
		}, nil
	}
	if e.Decision != events.DecisionApprove {
		return denied(&e.Principal, events.Diagnostic{
			Code: events.CodeApprovalDenied, Message: because("a person denied the use of "+item.Capability.Name, e.Reason), Action: "change the request and submit it again",
		})
	}
	waits := &events.ConfirmationNeeded{
		Revision: asked.Revision, Node: asked.Use, Capability: item.Capability, Definition: item.Definition, Effect: item.Effect, Arguments: item.Arguments,
	}
	if why := c.unusable(s, in, waits); why != nil {
		return denied(nil, *why) // what was approved is not what would run today
	}
	lease := s.Admitted.Lease
	lease.Expires = min(in.At.Add(time.Duration(c.agent.Policy.LeaseSeconds)*time.Second), s.Sealed.Deadline)
	return decider.Decision{
		Events: []events.Payload{&events.UseApproved{
			Approval: asked.Approval, Digest: asked.Digest, Revision: asked.Revision, Node: asked.Use, Arguments: item.Arguments,
			Principal: e.Principal, Lease: lease, Authorization: authorization,
		}},
		Work: []decider.Work{decider.ClearTimer{Name: timerUse + asked.Use}},
	}, nil
}

// useFired is the wake-up for a use. Silence is never an approval.
func useFired(s State, in decider.Input) decider.Decision {
	node, _ := strings.CutPrefix(in.Timer, timerUse)
	for _, asked := range s.Uses {
		if asked.Use != node || s.Over {
			continue
		}
		if in.At < asked.Expires {
			return decider.Decision{Work: []decider.Work{decider.SetTimer{Name: in.Timer, At: asked.Expires}}}
		}
		return useOverdue(asked)
	}
	return decider.Decision{}
}

func useOverdue(asked *events.ApprovalRequested) decider.Decision {
	return decider.Decision{Events: []events.Payload{&events.UseDenied{
		Approval: asked.Approval, Revision: asked.Revision, Node: asked.Use, Diagnostic: events.Diagnostic{
			Code: events.CodeApprovalExpired, Message: "nobody decided on the approval in time", Action: "submit the request again and decide before it expires",
		},
	}}}
}
