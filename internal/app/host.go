package app

import (
	"context"
	"errors"
	"fmt"

	"example.org/mandate/events"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/reactor"
)

// Apply records resources in the registry of a tenant, all or none.
func (a *App) Apply(ctx context.Context, tenant string, principal events.Principal, resources []Resource) error {
	list := make([]intake.Resource, len(resources))
	for i, r := range resources {
		list[i] = intake.Resource(r)
	}
	_, err := a.intake.Apply(ctx, tenant, principal, list, false)
	return err
}

// Resource is a resource to apply.
type Resource struct {
	Kind       events.Kind
	Name       string
	Definition events.JSON
}

// Submit records a request and returns its run. nonce "" lets the host assign
// one.
func (a *App) Submit(ctx context.Context, tenant, nonce string, principal events.Principal, r *events.IntentRequest) (run string, err error) {
	s, err := a.intake.Submit(ctx, tenant, nonce, principal, r)
	return s.Run, err
}

// Diagnostics returns the diagnostics of a refusal, nil for another error.
func Diagnostics(err error) []events.Diagnostic {
	if refused, ok := errors.AsType[*intake.Error](err); ok {
		return refused.Diagnostics
	}
	return nil
}

// Await returns the conclusion of a run, once it was presented. ask is called
// for everything that waits for a person, once each.
func (a *App) Await(ctx context.Context, tenant, run string, ask Asker) (*events.RunConcluded, error) {
	if a.projector == nil {
		return nil, errors.New("this process has no views: run it with the gateway target")
	}
	asked := map[string]bool{}
	for {
		changed := a.projector.Changed()
		v, err := a.projector.View(ctx, projector.Key{Tenant: tenant, Run: run})
		if err != nil && !errors.Is(err, projector.ErrUnknownRun) {
			return nil, err
		}
		if v.Outcome != "" && v.Document {
			return a.conclusion(ctx, tenant, run)
		}
		for _, w := range v.Waiting {
			if !asked[w.Interaction] && ask != nil {
				asked[w.Interaction] = true
				if err := ask(ctx, w); err != nil {
					return nil, err
				}
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("run %s is %s: %w", run, v.Phase, context.Cause(ctx))
		}
	}
}

// conclusion reads the terminal event of a run, with its content.
func (a *App) conclusion(ctx context.Context, tenant, run string) (*events.RunConcluded, error) {
	chain, _, err := reactor.LoadChain(ctx, a.journal, a.sealer, events.Subject{Owner: events.OwnerEvaluator, Tenant: tenant, Run: run})
	if err != nil {
		return nil, fmt.Errorf("conclusion of %s: %w", run, err)
	}
	for i := range chain {
		c := &chain[i]
		for j := range c.Events {
			if concluded, ok := c.Events[j].Data.(*events.RunConcluded); ok {
				return concluded, nil
			}
		}
	}
	return nil, fmt.Errorf("conclusion of %s: there is none", run)
}

// Decide records what a person decided on something that waits.
func (a *App) Decide(ctx context.Context, tenant, run string, decided events.ApprovalDecided) error {
	return a.intake.DecideApproval(ctx, tenant, run, decided)
}

// Cancel records the wish to stop a run.
func (a *App) Cancel(ctx context.Context, tenant, run string, principal events.Principal, reason string) error {
	return a.intake.Cancel(ctx, tenant, run, principal, reason)
}
