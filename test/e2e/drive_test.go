package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/projector"
	"example.org/mandate/projections/runs"
)

const tenant = "default"

var ann = events.Principal{ID: "ann", Kind: events.PrincipalPerson}

// The kinds of requests that are driven.
const (
	driveReads   = "reads"
	driveWrite   = "write"
	driveUnmet   = "unmet"
	driveDenied  = "denied"
	driveInvalid = "invalid"
	driveCycle   = "cycle"
	driveFound   = "found" // a write with an argument that a read finds
)

// drive submits a request, decides what waits, and returns when the document
// is there; then the bundle is in the directory.
func drive(ctx context.Context, a *app.App, p plan) error {
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if _, err := a.Intake().Apply(ctx, tenant, ann, resources(), false); err != nil {
		return err
	}
	if err := submit(ctx, a, p.Nonce, request(p.Drive)); err != nil {
		return err
	}
	decision := events.DecisionApprove
	if p.Drive == driveDenied {
		decision = events.DecisionDeny
	}
	if _, err := await(ctx, a, p.Nonce, decision); err != nil {
		return err
	}
	data, err := bundle.Collect(ctx, a.BundleSource(), tenant, p.Nonce, events.At(time.Now()))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(p.Dir, "bundle.json"), data, 0o600)
}

func submit(ctx context.Context, a *app.App, nonce string, r *events.IntentRequest) error {
	_, err := a.Intake().Submit(ctx, tenant, nonce, ann, r)
	return err
}

// await follows a run until its document, deciding on what waits.
func await(ctx context.Context, a *app.App, run string, decision events.Decision) (runs.View, error) {
	for decided := false; ; {
		changed := a.Projector().Changed()
		v, err := a.Projector().View(ctx, projector.Key{Tenant: tenant, Run: run})
		switch {
		case err != nil && !errors.Is(err, projector.ErrUnknownRun):
			return v, err
		case v.Document && v.Outcome != "":
			return v, nil
		case len(v.Waiting) > 0 && !decided:
			w := v.Waiting[0]
			err := a.Intake().DecideApproval(ctx, tenant, run, events.ApprovalDecided{
				Principal: ann, Approval: w.Interaction, Decision: decision, Digest: w.Digest,
			})
			if err != nil {
				return v, err
			}
			decided = true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return v, fmt.Errorf("run %s stays %s: %w", run, v.Phase, context.Cause(ctx))
		}
	}
}

func resources() []intake.Resource {
	capability := func(effect, confirmation, function string) events.JSON {
		return events.JSON(fmt.Sprintf(`{"version":1,"description":"d","effect":%q,"confirmation":%q,"input":{"type":"object"},
			"output":{"type":"object","required":["failed"]},"result_type":"test.thing","timeout_millis":20000,"output_bytes":1000,
			"provider":{"builtin":{"function":%q}}}`, effect, confirmation, function))
	}
	return []intake.Resource{
		{Kind: events.KindPolicy, Name: "p", Definition: events.JSON(`{"version":1,"description":"d","standing_approval":["none","read"],
			"operations":["look","write"],"submitters":["*"],"approvers":["*"],"approval_seconds":60,"lease_seconds":120}`)},
		{Kind: events.KindCapability, Name: "look", Definition: capability("read", "none", "look")},
		{Kind: events.KindCapability, Name: "write", Definition: capability("write", "required", "write")},
		{Kind: events.KindAgent, Name: "a", Definition: events.JSON(`{"version":1,"description":"d","policy":"p","effect_bound":["read","write"],
			"capabilities":[{"name":"look","version":1},{"name":"write","version":1}],"input":{"type":"object"},"output":{"type":"object"},
			"limits":{"attempts":1,"revisions":1,"elapsed_millis":120000,"input_tokens":0,"output_tokens":0,"cost_micros":0,"cost_unit":"usd",
			"check_steps":10,"check_memory_bytes":1000,"artifact_bytes":100000,"context_bytes":0,"actions":9}}`)},
	}
}

func node(id, name string, effect events.Effect, word string, after ...string) events.PlanNode {
	if after == nil {
		after = []string{}
	}
	return events.PlanNode{
		ID: id, Capability: events.CapabilityRef{Name: name, Version: 1}, Effect: effect, After: after,
		Arguments: map[string]events.Argument{"word": {Literal: events.JSON(fmt.Sprintf("%q", word))}},
	}
}

func request(kind string) *events.IntentRequest {
	word, output := "good", "a"
	before := []string{}
	if kind == driveUnmet {
		word = "bad"
	}
	nodes := []events.PlanNode{node("a", "look", events.EffectRead, word), node("b", "look", events.EffectRead, "good")}
	deliverables := []events.Deliverable{{ID: "report", Description: "a report", Result: "a"}}
	if kind != driveReads && kind != driveInvalid {
		write := node("c", "write", events.EffectWrite, "good", "a", "b")
		if kind == driveFound {
			write.Arguments["word"] = events.Argument{Output: &events.OutputRef{Node: "b", Path: "/failed"}}
		}
		nodes = append(nodes, write)
		deliverables = append(deliverables, events.Deliverable{ID: "done", Description: "the write", Result: "c", DependsOn: []string{"report"}})
		output, before = "c", []string{"c"}
	}
	if kind == driveCycle {
		nodes[0].After = []string{"c"}
	}
	r := &events.IntentRequest{
		Intent: events.IntentRef{Agent: "a", Text: "do it"}, Input: events.Value{Type: "thing", Value: events.JSON(`{}`)},
		Context: []events.ContextItem{}, Policy: "p", Generator: events.Generator{Mode: events.GeneratorExplicit},
		Limits: &events.Limits{
			Attempts: 1, Revisions: 1, ElapsedMillis: 120_000, CostUnit: "usd", CheckSteps: 10, CheckMemoryBytes: 1000, ArtifactBytes: 100_000, Actions: 9,
		},
		Outcome: &events.OutcomeSpec{
			SchemaVersion: 1, ID: "spec", Revision: 1, Objective: "an outcome", Deliverables: deliverables, Partial: []string{"report"},
			Requirements: []events.Requirement{{
				ID: "none-failed", Deliverable: "report", Description: "nothing failed", Origin: events.OriginExplicit, Importance: events.Must,
				Strength: events.StrengthObserved, Before: before,
				Predicate: events.Predicate{Field: &events.FieldPredicate{Result: "a", Path: "/failed", Op: "eq", Value: events.JSON("0")}},
			}},
			Provenance: events.Provenance{Origin: events.OriginExplicit},
		},
		Plan: &events.Plan{SchemaVersion: 1, Candidate: events.CandidatePlan, Nodes: nodes, Output: events.OutputBinding{Node: output, Type: "test.thing"}},
	}
	if kind == driveInvalid {
		r.Policy = "other"
	}
	return r
}
