package gateway

import (
	"net/http"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
)

func TestRegistry(t *testing.T) {
	g := start(t, nil)
	before := g.recorded()
	dry := into[api.AppliedList](t, g.request(http.MethodPut, "/v1/registry?dry_run=true", resources), http.StatusOK)
	if !dry.DryRun || len(dry.Applied) != 4 || !dry.Applied[0].Changed {
		t.Errorf("dry run %+v", dry)
	}
	if after := g.recorded(); after != before {
		t.Errorf("a dry run recorded something: %v, %v", before, after)
	}
	refused(t, g.get("/v1/registry/agents/a"), http.StatusNotFound, events.CodeResourceUnknown)
	g.apply()
	again := into[api.AppliedList](t, g.request(http.MethodPut, "/v1/registry", resources), http.StatusOK)
	for _, a := range again.Applied {
		if a.Changed {
			t.Errorf("%s changed the second time", a.Name)
		}
	}
	list := into[api.ResourceList](t, g.get("/v1/registry/capabilities"), http.StatusOK)
	if len(list.Resources) != 2 || list.Resources[0].Name != "look" || list.Resources[0].Revoked {
		t.Errorf("capabilities %+v", list)
	}
	one := into[api.Registered](t, g.get("/v1/registry/agents/a"), http.StatusOK)
	if one.Version != 1 || one.Digest == "" || !strings.Contains(string(one.Definition), `"policy":"p"`) {
		t.Errorf("agent %+v", one)
	}
	refused(t, g.get("/v1/registry/things"), http.StatusNotFound, events.CodeNotFound)
	into[api.Revoked](t, g.request(http.MethodPost, "/v1/registry/capabilities/look/revoke", `{"reason":"broken"}`), http.StatusOK)
	revoked := into[api.Registered](t, g.get("/v1/registry/capabilities/look"), http.StatusOK)
	if !revoked.Revoked || revoked.Reason != "broken" {
		t.Errorf("revoked %+v", revoked)
	}
	refused(t, g.request(http.MethodPost, "/v1/registry/capabilities/nope/revoke", `{}`), http.StatusNotFound, events.CodeResourceUnknown)
	if v := g.await(g.submit("x", false), done); v.Outcome == events.TagCompleted {
		t.Error("a run used a capability that was revoked")
	}
}

// TestMalformedResources sends what cannot be registered: all or nothing.
func TestMalformedResources(t *testing.T) {
	g := start(t, nil)
	before := g.recorded()
	for name, c := range map[string]struct {
		body   string
		status int
		code   events.Code
	}{
		"not a list":     {`{}`, 400, events.CodeRequestMalformed},
		"none":           {`[]`, 400, events.CodeRequestMalformed},
		"unknown member": {strings.Replace(resources, `"kind":"Policy"`, `"kind":"Policy","x":1`, 1), 400, events.CodeRequestMalformed},
		"unknown kind":   {strings.Replace(resources, `"kind":"Policy"`, `"kind":"Polity"`, 1), 422, events.CodeResourceInvalid},
		"unknown field":  {strings.Replace(resources, `"lease_seconds"`, `"leash_seconds"`, 1), 422, events.CodeResourceInvalid},
		"last is wrong":  {strings.Replace(resources, `"policy":"p"`, `"policy":"q"`, 1), 422, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.request(http.MethodPut, "/v1/registry", c.body)
			p := into[api.Problem](t, a, c.status)
			if c.code != 0 && p.Code != c.code || p.Code == 0 || p.Detail == "" {
				t.Errorf("problem %s", a.body)
			}
		})
	}
	if after := g.recorded(); after != before {
		t.Errorf("recorded %v before and %v after", before, after)
	}
}
