package presenter_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/services/presenter"
)

func request(t *testing.T, arguments string) *events.ApprovalRequested {
	t.Helper()
	return &events.ApprovalRequested{
		Approval: "approval-1", Digest: canon.Sum("approval", nil), Reason: "the effects need a person", Expires: at, Approvers: []string{"ada", "bob"},
		Policy: events.AgentBinding{Name: "careful"},
		Items: []events.ApprovalItem{{
			Node: "publish", Capability: events.CapabilityRef{Name: "release.publish", Version: 3}, Definition: canon.Sum("capability", nil),
			Effect: events.EffectWrite, Arguments: body(t, arguments), Sources: map[string]string{"version": "request input /version", "note": "literal, inferred"},
		}},
	}
}

func present(t *testing.T, a *events.ApprovalRequested) (events.InteractionPresented, shown) {
	t.Helper()
	decision, err := presenter.Decide(presenter.State{}, deliver(a))
	if err != nil {
		t.Fatal(err)
	}
	if len(decision.Events) != 1 {
		t.Fatalf("decided %+v", decision)
	}
	p, ok := decision.Events[0].(*events.InteractionPresented)
	if !ok {
		t.Fatalf("decided %T", decision.Events[0])
	}
	var s shown
	s.Document, s.bytes = open(t, p.Document)
	return *p, s
}

// An approval shows exactly what it binds.
func TestApprovalShowsWhatItBinds(t *testing.T) {
	const arguments = `{"count":2,"note":"a\u202eb","version":"1.2.0"}`
	a := request(t, arguments)
	a.Items[0].Authorization = &events.PolicyDecision{Operation: events.OperationExecute, Policy: "careful", Rule: "large", Verdict: events.PolicyConfirm}
	p, s := present(t, a)
	if p.Interaction != a.Approval || p.Kind != events.InteractionApproval || p.Digest != a.Digest || p.Expires != a.Expires || !slices.Equal(p.Approvers, a.Approvers) {
		t.Errorf("presented %+v", p)
	}
	values := map[string]string{}
	var rows [][]string
	var exact string
	for _, b := range s.Blocks {
		switch {
		case b.KeyValues != nil:
			for _, e := range b.KeyValues.Entries {
				values[e.Key] = e.Value
			}
		case b.Table != nil:
			rows = append(rows, b.Table.Rows...)
		case b.Code != nil:
			exact = b.Code.Text
		}
	}
	want := [][]string{{"count", "2", "unknown"}, {"note", `"a\u202eb"`, "literal, inferred"}, {"version", `"1.2.0"`, "request input /version"}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if exact != arguments {
		t.Errorf("exact arguments %q", exact)
	}
	for key, want := range map[string]string{
		"node": "publish", "capability": "release.publish@3", "definition": string(a.Items[0].Definition), "effect": "write", "asked by the rule": "large", "interaction": "approval-1",
		"digest": string(a.Digest), "until": at.String(), "approvers": "ada, bob", "to approve": "mandate approve approval-1", "to refuse": "mandate deny approval-1 --reason …",
	} {
		if values[key] != want {
			t.Errorf("%s is %q, want %q", key, values[key], want)
		}
	}
	if s.Tag != "" || s.Completion != "" {
		t.Errorf("an approval has the outcome %s %s", s.Tag, s.Completion)
	}
}

// What cannot be seen whole comes with a warning not to approve it.
func TestApprovalOfWhatCannotBeSeen(t *testing.T) {
	unopened := request(t, `{}`)
	unopened.Items[0].Arguments = closed(unopened.Items[0].Arguments)
	many := request(t, `{"text":"`+strings.Repeat("x", 100_000)+`"}`)
	for range 20 {
		many.Items = append(many.Items, many.Items[0])
	}
	for name, test := range map[string]struct {
		a    *events.ApprovalRequested
		warn int
	}{
		"whole":    {request(t, `{"text":"`+strings.Repeat("x", 100_000)+`"}`), 0},
		"unopened": {unopened, 1},
		"large":    {request(t, `{"text":"`+strings.Repeat("x", 200_000)+`"}`), 1},
		"no JSON":  {request(t, `{`), 1},
		"a list":   {request(t, `[1]`), 1},
		"many":     {many, 13},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := present(t, test.a)
			if got := strings.Count(s.text(), "has to see the exact arguments elsewhere first"); got != test.warn {
				t.Errorf("%d warnings, want %d", got, test.warn)
			}
		})
	}
}

// Whatever the sizes of the parts, an action that is not shown exactly comes
// with a warning, and how to answer is always there.
func TestNothingIsLeftOutOfAnApprovalInSilence(t *testing.T) {
	for size := range 8 {
		a := request(t, `{"text":"`+strings.Repeat("x", 108_000+251*size)+`"}`)
		for i := range 255 {
			item := a.Items[0]
			if i >= 7 {
				item.Arguments = body(t, `{"text":"`+strings.Repeat("y", 100*size)+`"}`)
			}
			a.Items = append(a.Items, item)
		}
		_, s := present(t, a)
		text := s.text()
		if s.OmittedBlocks > 0 && !strings.Contains(text, "Not every action is shown") {
			t.Errorf("%d: %d parts are left out in silence", size, s.OmittedBlocks)
		}
		if !strings.Contains(text, "counts for exactly these actions") {
			t.Errorf("%d: how to answer is left out", size)
		}
	}
}

// Characters that look like others, or that a screen puts in another order, are
// pointed out.
func TestApprovalPointsOutLookalikes(t *testing.T) {
	for value, want := range map[string]string{
		`"ann@example.org"`:                     "",
		`"Grüße an Анна, 日本 and Ολγα"`:          "",
		`"p\u0430ypal@example.org"`:             "U+0430",
		`["x",{"to":"\u0440\u0430\u0443.com"}]`: "U+0440",
		`{"\u0430nn":1}`:                        "U+0430",
		`"bob\uff20example.org"`:                "U+FF20",
		`"/srv/\u05d0/1/2"`:                     "U+05D0",
		`"a\u00a0b"`:                            "U+00A0",
		`"a\u2800b"`:                            "U+2800",
		`"example\u2024org"`:                    "U+2024",
	} {
		_, s := present(t, request(t, `{"note":`+value+`}`))
		got := s.text()
		if warned := strings.Contains(got, "Look closely"); warned != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: warned %v, want %q", value, warned, want)
		}
	}
}

func TestApprovalIsPresentedOnce(t *testing.T) {
	a := request(t, `{}`)
	p, _ := present(t, a)
	state := presenter.Evolve(presenter.State{}, events.Event{Data: &p})
	var refusal *decider.Error
	if _, err := presenter.Decide(state, deliver(a)); !errors.As(err, &refusal) || refusal.Code != events.CodeConflict {
		t.Errorf("a second presentation gives %v", err)
	}
	other := request(t, `{}`)
	other.Approval = "approval-2"
	if d, err := presenter.Decide(state, deliver(other)); err != nil || len(d.Events) != 1 {
		t.Errorf("another approval gives %+v, %v", d, err)
	}
	f := newFixture(t, events.TagCancelled)
	ended := presenter.Evolve(state, events.Event{Data: f.present().presented})
	if d, err := presenter.Decide(ended, deliver(other)); err != nil || len(d.Events) != 0 {
		t.Errorf("an approval after the end gives %+v, %v", d, err)
	}
}

// Nothing in a document can act: the language of documents has no callback.
func TestDocumentsHaveNoCallbacks(t *testing.T) {
	req.Covers(t, "OD-6.23")
	_, s := present(t, request(t, `{"onclick":"alert(1)"}`))
	for _, member := range []string{"action", "onclick", "script", "callback", "form", "button"} {
		injected := strings.Replace(s.bytes, `"title":`, `"`+member+`":"x","title":`, 1)
		if _, err := events.ParseDocument([]byte(injected)); !errors.Is(err, events.ErrDocument) {
			t.Errorf("a document with %s is read", member)
		}
		block := strings.Replace(s.bytes, `"blocks":[`, `"blocks":[{"`+member+`":{"text":"x"}},`, 1)
		if _, err := events.ParseDocument([]byte(block)); !errors.Is(err, events.ErrDocument) {
			t.Errorf("a block %s is read", member)
		}
	}
}
