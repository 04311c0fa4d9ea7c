package registry_test

import (
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// What cannot be used stays listed, with the reason and what makes it be tried
// again; it is tried with every change of the registry, and an addition that
// works clears it.
func TestUnavailableStaysListed(t *testing.T) {
	req.Covers(t, "OD-7.2.13")
	view := cases.NewWorld().View()
	broken := cases.Capability(events.EffectRead, events.ConfirmationNone)
	broken.Input = events.JSON(`{"type":"thing"}`)
	if a := view.Available(events.KindCapability, "look"); a.State != registry.StateAvailable || a.Reason != "" {
		t.Errorf("%+v", a)
	}
	view = cases.Evolve(view, cases.Applied(events.KindCapability, "later", broken))
	since := view.Epoch
	a := view.Available(events.KindCapability, "later")
	if a.State != registry.StateUnavailable || !strings.Contains(a.Reason, "spec.input") || a.Retry == "" || a.Attempts != 1 || a.Since != since {
		t.Fatalf("%+v", a)
	}
	if names := strings.Join(view.Names(events.KindCapability), " "); !strings.Contains(names, "later") {
		t.Errorf("listed are %s", names)
	}
	if _, _, digest, ok := view.Definition(events.KindCapability, "later"); !ok || digest == "" {
		t.Error("it cannot be looked at")
	}
	view = cases.Evolve(view, cases.Applied(events.KindRoutes, "r", events.Routes{Version: 1}))
	if a := view.Available(events.KindCapability, "later"); a.Attempts != 2 || a.Since != since || a.State != registry.StateUnavailable {
		t.Errorf("after another change: %+v", a)
	}
	view = cases.Evolve(view, cases.Applied(events.KindCapability, "later", cases.Capability(events.EffectRead, events.ConfirmationNone)))
	if a := view.Available(events.KindCapability, "later"); a.State != registry.StateAvailable || a.Attempts != 0 {
		t.Errorf("after it was corrected: %+v", a)
	}
	view = cases.Revoke(view, "later")
	if a := view.Available(events.KindCapability, "later"); a.State != registry.StateRevoked || a.Reason != "unsafe" || a.Retry == "" {
		t.Errorf("revoked: %+v", a)
	}
}

// Agents and policies that do not compile are listed too.
func TestUnavailableAgentsAndPolicies(t *testing.T) {
	w := cases.NewWorld()
	view := w.View()
	bad := w.Policy
	bad.Rules = []events.PolicyRule{{ID: "r", Operation: events.OperationExecute, When: "nonsense", Decision: events.PolicyAllow}}
	view = cases.Evolve(view, cases.Applied(events.KindPolicy, cases.Policy, bad))
	if view.Policy(cases.Policy) != nil {
		t.Error("a policy that does not compile decides")
	}
	for kind, name := range map[events.Kind]string{events.KindPolicy: cases.Policy, events.KindAgent: cases.Agent} {
		if a := view.Available(kind, name); a.State != registry.StateUnavailable || a.Reason == "" {
			t.Errorf("%s: %+v", kind, a)
		}
	}
	if _, ok := view.Agent(cases.Agent); ok {
		t.Error("an agent runs under a policy that does not compile")
	}
	view = cases.Evolve(view, cases.Applied(events.KindPolicy, cases.Policy, w.Policy))
	if a := view.Available(events.KindAgent, cases.Agent); a.State != registry.StateAvailable {
		t.Errorf("after the policy was corrected: %+v", a)
	}
	if p := view.Policy(cases.Policy); p == nil || p.Digest == "" || p.Name != cases.Policy {
		t.Errorf("policy %+v", p)
	}
	if a := view.Available(events.KindRoutes, "none"); a.State != registry.StateAvailable {
		t.Errorf("routes %+v", a)
	}
}

// The policy of the tenant is for nobody's runs.
func TestAgentsDoNotRunUnderTheTenantsPolicy(t *testing.T) {
	w := cases.NewWorld()
	view := cases.Evolve(w.View(), cases.Applied(events.KindPolicy, events.TenantPolicy, events.Policy{Version: 1}))
	w.Agent.Policy = events.TenantPolicy
	found := view.Check(events.KindAgent, "other", cases.JSON(w.Agent))
	if len(found) != 1 || found[0].Code != events.CodePolicyMissing || found[0].Path != "spec.policy" {
		t.Fatal(found)
	}
}
