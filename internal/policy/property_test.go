package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/policy"
)

// conditions are some that hold, some that do not, and some that fail.
var conditions = []string{
	"true", "false", `principal.id == "ann"`, `"owner" in principal.roles`, `arguments.missing == 1`, `capability.effect == "write"`,
	`arguments.count == 3`, `arguments.body == "x"`, `plan.ambiguous`, `budget.actions > 2`, `1 / budget.input_tokens == 0`,
	`arguments.all(k, k != "q")`,
}

func drawRule(t *rapid.T, id string) events.PolicyRule {
	return events.PolicyRule{
		ID: id, Operation: events.OperationExecute, When: rapid.SampledFrom(conditions).Draw(t, "when"),
		Decision: rapid.SampledFrom([]events.PolicyVerdict{events.PolicyAllow, events.PolicyAllow, events.PolicyDeny, events.PolicyConfirm, events.PolicyClarify}).Draw(t, "decision"),
	}
}

func drawPolicy(t *rapid.T) events.Policy {
	p := withRules()
	for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
		p.Rules = append(p.Rules, drawRule(t, fmt.Sprintf("r%d", i)))
	}
	if rapid.Bool().Draw(t, "listed") {
		p.Operations = []string{"mail"}
	}
	return p
}

// Adding a rule that denies anywhere, or one that asks at the end, never lets
// through what was refused, and never weakens what was asked for.
func TestRulesThatDoNotAllowNeverWiden(t *testing.T) {
	allowed := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		before := decide(t, p)
		more := p
		added := drawRule(t, "added")
		if added.Decision == events.PolicyAllow {
			added.Decision = events.PolicyDeny
		}
		place := len(p.Rules)
		if added.Decision == events.PolicyDeny {
			place = rapid.IntRange(0, len(p.Rules)).Draw(t, "place")
		}
		more.Rules = slices.Insert(slices.Clone(p.Rules), place, added)
		after := decide(t, more)
		if after.Allowed() && !before.Allowed() || before.Verdict == events.PolicyDeny && after.Verdict != events.PolicyDeny {
			t.Fatalf("adding %+v made %+v of %+v", added, after, before)
		}
		if added.Decision == events.PolicyDeny && after.Allowed() != (before.Allowed() && after.Rule == before.Rule) {
			t.Fatalf("%+v before and %+v after", before, after)
		}
		if before.Allowed() {
			allowed++
		}
	})
	if allowed == 0 {
		t.Fatal("nothing was ever allowed: the property was not tried")
	}
}

func decide(t *rapid.T, p events.Policy) policy.Decision {
	c, found := policy.Compile("p", p, "sha256:p")
	if len(found) > 0 {
		t.Fatal(found)
	}
	return c.Decide(events.OperationExecute, ann())
}

// The decision follows from the rules in document order, as a reader would
// follow them by hand.
func TestDecisionFollowsDocumentOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		got := decide(t, p)
		want := policy.Decision{Verdict: events.PolicyDeny}
		if len(p.Operations) > 0 {
			want = policy.Decision{Verdict: events.PolicyAllow, Rule: policy.RuleOperations}
		}
		var asks policy.Decision
		for i := range p.Rules {
			// What a rule does by itself: it allows, or says something else.
			alone := p
			alone.Operations, alone.Rules = []string{"mail"}, p.Rules[i:i+1]
			if p.Rules[i].Decision == events.PolicyAllow {
				alone.Operations = nil
			}
			d := decide(t, alone)
			switch {
			case d.Rule != p.Rules[i].ID: // it does not hold
			case asks.Rule != "" && p.Rules[i].Decision != events.PolicyAllow:
			case d.Verdict == events.PolicyAllow:
				if want.Verdict != events.PolicyAllow {
					want = d
				}
			case d.Verdict == events.PolicyDeny:
				if asks.Rule != "" && want.Allowed() {
					continue // it was not tried: something allowed already
				}
				if got.Verdict != d.Verdict || got.Rule != d.Rule {
					t.Fatalf("%+v, want %+v", got, d)
				}
				return
			default:
				asks = d
			}
		}
		if asks.Rule != "" && want.Allowed() {
			want = asks
		}
		if got.Verdict != want.Verdict || got.Rule != want.Rule {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
}

// The same policy and input give the same decision at the same cost, however
// often and from wherever it is asked.
func TestDecisionsAreDeterministic(t *testing.T) {
	p := withRules()
	for i, when := range conditions {
		if !strings.Contains(when, "missing") && !strings.Contains(when, "body") && !strings.Contains(when, "/") {
			p.Rules = append(p.Rules, events.PolicyRule{ID: fmt.Sprintf("r%d", i), Operation: events.OperationExecute, When: when, Decision: events.PolicyAllow})
		}
	}
	first := compiled(t, p)
	want := first.Decide(events.OperationExecute, ann())
	if !want.Allowed() || want.Cost == 0 {
		t.Fatalf("%+v", want)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			again, _ := policy.Compile("p", p, "sha256:p")
			for range 50 {
				if got := again.Decide(events.OperationExecute, ann()); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
				if got := first.Decide(events.OperationExecute, ann()); got != want {
					t.Errorf("%+v, want %+v", got, want)
				}
			}
		})
	}
	group.Wait()
}

func FuzzExpression(f *testing.F) {
	for _, when := range conditions {
		f.Add(when)
	}
	f.Add(`arguments.exists(a, arguments.exists(b, a == b))`)
	f.Add(`agent.matches("(a+)+$") ? [1, 2].map(x, x * 2) == [2, 4] : dyn(1) == "1"`)
	f.Add(`string(bytes(agent) + b"\xff") == "` + "\xff" + `"`)
	f.Fuzz(func(t *testing.T, when string) {
		c, found := policy.Compile("p", withRules(events.PolicyRule{ID: "r", Operation: events.OperationExecute, When: when, Decision: events.PolicyAllow}), "")
		if (c == nil) == (len(found) == 0) {
			t.Fatalf("compiled %v, found %v", c != nil, found)
		}
		for _, d := range found {
			if len(d.Message) > 1000 || strings.ContainsAny(d.Message, "\n\r") {
				t.Fatalf("message %q", d.Message)
			}
		}
		if c == nil {
			return
		}
		d := c.Decide(events.OperationExecute, ann())
		if d.Cost > policy.MaxRuleCost+policy.MaxTextBytes || d.Allowed() == (d.Code != 0) {
			t.Fatalf("%+v", d)
		}
	})
}
