package plan_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/plan"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// against is what the plans are checked against, as admission does it.
func against(tb testing.TB, w *cases.World) plan.Against {
	tb.Helper()
	view := w.View()
	agent, ok := view.Agent(cases.Agent)
	if !ok {
		tb.Fatal("the agent of the cases does not compile")
	}
	return plan.Against{
		Agent: agent, View: view, Operations: agent.Policy.Operations, Input: map[string]any{"path": "a.txt", "list": []any{"x"}},
		Bound: []events.Effect{events.EffectIntent, events.EffectNone, events.EffectRead, events.EffectWrite},
	}
}

// with returns a node with one more argument, or one replaced.
func with(n events.PlanNode, name string, a events.Argument) events.PlanNode {
	n.Arguments[name] = a
	return n
}

func TestCheckRefuses(t *testing.T) {
	effect := func(n events.PlanNode, e events.Effect) events.PlanNode { n.Effect = e; return n }
	output := func(p *events.Plan, o events.OutputBinding) *events.Plan { p.Output = o; return p }
	many := make([]events.PlanNode, plan.MaxNodes+1)
	for i := range many {
		many[i] = cases.Read(fmt.Sprintf("n%03d", i))
	}
	for name, test := range map[string]struct {
		world  func(*cases.World)
		change func(*plan.Against)
		plan   *events.Plan
		code   events.Code
		path   string
		covers []string
	}{
		"cycle of two":           {plan: cases.Plan(cases.Read("a", "b"), cases.Read("b", "a")), code: events.CodePlanCycle, path: "plan.nodes", covers: []string{"C3-RUN-003.e"}},
		"cycle of itself":        {plan: cases.Plan(cases.Read("a", "a")), code: events.CodePlanCycle, path: "plan.nodes", covers: []string{"C3-RUN-003.e"}},
		"cycle behind a node":    {plan: cases.Plan(cases.Read("a"), cases.Read("b", "a", "d"), cases.Read("c", "b"), cases.Read("d", "c")), code: events.CodePlanCycle, path: "plan.nodes"},
		"no node":                {plan: cases.Plan(), code: events.CodePlanTooLarge, path: "plan.nodes"},
		"one node too many":      {plan: cases.Plan(many...), code: events.CodePlanTooLarge, path: "plan.nodes", covers: []string{"C3-RUN-003.e"}},
		"unregistered operation": {plan: cases.Plan(cases.Node("a", "unheard", events.EffectRead)), code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-003.f", "IK-5.4.1", "IK-5.4.9"}},
		"raw shell":              {plan: cases.Plan(cases.Node("a", "sh -c 'rm -rf /'", events.EffectRead)), code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-003.s"}},
		"tool name":              {plan: cases.Plan(cases.Node("a", "bash", events.EffectRead)), code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-003.s", "IK-2.5"}},
		"a prompt":               {plan: cases.Plan(cases.Node("a", "Please look at everything.", events.EffectRead)), code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-003.t"}},
		"no operation":           {plan: cases.Plan(events.PlanNode{ID: "a", Effect: events.EffectRead}), code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-003.u"}},
		"another version": {
			plan: cases.Plan(events.PlanNode{ID: "a", Capability: events.CapabilityRef{Name: "look", Version: 2}, Effect: events.EffectRead}),
			code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-003.g"},
		},
		"no version": {
			plan: cases.Plan(events.PlanNode{ID: "a", Capability: events.CapabilityRef{Name: "look"}, Effect: events.EffectRead}),
			code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-003.g"},
		},
		"registered but not of the agent": {
			world: func(w *cases.World) { w.Agent.Capabilities = w.Agent.Capabilities[1:] },
			plan:  cases.Plan(cases.Node("a", "look", events.EffectRead)), code: events.CodeCapabilityUnknown, path: "plan.nodes[0].capability",
		},
		"revoked":              {change: func(a *plan.Against) { a.View = cases.Revoke(a.View, "look") }, plan: cases.Plan(cases.Read("a")), code: events.CodeCapabilityRevoked, path: "plan.nodes[0].capability", covers: []string{"OD-4.4.15"}},
		"not in the allowlist": {change: func(a *plan.Against) { a.Operations = []string{"scan"} }, plan: cases.Plan(cases.Read("a")), code: events.CodeOperationNotAllowed, path: "plan.nodes[0].capability", covers: []string{"C3-RUN-001.j", "IK-2.6"}},
		"an empty allowlist":   {change: func(a *plan.Against) { a.Operations = nil }, plan: cases.Plan(cases.Read("a")), code: events.CodeOperationNotAllowed, path: "plan.nodes[0].capability"},
		"outside the bound":    {change: func(a *plan.Against) { a.Bound = a.Bound[:3] }, plan: cases.Plan(cases.Write("a", "note")), code: events.CodeEffectOutsideBound, path: "plan.nodes[0].effect", covers: []string{"C3-RUN-001.i"}},
		"write called a read":  {plan: cases.Plan(cases.Node("a", "note", events.EffectRead)), code: events.CodePlanUntyped, path: "plan.nodes[0].effect", covers: []string{"C3-RUN-003.r"}},
		"read called a write":  {plan: cases.Plan(cases.Write("a", "look")), code: events.CodePlanUntyped, path: "plan.nodes[0].effect"},
		"no effect stated":     {plan: cases.Plan(effect(cases.Read("a"), "")), code: events.CodePlanUntyped, path: "plan.nodes[0].effect", covers: []string{"C3-RUN-003.i", "C3-RUN-003.r"}},
		"duplicate node":       {plan: cases.Plan(cases.Read("a"), cases.Read("a")), code: events.CodePlanDuplicateNode, path: "plan.nodes[1].id", covers: []string{"C3-RUN-003.m"}},
		"node without an id":   {plan: cases.Plan(cases.Read("")), code: events.CodePlanInvalid, path: "plan.nodes[0].id"},
		"node id with a dot":   {plan: cases.Plan(cases.Read("a.b")), code: events.CodePlanInvalid, path: "plan.nodes[0].id"},
		"edge to nowhere":      {plan: cases.Plan(cases.Read("a", "ghost")), code: events.CodePlanReference, path: "plan.nodes[0].after[0]", covers: []string{"C3-RUN-003.n"}},
		"input that is not there": {
			plan: cases.Plan(with(cases.Read("a"), "word", cases.Input("/ghost"))), code: events.CodePlanReference,
			path: "plan.nodes[0].arguments.word", covers: []string{"C3-RUN-003.n"},
		},
		"input pointer that is none": {plan: cases.Plan(with(cases.Read("a"), "word", cases.Input("path"))), code: events.CodePlanReference, path: "plan.nodes[0].arguments.word"},
		"output of no node": {
			plan: cases.Plan(with(cases.Read("a"), "word", cases.Output("ghost", "/text"))), code: events.CodePlanReference,
			path: "plan.nodes[0].arguments.word", covers: []string{"C3-RUN-003.n"},
		},
		"output pointer that is none": {plan: cases.Plan(cases.Read("a"), with(cases.Read("b", "a"), "word", cases.Output("a", "text"))), code: events.CodePlanReference, path: "plan.nodes[1].arguments.word"},
		"output without an edge": {
			plan: cases.Plan(cases.Read("a"), with(cases.Read("b"), "word", cases.Output("a", "/text"))), code: events.CodePlanPredecessor,
			path: "plan.nodes[1].arguments.word", covers: []string{"C3-RUN-003.k", "C3-RUN-003.j"},
		},
		"output of a later node": {
			plan: cases.Plan(with(cases.Read("a"), "word", cases.Output("b", "/text")), cases.Read("b", "a")), code: events.CodePlanPredecessor,
			path: "plan.nodes[0].arguments.word", covers: []string{"C3-RUN-003.h", "C3-RUN-003.k"},
		},
		"output of itself":           {plan: cases.Plan(with(cases.Read("a"), "word", cases.Output("a", "/text"))), code: events.CodePlanPredecessor, path: "plan.nodes[0].arguments.word"},
		"argument from nowhere":      {plan: cases.Plan(with(cases.Read("a"), "word", events.Argument{})), code: events.CodePlanUntyped, path: "plan.nodes[0].arguments.word", covers: []string{"C3-RUN-003.h"}},
		"argument from two places":   {plan: cases.Plan(with(cases.Read("a"), "word", events.Argument{Literal: events.JSON(`"x"`), Output: &events.OutputRef{Node: "a"}})), code: events.CodePlanUntyped, path: "plan.nodes[0].arguments.word", covers: []string{"C3-RUN-003.h"}},
		"argument that is not there": {plan: cases.Plan(with(cases.Read("a"), "extra", cases.Literal("1"))), code: events.CodePlanType, path: "plan.nodes[0].arguments.extra"},
		"literal of another type":    {plan: cases.Plan(with(cases.Read("a"), "word", cases.Literal("5"))), code: events.CodePlanType, path: "plan.nodes[0].arguments/word", covers: []string{"C3-RUN-003.q", "IK-5.4.2"}},
		"null literal":               {plan: cases.Plan(with(cases.Read("a"), "word", cases.Literal("null"))), code: events.CodePlanType, path: "plan.nodes[0].arguments/word"},
		"input of another type":      {plan: cases.Plan(with(cases.Read("a"), "word", cases.Input("/list"))), code: events.CodePlanType, path: "plan.nodes[0].arguments/word", covers: []string{"C3-RUN-003.q"}},
		"output of another type": {
			plan: cases.Plan(cases.Read("a"), with(cases.Read("b", "a"), "word", cases.Output("a", "/failed"))), code: events.CodePlanType,
			path: "plan.nodes[1].arguments.word", covers: []string{"C3-RUN-003.q"},
		},
		"literal of another type beside an output": {
			plan: cases.Plan(cases.Read("a"), with(with(cases.Read("b", "a"), "word", cases.Output("a", "/text")), "count", cases.Literal(`"two"`))),
			code: events.CodePlanType, path: "plan.nodes[1].arguments.count", covers: []string{"C3-RUN-003.q"},
		},
		"required argument missing beside an output": {
			world: func(w *cases.World) {
				w.Change("look", func(c *events.Capability) {
					c.Input = events.JSON(`{"type":"object","required":["count"],"properties":{"word":{"type":"string"},"count":{"type":"integer"}}}`)
				})
			},
			plan: cases.Plan(cases.Node("a", "scan", events.EffectRead), with(cases.Read("b", "a"), "word", cases.Output("a", "/text"))),
			code: events.CodePlanType, path: "plan.nodes[1].arguments",
		},
		"output binding to nowhere":           {plan: output(cases.Plan(cases.Read("a")), events.OutputBinding{Node: "ghost", Type: "case.report"}), code: events.CodePlanOutput, path: "plan.output.node", covers: []string{"C3-RUN-003.p"}},
		"no output binding":                   {plan: output(cases.Plan(cases.Read("a")), events.OutputBinding{}), code: events.CodePlanOutput, path: "plan.output.node", covers: []string{"C3-RUN-003.p"}},
		"output binding of another type":      {plan: output(cases.Plan(cases.Read("a")), events.OutputBinding{Node: "a", Type: "other"}), code: events.CodePlanOutput, path: "plan.output.type", covers: []string{"C3-RUN-003.l"}},
		"output binding with a bad pointer":   {plan: output(cases.Plan(cases.Read("a")), events.OutputBinding{Node: "a", Path: "x", Type: "case.report"}), code: events.CodePlanOutput, path: "plan.output.path"},
		"output that the agent cannot return": {plan: output(cases.Plan(cases.Read("a")), events.OutputBinding{Node: "a", Path: "/text", Type: "text"}), code: events.CodePlanOutput, path: "plan.output", covers: []string{"C3-RUN-003.l"}},
		"two writes to one thing": {
			plan: cases.Plan(cases.Write("a", "publish"), cases.Write("b", "publish")), code: events.CodePlanInterference,
			path: "plan.nodes", covers: []string{"C3-RUN-003.w"},
		},
		"a write that says nothing beside another": {
			world: func(w *cases.World) {
				w.Change("mail", func(c *events.Capability) { c.Interferes = nil })
			},
			plan: cases.Plan(cases.Write("a", "publish"), cases.Write("b", "mail")), code: events.CodePlanInterference,
			path: "plan.nodes", covers: []string{"C3-RUN-003.w"},
		},
		"two writes after one read": {plan: cases.Plan(cases.Read("r"), cases.Write("a", "publish", "r"), cases.Write("b", "publish", "r")), code: events.CodePlanInterference, path: "plan.nodes"},
		"code": {
			plan: func() *events.Plan { p := cases.Plan(cases.Read("a")); p.Candidate = "code"; return p }(),
			code: events.CodeCandidateKind, path: "plan.candidate",
		},
		"another schema version": {plan: func() *events.Plan { p := cases.Plan(cases.Read("a")); p.SchemaVersion = 2; return p }(), code: events.CodePlanInvalid, path: "plan.schema_version"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			w := cases.NewWorld()
			if test.world != nil {
				test.world(w)
			}
			a := against(t, w)
			if test.change != nil {
				test.change(&a)
			}
			_, found := plan.Check(test.plan, a)
			if len(found) != 1 || found[0].Code != test.code || found[0].Path != test.path {
				t.Fatalf("found %v, want one %s at %s", found, test.code, test.path)
			}
			if found[0].Message == "" || found[0].Action == "" {
				t.Errorf("the diagnostic says too little: %+v", found[0])
			}
		})
	}
}

func TestCheckAccepts(t *testing.T) {
	pending := with(cases.Read("b", "a"), "word", cases.Output("a", ""))
	for name, test := range map[string]struct {
		plan *events.Plan
		want plan.Checked
	}{
		"a literal and an input": {
			cases.Plan(with(cases.Read("a"), "word", cases.Input("/path"))),
			plan.Checked{Order: []string{"a"}, Level: map[string]int{"a": 0}, Static: map[string][]byte{"a": []byte(`{"word":"a.txt"}`)}, Effects: []events.Effect{events.EffectRead}},
		},
		"an output of the same type": {
			cases.Plan(cases.Read("a"), with(cases.Read("b", "a"), "count", cases.Output("a", "/failed"))),
			plan.Checked{Order: []string{"a", "b"}, Level: map[string]int{"a": 0, "b": 1}, Static: map[string][]byte{"a": []byte(`{"word":"a"}`)}, Effects: []events.Effect{events.EffectRead}},
		},
		"an output through a transitive edge": {
			cases.Plan(cases.Read("a"), cases.Read("b", "a"), with(cases.Read("c", "b"), "word", cases.Output("a", "/text"))),
			plan.Checked{
				Order: []string{"a", "b", "c"}, Level: map[string]int{"a": 0, "b": 1, "c": 2}, Effects: []events.Effect{events.EffectRead},
				Pending: []events.PendingCheck{{Node: "c", Argument: "word", Reason: "the output may lack the value"}},
				Static:  map[string][]byte{"a": []byte(`{"word":"a"}`), "b": []byte(`{"word":"b"}`)},
			},
		},
		"writes in order, and beside one that shares nothing": {
			cases.Plan(cases.Write("a", "publish"), cases.Write("b", "publish", "a"), cases.Write("c", "mail")),
			plan.Checked{
				Order: []string{"a", "b", "c"}, Level: map[string]int{"a": 0, "b": 1, "c": 0}, Effects: []events.Effect{events.EffectWrite},
				Static: map[string][]byte{"a": []byte(`{"word":"a"}`), "b": []byte(`{"word":"b"}`), "c": []byte(`{"word":"c"}`)},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := plan.Check(test.plan, against(t, cases.NewWorld()))
			if len(found) > 0 {
				t.Fatal(found)
			}
			got.After = nil // tested with the facts
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	t.Run("a type that only a run can show", func(t *testing.T) {
		w := cases.NewWorld()
		w.Change("look", func(c *events.Capability) { c.Output = events.JSON(`{}`) })
		got, found := plan.Check(cases.Plan(cases.Read("a"), pending), against(t, w))
		if len(found) > 0 || len(got.Pending) != 2 || got.Pending[0].Node != "" || got.Pending[1].Node != "b" || got.Pending[1].Argument != "word" || got.Pending[1].Reason == "" {
			t.Fatalf("pending %v, found %v", got.Pending, found)
		}
	})
	t.Run("ties go by the node's id", func(t *testing.T) {
		req.Covers(t, "C3-RUN-003.o")
		got, _ := plan.Check(cases.Plan(cases.Read("z"), cases.Read("b", "z"), cases.Read("c"), cases.Read("a", "c")), against(t, cases.NewWorld()))
		if want := []string{"c", "a", "z", "b"}; !slices.Equal(got.Order, want) {
			t.Fatalf("order %v, want %v", got.Order, want)
		}
	})
	t.Run("reads without an order share a level, a dependent one does not", func(t *testing.T) {
		req.Covers(t, "IK-5.4.10")
		got, _ := plan.Check(cases.Plan(cases.Read("a"), cases.Read("b"), cases.Read("c", "a", "b")), against(t, cases.NewWorld()))
		if want := map[string]int{"a": 0, "b": 0, "c": 1}; !cmp.Equal(got.Level, want) {
			t.Fatalf("levels %v, want %v", got.Level, want)
		}
	})
}

// The language itself has no branch, loop or retry: a document with one does
// not decode into a plan.
func TestNoBranchConstruct(t *testing.T) {
	req.Covers(t, "C3-RUN-003.v")
	sound := string(cases.JSON(cases.Plan(cases.Read("a"))))
	for _, member := range []string{`"when":"a.failed == 0"`, `"retry":3`, `"foreach":"/list"`, `"on_error":"b"`, `"prompt":"do whatever is needed"`, `"durable":true`} {
		document := strings.Replace(sound, `"effect":`, member+`,"effect":`, 1)
		if document == sound || jsonvalue.Scan([]byte(document), jsonvalue.DefaultLimits) != nil {
			t.Fatalf("the case is not the one meant: %s", document)
		}
		var p events.Plan
		if err := json.Unmarshal([]byte(document), &p, json.RejectUnknownMembers(true)); err == nil {
			t.Errorf("a plan with %s was read", member)
		}
	}
}

// graph draws a plan without a cycle: every edge goes from a lower to a higher
// number, but IDs and the order of the list are shuffled.
func graph(t *rapid.T) []events.PlanNode {
	n := rapid.IntRange(1, 12).Draw(t, "nodes")
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("n%02d", i)
	}
	ids = rapid.Permutation(ids).Draw(t, "ids")
	nodes := make([]events.PlanNode, n)
	for i := range nodes {
		nodes[i] = cases.Read(ids[i])
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") == 0 {
				nodes[i].After = append(nodes[i].After, ids[j])
			}
		}
	}
	return nodes
}

func TestOrderIsTheSameForEveryPermutation(t *testing.T) {
	req.Covers(t, "C3-RUN-003.o", "IK-5.4.11")
	a := against(t, cases.NewWorld())
	rapid.Check(t, func(t *rapid.T) {
		nodes := graph(t)
		first, found := plan.Check(cases.Plan(nodes...), a)
		if len(found) > 0 {
			t.Fatalf("%v", found)
		}
		place := map[string]int{}
		for i, id := range first.Order {
			place[id] = i
		}
		for _, n := range nodes {
			for _, after := range n.After {
				if place[after] >= place[n.ID] || first.Level[after] >= first.Level[n.ID] {
					t.Fatalf("%s is not before %s in %v", after, n.ID, first.Order)
				}
			}
		}
		output := cases.Plan(nodes...).Output
		shuffle := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for range 4 {
			shuffle.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
			p := cases.Plan(nodes...)
			p.Output = output
			again, found := plan.Check(p, a)
			if len(found) > 0 || !cmp.Equal(first, again) {
				t.Fatalf("another order of the list gives another plan: %s %v", cmp.Diff(first, again), found)
			}
		}
	})
}

// Whatever one edge is turned round so that a cycle closes, no order comes
// out.
func TestEveryCycleIsFound(t *testing.T) {
	a := against(t, cases.NewWorld())
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "length")
		nodes := make([]events.PlanNode, 0, n+2)
		for i := range n {
			nodes = append(nodes, cases.Read(fmt.Sprintf("c%d", i), fmt.Sprintf("c%d", (i+1)%n)))
		}
		nodes = append(nodes, cases.Read("before"), cases.Read("behind", "c0"))
		nodes = rapid.Permutation(nodes).Draw(t, "list")
		if _, found := plan.Check(cases.Plan(nodes...), a); len(found) != 1 || found[0].Code != events.CodePlanCycle {
			t.Fatalf("%v", found)
		}
	})
}

func TestResolve(t *testing.T) {
	n := cases.Read("b", "a")
	n.Arguments = map[string]events.Argument{
		"literal": cases.Literal(`{"b":1,"a":[null]}`), "input": cases.Input("/path"), "output": cases.Output("a", "/size/value"), "all": cases.Input(""),
	}
	input := map[string]any{"path": "x"}
	outputs := map[string]any{"a": map[string]any{"size": map[string]any{"value": "7"}}}
	got, err := plan.Resolve(&n, input, outputs)
	if want := `{"all":{"path":"x"},"input":"x","literal":{"a":[null],"b":1},"output":"7"}`; err != nil || string(got) != want {
		t.Fatalf("%s %v, want %s", got, err, want)
	}
	for name, broken := range map[string]events.Argument{
		"no such input": cases.Input("/ghost"), "no such output": cases.Output("a", "/ghost"), "no such node": cases.Output("ghost", ""),
		"nothing": {}, "bad literal": cases.Literal(`{"a":1,"a":2}`),
	} {
		t.Run(name, func(t *testing.T) {
			n := cases.Read("b")
			n.Arguments["word"] = broken
			if data, err := plan.Resolve(&n, input, outputs); err == nil {
				t.Fatalf("resolved to %s", data)
			}
		})
	}
}

func TestSourcesNameEveryArgument(t *testing.T) {
	n := with(with(cases.Read("a"), "count", cases.Input("/n")), "from", cases.Output("z", "/size"))
	want := map[string]string{"a.word": "literal, explicit", "a.count": "request input /n", "a.from": "output of z /size"}
	if diff := cmp.Diff(want, plan.Sources(cases.Plan(n), events.OriginExplicit)); diff != "" {
		t.Fatal(diff)
	}
}

func FuzzCheck(f *testing.F) {
	view := cases.NewWorld().View()
	agent, _ := view.Agent(cases.Agent)
	for _, p := range []*events.Plan{
		cases.Plan(cases.Read("a")), cases.Plan(cases.Read("a", "b"), cases.Read("b", "a")),
		cases.Plan(cases.Read("a"), with(cases.Write("b", "publish", "a"), "word", cases.Output("a", "/text"))),
	} {
		f.Add(cases.JSON(p))
	}
	f.Add([]byte(`{"nodes":[{"id":"a","arguments":{"word":{"literal":null,"input":"","output":{"node":"a","path":"/~2"}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p events.Plan
		if jsonvalue.Scan(data, jsonvalue.DefaultLimits) != nil || json.Unmarshal(data, &p, json.RejectUnknownMembers(true)) != nil {
			return
		}
		checked, found := plan.Check(&p, plan.Against{
			Agent: agent, View: view, Bound: agent.Definition.EffectBound, Operations: agent.Policy.Operations, Input: map[string]any{},
		})
		if len(found) == 0 && (len(checked.Order) != len(p.Nodes) || len(p.Nodes) > plan.MaxNodes) {
			t.Fatalf("%d of %d nodes are in order", len(checked.Order), len(p.Nodes))
		}
		for _, n := range p.Nodes {
			if _, ok := agent.Capability(n.Capability); !ok && len(found) == 0 {
				t.Fatalf("a call of %v was let through", n.Capability)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	view := cases.NewWorld().View()
	agent, _ := view.Agent(cases.Agent)
	a := plan.Against{Agent: agent, View: view, Bound: agent.Definition.EffectBound, Operations: agent.Policy.Operations, Input: map[string]any{}}
	nodes := []events.PlanNode{cases.Read("n00")}
	for i := 1; i < 16; i++ {
		nodes = append(nodes, cases.Read(fmt.Sprintf("n%02d", i), nodes[i-1].ID))
	}
	p := cases.Plan(nodes...)
	for b.Loop() {
		if _, found := plan.Check(p, a); len(found) > 0 {
			b.Fatal(found)
		}
	}
}

func ExampleCheck() {
	view := cases.NewWorld().View()
	agent, _ := view.Agent(cases.Agent)
	checked, found := plan.Check(
		cases.Plan(cases.Read("sources"), cases.Read("report", "sources"), cases.Read("changelog")),
		plan.Against{Agent: agent, View: view, Bound: []events.Effect{events.EffectRead}, Operations: agent.Policy.Operations},
	)
	fmt.Println(checked.Order, checked.Level["report"], found)
	// Output: [changelog sources report] 1 []
}
