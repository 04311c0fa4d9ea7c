package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/reactor"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/sealing"
)

// Resource is one resource to apply.
type Resource struct {
	Kind       events.Kind
	Name       string
	Definition events.JSON // JSON of the specification
}

// Applied says what applying a resource did.
type Applied struct {
	Kind    events.Kind   `json:"kind"`
	Name    string        `json:"name"`
	Version int           `json:"version"`
	Digest  events.Digest `json:"digest"`
	Epoch   uint64        `json:"epoch"`
	Changed bool          `json:"changed"`
}

// Apply records resources in the registry, all or none, in the order given. A
// resource that is registered as it is changes nothing.
func (in *Intake) Apply(ctx context.Context, tenant string, principal events.Principal, resources []Resource, dryRun bool) ([]Applied, error) {
	for range maxConflicts {
		applied, payloads, err := in.plan(ctx, tenant, principal, resources)
		if err != nil || len(payloads) == 0 || dryRun {
			return applied, err
		}
		epoch, err := in.registryAppend(ctx, tenant, payloads)
		if errors.Is(err, journal.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for i := range applied {
			applied[i].Epoch = epoch
		}
		_, err = in.o.Registries.View(ctx, tenant, epoch)
		return applied, err
	}
	return nil, refuse(events.CodeConflict, "others keep changing the registry at the same time", "try again")
}

// plan checks resources one after the other, each against the registry with
// those before it applied.
func (in *Intake) plan(ctx context.Context, tenant string, principal events.Principal, resources []Resource) ([]Applied, []events.Payload, error) {
	view, err := in.o.Registries.View(ctx, tenant, 0)
	if err != nil {
		return nil, nil, err
	}
	var applied []Applied
	var payloads []events.Payload
	for _, r := range resources {
		definition, err := jsonvalue.Canonical(r.Definition, jsonvalue.DefaultLimits)
		if err != nil {
			return nil, nil, &Error{Diagnostics: []events.Diagnostic{{Code: events.CodeResourceInvalid, Path: string(r.Kind) + "/" + r.Name, Message: err.Error(), Action: "correct the document"}}}
		}
		if found := view.Check(r.Kind, r.Name, definition); len(found) > 0 {
			for i := range found {
				found[i].Path = string(r.Kind) + "/" + r.Name + " " + found[i].Path
			}
			return nil, nil, &Error{Diagnostics: found}
		}
		if definition, err = registry.Normalize(r.Kind, definition); err != nil {
			return nil, nil, fmt.Errorf("apply %s: %w", r.Name, err)
		}
		payload, a, err := in.payload(principal, r, definition)
		if err != nil {
			return nil, nil, err
		}
		_, _, have, registered := view.Definition(r.Kind, r.Name)
		a.Changed = !registered || have != a.Digest || revoked(view, r)
		a.Epoch = view.Epoch
		applied = append(applied, a)
		if a.Changed {
			payloads = append(payloads, payload)
			view = view.Evolve(&events.Commit{Number: view.Epoch, Events: []events.Event{{Data: payload}}})
		}
	}
	return applied, payloads, nil
}

func revoked(view registry.View, r Resource) bool {
	_, is := view.Revoked(r.Name)
	return is && r.Kind == events.KindCapability
}

func (in *Intake) payload(principal events.Principal, r Resource, definition []byte) (events.Payload, Applied, error) {
	var versioned struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(definition, &versioned); err != nil {
		return nil, Applied{}, fmt.Errorf("apply %s: %w", r.Name, err)
	}
	digest := registry.DigestOf(r.Kind, r.Name, definition)
	a := events.Applied{Name: r.Name, Version: versioned.Version, Digest: digest, Definition: definition, Principal: principal}
	out := Applied{Kind: r.Kind, Name: r.Name, Version: versioned.Version, Digest: digest}
	switch r.Kind {
	case events.KindAgent:
		return &events.AgentApplied{Applied: a}, out, nil
	case events.KindPolicy:
		return &events.PolicyApplied{Applied: a}, out, nil
	case events.KindCapability:
		return &events.CapabilityRegistered{Applied: a}, out, nil
	case events.KindPackage:
		return &events.PackageApplied{Applied: a}, out, nil
	case events.KindRoutes:
		return &events.RoutesApplied{Applied: a}, out, nil
	}
	return nil, Applied{}, refuse(events.CodeResourceInvalid, "the kind is not known", "use Agent, Capability, Policy, Package or Routes")
}

// Revoke withdraws a capability at once, for every run.
func (in *Intake) Revoke(ctx context.Context, tenant string, principal events.Principal, name, reason string) error {
	for range maxConflicts {
		view, err := in.o.Registries.View(ctx, tenant, 0)
		if err != nil {
			return err
		}
		if _, _, _, ok := view.Definition(events.KindCapability, name); !ok {
			return refuse(events.CodeResourceUnknown, "there is no such capability", "see mandate get capabilities")
		}
		epoch, err := in.registryAppend(ctx, tenant, []events.Payload{&events.CapabilityRevoked{Name: name, Reason: reason, Principal: principal}})
		if errors.Is(err, journal.ErrConflict) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = in.o.Registries.View(ctx, tenant, epoch)
		return err
	}
	return refuse(events.CodeConflict, "others keep changing the registry at the same time", "try again")
}

func (in *Intake) registryAppend(ctx context.Context, tenant string, payloads []events.Payload) (uint64, error) {
	subject := events.Subject{Owner: events.OwnerRegistry, Tenant: tenant, Run: events.RegistryRun}
	if err := subject.Validate(); err != nil {
		return 0, refuse(events.CodeResourceInvalid, err.Error(), "use another tenant")
	}
	records, err := in.o.Streams.Load(ctx, subject, 0)
	if err != nil {
		return 0, fmt.Errorf("load registry: %w", err)
	}
	var position journal.Position
	correlation := ""
	if n := len(records); n > 0 {
		head, err := events.DecodeHeader(records[n-1])
		if err != nil {
			return 0, fmt.Errorf("load registry: %w", err)
		}
		position = journal.Position{Sequence: records[n-1].Sequence, Head: head.Head()}
		correlation = head.Correlation
	}
	c := reactor.Assemble(reactor.Draft{
		Subject: subject, After: position.Head, Cause: events.Cause{Event: "apply:" + string(digestOf(payloads))}, Correlation: correlation,
		Writer: in.o.Writer, At: events.At(in.o.Clock()), Payloads: payloads,
	})
	return c.Number, in.append(ctx, &c, sealing.Scope(tenant, events.RegistryRun, ""), position)
}

func digestOf(payloads []events.Payload) events.Digest {
	parts := make([]string, 0, len(payloads))
	for _, p := range payloads {
		data, err := events.EncodePayload(p)
		if err != nil {
			data = []byte(err.Error())
		}
		parts = append(parts, string(data))
	}
	return canon.Parts("registry-change", parts...)
}
