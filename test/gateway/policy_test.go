package gateway

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/req"
)

// tokens of the tests.
var (
	owner    = strings.Repeat("o", 32)
	operator = strings.Repeat("p", 32)
	reader   = strings.Repeat("r", 32)
	clerk    = strings.Repeat("c", 32)
	foreign  = strings.Repeat("f", 32)
)

// closed is a process as a deployment runs it: with tokens, and without the
// policy of a laptop.
func closed(t *testing.T) *gateway {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	lines := owner + " olga roles=owner\n" + operator + " otto roles=operator\n" + reader + " rita roles=reader\n" +
		clerk + " carl roles=clerk\n" + foreign + " fred tenants=acme,globex roles=owner\n"
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, func(o *app.Options) { o.TokenFile, o.LaptopPolicy = file, false })
}

// as returns the gateway as the bearer of a token sees it.
func (g *gateway) as(token string) *gateway {
	other := *g
	other.token = token
	return &other
}

// tenantPolicy is a policy of a tenant: operators operate, readers read, and
// everybody may cancel and read their own runs.
const tenantPolicy = `[{"kind":"Policy","name":"tenant","definition":{"version":1,"description":"d","operations":[],"submitters":[],"approvers":[],"approval_seconds":0,"lease_seconds":0,"rules":[
{"id":"operators","operation":"operate","when":"\"operator\" in principal.roles && resource.kind != \"Policy\"","decision":"allow"},
{"id":"owners","operation":"operate","when":"\"owner\" in principal.roles","decision":"allow"},
{"id":"own-run","operation":"operate","when":"action == \"cancel\" && run.submitter == principal.id","decision":"allow"},
{"id":"no-revocations","operation":"operate","when":"action == \"revoke\" && resource.name == \"look\"","decision":"deny","reason":"look is needed by everybody"},
{"id":"readers","operation":"read-content","when":"\"reader\" in principal.roles || run.submitter == principal.id","decision":"allow"}
]}}]`

// A tenant without a policy is closed, and only its owner opens it.
func TestTenantWithoutPolicyIsClosed(t *testing.T) {
	g := closed(t)
	for name, token := range map[string]string{"operator": operator, "owner": owner} {
		a := g.as(token).request(http.MethodPut, "/v1/registry", resources)
		if p := refused(t, a, http.StatusForbidden, events.CodePolicyMissing); !strings.Contains(p.Detail, "no policy") {
			t.Errorf("%s: %s", name, p.Detail)
		}
	}
	refused(t, g.as(operator).request(http.MethodPut, "/v1/registry", tenantPolicy), http.StatusForbidden, events.CodePolicyMissing)
	// One that comes with others is not applied either.
	both := strings.TrimSuffix(tenantPolicy, "]") + "," + strings.TrimPrefix(resources, "[")
	refused(t, g.as(owner).request(http.MethodPut, "/v1/registry", both), http.StatusForbidden, events.CodePolicyMissing)
	into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", tenantPolicy), http.StatusOK)
	into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", resources), http.StatusOK)
}

// What a person decides once is no policy: nothing is registered by it, and the
// same request is asked about again. What else happens does not decide it.
func TestOneDecisionIsNoPolicy(t *testing.T) {
	g := start(t, nil)
	t.Run("a new tenant has none", func(t *testing.T) {
		req.Covers(t, "OD-7.1.21")
		if list := into[api.ResourceList](t, g.get("/v1/registry/policies"), http.StatusOK); len(list.Resources) > 0 || list.Epoch != 0 {
			t.Errorf("%+v", list)
		}
	})
	g.apply()
	before := into[api.ResourceList](t, g.get("/v1/registry/policies"), http.StatusOK)
	for _, decided := range []string{"approve", "deny"} {
		run := g.submit("write", true)
		w := g.await(run, waiting).Waiting[0]
		into[api.Decided](t, g.request(http.MethodPost, "/v1/interactions/"+w.Interaction+"/decision", decision(decided, w.Digest)), http.StatusAccepted)
		g.await(run, done)
	}
	again := g.submit("write", true)
	asked := g.await(again, waiting)
	t.Run("it is asked again", func(t *testing.T) {
		req.Covers(t, "OD-5.3.22")
		after := into[api.ResourceList](t, g.get("/v1/registry/policies"), http.StatusOK)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the policies changed:\n%s", diff)
		}
		if g.writes.Load() != 1 || len(asked.Waiting) != 1 {
			t.Errorf("%d writes, %+v", g.writes.Load(), asked)
		}
	})
	t.Run("a read beside it decides nothing", func(t *testing.T) {
		req.Covers(t, "IK-7.5")
		if v := g.await(g.submit("read", false), done); v.Outcome != events.TagCompleted {
			t.Errorf("read %+v", v)
		}
		if v := g.await(again, waiting); len(v.Waiting) != 1 || v.Waiting[0].Interaction != asked.Waiting[0].Interaction || g.writes.Load() != 1 {
			t.Errorf("after a read: %+v, %d writes", v, g.writes.Load())
		}
	})
}

// Who may operate and read content follows from the policy of the tenant.
func TestTenantPolicyIsEnforced(t *testing.T) {
	g := closed(t)
	into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", tenantPolicy), http.StatusOK)
	refused(t, g.as(operator).request(http.MethodPut, "/v1/registry", resources), http.StatusForbidden, events.CodePrincipalDenied)
	into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", resources), http.StatusOK)
	g.token = clerk
	read, write := g.submit("read", false), g.submit("write", true)
	g.await(read, done)
	waits := g.await(write, waiting).Waiting[0]

	t.Run("content", func(t *testing.T) {
		for _, path := range []string{"/v1/runs/" + read + "/document", "/v1/interactions/" + waits.Interaction} {
			refused(t, g.as(operator).get(path), http.StatusForbidden, events.CodePrincipalDenied)
			for _, token := range []string{reader, clerk} {
				if a := g.as(token).get(path); a.status != http.StatusOK {
					t.Errorf("%s: %d %s", path, a.status, a.body)
				}
			}
		}
		// A page shows everything but the content.
		page := g.as(operator).get("/runs/" + read)
		if page.status != http.StatusOK || !strings.Contains(string(page.body), "lets this principal read content") {
			t.Errorf("page %d: %s", page.status, page.body)
		}
		// What is recorded can be verified by everybody, and read by few.
		for token, may := range map[string]bool{operator: false, reader: true} {
			data := g.as(token).get("/v1/runs/" + read + "/bundle").body
			b, err := bundle.Parse(data)
			if err != nil {
				t.Fatal(err)
			}
			if report, err := bundle.Verify(data); err != nil || !report.Holds() || (len(b.Keys) > 0) != may {
				t.Errorf("a bundle with %d keys: %v, %v", len(b.Keys), report, err)
			}
		}
	})
	t.Run("operation", func(t *testing.T) {
		for _, path := range []string{"/v1/registry/capabilities/write/revoke", "/v1/runs/" + write + "/cancel"} {
			refused(t, g.as(reader).request(http.MethodPost, path, `{"reason":"x"}`), http.StatusForbidden, events.CodePrincipalDenied)
		}
		refused(t, g.as(reader).request(http.MethodPost, "/v1/views/rebuild", ""), http.StatusForbidden, events.CodePrincipalDenied)
		refused(t, g.as(reader).request(http.MethodPost, "/v1/parked/1/redeliver", ""), http.StatusForbidden, events.CodePrincipalDenied)
		p := refused(t, g.as(operator).request(http.MethodPost, "/v1/registry/capabilities/look/revoke", `{"reason":"x"}`), http.StatusForbidden, events.CodePolicyDenied)
		if !strings.Contains(p.Detail, "look is needed by everybody") {
			t.Errorf("detail %q", p.Detail)
		}
		into[api.Accepted](t, g.as(clerk).request(http.MethodPost, "/v1/runs/"+write+"/cancel", `{"reason":"mine"}`), http.StatusAccepted)
		into[api.Revoked](t, g.as(operator).request(http.MethodPost, "/v1/registry/capabilities/write/revoke", `{"reason":"broken"}`), http.StatusOK)
		listed := into[api.ResourceList](t, g.as(reader).get("/v1/registry/capabilities"), http.StatusOK)
		for _, r := range listed.Resources {
			if want := map[string]string{"look": "available", "write": "revoked"}[r.Name]; string(r.State) != want || (r.Reason != "") != (want == "revoked") || (r.Retry != "") != (want == "revoked") {
				t.Errorf("listed %+v", r)
			}
		}
	})
	t.Run("a wrong policy is not for ever", func(t *testing.T) {
		nobody := `[{"kind":"Policy","name":"tenant","definition":{"version":2,"description":"d","operations":[],"submitters":[],"approvers":[],"approval_seconds":0,"lease_seconds":0}}]`
		into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", nobody), http.StatusOK)
		refused(t, g.as(owner).request(http.MethodPut, "/v1/registry", resources), http.StatusForbidden, events.CodePrincipalDenied)
		into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", tenantPolicy), http.StatusOK)
	})
}

// A token acts for the tenants that it is bound to, and for no other.
func TestTokensAreBoundToTenants(t *testing.T) {
	g := closed(t)
	for token, may := range map[string][]string{owner: {"default"}, foreign: {"acme", "globex"}} {
		for _, tenant := range []string{"default", "acme", "globex", "initech"} {
			other := g.as(token)
			other.tenant = tenant
			for _, a := range []answer{other.get("/v1/runs"), other.get("/"), other.get("/v1/registry/policies")} {
				allowed := strings.Contains(strings.Join(may, " "), tenant)
				if (a.status == http.StatusOK) != allowed || !allowed && a.status != http.StatusForbidden {
					t.Errorf("%s of %v: %d %s", tenant, may, a.status, a.body)
				}
			}
		}
	}
	// Whoever is bound to one tenant need not name it; with more, the default is meant.
	g.tenant = ""
	refused(t, g.as(foreign).get("/v1/runs"), http.StatusForbidden, events.CodePrincipalDenied)
	into[api.RunList](t, g.as(owner).get("/v1/runs"), http.StatusOK)
	refused(t, g.as(foreign).get("/v1/runs?tenant=default"), http.StatusForbidden, events.CodePrincipalDenied)
	if a := g.as(foreign).get("/?tenant=acme"); a.status != http.StatusOK {
		t.Errorf("a link to a tenant: %d", a.status)
	}
}

// Rules over roles decide on what runs do, and four eyes are two persons.
func TestRolesReachAdmission(t *testing.T) {
	g := closed(t)
	into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", tenantPolicy), http.StatusOK)
	rules, err := json.Marshal([]events.PolicyRule{
		{ID: "clerks", Operation: events.OperationSubmit, When: `"clerk" in principal.roles || "operator" in principal.roles`, Decision: events.PolicyAllow},
		{ID: "leads", Operation: events.OperationApprove, When: `("operator" in principal.roles || "clerk" in principal.roles) && approval.capabilities == ["write"]`, Decision: events.PolicyAllow},
	})
	if err != nil {
		t.Fatal(err)
	}
	governed := strings.Replace(resources, `"submitters":["*"],"approvers":["*"]`, fmt.Sprintf(`"submitters":[],"approvers":[],"four_eyes":true,"rules":%s`, rules), 1)
	into[api.AppliedList](t, g.as(owner).request(http.MethodPut, "/v1/registry", governed), http.StatusOK)
	g.token = reader
	denied := g.await(g.submit("not mine", false), done)
	if denied.Outcome != events.TagRejected {
		t.Errorf("a reader submitted: %s", denied.Outcome)
	}
	g.token = clerk
	run := g.submit("write", true)
	w := g.await(run, waiting).Waiting[0]
	at := "/v1/interactions/" + w.Interaction + "/decision"
	refused(t, g.as(reader).request(http.MethodPost, at, decision("approve", w.Digest)), http.StatusForbidden, events.CodePrincipalDenied)
	if p := refused(t, g.as(clerk).request(http.MethodPost, at, decision("approve", w.Digest)), http.StatusForbidden, events.CodePrincipalDenied); !strings.Contains(p.Detail, "another person") {
		t.Errorf("detail %q", p.Detail)
	}
	into[api.Decided](t, g.as(operator).request(http.MethodPost, at, decision("approve", w.Digest)), http.StatusAccepted)
	if v := g.await(run, done); v.Outcome != events.TagCompleted || g.writes.Load() != 1 {
		t.Errorf("run %+v", v)
	}
}
