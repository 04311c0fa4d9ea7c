// Package runs is the view of one run for lists and dashboards: who asked,
// how far it is, what waits, what came out, and what it used.
//
// A view is a pure fold of the commits about its run. Commits of one owner are
// applied in their order; how the owners interleave makes no difference, so a
// rebuild gives the same bytes. Nothing private is in it.
package runs

import (
	"maps"
	"slices"
	"strconv"

	"example.org/mandate/events"
)

// Name is the name of the view.
const Name = "runs"

// MaxRows bounds every list of a view; totals say what was left out.
const MaxRows = 64

// View is what is known of one run.
type View struct {
	Tenant string `json:"tenant"`
	Run    string `json:"run"`

	Phase      events.Phase      `json:"phase"`
	Outcome    events.Tag        `json:"outcome,omitzero"`
	Completion events.Completion `json:"completion,omitzero"`

	Agent     string           `json:"agent,omitzero"`
	Principal events.Principal `json:"principal,omitzero"`
	Thread    string           `json:"thread,omitzero"`
	Parent    string           `json:"parent,omitzero"`
	Submitted events.Time      `json:"submitted,omitzero"`
	Concluded events.Time      `json:"concluded,omitzero"`
	Deadline  events.Time      `json:"deadline,omitzero"`
	Revision  int              `json:"revision,omitzero"`
	Epoch     uint64           `json:"epoch,omitzero"`

	Approver *events.Approver `json:"approver,omitzero"`
	Waiting  []Waiting        `json:"waiting,omitzero"`
	Actions  []Action         `json:"actions,omitzero"`
	Bounds   []events.Bound   `json:"bounds,omitzero"`
	Ceiling  events.Limits    `json:"ceiling,omitzero"`
	Consumed events.Limits    `json:"consumed,omitzero"`

	Requirements      []Requirement               `json:"requirements,omitzero"`
	RequirementsTotal int                         `json:"requirements_total"`
	Deliverables      []events.DeliverableVerdict `json:"deliverables,omitzero"`
	Diagnostics       []events.Diagnostic         `json:"diagnostics,omitzero"`
	CompletedEffects  []events.EffectSummary      `json:"completed_effects,omitzero"`
	UncertainEffects  []events.EffectSummary      `json:"uncertain_effects,omitzero"`

	// Document says that the final document was presented.
	Document bool `json:"document"`

	// Positions are the commit numbers that were folded, by owner.
	Positions map[events.Owner]uint64 `json:"positions"`

	Parts Parts `json:"parts"`
}

// Waiting is something that waits for a person.
type Waiting struct {
	Interaction string        `json:"interaction"`
	Kind        string        `json:"kind"`
	Digest      events.Digest `json:"digest,omitzero"`
	Expires     events.Time   `json:"expires"`
	Approvers   []string      `json:"approvers,omitzero"`
	Items       []string      `json:"items,omitzero"` // capability@version of each
}

// Action is how one node of the plan stands.
type Action struct {
	Node       string               `json:"node"`
	Action     string               `json:"action"`
	Capability events.CapabilityRef `json:"capability"`
	Effect     events.Effect        `json:"effect"`
	Attempt    int                  `json:"attempt"`
	Status     string               `json:"status"`
	Receipt    string               `json:"receipt,omitzero"`
	Diagnostic *events.Diagnostic   `json:"diagnostic,omitzero"`
}

// Requirement is the verdict on one requirement.
type Requirement struct {
	ID         string            `json:"id"`
	Importance events.Importance `json:"importance"`
	Verdict    events.Verdict    `json:"verdict"`
	Strength   events.Strength   `json:"strength,omitzero"`
	Method     string            `json:"method"`
	Reason     string            `json:"reason"`
}

// Parts is what each owner said about the phase; the phase follows from all.
type Parts struct {
	Submitted bool         `json:"submitted,omitzero"`
	Admission events.Phase `json:"admission,omitzero"`
	Proposed  bool         `json:"proposed,omitzero"`
	Accepted  bool         `json:"accepted,omitzero"`
}

// Apply returns the view after a commit about its run. A commit that was
// applied before changes nothing.
func Apply(v View, c *events.Commit) View {
	if c.Number <= v.Positions[c.Subject.Owner] {
		return v
	}
	positions := make(map[events.Owner]uint64, len(v.Positions)+1)
	maps.Copy(positions, v.Positions)
	positions[c.Subject.Owner] = c.Number
	v.Positions = positions
	v.Tenant, v.Run = c.Subject.Tenant, c.Subject.Run
	for i := range c.Events {
		v = v.apply(c.Events[i])
	}
	v.Phase = v.phase()
	return v
}

// phase follows from what every owner has said: the furthest of it.
func (v View) phase() events.Phase {
	switch {
	case v.Outcome != "":
		return events.Phase(v.Outcome)
	case v.Parts.Accepted:
		return events.PhaseExecuting
	case v.Parts.Admission == events.PhaseAdmitted:
		return events.PhaseAdmitted
	case v.Parts.Admission == events.PhaseAwaitingApproval, v.Parts.Proposed:
		return events.PhaseAwaitingApproval
	case v.Parts.Admission == events.PhaseSealed:
		return events.PhaseFormalizing
	case v.Parts.Submitted:
		return events.PhaseSealed
	}
	return events.PhaseNew
}

func (v View) apply(e events.Event) View {
	switch p := e.Data.(type) {
	case *events.Submitted:
		v.Parts.Submitted = true
		v.Agent, v.Principal, v.Thread, v.Parent, v.Submitted = p.Agent, p.Principal, p.Thread, p.Parent, e.Time
	case *events.RunSealed:
		v.Parts.Admission = events.PhaseSealed
		v.Ceiling, v.Deadline, v.Epoch = p.Ceiling, p.Deadline, p.Epoch
	case *events.SpecProposed:
		v.Parts.Proposed = true
	case *events.ApprovalRequested:
		if p.Use == "" { // else the run is executing, and goes on with what does not wait
			v.Parts.Admission = events.PhaseAwaitingApproval
		}
		w := Waiting{Interaction: p.Approval, Kind: string(events.InteractionApproval), Digest: p.Digest, Expires: p.Expires, Approvers: p.Approvers}
		for _, item := range p.Items[:min(len(p.Items), MaxRows)] {
			w.Items = append(w.Items, refText(item.Capability))
		}
		v.Waiting = append(slices.Clip(v.Waiting), w)
	case *events.UseApproved:
		v.Waiting = without(v.Waiting, p.Approval)
	case *events.UseDenied:
		v.Waiting = without(v.Waiting, p.Approval)
	case *events.SpecApproved:
		v.Waiting, v.Approver = nil, &p.Approver
	case *events.RevisionAdmitted:
		v.Parts.Admission = events.PhaseAdmitted
		v.Revision, v.Bounds = p.Revision, p.Bounds
	case *events.RunRejected, *events.SpecDenied, *events.PlanRejected, *events.RunCancelled, *events.RunExpired:
		v.Waiting = nil
	case *events.RunConcluded:
		v = v.conclude(e, p)
	case *events.RequirementEvaluated:
		v.RequirementsTotal++
		if len(v.Requirements) < MaxRows {
			x := p.Evaluation
			v.Requirements = append(slices.Clip(v.Requirements), Requirement{
				ID: x.Requirement, Importance: x.Importance, Verdict: x.Verdict, Strength: x.Strength, Method: x.Method, Reason: x.Reason,
			})
		}
	case *events.DocumentPresented:
		v.Document = true
	default:
		v = v.execute(p)
	}
	return v
}

// execute applies what the executor said.
func (v View) execute(p events.Payload) View {
	switch p := p.(type) {
	case *events.RevisionAccepted:
		v.Parts.Accepted = true
	case *events.ActionDispatched:
		a := Action{Node: p.Node, Action: p.Action, Capability: p.Capability, Effect: p.Effect, Attempt: p.Attempt, Status: "dispatched"}
		actions := slices.Clone(v.Actions)
		if i := slices.IndexFunc(actions, func(old Action) bool { return old.Node == p.Node }); i >= 0 {
			actions[i] = a
		} else if len(actions) < MaxRows {
			actions = append(actions, a)
		}
		v.Actions = actions
	case *events.ActionCompleted:
		return v.settle(p.Action, func(a *Action) { a.Status, a.Receipt = string(events.ActionStatusCompleted), p.Receipt })
	case *events.ActionFailed:
		return v.settle(p.Action, func(a *Action) { a.Status, a.Diagnostic = string(events.ActionStatusFailed), &p.Diagnostic })
	case *events.ActionUncertain:
		return v.settle(p.Action, func(a *Action) { a.Status, a.Diagnostic = string(events.ActionStatusUncertain), &p.Diagnostic })
	}
	return v
}

func (v View) settle(action string, change func(*Action)) View {
	v.Actions = slices.Clone(v.Actions)
	for i := range v.Actions {
		if v.Actions[i].Action == action {
			change(&v.Actions[i])
		}
	}
	return v
}

func (v View) conclude(e events.Event, p *events.RunConcluded) View {
	v.Outcome, v.Completion, v.Concluded = p.Tag, p.Completion, e.Time
	v.Deliverables = p.Deliverables
	v.Consumed = p.Receipt.Consumed
	v.CompletedEffects, v.UncertainEffects = p.Receipt.CompletedEffects, p.Receipt.UncertainEffects
	if p.Receipt.Diagnostic != nil {
		v.Diagnostics = []events.Diagnostic{*p.Receipt.Diagnostic}
	}
	return v
}

func refText(ref events.CapabilityRef) string { return ref.Name + "@" + strconv.Itoa(ref.Version) }

func without(list []Waiting, interaction string) []Waiting {
	return slices.DeleteFunc(slices.Clone(list), func(w Waiting) bool { return w.Interaction == interaction })
}
