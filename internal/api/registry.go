package api

import (
	"fmt"
	"net/http"

	"example.org/mandate/events"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/registry"
)

// Resource is a resource of the registry.
type Resource struct {
	Kind       events.Kind `json:"kind"`
	Name       string      `json:"name"`
	Definition events.JSON `json:"definition"`
}

// Registered is a resource as it is registered.
type Registered struct {
	Kind    events.Kind   `json:"kind"`
	Name    string        `json:"name"`
	Version int           `json:"version"`
	Digest  events.Digest `json:"digest"`
	Revoked bool          `json:"revoked,omitzero"`
	// State says whether it can be used: available, revoked or unavailable.
	// What cannot be used stays listed, with the reason, and what makes it be
	// tried again.
	State      registry.State `json:"state"`
	Reason     string         `json:"reason,omitzero"`
	Retry      string         `json:"retry,omitzero"`
	Attempts   int            `json:"attempts,omitzero"`
	Since      uint64         `json:"since,omitzero"` // the epoch since which it is so
	Definition events.JSON    `json:"definition"`
}

// ResourceList lists the resources of a kind.
type ResourceList struct {
	Epoch     uint64       `json:"epoch"`
	Resources []Registered `json:"resources"`
}

// AppliedList says what applying resources did, or would do.
type AppliedList struct {
	DryRun  bool             `json:"dry_run"`
	Applied []intake.Applied `json:"applied"`
}

// Revoked answers a revocation.
type Revoked struct {
	Capability string `json:"capability"`
}

// RebuiltList answers a rebuild of the views.
type RebuiltList struct {
	Same  bool                `json:"same"` // the rebuild gave the same bytes
	Views []projector.Rebuilt `json:"views"`
}

// kinds are the kinds of resources as paths name them.
var kinds = map[string]events.Kind{
	"agents": events.KindAgent, "capabilities": events.KindCapability, "policies": events.KindPolicy,
	"packages": events.KindPackage, "routes": events.KindRoutes,
}

func (s *server) kind(c *call) (events.Kind, registry.View, error) {
	kind, ok := kinds[c.PathValue("kind")]
	if !ok {
		return "", registry.View{}, notFound(events.CodeNotFound, "there is no such kind of resource", "use agents, capabilities, policies, packages or routes")
	}
	view, err := s.o.Registries.View(c.Context(), c.tenant, 0)
	return kind, view, err
}

func registered(view registry.View, kind events.Kind, name string) (Registered, bool) {
	definition, version, digest, ok := view.Definition(kind, name)
	r := Registered{Kind: kind, Name: name, Version: version, Digest: digest, Definition: definition}
	a := view.Available(kind, name)
	r.State, r.Reason, r.Retry, r.Attempts, r.Since = a.State, a.Reason, a.Retry, a.Attempts, a.Since
	r.Revoked = a.State == registry.StateRevoked
	return r, ok
}

func (s *server) listResources(c *call) error {
	kind, view, err := s.kind(c)
	if err != nil {
		return err
	}
	list := ResourceList{Epoch: view.Epoch, Resources: []Registered{}}
	for _, name := range view.Names(kind) {
		if r, ok := registered(view, kind, name); ok {
			list.Resources = append(list.Resources, r)
		}
	}
	return c.reply(http.StatusOK, list)
}

func (s *server) getResource(c *call) error {
	kind, view, err := s.kind(c)
	if err != nil {
		return err
	}
	r, ok := registered(view, kind, c.PathValue("name"))
	if !ok {
		return notFound(events.CodeResourceUnknown, "there is no such resource", "see mandate get "+c.PathValue("kind"))
	}
	return c.reply(http.StatusOK, r)
}

// maxResources bounds one change of the registry.
const maxResources = 200

func (s *server) apply(c *call) error {
	var body []Resource
	if err := c.decode(&body); err != nil {
		return err
	}
	if len(body) == 0 || len(body) > maxResources {
		return fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Message: fmt.Sprintf("%d resources; 1 to %d are possible", len(body), maxResources), Action: "apply them in parts",
		})
	}
	dryRun := false
	switch c.URL.Query().Get("dry_run") {
	case "", "false":
	case "true":
		dryRun = true
	default:
		return fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Path: "dry_run", Message: "neither true nor false", Action: "write one of these",
		})
	}
	resources := make([]intake.Resource, 0, len(body))
	for _, r := range body {
		if err := s.mayOperate(c, operated{action: "apply", kind: string(r.Kind), name: r.Name}); err != nil {
			return err
		}
		resources = append(resources, intake.Resource{Kind: r.Kind, Name: r.Name, Definition: r.Definition})
	}
	applied, err := s.o.Intake.Apply(c.Context(), c.tenant, c.principal, resources, dryRun)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, AppliedList{DryRun: dryRun, Applied: applied})
}

func (s *server) revoke(c *call) error {
	var body Reason
	if err := c.decode(&body); err != nil {
		return err
	}
	if err := body.check(); err != nil {
		return err
	}
	name := c.PathValue("name")
	if err := s.mayOperate(c, operated{action: "revoke", kind: string(events.KindCapability), name: name}); err != nil {
		return err
	}
	if err := s.o.Intake.Revoke(c.Context(), c.tenant, c.principal, name, body.Reason); err != nil {
		return err
	}
	return c.reply(http.StatusOK, Revoked{Capability: name})
}

func (s *server) rebuild(c *call) error {
	if err := s.mayOperate(c, operated{action: "rebuild", kind: "Views"}); err != nil {
		return err
	}
	rebuilt, err := s.o.Views.Rebuild(c.Context())
	if err != nil {
		return err
	}
	list := RebuiltList{Same: true, Views: rebuilt}
	for _, r := range rebuilt {
		list.Same = list.Same && r.Same()
	}
	return c.reply(http.StatusOK, list)
}
