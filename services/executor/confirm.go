package executor

import (
	"bytes"

	"example.org/mandate/events"
	"example.org/mandate/internal/provenance"
	"example.org/mandate/internal/registry"
)

// confirmable reports whether the word that a node needs was given, or will be
// asked for at dispatch. Admission decided the same; who acts looks again.
func confirmable(n events.AdmittedNode, definition *registry.Capability) bool {
	if n.Confirmation != "" || n.Confirm == events.ConfirmAtDispatch {
		return true
	}
	switch definition.Definition.Confirmation {
	case events.ConfirmationRequired:
		return false
	case events.ConfirmationExplicit, events.ConfirmationNone:
	}
	return provenance.Accepted(n.Sources)
}

// leaseEnd is until when a node may be started: a person's decision on it
// renews the lease for it.
func (d *draft) leaseEnd(n events.AdmittedNode) events.Time {
	if confirmed, ok := d.state.Confirmed[n.ID]; ok {
		return confirmed.Lease.Expires
	}
	return d.state.Admitted.Lease.Expires
}

// approval returns the approval that a dispatch spends, if it needs one. A
// node whose arguments nobody could see before the run waits for a person now:
// asked is true, and it is not dispatched.
func (d *draft) approval(n events.AdmittedNode, definition *registry.Capability, arguments []byte) (approval string, asked, ok bool) {
	if n.Confirm != events.ConfirmAtDispatch {
		return n.Confirmation, false, true
	}
	if confirmed, have := d.state.Confirmed[n.ID]; have {
		seen, open := confirmed.Arguments.Content()
		if !open || !bytes.Equal(seen, arguments) {
			d.halt(events.HaltChanged, diagnostic(events.CodeApprovalMismatch, "the arguments of "+n.ID+" are not those that were approved", "submit the request again"))
			return "", false, false
		}
		return confirmed.Approval, false, true
	}
	if !d.state.Asked[n.ID] {
		d.emit(&events.ConfirmationNeeded{
			Revision: d.state.Admitted.Revision, Node: n.ID, Capability: n.Capability, Definition: definition.Digest, Effect: n.Effect,
			Arguments: events.NewBody(events.ClassPlan, events.MediaJSON, arguments), Sources: n.Sources, Deadline: d.state.Admitted.Deadline,
		})
	}
	return "", true, true
}

// confirmed takes over a person's approval of a node that waits for it.
func (d *draft) confirmed(e *events.UseApproved) error {
	switch {
	case d.state.Admitted == nil:
		return nonsense(events.CodeRunUnknown, "an approval before a revision")
	case d.state.Over || d.state.Halting != "":
		return nonsense(events.CodeRunConcluded, "an approval after the end")
	case e.Revision != d.state.Admitted.Revision:
		return nonsense(events.CodeConflict, "an approval for another revision")
	case !d.state.Asked[e.Node] || d.state.Confirmed[e.Node] != nil:
		return nonsense(events.CodeInteractionUnknown, "nothing waits for this approval")
	}
	d.emit(&events.ConfirmationReceived{
		Approval: e.Approval, Digest: e.Digest, Revision: e.Revision, Node: e.Node, Arguments: e.Arguments, Lease: e.Lease, Head: d.in.Commit.Head(),
	})
	d.advance()
	return nil
}
