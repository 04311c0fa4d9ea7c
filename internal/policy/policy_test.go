package policy_test

import (
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/policy"
)

// withRules is a policy for runs that has only rules.
func withRules(rules ...events.PolicyRule) events.Policy {
	return events.Policy{Version: 1, Description: "d", ApprovalSeconds: 60, LeaseSeconds: 60, Rules: rules}
}

func compiled(tb testing.TB, p events.Policy) *policy.Policy {
	tb.Helper()
	c, found := policy.Compile("p", p, "sha256:p")
	if len(found) > 0 {
		tb.Fatal(found)
	}
	return c
}

// ann is an input with everything in it.
func ann() *policy.Input {
	return &policy.Input{
		Principal: events.Principal{ID: "ann", Kind: events.PrincipalPerson}, Roles: []string{"clerk", "reader"}, Tenant: "acme", Agent: "a",
		Budget:     events.Limits{Actions: 3, CostUnit: "usd"},
		Capability: policy.Capability{Name: "mail", Version: 2, Effect: events.EffectWrite, Confirmation: events.ConfirmationExplicit},
		Arguments:  map[string]any{"to": "bob@example.org", "count": stdjson.Number("3"), "tags": []any{"x"}, "none": nil},
		Unknown:    []string{"body"}, Sources: map[string]string{"to": "literal, explicit", "body": "output of a"},
		Effects: []events.Effect{events.EffectIntent, events.EffectWrite}, Origin: events.OriginExplicit,
		Run: policy.Run{ID: "r", Submitter: "bob"}, Capabilities: []string{"mail"}, Action: "cancel", Kind: "Run", Name: "r",
	}
}

// What conditions see, and what becomes of those that cannot be decided.
func TestConditions(t *testing.T) {
	for _, test := range []struct {
		operation events.PolicyOperation
		when      string
		verdict   events.PolicyVerdict
		code      events.Code
	}{
		{events.OperationSubmit, `principal.id == "ann" && principal.kind == "person" && tenant == "acme" && agent == "a"`, events.PolicyAllow, 0},
		{events.OperationSubmit, `"clerk" in principal.roles && !("owner" in principal.roles)`, events.PolicyAllow, 0},
		{events.OperationSubmit, `budget.actions <= 3 && budget.input_tokens == 0`, events.PolicyAllow, 0},
		{events.OperationSubmit, `budget.actions > 3`, events.PolicyDeny, events.CodePrincipalDenied},
		{events.OperationSubmit, `1 / budget.input_tokens > 0`, events.PolicyDeny, events.CodePolicyFailed},
		{events.OperationApprove, `run.submitter != principal.id && approval.capabilities == ["mail"]`, events.PolicyAllow, 0},
		{events.OperationExecute, `capability.name == "mail" && capability.version == 2 && capability.effect == "write" && capability.confirmation == "explicit"`, events.PolicyAllow, 0},
		{events.OperationExecute, `arguments.to.endsWith("@example.org") && arguments.count == 3 && arguments.tags == ["x"] && arguments.none == null`, events.PolicyAllow, 0},
		{events.OperationExecute, `sources.to.startsWith("literal") && "write" in plan.effects && plan.origin == "explicit"`, events.PolicyAllow, 0},
		{events.OperationExecute, `has(arguments.body)`, events.PolicyAllow, 0},
		{events.OperationExecute, `capability.name == "other" && arguments.path == "x"`, events.PolicyDeny, events.CodeOperationNotAllowed},
		{events.OperationExecute, `arguments.path == "x"`, events.PolicyDeny, events.CodePolicyFailed},
		{events.OperationExecute, `arguments.body == "x"`, events.PolicyDeny, events.CodePolicyFailed},
		{events.OperationExecute, `arguments.to > 3`, events.PolicyDeny, events.CodePolicyFailed},
	} {
		p := compiled(t, withRules(events.PolicyRule{ID: "only", Operation: test.operation, When: test.when, Decision: events.PolicyAllow}))
		d := p.Decide(test.operation, ann())
		if d.Verdict != test.verdict || d.Code != test.code || d.Allowed() != (d.Rule == "only" && d.Code == 0) {
			t.Errorf("%s: %+v", test.when, d)
		}
		if d.Code != 0 && (d.Diagnostic("x").Message == "" || strings.ContainsAny(d.Reason, "\n\r")) {
			t.Errorf("%s: diagnostic %v", test.when, d.Diagnostic("x"))
		}
	}
}

// A value that a run will only show later is not the same as none: a rule that
// denies some values does not let it pass.
func TestUnknownArgumentIsRefused(t *testing.T) {
	p := withRules(events.PolicyRule{ID: "inside", Operation: events.OperationExecute, When: `has(arguments.body) && arguments.body.contains("secret")`, Decision: events.PolicyDeny})
	p.Operations = []string{"mail"}
	d := compiled(t, p).Decide(events.OperationExecute, ann())
	if d.Verdict != events.PolicyDeny || d.Code != events.CodePolicyFailed || !strings.Contains(d.Reason, "not known before the run") {
		t.Fatalf("%+v", d)
	}
}

func TestTenantPolicy(t *testing.T) {
	p, found := policy.Compile(events.TenantPolicy, events.Policy{Version: 1, Rules: []events.PolicyRule{
		{ID: "own", Operation: events.OperationOperate, When: `action == "cancel" && run.submitter == principal.id`, Decision: events.PolicyAllow},
		{ID: "readers", Operation: events.OperationReadContent, When: `"reader" in principal.roles && run.id == "r"`, Decision: events.PolicyAllow},
	}}, "sha256:t")
	if len(found) > 0 {
		t.Fatal(found)
	}
	if d := p.Decide(events.OperationReadContent, ann()); !d.Allowed() || d.Rule != "readers" {
		t.Errorf("%+v", d)
	}
	in := ann()
	if d := p.Decide(events.OperationOperate, in); d.Allowed() || d.Code != events.CodePrincipalDenied {
		t.Errorf("%+v", d)
	}
	in.Run.Submitter = "ann"
	if d := p.Decide(events.OperationOperate, in); !d.Allowed() {
		t.Errorf("%+v", d)
	}
	if record := p.Record(events.OperationOperate, p.Decide(events.OperationOperate, in)); record.Rule != "own" || record.Digest != "sha256:t" || record.Policy != events.TenantPolicy || record.Verdict != events.PolicyAllow || record.Operation != events.OperationOperate {
		t.Errorf("%+v", record)
	}
	for _, operation := range []events.PolicyOperation{events.OperationSubmit, events.OperationApprove, events.OperationExecute} {
		if p.Decide(operation, in).Allowed() {
			t.Errorf("%s is allowed by the tenant's policy", operation)
		}
	}
}

// Without a policy, and without a rule that allows, nothing is allowed.
func TestNothingAllowsByItself(t *testing.T) {
	var none *policy.Policy
	empty := compiled(t, withRules())
	for _, operation := range operations() {
		if d := none.Decide(operation, ann()); d.Verdict != events.PolicyDeny || d.Code != events.CodePolicyMissing {
			t.Errorf("%s without a policy: %+v", operation, d)
		}
		if d := empty.Decide(operation, ann()); d.Verdict != events.PolicyDeny || d.Code == 0 || d.Rule != "" {
			t.Errorf("%s without a rule: %+v", operation, d)
		}
	}
	lists := compiled(t, events.Policy{
		Version: 1, ApprovalSeconds: 1, LeaseSeconds: 1, Submitters: []string{"ann"}, Approvers: []string{"*"}, Operations: []string{"mail"},
	})
	nobody := ann()
	nobody.Principal.ID, nobody.Capability.Name = "", "other"
	for operation, rule := range map[events.PolicyOperation]string{
		events.OperationSubmit: policy.RuleSubmitters, events.OperationApprove: policy.RuleApprovers, events.OperationExecute: policy.RuleOperations,
	} {
		if d := lists.Decide(operation, ann()); !d.Allowed() || d.Rule != rule || d.Cost != 0 {
			t.Errorf("%s: %+v", operation, d)
		}
		if d := lists.Decide(operation, nobody); d.Allowed() {
			t.Errorf("%s of nobody: %+v", operation, d)
		}
	}
}

func operations() []events.PolicyOperation {
	return []events.PolicyOperation{events.OperationSubmit, events.OperationApprove, events.OperationExecute, events.OperationOperate, events.OperationReadContent}
}

func TestFirstThatDoesNotAllowWins(t *testing.T) {
	r := func(id string, decision events.PolicyVerdict) events.PolicyRule {
		return events.PolicyRule{ID: id, Operation: events.OperationExecute, When: "true", Decision: decision, Reason: "because of " + id}
	}
	for name, test := range map[string]struct {
		rules   []events.PolicyRule
		verdict events.PolicyVerdict
		rule    string
		code    events.Code
	}{
		"confirm alone":         {[]events.PolicyRule{r("a", "confirm")}, events.PolicyDeny, "", events.CodeOperationNotAllowed},
		"clarify alone":         {[]events.PolicyRule{r("a", "clarify"), {ID: "b", Operation: "execute", When: "false", Decision: "allow"}}, events.PolicyDeny, "", events.CodeOperationNotAllowed},
		"the first that allows": {[]events.PolicyRule{r("a", "allow"), r("b", "allow")}, events.PolicyAllow, "a", 0},
		"a later one denies":    {[]events.PolicyRule{r("a", "allow"), r("b", "deny"), r("c", "allow")}, events.PolicyDeny, "b", events.CodePolicyDenied},
		"confirm before deny":   {[]events.PolicyRule{r("a", "confirm"), r("b", "deny"), r("c", "allow")}, events.PolicyConfirm, "a", events.CodeConfirmationMissing},
		"clarify before allow":  {[]events.PolicyRule{r("a", "clarify"), r("b", "allow")}, events.PolicyClarify, "a", events.CodePolicyClarification},
		"deny before confirm":   {[]events.PolicyRule{r("a", "deny"), r("b", "confirm")}, events.PolicyDeny, "a", events.CodePolicyDenied},
		"one does not hold":     {[]events.PolicyRule{{ID: "a", Operation: "execute", When: "false", Decision: "deny"}, r("b", "allow")}, events.PolicyAllow, "b", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := compiled(t, withRules(test.rules...)).Decide(events.OperationExecute, ann())
			if d.Verdict != test.verdict || d.Rule != test.rule || d.Code != test.code {
				t.Fatalf("%+v", d)
			}
			if d.Rule != "" && test.code != 0 && d.Diagnostic("p").Message != "rule "+test.rule+": because of "+test.rule {
				t.Errorf("%v", d.Diagnostic("p"))
			}
		})
	}
}

func TestStricter(t *testing.T) {
	order := []events.PolicyVerdict{events.PolicyAllow, events.PolicyConfirm, events.PolicyClarify, events.PolicyDeny}
	for i, a := range order {
		for j, b := range order {
			got := policy.Stricter(policy.Decision{Verdict: a, Rule: "a"}, policy.Decision{Verdict: b, Rule: "b"})
			if got.Verdict != order[max(i, j)] || i == j && got.Rule != "a" {
				t.Errorf("%s and %s: %+v", a, b, got)
			}
		}
	}
}

// What is wrong with a policy is said where it is wrong.
func TestCompileErrors(t *testing.T) {
	rule := func(change func(*events.PolicyRule)) events.Policy {
		r := events.PolicyRule{ID: "ok", Operation: events.OperationExecute, When: "true", Decision: events.PolicyAllow}
		change(&r)
		return withRules(events.PolicyRule{ID: "first", Operation: events.OperationSubmit, When: "true", Decision: events.PolicyAllow}, r)
	}
	when := func(text string) events.Policy { return rule(func(r *events.PolicyRule) { r.When = text }) }
	many := withRules()
	for i := range policy.MaxRules + 1 {
		many.Rules = append(many.Rules, events.PolicyRule{ID: fmt.Sprintf("r%d", i), Operation: "submit", When: "true", Decision: "allow"})
	}
	for name, test := range map[string]struct {
		policy  events.Policy
		path    string
		message string
	}{
		"no condition":       {when(" "), "spec.rules[1].when", "no condition"},
		"unknown variable":   {when("true &&\n  principal.name == \"x\""), "spec.rules[1].when", "line 2, column 12: undeclared reference to 'principal.name'"},
		"other operation":    {when("run.submitter == \"x\""), "spec.rules[1].when", "line 1, column 1: undeclared reference to 'run'"},
		"not a condition":    {when("1 + 1"), "spec.rules[1].when", "of type int, not bool"},
		"may be anything":    {when("arguments.flag"), "spec.rules[1].when", "of type dyn, not bool"},
		"other types":        {when("capability.version == \"2\""), "spec.rules[1].when", "line 1, column 20: found no matching overload"},
		"syntax":             {when("principal.id =="), "spec.rules[1].when", "line 1, column 16: Syntax error"},
		"bad pattern":        {when("agent.matches('(')"), "spec.rules[1].when", "invalid matches argument"},
		"nested loops":       {when("arguments.exists(a, arguments.exists(b, a == b))"), "spec.rules[1].when", "could cost"},
		"three loops":        {when("[1].exists(a, [1].exists(b, [1].exists(c, a == b && b == c)))"), "spec.rules[1].when", "nesting limit"},
		"too long":           {when("true" + strings.Repeat(" || true", 300)), "spec.rules[1].when", "at most 2048"},
		"too deep":           {when(strings.Repeat("(", 200) + "true" + strings.Repeat(")", 200)), "spec.rules[1].when", "recursion"},
		"id":                 {rule(func(r *events.PolicyRule) { r.ID = "Not One" }), "spec.rules[1].id", "the id is not"},
		"id of a list":       {rule(func(r *events.PolicyRule) { r.ID = policy.RuleOperations }), "spec.rules[1].id", "name of a list"},
		"id twice":           {rule(func(r *events.PolicyRule) { r.ID = "first" }), "spec.rules[1].id", "two rules"},
		"unknown operation":  {rule(func(r *events.PolicyRule) { r.Operation = "delete" }), "spec.rules[1].operation", "submit, approve, execute"},
		"the tenant's":       {rule(func(r *events.PolicyRule) { r.Operation = events.OperationOperate }), "spec.rules[1].operation", "submit, approve, execute"},
		"unknown decision":   {rule(func(r *events.PolicyRule) { r.Decision = "maybe" }), "spec.rules[1].decision", "allow, deny, confirm, clarify"},
		"no such here":       {rule(func(r *events.PolicyRule) { r.Operation, r.Decision = events.OperationSubmit, events.PolicyConfirm }), "spec.rules[1].decision", "allow, deny"},
		"long reason":        {rule(func(r *events.PolicyRule) { r.Reason = strings.Repeat("x", policy.MaxReasonBytes+1) }), "spec.rules[1].reason", "one line"},
		"reason of lines":    {rule(func(r *events.PolicyRule) { r.Reason = "a\nb" }), "spec.rules[1].reason", "one line"},
		"too many rules":     {many, "spec.rules", "at most 100"},
		"no lease":           {events.Policy{ApprovalSeconds: 1}, "spec", "lease_seconds"},
		"standing for write": {events.Policy{ApprovalSeconds: 1, LeaseSeconds: 1, StandingApproval: []events.Effect{events.EffectWrite}}, "spec.standing_approval", "cannot cover writes"},
		"long list":          {events.Policy{ApprovalSeconds: 1, LeaseSeconds: 1, Operations: make([]string, 1001)}, "spec", "at most 1000"},
	} {
		t.Run(name, func(t *testing.T) {
			c, found := policy.Compile("p", test.policy, "")
			if c != nil || len(found) == 0 || found[0].Path != test.path || found[0].Code == 0 || found[0].Action == "" {
				t.Fatalf("compiled %v, found %v", c != nil, found)
			}
			if !strings.Contains(found[0].Message+found[0].Action, test.message) {
				t.Errorf("%q does not say %q", found[0], test.message)
			}
		})
	}
	if c, found := policy.Compile(events.TenantPolicy, events.Policy{Submitters: []string{"*"}}, ""); c != nil || len(found) != 1 {
		t.Errorf("a tenant's policy with submitters: %v", found)
	}
}

// An input that is larger than what costs were estimated for is refused, and
// what an evaluation spends is bounded whatever was estimated.
func TestLargeInputsAreRefused(t *testing.T) {
	p := withRules(events.PolicyRule{ID: "looks", Operation: events.OperationExecute, When: `arguments.all(k, k != "zz")`, Decision: events.PolicyAllow})
	c := compiled(t, p)
	if d := c.Decide(events.OperationExecute, ann()); !d.Allowed() {
		t.Fatalf("%+v", d)
	}
	for name, change := range map[string]func(*policy.Input){
		"roles":           func(in *policy.Input) { in.Roles = make([]string, policy.MaxRoles+1) },
		"a role":          func(in *policy.Input) { in.Roles = []string{strings.Repeat("x", policy.MaxTextBytes+1)} },
		"a principal":     func(in *policy.Input) { in.Principal.ID = strings.Repeat("x", policy.MaxTextBytes+1) },
		"capabilities":    func(in *policy.Input) { in.Capabilities = make([]string, policy.MaxListLength+1) },
		"a source":        func(in *policy.Input) { in.Sources["to"] = strings.Repeat("x", policy.MaxTextBytes+1) },
		"a text":          func(in *policy.Input) { in.Arguments["to"] = strings.Repeat("x", policy.MaxTextBytes+1) },
		"a list":          func(in *policy.Input) { in.Arguments["to"] = make([]any, policy.MaxListLength+1) },
		"many values":     func(in *policy.Input) { in.Arguments["to"] = nested(11, 1000) },
		"depth":           func(in *policy.Input) { in.Arguments["to"] = deep(20) },
		"an unknown type": func(in *policy.Input) { in.Arguments["to"] = struct{}{} },
	} {
		in := ann()
		change(in)
		if d := c.Decide(events.OperationExecute, in); d.Verdict != events.PolicyDeny || d.Code != events.CodePolicyFailed {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func nested(lists, length int) any {
	out := make([]any, lists)
	for i := range out {
		out[i] = make([]any, length)
	}
	return out
}

func deep(n int) any {
	var value any = "x"
	for range n {
		value = []any{value}
	}
	return value
}

func ExamplePolicy_Decide() {
	p, _ := policy.Compile("release", events.Policy{
		Version: 1, ApprovalSeconds: 3600, LeaseSeconds: 900, Operations: []string{"release.publish"},
		Rules: []events.PolicyRule{{
			ID: "frozen", Operation: events.OperationExecute, When: `arguments.module.startsWith("legacy/")`,
			Decision: events.PolicyDeny, Reason: "legacy modules are frozen",
		}},
	}, "sha256:…")
	d := p.Decide(events.OperationExecute, &policy.Input{
		Capability: policy.Capability{Name: "release.publish"}, Arguments: map[string]any{"module": "legacy/billing"},
	})
	fmt.Println(d.Verdict, d.Diagnostic("plan.nodes[0]"))
	// Output: deny MD-1122 plan.nodes[0]: rule frozen: legacy modules are frozen; ask whoever applies the policies of the tenant
}
