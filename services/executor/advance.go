package executor

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/outcome"
	"example.org/mandate/internal/registry"
)

// advance dispatches what is next, or ends execution when nothing is in
// flight and nothing may or needs to follow.
func (d *draft) advance() {
	if d.state.Admitted == nil || d.state.Over || d.err != nil {
		return
	}
	d.haltOnFailure()
	if d.state.Halting == "" {
		d.dispatchReady()
	}
	if len(d.state.inFlight()) > 0 || d.err != nil {
		return
	}
	if d.state.Halting != "" {
		d.emit(&events.ExecutionHalted{Execution: d.execution(), Cause: d.state.Halting, Diagnostic: d.state.Diagnostic})
		return
	}
	for i := range d.state.Admitted.Nodes {
		if d.state.Actions[d.state.Admitted.Nodes[i].ID].Status != events.ActionStatusCompleted {
			return
		}
	}
	d.emit(&events.ExecutionCompleted{Execution: d.execution()})
}

// haltOnFailure stops after an unknown effect, or a failure that will not be
// tried again.
func (d *draft) haltOnFailure() {
	for i := range d.state.Admitted.Nodes {
		a := d.state.Actions[d.state.Admitted.Nodes[i].ID]
		if !a.Settled {
			continue
		}
		switch a.Status {
		case events.ActionStatusUncertain:
			d.halt(events.HaltUncertain, *a.Diagnostic)
		case events.ActionStatusFailed:
			if !a.Retry || a.Attempt >= MaxAttempts {
				d.halt(events.HaltFailed, *a.Diagnostic)
			}
		case events.ActionStatusCompleted, events.ActionStatusNeverDispatched:
		}
	}
}

// dispatchReady dispatches the nodes of the lowest unfinished level: its reads
// together, then its writes one by one in the plan's order.
func (d *draft) dispatchReady() {
	level := -1
	var waiting []events.AdmittedNode
	for _, n := range d.state.Admitted.Nodes {
		if d.state.Actions[n.ID].Status == events.ActionStatusCompleted {
			continue
		}
		if level < 0 || n.Level < level {
			level, waiting = n.Level, nil
		}
		if n.Level == level {
			waiting = append(waiting, n)
		}
	}
	reads := false
	for _, n := range waiting {
		a, dispatched := d.state.Actions[n.ID]
		open := dispatched && !a.Settled
		if n.Effect != events.EffectWrite {
			reads = true
			if !open && !d.dispatch(n, a.Attempt+1) {
				return
			}
		}
	}
	if reads {
		return
	}
	if len(waiting) > 0 {
		n := waiting[0]
		if a, dispatched := d.state.Actions[n.ID]; !dispatched || a.Settled {
			d.dispatch(n, a.Attempt+1)
		}
	}
}

// dispatch revalidates everything immediately before one action and appends
// it (C3-RUN-005.a). It reports false where it halted instead.
func (d *draft) dispatch(n events.AdmittedNode, attempt int) bool {
	definition, checked, ok := d.revalidate(n)
	if !ok {
		return false
	}
	arguments, ok := d.arguments(n, definition)
	if !ok {
		return false
	}
	for _, check := range d.pending(n.ID) {
		checked.Pending = append(checked.Pending, strings.TrimSuffix(check.Node+"."+check.Argument, "."))
	}
	approval, asked, ok := d.approval(n, definition, arguments)
	if asked || !ok {
		return ok
	}
	in, admitted := d.in, d.state.Admitted
	action := canon.ID("action", in.Run.Tenant, in.Run.Run, strconv.Itoa(admitted.Revision), n.ID, strconv.Itoa(attempt))
	deadline := min(in.At.Add(time.Duration(definition.Definition.TimeoutMillis)*time.Millisecond), admitted.Deadline)
	key := canon.ID("key", in.Run.Tenant, in.Run.Run, n.Capability.Name, n.ID)
	d.emit(&events.ActionDispatched{
		Action: action, Node: n.ID, Revision: admitted.Revision, Capability: n.Capability, Definition: definition.Digest,
		Effect: n.Effect, Attempt: attempt, Arguments: events.NewBody(events.ClassPlan, events.MediaJSON, arguments),
		IdempotencyKey: key, Deadline: deadline, Revalidation: checked, Approval: approval,
	})
	d.Work = append(d.Work, decider.CallCapability{
		Key: action, Deadline: deadline,
		Invocation: capability.Invocation{
			Tenant: in.Run.Tenant, Run: in.Run.Run, Action: action, Name: n.Capability.Name, Version: n.Capability.Version,
			Effect: n.Effect, Arguments: arguments, IdempotencyKey: key, OutputBytes: definition.Definition.OutputBytes,
			Provider: definition.Definition.Provider,
		},
	})
	return true
}

func diagnostic(code events.Code, message, action string) events.Diagnostic {
	return events.Diagnostic{Code: code, Message: message, Action: action}
}

// revalidate checks admission, lease, deadline, budget, dependencies,
// revocations and obligations as they are now.
func (d *draft) revalidate(n events.AdmittedNode) (*registry.Capability, events.Revalidation, bool) {
	in, admitted := d.in, d.state.Admitted
	refuse := func(cause events.HaltCause, why events.Diagnostic) (*registry.Capability, events.Revalidation, bool) {
		d.halt(cause, why)
		return nil, events.Revalidation{}, false
	}
	left, err := budget.Spend(admitted.Budget, events.Limits{Actions: d.state.Dispatches, ArtifactBytes: d.state.ArtifactBytes})
	if err != nil || left.Actions < 1 {
		return refuse(events.HaltBudget, diagnostic(events.CodeBudgetExhausted, "no actions are left", "allow more actions"))
	}
	if in.At >= admitted.Deadline {
		return refuse(events.HaltBudget, diagnostic(events.CodeDeadline, "the time for the run was used up", "allow more elapsed_millis"))
	}
	if in.At >= d.leaseEnd(n) {
		return refuse(events.HaltRevoked, diagnostic(events.CodeLeaseExpired, "the lease of the revision expired", "submit the request again"))
	}
	if reason, revoked := in.Registry.Revoked(n.Capability.Name); revoked {
		return refuse(events.HaltRevoked, revocation(n.Capability.Name, reason))
	}
	agent, ok := in.Registry.Compiled(admitted.Agent.Digest)
	if !ok {
		return refuse(events.HaltChanged, diagnostic(events.CodeDependencyChanged, "the agent of the run is not in the registry", "submit the request again"))
	}
	definition, ok := agent.Capability(n.Capability)
	if !ok || definition.Digest != n.Definition {
		return refuse(events.HaltChanged, diagnostic(events.CodeDependencyChanged, "the capability is not the one that was admitted", "submit the request again"))
	}
	if !confirmable(n, definition) {
		return refuse(events.HaltRevoked, diagnostic(events.CodeConfirmationMissing, "nobody confirmed this use of "+n.Capability.Name, "approve the run"))
	}
	checks, unmet := d.prechecks(n)
	if unmet != "" {
		return refuse(events.HaltPrecheck, diagnostic(events.CodePrecheckUnmet, "the requirement "+unmet+" must be met before "+n.ID+" and is not", "see the requirement's evaluation"))
	}
	return definition, events.Revalidation{
		At: in.At, Epoch: in.Registry.Epoch, Lease: admitted.Lease.ID, Budget: left, Prechecks: checks,
	}, true
}

// prechecks judges the obligations before an effect on what was observed so
// far. Unknown is not met.
func (d *draft) prechecks(n events.AdmittedNode) (checks []string, unmet string) {
	if len(n.Prechecks) == 0 {
		return nil, ""
	}
	var spec events.OutcomeSpec
	if !read(d.state.Admitted.Spec, &spec) || !d.documents() {
		return nil, n.Prechecks[0]
	}
	facts := d.facts()
	for _, id := range n.Prechecks {
		i := slices.IndexFunc(spec.Requirements, func(r events.Requirement) bool { return r.ID == id })
		if i < 0 {
			return checks, id
		}
		v := outcome.Judge(spec.Requirements[i], facts)
		checks = append(checks, id+": "+string(v.Verdict))
		if v.Verdict != events.VerdictMet {
			return checks, id
		}
	}
	return checks, ""
}

func read(b events.Body, into any) bool {
	content, ok := b.Content()
	return ok && json.Unmarshal(content, into) == nil
}

// documents reads the plan and the request's input, once for a decision.
func (d *draft) documents() bool {
	if d.plan != nil {
		return true
	}
	var p events.Plan
	var request events.IntentRequest
	if !read(d.state.Admitted.Plan, &p) || !read(d.state.Admitted.Request, &request) {
		return false
	}
	if input, err := jsonvalue.Parse(request.Input.Value, jsonvalue.DefaultLimits); err == nil {
		d.input = input
	}
	d.plan = &p
	return true
}

// facts is what was observed so far.
func (d *draft) facts() outcome.Facts {
	f := outcome.Facts{Run: d.in.Run.Run, Input: d.input, Results: map[string]outcome.Result{}, Evidence: d.state.Evidence}
	for node, record := range d.state.Results {
		r := outcome.Result{ResultRecord: record}
		if content, ok := record.Value.Content(); ok {
			if value, err := jsonvalue.Parse(content, jsonvalue.DefaultLimits); err == nil {
				r.Content, r.Known = value, true
			}
		}
		f.Results[node] = r
	}
	return f
}

// execution is everything that is handed on when execution ends, in the plan's
// order, whatever the order in which calls ended.
func (d *draft) execution() events.Execution {
	admitted := d.state.Admitted
	e := events.Execution{
		Revision: admitted.Revision, Request: admitted.Request, Spec: admitted.Spec, Plan: admitted.Plan, Agent: admitted.Agent, Epoch: admitted.Lease.Epoch,
		Ceiling: admitted.Checks, SealedAt: admitted.SealedAt, Deadline: admitted.Deadline,
		Heads: decider.Heads(admitted.Heads, d.in.Commit),
	}
	for _, confirmed := range d.state.Confirmed {
		if confirmed.Head.Number > e.Heads[events.OwnerAdmission].Number {
			e.Heads[events.OwnerAdmission] = confirmed.Head
		}
	}
	e.Consumed = admitted.Consumed
	e.Consumed.Actions, e.Consumed.ArtifactBytes = d.state.Dispatches, d.state.ArtifactBytes
	e.Consumed.ElapsedMillis = d.in.At.Sub(admitted.SealedAt).Milliseconds()
	for _, n := range admitted.Nodes {
		summary := events.ActionSummary{Node: n.ID, Capability: n.Capability, Effect: n.Effect, Status: events.ActionStatusNeverDispatched}
		if a, ok := d.state.Actions[n.ID]; ok {
			summary.Action, summary.Status, summary.Attempts = a.ID, a.Status, a.Attempt
			summary.Receipt, summary.Diagnostic = a.Receipt, a.Diagnostic
		}
		e.Actions = append(e.Actions, summary)
		if r, ok := d.state.Results[n.ID]; ok {
			e.Results = append(e.Results, r)
		}
		for _, record := range d.state.Evidence {
			if record.Node == n.ID {
				e.Evidence = append(e.Evidence, record)
			}
		}
	}
	return e
}
