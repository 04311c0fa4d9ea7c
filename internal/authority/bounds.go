package authority

import (
	"slices"

	"example.org/mandate/events"
)

// A Consumer is the piece of code that keeps a bound.
type Consumer struct {
	// Name is what people are told.
	Name string
	// Package and Function say where it is, as "services/executor" and
	// "revalidate". A test checks that it is there.
	Package, Function string
}

// ActionAttempts is how often one node of a plan is dispatched at most.
const ActionAttempts = 3

// Revision is what the bounds of a revision follow from.
type Revision struct {
	Ceiling      events.Limits
	Effects      []events.Effect
	Policy       events.Policy
	Nodes        int
	Requirements int
	Routes       int
	// TimeoutMillis and OutputBytes are the largest of any capability that the
	// plan calls.
	TimeoutMillis, OutputBytes int64
	// UsesModel says that a model proposed the revision.
	UsesModel bool
}

// entry is one bound.
type entry struct {
	name string
	// source is the member of a document that sets it, such as
	// "limits.actions"; empty for what the build or the revision sets.
	source string
	value  func(Revision) int64
	// consumers keep it; without one nothing does.
	consumers []Consumer
	// model says that it concerns only runs that call a model.
	model bool
	// idle says why it does not apply where nothing keeps it.
	idle string
}

// The consumers that keep more than one bound.
var (
	planCheck  = Consumer{"admission plan check", "services/admission", "examine"}
	planBudget = Consumer{"admission budget check", "services/admission", "contract"}
	dispatch   = Consumer{"executor dispatch", "services/executor", "revalidate"}
	deadline   = Consumer{"executor call deadline", "services/executor", "dispatch"}
	attempts   = Consumer{"admission candidate check", "services/admission", "countAttempt"}
	judge      = Consumer{"evaluator requirement loop", "services/evaluator", "evaluate"}
)

// noModel is why the bounds of model calls do not apply to most runs.
const noModel = "the run calls no model"

// entries is the one table of bounds (OD-3.6.13), sorted by name. Everything
// that is shown of a bound comes from here.
var entries = []entry{
	{name: "action_attempts", value: func(Revision) int64 { return ActionAttempts }, consumers: []Consumer{{"executor retries", "services/executor", "haltOnFailure"}}},
	{name: "actions", source: "limits.actions", value: func(r Revision) int64 { return r.Ceiling.Actions }, consumers: []Consumer{planBudget, dispatch}},
	{name: "approval_millis", source: "policy.approval_seconds", value: func(r Revision) int64 { return r.Policy.ApprovalSeconds * 1000 }, consumers: []Consumer{{"admission approval timer", "services/admission", "approvalOverdue"}}},
	{name: "artifact_bytes", source: "limits.artifact_bytes", value: func(r Revision) int64 { return r.Ceiling.ArtifactBytes }, consumers: []Consumer{{"executor result sink", "services/executor", "completed"}}},
	{name: "attempts", source: "limits.attempts", value: func(r Revision) int64 { return r.Ceiling.Attempts }, consumers: []Consumer{attempts}},
	{name: "check_memory_bytes", source: "limits.check_memory_bytes", value: func(r Revision) int64 { return r.Ceiling.CheckMemoryBytes }, consumers: []Consumer{{"evaluator result reader", "services/evaluator", "remember"}}},
	{name: "check_steps", source: "limits.check_steps", value: func(r Revision) int64 { return r.Ceiling.CheckSteps }, consumers: []Consumer{judge}},
	{name: "context_bytes", source: "limits.context_bytes", value: func(r Revision) int64 { return r.Ceiling.ContextBytes }, model: true, idle: noModel},
	{name: "cost_micros", source: "limits.cost_micros", value: func(r Revision) int64 { return r.Ceiling.CostMicros }, model: true, idle: noModel},
	// No revision may start a run. A run that names a parent is sealed with
	// what the parent set aside for it, which is nothing.
	{name: "delegation", value: func(Revision) int64 { return 0 }, consumers: []Consumer{{"admission of nested runs", "services/admission", "checkRequest"}}},
	{name: "effects", value: func(r Revision) int64 { return int64(len(r.Effects)) }, consumers: []Consumer{planCheck, dispatch}},
	{name: "elapsed_millis", source: "limits.elapsed_millis", value: func(r Revision) int64 { return r.Ceiling.ElapsedMillis }, consumers: []Consumer{dispatch, deadline, {"admission timer", "services/admission", "expire"}}},
	{name: "input_tokens", source: "limits.input_tokens", value: func(r Revision) int64 { return r.Ceiling.InputTokens }, model: true, idle: noModel},
	{name: "iterations", value: func(Revision) int64 { return 0 }, idle: "the revision is a plan without a loop; an agent that it calls keeps its own bound"},
	{name: "lease_millis", source: "policy.lease_seconds", value: func(r Revision) int64 { return r.Policy.LeaseSeconds * 1000 }, consumers: []Consumer{dispatch}},
	{name: "operations", source: "policy.operations", value: func(r Revision) int64 { return int64(len(r.Policy.Operations)) }, consumers: []Consumer{planCheck}},
	{name: "output_bytes", source: "capability.output_bytes", value: func(r Revision) int64 { return r.OutputBytes }, consumers: []Consumer{{"capability output sink", "internal/provider", "NewSink"}}},
	{name: "output_tokens", source: "limits.output_tokens", value: func(r Revision) int64 { return r.Ceiling.OutputTokens }, model: true, idle: noModel},
	{name: "plan_nodes", value: func(r Revision) int64 { return int64(r.Nodes) }, consumers: []Consumer{{"plan check", "internal/plan", "shape"}}},
	{name: "requirements", value: func(r Revision) int64 { return int64(r.Requirements) }, consumers: []Consumer{judge}},
	{name: "revisions", source: "limits.revisions", value: func(r Revision) int64 { return r.Ceiling.Revisions }, consumers: []Consumer{attempts}},
	{name: "routes", value: func(r Revision) int64 { return int64(r.Routes) }, model: true, idle: noModel},
	{name: "timeout_millis", source: "capability.timeout_millis", value: func(r Revision) int64 { return r.TimeoutMillis }, consumers: []Consumer{deadline}},
	{name: "write_concurrency", value: func(Revision) int64 { return 1 }, consumers: []Consumer{{"executor schedule", "services/executor", "dispatchReady"}}},
}

// Names lists every bound, sorted.
func Names() []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	return names
}

// Sources lists the members of documents that set a bound, such as
// "limits.actions", by bound.
func Sources() map[string]string {
	sources := map[string]string{}
	for _, e := range entries {
		if e.source != "" {
			sources[e.name] = e.source
		}
	}
	return sources
}

// Consumers lists what keeps a bound.
func Consumers(name string) []Consumer {
	for _, e := range entries {
		if e.name == name {
			return slices.Clone(e.consumers)
		}
	}
	return nil
}

// Bounds returns the bounds of a revision. One that the revision needs and that
// nothing keeps is unavailable.
func Bounds(r Revision) []events.Bound {
	var bounds []events.Bound
	for _, e := range entries {
		b := events.Bound{Name: e.name, Value: e.value(r)}
		for _, c := range e.consumers {
			if b.Consumer != "" {
				b.Consumer += ", "
			}
			b.Consumer += c.Name
		}
		switch {
		case b.Consumer != "":
			b.Status, b.Reason = events.BoundEnforced, "checked before every use"
		case e.model && r.UsesModel:
			b.Status, b.Reason = events.BoundUnavailable, "no model provider keeps this bound"
		default:
			b.Status, b.Reason = events.BoundNotApplicable, e.idle
		}
		bounds = append(bounds, b)
	}
	return bounds
}

// Unkept returns the names of required bounds that nothing keeps.
func Unkept(bounds []events.Bound) []string {
	var names []string
	for _, b := range bounds {
		if b.Status == events.BoundUnavailable {
			names = append(names, b.Name)
		}
	}
	return names
}
