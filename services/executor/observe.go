package executor

import (
	"strconv"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/evidence"
	"example.org/mandate/internal/registry"
)

// observe records the outcome of an action, once.
func (d *draft) observe() {
	var action *Action
	for node := range d.state.Actions {
		if a := d.state.Actions[node]; a.ID == d.in.Work {
			action = &a
		}
	}
	if action == nil || action.Settled || d.state.Over {
		return // late or twice: it settles nothing
	}
	agent, ok := d.in.Registry.Compiled(d.state.Admitted.Agent.Digest)
	if !ok {
		d.err = nonsense(events.CodeDependencyChanged, "the agent of the run is not in the registry")
		return
	}
	definition, ok := agent.Capability(action.Capability)
	if !ok {
		d.err = nonsense(events.CodeCapabilityUnknown, "the capability of an action is not in the agent")
		return
	}
	switch d.in.Outcome.Status {
	case capability.StatusCompleted:
		d.completed(*action, definition)
	case capability.StatusUncertain, capability.StatusFailed:
		// Only a write has an effect that can be unknown.
		if action.Effect == events.EffectWrite && (d.in.Outcome.Status == capability.StatusUncertain || !d.in.Outcome.NotApplied) {
			d.uncertain(*action)
		} else {
			d.failed(*action, string(capability.StatusFailed))
		}
	case capability.StatusNeedsInput, capability.StatusNeedsDependency, capability.StatusNeedsConfirmation:
		d.failed(*action, string(d.in.Outcome.Status))
	default:
		// Outside the closed set: nothing it says can be relied on.
		if action.Effect == events.EffectWrite {
			d.uncertain(*action)
		} else {
			d.failed(*action, string(capability.StatusFailed))
		}
	}
	d.advance()
}

func (d *draft) uncertain(a Action) {
	o := d.in.Outcome
	diagnostic := events.Diagnostic{Code: o.Code, Message: o.Message, Action: "find out at the target whether it happened; it is not repeated"}
	if o.Code == 0 {
		diagnostic.Code, diagnostic.Message = events.CodeActionUncertain, "nobody knows whether the effect took place"
	}
	d.emit(&events.ActionUncertain{Action: a.ID, Node: a.Node, Diagnostic: diagnostic})
}

func (d *draft) failed(a Action, status string) {
	o := d.in.Outcome
	diagnostic := events.Diagnostic{Code: o.Code, Message: o.Message, Action: "see the capability's provider"}
	if o.Code == 0 {
		diagnostic.Code, diagnostic.Message = events.CodeActionFailed, "the action failed without an effect"
	}
	d.emit(&events.ActionFailed{Action: a.ID, Node: a.Node, Status: status, Diagnostic: diagnostic, Started: o.Started, Finished: o.Finished})
}

// completed records the receipt, the evidence and the result. A result that
// breaks its schema or the budget is kept out, not the receipt: the effect
// took place.
func (d *draft) completed(a Action, definition *registry.Capability) {
	o := d.in.Outcome
	d.emit(&events.ActionCompleted{Action: a.ID, Node: a.Node, Receipt: o.Receipt, Started: o.Started, Finished: o.Finished})
	var seenIDs []string
	for i, seen := range o.Evidence {
		record := events.EvidenceRecord{
			ID: canon.ID("evidence", a.ID, strconv.Itoa(i)), Run: d.in.Run.Run, Action: a.ID, Node: a.Node,
			Kind: seen.Kind, Method: seen.Method, Producer: a.Capability, Strength: evidence.StrengthOf(seen.Method), Scope: d.in.Run.Run,
			Observed: seen.Observed, SourceModified: seen.SourceModified, Published: seen.Published, Subject: seen.Subject,
		}
		if len(seen.Content) > 0 {
			record.Content = events.NewBody(events.ClassResult, seen.MediaType, seen.Content)
		}
		seenIDs = append(seenIDs, record.ID)
		d.emit(&events.EvidenceRecorded{Evidence: record})
	}
	result := events.ResultRecord{
		ID: canon.ID("result", a.ID), Run: d.in.Run.Run, Node: a.Node, Action: a.ID, Producer: a.Capability,
		Type: definition.Definition.ResultType, SchemaVersion: 1, Status: events.ResultComplete, Evidence: seenIDs,
	}
	left := d.state.Admitted.Budget.ArtifactBytes - d.state.ArtifactBytes
	if size := int64(len(o.Value) + len(o.Raw)); size > left {
		result.Status = events.ResultUnavailable
		d.emit(&events.ResultRecorded{Result: result})
		d.halt(events.HaltBudget, events.Diagnostic{
			Code: events.CodeBudgetExhausted, Path: "limits.artifact_bytes", Message: "the results are larger than the run may keep",
			Action: "allow more artifact_bytes",
		})
		return
	}
	result.Value = events.NewBody(events.ClassResult, events.MediaJSON, o.Value)
	if len(o.Raw) > 0 {
		result.Raw = events.NewBody(events.ClassResult, o.MediaType, o.Raw)
	}
	problems := definition.Output.Validate(o.Value)
	result.Valid = len(problems) == 0
	if !result.Valid {
		result.Status = events.ResultFailed
	}
	d.emit(&events.ResultRecorded{Result: result})
	if !result.Valid {
		d.halt(events.HaltFailed, events.Diagnostic{
			Code: events.CodeOutputInvalid, Path: "result" + problems[0].Pointer,
			Message: "the output does not follow the capability's schema (" + problems[0].Keyword + ")",
			Action:  "correct the capability",
		})
	}
}
