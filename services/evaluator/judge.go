package evaluator

import (
	"cmp"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/outcome"
)

// executed judges an execution and concludes the run.
func executed(in decider.Input, e *events.Execution, cause events.HaltCause, why *events.Diagnostic) []events.Payload {
	j := &judgment{in: in, execution: e}
	j.read()
	j.evaluate()
	j.deliverables = outcome.Deliverables(&j.spec, j.evaluations, j.facts.Results, cause == events.HaltCancelled)
	tag, diagnostic := j.tag(cause, why)
	output, outputType, ok := j.output(tag)
	if !ok {
		tag, diagnostic = events.TagFailed, &events.Diagnostic{
			Code: events.CodeOutputMissing, Path: "plan.output", Message: "there is no output of the declared type",
			Action: "correct the plan's output or the agent's output schema",
		}
	}
	payloads := make([]events.Payload, 0, len(j.evaluations)+1)
	for i := range j.evaluations {
		payloads = append(payloads, &events.RequirementEvaluated{Evaluation: j.evaluations[i]})
	}
	return append(payloads, j.concluded(tag, diagnostic, output, outputType))
}

type judgment struct {
	in           decider.Input
	execution    *events.Execution
	spec         events.OutcomeSpec
	plan         events.Plan
	readable     bool
	facts        outcome.Facts
	evaluations  []events.Evaluation
	deliverables []events.DeliverableVerdict
	steps        int64
	memory       int64 // bytes of the contents that are judged
	// exhausted names the budget that did not suffice to judge everything.
	exhausted string
}

func (j *judgment) read() {
	var request events.IntentRequest
	j.readable = read(j.execution.Spec, &j.spec) && read(j.execution.Plan, &j.plan) && read(j.execution.Request, &request)
	j.facts = outcome.Facts{Run: j.in.Run.Run, Results: map[string]outcome.Result{}, Evidence: j.execution.Evidence}
	if value, err := jsonvalue.Parse(request.Input.Value, jsonvalue.DefaultLimits); err == nil {
		j.facts.Input = value
	}
	for _, record := range j.execution.Results {
		r := outcome.Result{ResultRecord: record}
		if content, ok := j.remember(record.Value); ok {
			if value, err := jsonvalue.Parse(content, jsonvalue.DefaultLimits); err == nil {
				r.Content, r.Known = value, true
			}
		}
		j.facts.Results[record.Node] = r
	}
}

// remember returns the content of a result if the checks may hold it in memory
// beside what they hold.
func (j *judgment) remember(b events.Body) ([]byte, bool) {
	content, ok := b.Content()
	if !ok {
		return nil, false
	}
	if size := int64(len(content)); size > j.execution.Ceiling.CheckMemoryBytes-j.memory {
		j.exhausted = "check_memory_bytes"
		return nil, false
	}
	j.memory += int64(len(content))
	return content, true
}

// evaluate judges every requirement, one check step each. What is not judged
// because the steps are used up is unknown.
func (j *judgment) evaluate() {
	for _, r := range j.spec.Requirements {
		v := outcome.Verdict{Verdict: events.VerdictUnknown, Method: "none", Reason: "the budget of check steps is used up"}
		if j.steps < j.execution.Ceiling.CheckSteps {
			j.steps++
			v = outcome.Judge(r, j.facts)
		} else {
			j.exhausted = cmp.Or(j.exhausted, "check_steps")
		}
		j.evaluations = append(j.evaluations, events.Evaluation{
			ID:          canon.ID("evaluation", j.in.Run.Tenant, j.in.Run.Run, r.ID),
			Requirement: r.ID, Deliverable: r.Deliverable, Importance: r.Importance, Verdict: v.Verdict, Strength: v.Strength,
			Evaluator: outcome.Evaluator, Method: v.Method, Reason: v.Reason, Results: v.Results, Evidence: v.Evidence, At: j.in.At,
		})
	}
}

// tag decides how the run ended. An uncertain effect outweighs everything;
// success needs every required condition.
func (j *judgment) tag(cause events.HaltCause, why *events.Diagnostic) (events.Tag, *events.Diagnostic) {
	for _, a := range j.execution.Actions {
		if a.Status == events.ActionStatusUncertain {
			if cause == events.HaltCancelled {
				return events.TagIndeterminate, why
			}
			return events.TagIndeterminate, a.Diagnostic
		}
	}
	switch cause {
	case events.HaltCancelled:
		return events.TagCancelled, why
	case events.HaltBudget:
		return events.TagInconclusive, why
	case events.HaltFailed, events.HaltRevoked, events.HaltChanged, events.HaltPrecheck, events.HaltDenied, events.HaltUncertain:
		return events.TagFailed, why
	case "":
	}
	if !j.readable {
		return events.TagInconclusive, &events.Diagnostic{Code: events.CodeContentUnavailable, Message: "the specification cannot be read", Action: "check the content keys"}
	}
	worst := func(v events.Verdict) *events.Evaluation {
		i := slices.IndexFunc(j.evaluations, func(e events.Evaluation) bool { return e.Importance == events.Must && e.Verdict == v })
		if i < 0 {
			return nil
		}
		return &j.evaluations[i]
	}
	if e := worst(events.VerdictUnmet); e != nil {
		return events.TagFailed, &events.Diagnostic{
			Code: events.CodeRequirementUnmet, Path: "outcome.requirements." + e.Requirement,
			Message: "the required condition " + e.Requirement + " is not met: " + e.Reason, Action: "see the results",
		}
	}
	if e := worst(events.VerdictUnknown); j.exhausted == "check_memory_bytes" || j.exhausted != "" && e != nil {
		return events.TagInconclusive, &events.Diagnostic{
			Code: events.CodeBudgetExhausted, Path: "limits." + j.exhausted,
			Message: "not everything could be checked within " + j.exhausted, Action: "allow more " + j.exhausted,
		}
	} else if e != nil {
		return events.TagInconclusive, &events.Diagnostic{
			Code: events.CodeRequirementUnknown, Path: "outcome.requirements." + e.Requirement,
			Message: "the required condition " + e.Requirement + " could not be established: " + e.Reason, Action: "provide the missing evidence",
		}
	}
	if overall := outcome.Overall(j.deliverables); overall != events.CompletionComplete {
		return events.TagFailed, &events.Diagnostic{Code: events.CodeRequirementUnmet, Path: "outcome.deliverables", Message: "not every deliverable is complete", Action: "see the results"}
	}
	return events.TagCompleted, nil
}

// output selects the typed output of a completed run. It reports false where a
// completed run has none of the declared type.
func (j *judgment) output(tag events.Tag) (events.Body, string, bool) {
	if tag != events.TagCompleted {
		return events.Body{}, "", true
	}
	r, ok := j.facts.Results[j.plan.Output.Node]
	if !ok || !r.Known || !r.Valid {
		return events.Body{}, "", false
	}
	value, ok := jsonvalue.At(r.Content, j.plan.Output.Path)
	if !ok {
		return events.Body{}, "", false
	}
	data, err := jsonvalue.Format(value)
	if err != nil {
		return events.Body{}, "", false
	}
	agent, ok := j.in.Registry.Compiled(j.execution.Agent.Digest)
	if !ok || len(agent.Output.Validate(data)) > 0 {
		return events.Body{}, "", false
	}
	return events.NewBody(events.ClassResult, events.MediaJSON, data), j.plan.Output.Type, true
}

func (j *judgment) concluded(tag events.Tag, why *events.Diagnostic, output events.Body, outputType string) *events.RunConcluded {
	e := j.execution
	c := &events.RunConcluded{
		Tag: tag, Completion: outcome.Overall(j.deliverables), Deliverables: j.deliverables,
		Output: output, OutputType: outputType, Request: e.Request, Spec: e.Spec, Actions: e.Actions, Evaluations: j.evaluations,
		Receipt: events.Receipt{
			Phase: events.PhaseExecuting, Diagnostic: why, Revision: e.Revision, Consumed: e.Consumed,
			Heads: decider.Heads(e.Heads, j.in.Commit),
		},
		Decision: events.DecisionRecord{
			Inputs: []string{j.in.Commit.ID}, Selected: string(tag), Algorithm: "evaluator.conclude@1", Disposition: "judged",
		},
	}
	c.Receipt.Consumed.CheckSteps, c.Receipt.Consumed.CheckMemoryBytes = j.steps, j.memory
	c.Receipt.Consumed.ElapsedMillis = j.in.At.Sub(e.SealedAt).Milliseconds()
	for _, a := range e.Actions {
		summary := events.EffectSummary{Action: a.Action, Node: a.Node, Capability: a.Capability, Effect: a.Effect, Receipt: a.Receipt}
		switch {
		case a.Effect != events.EffectWrite:
		case a.Status == events.ActionStatusCompleted:
			c.Receipt.CompletedEffects = append(c.Receipt.CompletedEffects, summary)
		case a.Status == events.ActionStatusUncertain:
			summary.Reason = a.Diagnostic.Message
			c.Receipt.UncertainEffects = append(c.Receipt.UncertainEffects, summary)
		}
	}
	j.attach(c, tag)
	return c
}

// attach adds the results that may be shown: all of a completed run, and
// otherwise only those that the specification authorizes as partial.
func (j *judgment) attach(c *events.RunConcluded, tag events.Tag) {
	allowed := map[string]bool{}
	for _, d := range j.spec.Deliverables {
		if slices.Contains(j.spec.Partial, d.ID) {
			allowed[d.Result] = true
		}
	}
	var actions []string
	for _, r := range j.execution.Results {
		switch {
		case tag == events.TagCompleted:
			c.Results = append(c.Results, r)
		case allowed[r.Node]:
			c.Receipt.Partial = append(c.Receipt.Partial, r)
		default:
			continue
		}
		actions = append(actions, r.Action)
	}
	for _, record := range j.execution.Evidence {
		if slices.Contains(actions, record.Action) {
			c.Evidence = append(c.Evidence, record)
		}
	}
}
