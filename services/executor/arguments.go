package executor

import (
	"bytes"

	"example.org/mandate/events"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/registry"
)

// arguments resolves the exact arguments, checks them against the schema, and
// against what a person confirmed, byte for byte.
func (d *draft) arguments(n events.AdmittedNode, definition *registry.Capability) ([]byte, bool) {
	if !d.documents() {
		d.err = nonsense(events.CodeContentUnavailable, "the plan cannot be read")
		return nil, false
	}
	node, ok := plan.Find(d.plan, n.ID)
	if !ok || node.Capability != n.Capability {
		d.halt(events.HaltChanged, diagnostic(events.CodeDependencyChanged, "the plan is not the one that was admitted", "submit the request again"))
		return nil, false
	}
	facts := d.facts()
	outputs := map[string]any{}
	for id, r := range facts.Results {
		if r.Known && r.Status == events.ResultComplete {
			outputs[id] = r.Content
		}
	}
	arguments, err := plan.Resolve(node, facts.Input, outputs)
	if err != nil {
		d.mismatch(n.ID, "", "the arguments of "+n.ID+" cannot be resolved")
		return nil, false
	}
	if problems := definition.Input.Validate(arguments); len(problems) > 0 {
		d.mismatch(n.ID, problems[0].Pointer, "the arguments of "+n.ID+" do not follow the schema at "+problems[0].Pointer+" ("+problems[0].Keyword+")")
		return nil, false
	}
	if n.Confirmation != "" || !n.Arguments.IsZero() {
		admitted, ok := n.Arguments.Content()
		if !ok || !bytes.Equal(admitted, arguments) {
			d.halt(events.HaltChanged, diagnostic(events.CodeApprovalMismatch, "the arguments of "+n.ID+" are not those that were admitted", "submit the request again"))
			return nil, false
		}
	}
	return arguments, true
}

// pending lists the questions of types that admission left open for a node.
func (d *draft) pending(node string) (checks []events.PendingCheck) {
	for _, check := range d.state.Admitted.Pending {
		if check.Node == node {
			checks = append(checks, check)
		}
	}
	return checks
}

// mismatch stops because the arguments of a node are not of the types that its
// capability takes. Where admission left that open, it is a check that was not
// met, and no failure of anything that ran.
func (d *draft) mismatch(node, pointer, message string) {
	cause, why := events.HaltFailed, diagnostic(events.CodeArgumentsInvalid, message, "see the plan")
	if len(d.pending(node)) > 0 {
		cause, why = events.HaltPrecheck, diagnostic(events.CodePendingUnmet, message, "bind a value that is certain to fit, or see what the earlier node returned")
	}
	why.Path = "plan.nodes." + node + ".arguments" + pointer
	d.halt(cause, why)
}
