package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/registry"
)

// LaptopPolicy is the policy of tenants that have none in a process that is
// started with Options.LaptopPolicy: the owner may do everything, others
// nothing. It says who may operate the gateway and read content there. What
// runs may do is said by the policies that agents name, also on a laptop.
func LaptopPolicy() events.Policy {
	rule := func(id string, operation events.PolicyOperation) events.PolicyRule {
		return events.PolicyRule{ID: id, Operation: operation, When: fmt.Sprintf("%q in principal.roles", api.RoleOwner), Decision: events.PolicyAllow}
	}
	return events.Policy{
		Version: 1, Description: "built in for a laptop: the owner may do everything",
		Rules: []events.PolicyRule{rule("owner-operates", events.OperationOperate), rule("owner-reads", events.OperationReadContent)},
	}
}

// fallbackPolicy is the compiled laptop policy, nil where it is not wanted.
func (o *Options) fallbackPolicy() (*policy.Policy, error) {
	if !o.LaptopPolicy {
		return nil, nil //nolint:nilnil // no policy refuses everything, and is no error
	}
	definition := LaptopPolicy()
	data, err := json.Marshal(definition)
	if err == nil {
		data, err = registry.Normalize(events.KindPolicy, data)
	}
	if err != nil {
		return nil, fmt.Errorf("laptop policy: %w", err)
	}
	compiled, found := policy.Compile(events.TenantPolicy, definition, registry.DigestOf(events.KindPolicy, events.TenantPolicy, data))
	if len(found) > 0 {
		return nil, fmt.Errorf("laptop policy: %s", found[0])
	}
	return compiled, nil
}

// UsesLaptopPolicy reports whether the laptop policy decides for the tenant
// "default" now.
func (a *App) UsesLaptopPolicy(ctx context.Context) bool {
	if !a.o.LaptopPolicy || !slices.Contains(a.o.Targets, TargetGateway) {
		return false
	}
	view, err := a.registries.View(ctx, api.DefaultTenant, 0)
	return err == nil && !slices.Contains(view.Names(events.KindPolicy), events.TenantPolicy)
}
