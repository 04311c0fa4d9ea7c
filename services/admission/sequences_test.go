package admission_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// own says for values whether the principal wrote them in words: what stands
// in its text whole.
var own = map[string]bool{`"milk"`: true, `"note"`: true, `"25"`: true, `"mil"`: false, `"13"`: false, `"mallory"`: false}

// place is where a value stands in the text, or seems to.
var place = map[string][2]int{`"milk"`: {13, 17}, `"note"`: {7, 11}, `"25"`: {23, 25}, `"mil"`: {13, 16}, `"13"`: {38, 40}, `"mallory"`: {13, 20}}

// hostile is one run that an attacker interprets, with what happened to it.
type hostile struct {
	*desk
	world *cases.World
	// asked are the uses that were asked about, by approval, and approved the
	// nodes that were.
	uses     map[string]*events.ApprovalRequested
	approved map[string]bool
	given    *events.ApprovalDecided // decided last, at
	at       events.Time
	over     bool
}

func drawArgument(t *rapid.T, before []string) events.Argument {
	switch rapid.IntRange(0, 4).Draw(t, "source") {
	case 0:
		return cases.Input(rapid.SampledFrom([]string{"/path", "/ghost"}).Draw(t, "pointer"))
	case 1, 2:
		if len(before) > 0 {
			return cases.Output(rapid.SampledFrom(append([]string{"n0", "n0", "ghost"}, before...)).Draw(t, "node"), "/text")
		}
	}
	value := rapid.SampledFrom([]string{`"milk"`, `"note"`, `"25"`, `"mil"`, `"13"`, `"mallory"`}).Draw(t, "value")
	a := cases.Literal(value)
	if rapid.IntRange(0, 4).Draw(t, "claimed") > 0 {
		p := place[rapid.SampledFrom([]string{value, value, value, `"milk"`, `"25"`}).Draw(t, "place of")]
		a.Words = []events.WordSpan{{Start: p[0], End: p[1]}}
	}
	return a
}

func drawHostilePlan(t *rapid.T) *events.Plan {
	if rapid.IntRange(0, 2).Draw(t, "usual") == 0 { // or few sequences would come to a use at dispatch
		write := cases.Write("n1", rapid.SampledFrom([]string{"publish", "mail"}).Draw(t, "capability"), "n0")
		write.Arguments = map[string]events.Argument{"word": cases.Output("n0", "/text")}
		return cases.Plan(cases.Read("n0"), write)
	}
	var nodes []events.PlanNode
	var before []string
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		name := rapid.SampledFrom([]string{"look", "scan", "note", "publish", "mail"}).Draw(t, "capability")
		if i == 0 && rapid.Bool().Draw(t, "a read first") {
			name = "look"
		}
		effect := cases.NewWorld().Capabilities[name].Effect
		if rapid.IntRange(0, 9).Draw(t, "lie") == 0 {
			effect = events.EffectRead
		}
		n := cases.Node(fmt.Sprintf("n%d", i), name, effect, before...)
		n.Arguments = map[string]events.Argument{"word": drawArgument(t, before)}
		nodes, before = append(nodes, n), append(slices.Clone(before), n.ID)
	}
	return cases.Plan(nodes...)
}

// next draws what happens next; mostly what the run waits for.
func (h *hostile) next(t *rapid.T, r *events.IntentRequest) decider.Input {
	kind := rapid.IntRange(0, 7).Draw(t, "input")
	if rapid.IntRange(0, 4).Draw(t, "expected") > 0 {
		switch {
		case h.State.Pending != nil || len(h.State.Uses) > 0:
			kind = 1
		case h.State.Admitted != nil:
			kind = 2
		default:
			kind = 0
		}
	}
	switch kind {
	case 0:
		p := proposal{
			at: h.at, plan: drawHostilePlan(t), formalization: fmt.Sprintf("formalization-%d", rapid.IntRange(1, 2).Draw(t, "formalization")),
			origin: rapid.SampledFrom([]events.Origin{events.OriginInferred, events.OriginInferred, events.OriginInherited, events.OriginExplicit, "trusted"}).Draw(t, "origin"),
		}
		if plan, ok := p.plan.(*events.Plan); ok {
			p.spec = cases.Spec(plan)
		}
		if rapid.IntRange(0, 9).Draw(t, "another request") == 0 {
			p.request = "sha256:another-tenants"
		}
		return h.proposed(r, p)
	case 1:
		return h.asked(h.at, h.drawDecision(t))
	case 2, 3:
		return h.drawNeed(t)
	case 4:
		return h.asked(h.at, &events.CancelRequested{Principal: cases.Person()})
	case 5:
		return cases.Fired(h.at, h.view, rapid.SampledFrom([]string{"approval", "use-n0", "use-n1", "use-n2"}).Draw(t, "timer"))
	case 6:
		h.view = cases.Revoke(h.view, rapid.SampledFrom([]string{"look", "publish", "note", "mail"}).Draw(t, "revoked"))
	}
	return cases.Recovered(h.at, h.view)
}

func (h *hostile) drawDecision(t *rapid.T) *events.ApprovalDecided {
	given := &events.ApprovalDecided{Principal: cases.Person(), Approval: "approval-forged", Decision: events.DecisionApprove, Digest: "sha256:forged"}
	for _, p := range cases.Events[*events.ApprovalRequested](h.All) {
		if rapid.IntRange(0, 4).Draw(t, "this one") > 0 {
			given.Approval, given.Digest = p.Approval, p.Digest
		}
		if rapid.IntRange(0, 9).Draw(t, "digest of another") == 0 {
			given.Digest = "sha256:another"
		}
	}
	given.Principal.ID = rapid.SampledFrom([]string{"ann", "bob", "bob", "mallory", ""}).Draw(t, "principal")
	given.Decision = rapid.SampledFrom([]events.Decision{events.DecisionApprove, events.DecisionApprove, events.DecisionApprove, events.DecisionDeny, "maybe"}).Draw(t, "decision")
	return given
}

// drawNeed is what an executor says that is right, or is not.
func (h *hostile) drawNeed(t *rapid.T) decider.Input {
	e := &events.ConfirmationNeeded{Revision: 1, Node: "n0", Effect: events.EffectWrite, Arguments: cases.Text(events.ClassPlan, `{"word":"found"}`)}
	if h.State.Admitted != nil {
		nodes := h.State.Admitted.Nodes
		late := slices.DeleteFunc(slices.Clone(nodes), func(n events.AdmittedNode) bool { return n.Confirm == "" || h.State.Asked[n.ID] })
		if len(late) > 0 && rapid.IntRange(0, 3).Draw(t, "one that waits") > 0 {
			nodes = late
		}
		n := rapid.SampledFrom(nodes).Draw(t, "node")
		e.Node, e.Capability, e.Definition, e.Effect = n.ID, n.Capability, n.Definition, n.Effect
		if rapid.IntRange(0, 9).Draw(t, "another capability") == 0 {
			e.Capability.Name = "mail"
		}
	}
	e.Revision = rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "revision")
	return cases.Delivered(h.at, h.view, cases.Commit(events.OwnerExecutor, 3, e))
}

// No sequence of what an interpreter, an executor and people may say admits a
// use whose values are neither the principal's own nor confirmed by somebody
// who may, on exactly what was asked, in time, once.
func TestNoSequenceAdmitsWhatNobodyAllowed(t *testing.T) {
	req.Covers(t, "C3-RUN-004.u", "IK-1.6", "IK-7.3", "OD-3.2.5", "OD-3.6.6", "OD-4.4.20", "OD-11.7")
	seen := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := cases.NewWorld()
		w.Policy.FourEyes = rapid.IntRange(0, 4).Draw(t, "four eyes") == 0
		w.Change("mail", func(c *events.Capability) { c.Confirmation = events.ConfirmationExplicit })
		if rapid.Bool().Draw(t, "authority declared") {
			w.Change("note", func(c *events.Capability) { c.AuthorityArguments = []string{"count"} })
		}
		h := &hostile{world: w, uses: map[string]*events.ApprovalRequested{}, approved: map[string]bool{}, at: cases.Start}
		w.Routes, w.Agent.Routes = &events.Routes{Version: 1, Ladder: []string{"small"}}, "ladder"
		r := cases.Request(nil, func(r *events.IntentRequest) {
			r.Generator, r.Intent.Text = events.Generator{Mode: events.GeneratorModel, Routes: "ladder"}, words
			unmetered(r)
		})
		h.desk = newDesk(w.View())
		if _, err := h.Decide(h.submitted(r)); err != nil || h.State.Sealed == nil {
			t.Fatalf("not sealed: %v, %v", err, cases.Types(h.All))
		}
		for range rapid.IntRange(2, 10).Draw(t, "inputs") {
			h.at += events.Time(rapid.Int64Range(1, 25).Draw(t, "seconds")) * cases.Second
			h.step(t, r, seen)
		}
	})
	t.Logf("%v", seen)
	if seen["refused"] < 5000 {
		return // too few sequences to have come everywhere
	}
	for _, what := range []string{"admitted", "admitted by a person", "admitted to be confirmed at dispatch", "use approved", "use denied", "refused"} {
		if seen[what] == 0 {
			t.Errorf("no sequence led to %s: the property was not tried", what)
		}
	}
}

func (h *hostile) step(t *rapid.T, r *events.IntentRequest, seen map[string]int) {
	in := h.next(t, r)
	waiting := h.State.Pending
	decision, err := h.Decide(in)
	if err != nil {
		if refused := (*decider.Error)(nil); !errors.As(err, &refused) || refused.Code == 0 {
			t.Fatalf("an error without a code: %v", err)
		}
		seen["refused"]++
		return
	}
	h.given = nil
	if in.Commit != nil {
		h.given, _ = in.Commit.Events[0].Data.(*events.ApprovalDecided)
	}
	for _, p := range decision.Events {
		if h.over {
			t.Fatalf("%s after the end", p.EventType())
		}
		switch e := p.(type) {
		case *events.RevisionAdmitted:
			h.admitted(t, e, waiting, seen)
		case *events.ApprovalRequested:
			if e.Use != "" {
				h.uses[e.Approval] = e
			}
		case *events.UseApproved:
			h.approves(t, e)
			seen["use approved"]++
		case *events.UseDenied:
			h.approved[e.Node] = true
			seen["use denied"]++
		case *events.PlanRejected, *events.SpecDenied, *events.RunCancelled, *events.RunExpired:
			h.over = true
		}
	}
}

// mayDecide reports whether who decided last may, for a run of ann.
func (h *hostile) mayDecide(asked *events.ApprovalRequested) bool {
	g := h.given
	return g != nil && asked != nil && g.Decision == events.DecisionApprove && g.Digest == asked.Digest && g.Approval == asked.Approval && h.at < asked.Expires &&
		(g.Principal.ID == "bob" || g.Principal.ID == "ann" && !h.world.Policy.FourEyes)
}

func (h *hostile) admitted(t *rapid.T, e *events.RevisionAdmitted, waiting *events.ApprovalRequested, seen map[string]int) {
	seen["admitted"]++
	byPerson := h.mayDecide(waiting)
	plan, _ := e.Plan.Content()
	for _, n := range e.Nodes {
		c := h.world.Capabilities[n.Capability.Name]
		if n.Effect != c.Effect {
			t.Fatalf("%s is admitted as %s", n.Capability.Name, n.Effect)
		}
		needs := c.Confirmation == events.ConfirmationRequired || c.Effect == events.EffectWrite && c.AuthorityArguments == nil && !h.wrote(n)
		switch {
		case n.Confirm == events.ConfirmAtDispatch:
			seen["admitted to be confirmed at dispatch"]++
		case n.Confirmation != "":
			seen["admitted by a person"]++
			if !byPerson {
				t.Fatalf("%s has an approval that nobody gave: %+v", n.ID, h.given)
			}
		case needs:
			t.Fatalf("%s is admitted without a word of anybody: %s", n.ID, plan)
		}
	}
}

// wrote reports whether the value of a node's argument is the principal's own,
// found out another way than the code does.
func (h *hostile) wrote(n events.AdmittedNode) bool {
	for _, s := range n.Sources {
		switch s.Kind {
		case events.SourceInput:
		case events.SourceWords:
			content, _ := n.Arguments.Content()
			value, _ := strings.CutPrefix(strings.TrimSuffix(string(content), "}"), `{"word":`)
			if !own[value] || s.From != fmt.Sprintf("%d-%d", place[value][0], place[value][1]) {
				return false
			}
		case events.SourceRequest, events.SourceChoice, events.SourceModel, events.SourceOutput:
			return false
		}
	}
	return len(n.Sources) > 0
}

func (h *hostile) approves(t *rapid.T, e *events.UseApproved) {
	asked := h.uses[e.Approval]
	if !h.mayDecide(asked) {
		t.Fatalf("%s was approved by %+v, asked %+v", e.Node, h.given, asked)
	}
	if asked.Use != e.Node || e.Arguments.Commitment != asked.Items[0].Arguments.Commitment || e.Revision != h.State.Admitted.Revision {
		t.Fatalf("approved %+v, asked %+v", e, asked)
	}
	if h.approved[e.Node] {
		t.Fatalf("%s was decided twice", e.Node)
	}
	h.approved[e.Node] = true
}
