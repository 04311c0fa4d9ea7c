package gateway

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
)

// candidate is the policy of the tests, changed.
func candidate(t *testing.T, changes ...string) *app.Candidate {
	t.Helper()
	text := `{"version":1,"description":"d","standing_approval":["none","read"],"operations":["look","write"],"submitters":["*"],"approvers":["*"],"approval_seconds":600,"lease_seconds":600}`
	for i := 0; i+1 < len(changes); i += 2 {
		if !strings.Contains(text, changes[i]) {
			t.Fatalf("%s is not in the policy", changes[i])
		}
		text = strings.Replace(text, changes[i], changes[i+1], 1)
	}
	c, found := app.NewCandidate("p", events.JSON(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return c
}

// ruledBy replaces the end of the policy by rules.
func ruledBy(rules string) []string {
	return []string{`"lease_seconds":600}`, `"lease_seconds":600,"rules":[` + rules + `]}`}
}

// A candidate is tried against what was recorded: it says which decisions
// would change, and changes nothing.
func TestPolicyIsTriedAgainstHistory(t *testing.T) {
	g := start(t, nil)
	g.apply()
	read, approved, denied := g.submit("read", false), g.submit("write", true), g.submit("write again", true)
	g.await(read, done)
	for run, decided := range map[string]string{approved: "approve", denied: "deny"} {
		w := g.await(run, waiting).Waiting[0]
		into[api.Decided](t, g.request(http.MethodPost, "/v1/interactions/"+w.Interaction+"/decision", decision(decided, w.Digest)), http.StatusAccepted)
		g.await(run, done)
	}
	bundles := map[string][]byte{}
	for _, run := range []string{read, approved, denied} {
		bundles[run] = g.get("/v1/runs/" + run + "/bundle").body
	}
	before := g.recorded()
	type change struct {
		operation events.PolicyOperation
		was, now  string
		rule      string
	}
	for name, test := range map[string]struct {
		changes []string
		want    map[string]change // by run; the others stay as they were
	}{
		"as it is":             {nil, nil},
		"another description":  {[]string{`"description":"d"`, `"description":"e"`, `"approval_seconds":600`, `"approval_seconds":700`}, nil},
		"nobody submits":       {[]string{`"submitters":["*"]`, `"submitters":[]`}, map[string]change{read: {"submit", "sealed", "rejected MD-1103", ""}, approved: {"submit", "sealed", "rejected MD-1103", ""}, denied: {"submit", "sealed", "rejected MD-1103", ""}}},
		"writes do not":        {[]string{`["look","write"]`, `["look"]`}, map[string]change{approved: {"execute", "asks a person w", "plan rejected MD-1106", ""}, denied: {"execute", "asks a person w", "plan rejected MD-1106", ""}}},
		"reads are asked for":  {ruledBy(`{"id":"ask","operation":"execute","when":"capability.effect == \"read\"","decision":"confirm"}`), map[string]change{read: {"execute", "approved by the standing approval, revision-admitted", "asks a person n", "ask"}, approved: {"execute", "asks a person w", "asks a person n w", "ask"}, denied: {"execute", "asks a person w", "asks a person n w", "ask"}}},
		"no standing approval": {[]string{`["none","read"]`, `[]`}, map[string]change{read: {"execute", "approved by the standing approval, revision-admitted", "asks a person", "standing-approval"}}},
		"four eyes":            {[]string{`"lease_seconds":600`, `"lease_seconds":600,"four_eyes":true`}, map[string]change{approved: {"approve", "approved by local, revision-admitted", "no notice (MD-1103)", ""}}},
		"others approve":       {[]string{`"approvers":["*"]`, `"approvers":["bob"]`}, map[string]change{approved: {"approve", "approved by local, revision-admitted", "no notice (MD-1103)", ""}, denied: {"approve", "denied MD-1111", "no notice (MD-1103)", ""}}},
		"not to there": {
			ruledBy(`{"id":"there","operation":"execute","when":"capability.name == \"write\" && arguments.to.contains(\"here\")","decision":"deny","reason":"closed"}`),
			map[string]change{approved: {"execute", "asks a person w", "plan rejected MD-1122", "there"}, denied: {"execute", "asks a person w", "plan rejected MD-1122", "there"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := candidate(t, test.changes...)
			for run, data := range bundles {
				tried, err := c.Try(data)
				if err != nil {
					t.Fatal(err)
				}
				var got []change
				for _, p := range tried.Changes {
					got = append(got, change{p.Operation, p.Was, p.Now, p.Rule})
				}
				var want []change
				if w, changes := test.want[run]; changes {
					want = []change{w}
				}
				if !slices.Equal(got, want) || len(tried.Skipped) > 0 || tried.Decisions == 0 {
					t.Errorf("%+v, want %+v, skipped %v", got, want, tried.Skipped)
				}
				again, err := c.Try(data)
				if err != nil || !reflect.DeepEqual(again, tried) {
					t.Errorf("a second trial differs: %+v, %v", again, err)
				}
			}
		})
	}
	if after := g.recorded(); after != before {
		t.Errorf("recorded %v before and %v after", before, after)
	}
}

// A decision of a person that did not count would under a policy that lets
// them decide.
func TestTrialSeesWhatDidNotCount(t *testing.T) {
	g := start(t, nil)
	into[api.AppliedList](t, g.request(http.MethodPut, "/v1/registry", strings.Replace(resources, `"approvers":["*"]`, `"approvers":["bob"]`, 1)), http.StatusOK)
	run := g.submit("write", true)
	w := g.await(run, waiting).Waiting[0]
	ann := events.Principal{ID: "ann", Kind: events.PrincipalPerson}
	if err := g.app.Decide(t.Context(), "default", run, events.ApprovalDecided{Principal: ann, Approval: w.Interaction, Decision: events.DecisionApprove, Digest: w.Digest}); err != nil {
		t.Fatal(err)
	}
	data := g.get("/v1/runs/" + run + "/bundle").body
	tried, err := candidate(t, `"approvers":["*"]`, `"approvers":["bob"]`).Try(data)
	if err != nil || len(tried.Changes) > 0 || tried.Decisions != 3 {
		t.Fatalf("%+v, %v", tried, err)
	}
	tried, err = candidate(t).Try(data)
	if err != nil || len(tried.Changes) != 1 || tried.Changes[0].Was != "no notice" || tried.Changes[0].Now != "approved by ann, revision-admitted" || tried.Changes[0].Rule != "approvers" {
		t.Fatalf("%+v, %v", tried, err)
	}
}

// What a person decides while a run goes on is tried too.
func TestTrialOfAUseAtDispatch(t *testing.T) {
	g := start(t, nil)
	g.apply()
	text := strings.Replace(intent("write what was found", true), `{"literal":"\"here\""}`, `{"output":{"node":"n","path":"/failed"}}`, 1)
	run := into[api.Submission](t, g.request(http.MethodPost, "/v1/runs", text), http.StatusCreated).Run
	w := g.await(run, waiting).Waiting[0]
	into[api.Decided](t, g.request(http.MethodPost, "/v1/interactions/"+w.Interaction+"/decision", decision("approve", w.Digest)), http.StatusAccepted)
	if v := g.await(run, done); v.Outcome != events.TagCompleted || g.writes.Load() != 1 {
		t.Fatalf("run %+v", v)
	}
	data := g.get("/v1/runs/" + run + "/bundle").body
	for name, test := range map[string]struct {
		changes []string
		now     string // "": as it was
	}{
		"another description": {[]string{`"description":"d"`, `"description":"e"`}, ""},
		"others approve":      {[]string{`"approvers":["*"]`, `"approvers":["bob"]`}, "no notice (MD-1103)"},
		"what was found":      {ruledBy(`{"id":"not-zero","operation":"execute","when":"capability.name == \"write\" && has(arguments.to) && sources.to.startsWith(\"output\")","decision":"deny"}`), "plan rejected MD-1122"},
	} {
		tried, err := candidate(t, test.changes...).Try(data)
		if err != nil || len(tried.Skipped) > 0 || (len(tried.Changes) == 0) != (test.now == "") {
			t.Errorf("%s: %+v, %v", name, tried, err)
			continue
		}
		if test.now != "" && tried.Changes[0].Now != test.now {
			t.Errorf("%s: %+v", name, tried.Changes)
		}
	}
}

func TestCandidatesThatAreNone(t *testing.T) {
	for name, test := range map[string]struct {
		name, text string
		code       events.Code
	}{
		"does not compile": {"p", `{"version":1,"approval_seconds":1,"lease_seconds":1,"rules":[{"id":"r","operation":"execute","when":"x","decision":"deny"}]}`, events.CodePolicyInvalid},
		"no policy":        {"p", `[]`, events.CodeResourceInvalid},
		"of the tenant":    {"tenant", `{"version":1}`, events.CodePolicyInvalid},
	} {
		if c, found := app.NewCandidate(test.name, events.JSON(test.text)); c != nil || len(found) == 0 || found[0].Code != test.code {
			t.Errorf("%s: %v", name, found)
		}
	}
	if _, err := candidate(t).Try([]byte(`{}`)); err == nil {
		t.Error("something that is no bundle was tried")
	}
}
