// Package incidents runs public reports of what went wrong in other systems.
package incidents

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/req"
	"example.org/mandate/test/corpus/stage"
)

// incident is one report as a small input with what must hold.
type incident struct {
	ID    string                 `json:"id"`
	Class string                 `json:"class"`
	Input input                  `json:"input"`
	Must  map[string]events.JSON `json:"must"`
}

type input struct {
	Capabilities []struct {
		Name     string `json:"name"`
		Effect   string `json:"effect"`
		Operator string `json:"operator_effect"`
		Confirm  bool   `json:"confirm"`
	} `json:"capabilities"`
	Model    []events.JSON    `json:"model"`
	Plan     []string         `json:"plan"`
	User     []string         `json:"user"`
	Provider events.JSON      `json:"provider"`
	Arrivals []string         `json:"arrivals"`
	Budget   map[string]int64 `json:"budget"`
	Delegate map[string]int64 `json:"delegation"`
}

// call is one call that a model wants.
type call struct {
	Call string                 `json:"call"`
	Args map[string]events.JSON `json:"args"`
	ID   string                 `json:"id"`
}

func load(t *testing.T) map[string]incident {
	t.Helper()
	dir, _ := stage.Data(t, "incidents")
	data, err := os.ReadFile(filepath.Join(dir, "cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]incident{}
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		// The inputs of other classes have members of other types.
		var head struct {
			Class string `json:"class"`
		}
		if err := json.Unmarshal(scanner.Bytes(), &head); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains([]string{"approval", "duplicate_effect", "parallel", "budget"}, head.Class) {
			continue
		}
		var one incident
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		all[one.ID] = one
	}
	return all
}

// play is one incident on the stage. It is the provider, with its own journal
// of effects.
type play struct {
	*incident
	stage   *stage.Stage
	effects map[string]int
	answers map[string][]events.JSON
}

func (p *play) Invoke(_ context.Context, i capability.Invocation) capability.Outcome {
	answer := events.JSON(`"ok"`)
	if rest := p.answers[i.Name]; len(rest) > 0 {
		answer, p.answers[i.Name] = rest[0], rest[1:]
	}
	var kind map[string]string
	_ = json.Unmarshal(answer, &kind) // "ok" is none
	if _, refused := kind["error"]; refused {
		return stage.Failed("refused")
	}
	p.effects[i.Name]++
	if _, lost := kind["commit_then_error"]; lost {
		return capability.Outcome{Status: capability.StatusUncertain, Code: events.CodeTimeout, Message: "no answer"}
	}
	return stage.Done(string(i.Arguments), nil)
}

// newPlay sets the stage of an incident.
func newPlay(t *testing.T, one incident) *play {
	t.Helper()
	p := &play{incident: &one, effects: map[string]int{}, answers: map[string][]events.JSON{}}
	if len(one.Input.Provider) > 0 {
		if err := json.Unmarshal(one.Input.Provider, &p.answers); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]events.Capability{}
	for _, c := range one.Input.Capabilities {
		effect, confirmation := events.EffectRead, events.ConfirmationNone
		if c.Effect == "write" {
			effect, confirmation = events.EffectWrite, events.ConfirmationExplicit
		}
		if c.Confirm {
			confirmation = events.ConfirmationRequired
		}
		capability := stage.Capability(effect, confirmation, events.JSON(`{"type":"object"}`))
		capability.AuthorityArguments = []string{}
		all[c.Name] = capability
	}
	view, err := stage.View(all)
	if err == nil {
		p.stage, err = stage.New(view, p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// plan is what the model wants at first: the calls of one answer beside one
// another, or the steps of a plan one after the other.
func (p *play) plan(t *testing.T) *events.Plan {
	t.Helper()
	plan := &events.Plan{SchemaVersion: 1, Candidate: events.CandidatePlan}
	add := func(id string, c call, after []string) {
		effect := events.EffectRead
		for _, declared := range p.Input.Capabilities {
			if declared.Name == c.Call && declared.Effect == "write" {
				effect = events.EffectWrite
			}
		}
		n := events.PlanNode{ID: id, Capability: stage.Ref(c.Call), Effect: effect, After: after, Arguments: map[string]events.Argument{}}
		for name, value := range c.Args {
			n.Arguments[name] = events.Argument{Literal: value}
		}
		plan.Nodes = append(plan.Nodes, n)
	}
	after := []string{}
	for i, name := range p.Input.Plan {
		id := "p" + strconv.Itoa(i)
		add(id, call{Call: name}, after)
		after = []string{id}
	}
	if len(p.Input.Model) > 0 {
		var calls []call
		if err := json.Unmarshal(p.Input.Model[0], &calls); err != nil {
			t.Fatal(err)
		}
		for i, c := range calls {
			id := c.ID
			if id == "" {
				id = "m" + strconv.Itoa(i)
			}
			add(id, c, []string{})
		}
	}
	plan.Output = events.OutputBinding{Node: plan.Nodes[0].ID, Type: stage.Result}
	return plan
}

// start submits the request and proposes the plan.
func (p *play) start(t *testing.T) (run string, plan *events.Plan) {
	t.Helper()
	run, err := p.stage.Submit(t.Context(), p.request())
	if err != nil {
		t.Fatal(err)
	}
	plan = p.plan(t)
	p.propose(t, run, plan, 1)
	return run, plan
}

func (p *play) request() *events.IntentRequest {
	text := "do it"
	if len(p.Input.User) > 0 {
		text = p.Input.User[0]
	}
	return stage.Request(text)
}

func (p *play) propose(t *testing.T, run string, plan *events.Plan, attempt int) {
	t.Helper()
	err := p.stage.Propose(t.Context(), run, stage.Proposal{
		Formalization: "formalization-" + strconv.Itoa(attempt), Origin: events.OriginInferred, Attempt: attempt, Spec: stage.Spec(plan), Plan: plan,
	})
	if err == nil {
		err = p.stage.Settle(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// holds checks what must hold of the effects.
func (p *play) holds(t *testing.T) {
	t.Helper()
	var exactly, most map[string]int
	if raw, ok := p.Must["effects"]; ok {
		if err := json.Unmarshal(raw, &exactly); err != nil {
			t.Fatal(err)
		}
	}
	if raw, ok := p.Must["effects_max"]; ok {
		if err := json.Unmarshal(raw, &most); err != nil {
			t.Fatal(err)
		}
	}
	if len(exactly)+len(most) == 0 {
		t.Fatal("nothing must hold")
	}
	for name, n := range exactly {
		if p.effects[name] != n {
			t.Errorf("%s took effect %d times, want %d", name, p.effects[name], n)
		}
	}
	for name, n := range most {
		if p.effects[name] > n {
			t.Errorf("%s took effect %d times, at most %d", name, p.effects[name], n)
		}
	}
}

func number(t *testing.T, raw events.JSON) int64 {
	t.Helper()
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// notApplicable are the incidents whose input needs what there is not.
var notApplicable = map[string]string{
	"incident/checkpoint-replay-turn": "the refund whose process ended is uncertain and ends the run; going on needs reconciliation, which is not built",
	"incident/budget-checked-after":   "no model is called",
}

func TestIncidents(t *testing.T) {
	all := load(t)
	covered := map[string][]string{
		"approval": {"OD-4.4.13", "IK-7.3", "OD-7.1.5"}, "duplicate_effect": {"C3-RUN-001.o", "C3-RUN-006.h"}, "budget": {"C3-RUN-004.e", "C3-RUN-004.f"},
		"parallel": {"IK-5.4.10"},
	}
	plays := map[string]func(t *testing.T, p *play){
		"incident/retry-after-model-500":       modelFailsLater,
		"incident/task-retry-no-guard":         askedAgain,
		"incident/workspaces-2-of-1":           answerIsLost,
		"incident/talked-out-of-approval":      nobodyAnswers,
		"incident/mcp-tools-skip-gate":         nobodyAnswers,
		"incident/hint-spelling":               declaredByTheOperator,
		"incident/dangling-call-id":            oneOfTwoFails,
		"incident/out-of-order-results":        lastFirst,
		"incident/recursive-subagents-cost":    nested,
		"incident/parallel-children-aggregate": beside,
	}
	ran := 0
	for _, id := range slices.Sorted(maps.Keys(all)) {
		one := all[id]
		t.Run(id, func(t *testing.T) {
			if why, skip := notApplicable[id]; skip {
				t.Skipf("SKIPPED, not applicable: %s", why)
			}
			do, known := plays[id]
			if !known {
				t.Fatal("nobody knows how to play it")
			}
			req.Covers(t, covered[one.Class]...)
			do(t, newPlay(t, one))
		})
		ran++
	}
	t.Logf("%d incidents, %d of them not applicable", ran, len(notApplicable))
}

// The model's next answer fails, and what it wants then is what was done.
func modelFailsLater(t *testing.T, p *play) {
	t.Helper()
	run, plan := p.start(t)
	p.propose(t, run, plan, 2)
	p.holds(t)
}

// A client that does not know asks again, with the same identity.
func askedAgain(t *testing.T, p *play) {
	t.Helper()
	run, plan := p.start(t)
	joined, err := p.stage.Again(t.Context(), run, p.request())
	if err != nil || !joined {
		t.Errorf("joined %v, %v", joined, err)
	}
	p.propose(t, run, plan, 2)
	p.holds(t)
}

func answerIsLost(t *testing.T, p *play) {
	t.Helper()
	run, _ := p.start(t)
	p.holds(t)
	if c := p.stage.Conclusion(t.Context(), run); c == nil || c.Tag != events.TagIndeterminate {
		t.Errorf("%+v", c)
	}
}

func nobodyAnswers(t *testing.T, p *play) {
	t.Helper()
	run, _ := p.start(t)
	p.holds(t)
	if asked := p.stage.Asked(t.Context(), run); int64(len(asked)) != number(t, p.Must["interactions_opened"]) {
		t.Errorf("asked %d times", len(asked))
	}
}

func declaredByTheOperator(t *testing.T, p *play) {
	t.Helper()
	run, _ := p.start(t)
	p.holds(t)
	if asked := p.stage.Asked(t.Context(), run); len(asked) > 0 {
		t.Errorf("asked %d times", len(asked))
	}
}

func oneOfTwoFails(t *testing.T, p *play) {
	t.Helper()
	run, _ := p.start(t)
	settled := map[string]string{}
	for _, payload := range p.stage.Payloads(t.Context(), run, events.OwnerExecutor) {
		switch e := payload.(type) {
		case *events.ActionCompleted:
			settled[e.Node] = "completed"
		case *events.ActionFailed:
			settled[e.Node] = "failed"
		}
	}
	if int64(len(settled)) != number(t, p.Must["results"]) || settled["m0"] != "completed" || `"`+settled["m1"]+`"` != string(p.Must["b_status"]) {
		t.Errorf("%v", settled)
	}
	if c := p.stage.Conclusion(t.Context(), run); c == nil {
		t.Error("the run has no end")
	}
}

func lastFirst(t *testing.T, p *play) {
	t.Helper()
	p.stage.LastFirst = true
	run, _ := p.start(t)
	var pairing map[string]int
	if err := json.Unmarshal(p.Must["pairing"], &pairing); err != nil {
		t.Fatal(err)
	}
	order, got := []string{}, map[string]string{}
	for _, payload := range p.stage.Payloads(t.Context(), run, events.OwnerExecutor) {
		if e, ok := payload.(*events.ResultRecorded); ok {
			content, _ := e.Result.Value.Content()
			order, got[e.Result.Node] = append(order, e.Result.Node), string(content)
		}
	}
	if !slices.Equal(order, p.Input.Arrivals) {
		t.Errorf("arrived as %v, want %v", order, p.Input.Arrivals)
	}
	for id, k := range pairing {
		if want := fmt.Sprintf(`{"text":"{\"k\":%d}"}`, k); got[id] != want {
			t.Errorf("%s has %s, want %s", id, got[id], want)
		}
	}
}

// nested lets every run ask for more runs, as deep as it goes: each draws on
// what the first has.
func nested(t *testing.T, p *play) {
	t.Helper()
	total, each := p.Input.Budget["cost_micro"], p.Input.Budget["child_cost_micro"]
	ledger, err := budget.NewLedger(events.Limits{CostMicros: total, CostUnit: "usd"})
	if err != nil {
		t.Fatal(err)
	}
	children := int64(0)
	for depth, width := int64(0), int64(1); depth < p.Input.Delegate["depth"]; depth++ {
		for range width * p.Input.Delegate["fan_out"] {
			next, granted, err := ledger.Delegate("child-"+strconv.FormatInt(children, 10), events.Limits{CostMicros: each, CostUnit: "usd"})
			if err != nil || granted.CostMicros < each {
				continue // nothing is left for it
			}
			ledger = next
			children++
		}
		width *= p.Input.Delegate["fan_out"]
	}
	if most := number(t, p.Must["children_max"]); children > most || children == 0 {
		t.Errorf("%d children", children)
	}
	if spent := ledger.Charged().CostMicros; spent > number(t, p.Must["spent_max_micro"]) {
		t.Errorf("%d spent", spent)
	}
}

func beside(t *testing.T, p *play) {
	t.Helper()
	ledger, err := budget.NewLedger(events.Limits{CostMicros: p.Input.Budget["cost_micro"], CostUnit: "usd"})
	if err != nil {
		t.Fatal(err)
	}
	most := number(t, p.Must["reserved_never_exceeds"])
	for i := range p.Input.Delegate["parallel"] {
		next, _, err := ledger.Delegate("child-"+strconv.FormatInt(i, 10), events.Limits{CostMicros: p.Input.Delegate["each_cost_micro"], CostUnit: "usd"})
		if err == nil {
			ledger = next
		}
		if reserved := ledger.Charged().CostMicros; reserved > most {
			t.Fatalf("%d reserved after %d", reserved, i+1)
		}
	}
	if ledger.Charged().CostMicros == 0 {
		t.Error("nobody got anything")
	}
}
