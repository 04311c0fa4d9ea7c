package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/intake"
)

const tenant = "bench"

var principal = events.Principal{ID: "bench", Kind: events.PrincipalService}

// runTimeout bounds one run: a load that does not move is an error, not a
// latency.
const runTimeout = 60 * time.Second

// loop keeps n workers doing one thing after the other for a while, after a
// tenth of the time to warm up, and in any case until one was measured.
func loop(ctx context.Context, n int, d time.Duration, do func(ctx context.Context, run string) error) (Figures, error) {
	var (
		mu        sync.Mutex
		latencies []time.Duration
		first     error
		wait      sync.WaitGroup
	)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin, used, all := time.Now(), cpu(), 0
	warm := begin.Add(d / 10)
	end := warm.Add(d)
	more := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return ctx.Err() == nil && (len(latencies) == 0 || time.Now().Before(end))
	}
	for range n {
		wait.Go(func() {
			for more() {
				started := time.Now()
				one, done := context.WithTimeout(ctx, runTimeout)
				err := do(one, ulid.Make().String())
				done()
				took := time.Since(started)
				mu.Lock()
				all++
				if err != nil && first == nil {
					first = err
					cancel(err)
				}
				if started.After(warm) && err == nil {
					latencies = append(latencies, took)
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if first != nil {
		return Figures{}, fmt.Errorf("load of %d: %w", n, first)
	}
	if len(latencies) == 0 {
		return Figures{}, fmt.Errorf("load of %d: %w", n, context.Cause(ctx))
	}
	out := figures(latencies, time.Since(warm))
	out.CPUMillis = millis(cpu()-used) / float64(all)
	return out, nil
}

// resources is an agent with one read that does nothing.
func resources() []intake.Resource {
	return []intake.Resource{
		{Kind: events.KindPolicy, Name: "bench", Definition: events.JSON(`{"version":1,"description":"for measurements","standing_approval":["none","read"],
			"operations":["noop"],"submitters":["*"],"approvers":["*"],"approval_seconds":60,"lease_seconds":120}`)},
		{Kind: events.KindCapability, Name: "noop", Definition: events.JSON(`{"version":1,"description":"does nothing","effect":"read","confirmation":"none",
			"input":{"type":"object"},"output":{"type":"object"},"result_type":"bench.nothing","timeout_millis":20000,"output_bytes":1000,
			"provider":{"builtin":{"function":"noop"}}}`)},
		{Kind: events.KindAgent, Name: "bench", Definition: events.JSON(`{"version":1,"description":"for measurements","policy":"bench","effect_bound":["read"],
			"capabilities":[{"name":"noop","version":1}],"input":{"type":"object"},"output":{"type":"object"},
			"limits":{"attempts":1,"revisions":1,"elapsed_millis":120000,"input_tokens":0,"output_tokens":0,"cost_micros":0,"cost_unit":"usd",
			"check_steps":10,"check_memory_bytes":1000,"artifact_bytes":100000,"context_bytes":0,"actions":9}}`)},
	}
}

// newRequest is a request with two parallel calls and one requirement.
func newRequest() *events.IntentRequest {
	node := func(id string) events.PlanNode {
		return events.PlanNode{
			ID: id, Capability: events.CapabilityRef{Name: "noop", Version: 1}, Effect: events.EffectRead,
			Arguments: map[string]events.Argument{}, After: []string{},
		}
	}
	return &events.IntentRequest{
		Intent: events.IntentRef{Agent: "bench", Text: "do nothing, twice"}, Input: events.Value{Type: "bench.input", Value: events.JSON(`{}`)},
		Context: []events.ContextItem{}, Policy: "bench", Generator: events.Generator{Mode: events.GeneratorExplicit},
		Limits: &events.Limits{
			Attempts: 1, Revisions: 1, ElapsedMillis: 120_000, CostUnit: "usd", CheckSteps: 10, CheckMemoryBytes: 1000, ArtifactBytes: 100_000, Actions: 9,
		},
		Outcome: &events.OutcomeSpec{
			SchemaVersion: 1, ID: "bench", Revision: 1, Objective: "nothing, twice",
			Deliverables: []events.Deliverable{{ID: "nothing", Description: "nothing", Result: "first"}},
			Requirements: []events.Requirement{{
				ID: "there", Deliverable: "nothing", Description: "there is a result", Origin: events.OriginExplicit, Importance: events.Must,
				Strength: events.StrengthObserved, Predicate: events.Predicate{Exists: &events.ExistsPredicate{Result: "first"}},
			}},
			Provenance: events.Provenance{Origin: events.OriginExplicit},
		},
		Plan: &events.Plan{
			SchemaVersion: 1, Candidate: events.CandidatePlan, Nodes: []events.PlanNode{node("first"), node("second")},
			Output: events.OutputBinding{Node: "first", Type: "bench.nothing"},
		},
	}
}
