package docs

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/cli/manifest"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/registry"
)

// The examples of policies can be applied, and say what the text says of them.
func TestPolicyExamplesCompile(t *testing.T) {
	text := files(t, ".md")["docs/policies.md"]
	compiled := map[string]*policy.Policy{}
	for _, block := range indented(text) {
		if !strings.HasPrefix(block, "apiVersion:") {
			continue
		}
		documents, err := manifest.Parse("docs/policies.md", []byte(block))
		if err != nil || len(documents) != 1 {
			t.Fatalf("%v\n%s", err, block)
		}
		d := documents[0]
		if found := (registry.View{}).Check(events.Kind(d.Kind), d.Name, d.Spec); len(found) > 0 {
			t.Fatalf("%s: %v", d.Name, found)
		}
		data, err := registry.Normalize(events.KindPolicy, d.Spec)
		if err != nil {
			t.Fatal(err)
		}
		view := registry.View{}.Evolve(&events.Commit{Number: 1, Events: []events.Event{{Data: &events.PolicyApplied{Applied: events.Applied{Name: d.Name, Version: 1, Definition: data}}}}})
		compiled[d.Name] = view.Policy(d.Name)
	}
	release, tenant := compiled["release"], compiled[events.TenantPolicy]
	if release == nil || tenant == nil {
		t.Fatalf("examples %v", compiled)
	}
	for name, test := range map[string]struct {
		policy    *policy.Policy
		operation events.PolicyOperation
		in        policy.Input
		want      events.PolicyVerdict
	}{
		"ann submits":              {release, events.OperationSubmit, policy.Input{Principal: events.Principal{ID: "ann"}}, events.PolicyAllow},
		"an engineer submits":      {release, events.OperationSubmit, policy.Input{Principal: events.Principal{ID: "eve"}, Roles: []string{"engineer"}}, events.PolicyAllow},
		"others do not":            {release, events.OperationSubmit, policy.Input{Principal: events.Principal{ID: "eve"}}, events.PolicyDeny},
		"legacy modules":           {release, events.OperationExecute, use("release.publish", "legacy/x", events.OriginExplicit), events.PolicyDeny},
		"other modules":            {release, events.OperationExecute, use("release.publish", "x", events.OriginExplicit), events.PolicyAllow},
		"what a model made up":     {release, events.OperationExecute, use("release.publish", "x", events.OriginInferred), events.PolicyConfirm},
		"operators":                {tenant, events.OperationOperate, policy.Input{Roles: []string{"operator"}, Kind: "Capability"}, events.PolicyAllow},
		"operators and policies":   {tenant, events.OperationOperate, policy.Input{Roles: []string{"operator"}, Kind: "Policy"}, events.PolicyDeny},
		"owners and policies":      {tenant, events.OperationOperate, policy.Input{Roles: []string{"owner"}, Kind: "Policy"}, events.PolicyAllow},
		"an own run":               {tenant, events.OperationReadContent, policy.Input{Principal: events.Principal{ID: "ann"}, Run: policy.Run{Submitter: "ann"}}, events.PolicyAllow},
		"the run of somebody else": {tenant, events.OperationReadContent, policy.Input{Principal: events.Principal{ID: "ann"}, Run: policy.Run{Submitter: "bob"}}, events.PolicyDeny},
	} {
		if d := test.policy.Decide(test.operation, &test.in); d.Verdict != test.want {
			t.Errorf("%s: %+v, want %s", name, d, test.want)
		}
	}
}

func use(name, module string, origin events.Origin) policy.Input {
	return policy.Input{
		Capability: policy.Capability{Name: name, Version: 1, Effect: events.EffectWrite}, Arguments: map[string]any{"module": module}, Origin: origin,
	}
}

// indented returns the indented blocks of a text.
func indented(text string) (blocks []string) {
	var block strings.Builder
	for line := range strings.Lines(text + "\nend") {
		rest, inside := strings.CutPrefix(line, "    ")
		switch {
		case inside:
			block.WriteString(rest)
		case strings.TrimSpace(line) != "" && block.Len() > 0:
			blocks = append(blocks, block.String())
			block.Reset()
		}
	}
	return blocks
}

// The table of variables and the limits are those of the code.
func TestPolicyVariablesAreDocumented(t *testing.T) {
	text := files(t, ".md")["docs/policies.md"]
	for _, operation := range []events.PolicyOperation{
		events.OperationSubmit, events.OperationApprove, events.OperationExecute, events.OperationOperate, events.OperationReadContent,
	} {
		for _, variable := range policy.Variables(operation) {
			name, _, _ := strings.Cut(variable, ":")
			if strings.HasPrefix(name, "budget.") {
				name = "budget.actions"
			}
			found := false
			for line := range strings.Lines(text) {
				found = found || strings.HasPrefix(line, "| `") && strings.Contains(line, "`"+name+"`") && (strings.Contains(line, "`"+string(operation)+"`") || strings.Contains(line, "every operation"))
			}
			if !found {
				t.Errorf("docs/policies.md does not say that %s can be named for %s", name, operation)
			}
		}
	}
	for _, limit := range []int{policy.MaxRules, policy.MaxExpressionBytes, policy.MaxRuleCost, policy.MaxDecisionCost, policy.MaxRoles, policy.MaxTextBytes, policy.MaxListLength, policy.MaxArgumentNodes} {
		if !strings.Contains(text, " "+thousands(limit)+" ") {
			t.Errorf("docs/policies.md does not name the limit %s", thousands(limit))
		}
	}
}

func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return thousands(n/1000) + fmt.Sprintf(",%03d", n%1000)
}
