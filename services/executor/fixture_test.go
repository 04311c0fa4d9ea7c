package executor_test

import (
	"slices"
	"sync"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/executor"
)

// good is a result value that the capabilities of the cases may return.
const good = `{"failed":0,"text":"1.2 is out"}`

// standard is the registry of most cases, compiled once.
var standard = sync.OnceValue(func() registry.View { return cases.NewWorld().View() })

// engine is the executor at work on one revision.
type engine struct {
	*cases.Script[executor.State]
	view     registry.View
	at       events.Time
	admitted *events.RevisionAdmitted
}

// revision is what admission admits for a request: the confirmed arguments of
// every write that a person confirms are those of the plan.
func revision(tb testing.TB, view registry.View, r *events.IntentRequest) *events.RevisionAdmitted {
	tb.Helper()
	agent, ok := view.Agent(cases.Agent)
	if !ok {
		tb.Fatal("the agent does not compile")
	}
	checked, found := plan.Check(r.Plan, plan.Against{
		Agent: agent, View: view, Bound: agent.Definition.EffectBound, Operations: agent.Policy.Operations,
		Input: map[string]any{"path": "a.txt"},
	})
	if len(found) > 0 {
		tb.Fatal(found)
	}
	e := &events.RevisionAdmitted{
		Revision: 1, ID: "revision-1", Formalization: "formalization-1", SpecRevision: 1,
		Request: cases.Document(events.ClassRequest, r), Spec: cases.Document(events.ClassPlan, r.Outcome), Plan: cases.Document(events.ClassPlan, r.Plan),
		Agent: events.AgentBinding{Name: agent.Name, Digest: agent.Digest}, Principal: cases.Person(), Effects: checked.Effects,
		Budget:   events.Limits{Actions: 12, ArtifactBytes: 1 << 16, CostUnit: "usd", ElapsedMillis: 600_000},
		Checks:   events.Limits{CheckSteps: 10, CheckMemoryBytes: 1 << 16, CostUnit: "usd"},
		Consumed: events.Limits{Attempts: 1, Revisions: 1, CostUnit: "usd"},
		Lease:    events.Lease{ID: "lease-1", Expires: cases.Start + 300*cases.Second, Epoch: view.Epoch}, Deadline: cases.Start + 600*cases.Second,
		Pending: checked.Pending, SealedAt: cases.Start, Heads: events.Heads{events.OwnerRequest: {Number: 1}},
	}
	for _, id := range checked.Order {
		n, _ := plan.Find(r.Plan, id)
		c, _ := agent.Capability(n.Capability)
		node := events.AdmittedNode{
			ID: id, Capability: n.Capability, Definition: c.Digest, Effect: n.Effect, After: slices.Clone(n.After), Level: checked.Level[id],
		}
		if c.Definition.Confirmation == events.ConfirmationRequired {
			node.Confirmation, node.Arguments = "approval-1", cases.Text(events.ClassPlan, string(checked.Static[id]))
		}
		for _, requirement := range r.Outcome.Requirements {
			if slices.Contains(requirement.Before, id) {
				node.Prechecks = append(node.Prechecks, requirement.ID)
			}
		}
		e.Nodes = append(e.Nodes, node)
	}
	return e
}

// prepared is an engine that a revision was not delivered to yet.
func prepared(tb testing.TB, r *events.IntentRequest, change ...func(*events.RevisionAdmitted)) *engine {
	tb.Helper()
	view := standard()
	x := &engine{Script: cases.NewScript(executor.Core()), view: view, at: cases.Start + cases.Second, admitted: revision(tb, view, r)}
	for _, f := range change {
		f(x.admitted)
	}
	return x
}

// start delivers the revision.
func (x *engine) start(tb testing.TB) decider.Decision {
	tb.Helper()
	return x.Do(tb, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 2, &events.SpecApproved{}, x.admitted)))
}

// started is an engine with a revision delivered.
func started(tb testing.TB, r *events.IntentRequest, change ...func(*events.RevisionAdmitted)) (*engine, decider.Decision) {
	tb.Helper()
	x := prepared(tb, r, change...)
	return x, x.start(tb)
}

// done is the outcome of a call that worked.
func done(value string) capability.Outcome {
	return capability.Outcome{
		Status: capability.StatusCompleted, Value: []byte(value), MediaType: events.MediaJSON, Receipt: "exit 0",
		Started: cases.Start + cases.Second, Finished: cases.Start + 2*cases.Second,
		Evidence: []capability.Observation{{Kind: "invocation", Method: "process-exit", Observed: cases.Start + 2*cases.Second}},
	}
}

// action is the ID of the latest dispatch of a node.
func (x *engine) action(node string) string { return x.State.Actions[node].ID }

// finish reports the outcome of a node's latest dispatch.
func (x *engine) finish(tb testing.TB, node string, o capability.Outcome) decider.Decision {
	tb.Helper()
	x.at += cases.Second
	return x.Do(tb, cases.Observed(x.at, x.view, x.action(node), o))
}

// deliver delivers something of admission.
func (x *engine) deliver(tb testing.TB, p events.Payload) decider.Decision {
	tb.Helper()
	return x.Do(tb, cases.Delivered(x.at, x.view, cases.Commit(events.OwnerAdmission, 3, p)))
}

// calls lists the nodes that a decision calls, in order, and checks that each
// call comes with its own dispatch and nothing is called without one.
func calls(tb testing.TB, d decider.Decision) (nodes []string) {
	tb.Helper()
	dispatched := map[string]*events.ActionDispatched{}
	for _, e := range cases.Events[*events.ActionDispatched](d.Events) {
		dispatched[e.Action] = e
	}
	for _, w := range d.Work {
		call, ok := w.(decider.CallCapability)
		if !ok {
			continue
		}
		e := dispatched[call.Key]
		if e == nil {
			tb.Fatalf("%s is called without being appended", call.Key)
		}
		arguments, _ := e.Arguments.Content()
		i := call.Invocation
		if i.Action != e.Action || i.IdempotencyKey != e.IdempotencyKey || string(i.Arguments) != string(arguments) || call.Deadline != e.Deadline ||
			i.Name != e.Capability.Name || i.Version != e.Capability.Version || i.Effect != e.Effect || i.Run != cases.Run || i.Tenant != cases.Tenant {
			tb.Fatalf("the call %+v is not what was appended: %+v", call, e)
		}
		delete(dispatched, call.Key)
		nodes = append(nodes, e.Node)
	}
	if len(dispatched) > 0 {
		tb.Fatalf("appended but not called: %v", dispatched)
	}
	return nodes
}

// halted is the end of an execution that did not complete.
func halted(tb testing.TB, list []events.Payload, cause events.HaltCause, code events.Code) *events.ExecutionHalted {
	tb.Helper()
	e := cases.Want[*events.ExecutionHalted](tb, list)
	if e.Cause != cause || e.Diagnostic.Code != code || e.Diagnostic.Message == "" {
		tb.Fatalf("halted by %s with %+v, want %s with %s", e.Cause, e.Diagnostic, cause, code)
	}
	return e
}

// statuses are the statuses of the actions of an execution by node.
func statuses(e *events.Execution) map[string]events.ActionStatus {
	all := map[string]events.ActionStatus{}
	for _, a := range e.Actions {
		all[a.Node] = a.Status
	}
	return all
}
