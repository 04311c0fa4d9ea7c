// Package tau runs the customer-service tasks of tau2-bench: every write needs
// the customer's yes to exactly what it does.
package tau

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/registry"
	"example.org/mandate/test/corpus/stage"
)

// action is one recorded call.
type action struct {
	Requestor string                 `json:"requestor"`
	Name      string                 `json:"name"`
	Arguments map[string]events.JSON `json:"arguments"`
	Effect    string                 `json:"effect"`
	Result    events.JSON            `json:"result"`
	Failed    events.JSON            `json:"result_error"`
}

// task is a conversation that went well.
type task struct {
	ID       string      `json:"id"`
	Domain   string      `json:"domain"`
	Scenario events.JSON `json:"user_scenario"`
	Actions  []action    `json:"actions"`
	Confirm  bool        `json:"confirmation_required"`
	NoWrite  bool        `json:"expect_no_write"`
}

// effectWrite is what the set calls a write; a hand-over to a person is
// another kind.
const effectWrite, effectHandoff = "write", "handoff"

// calls are what the agent calls; the customer's own device is not its.
func (t *task) calls() []action {
	var calls []action
	for _, a := range t.Actions {
		if a.Requestor == "assistant" {
			calls = append(calls, a)
		}
	}
	return calls
}

func (t *task) writes() []action {
	var writes []action
	for _, a := range t.calls() {
		if a.Effect == effectWrite {
			writes = append(writes, a)
		}
	}
	return writes
}

func script(calls []action) []stage.Call {
	script := make([]stage.Call, len(calls))
	for i, a := range calls {
		script[i] = stage.Call{Function: a.Name, Args: a.Arguments, Effect: effect(a.Effect), Result: string(a.Result)}
	}
	return script
}

func effect(of string) events.Effect {
	switch of {
	case effectWrite, effectHandoff:
		return events.EffectWrite
	case "none":
		return events.EffectNone
	}
	return events.EffectRead
}

// set is the whole set.
type set struct {
	tasks []task
	tools map[string][]struct {
		Name       string      `json:"name"`
		Parameters events.JSON `json:"parameters"`
		Effect     string      `json:"effect"`
	}
}

func load(dir string) (*set, error) {
	s := &set{}
	if err := stage.Document(filepath.Join(dir, "tools.json"), &s.tools); err != nil {
		return nil, err
	}
	return s, stage.Lines(filepath.Join(dir, "tasks.jsonl"), func(t task) { s.tasks = append(s.tasks, t) })
}

// view registers the tools of a domain. Writes are confirmed by the customer
// where the domain's policy says so, else by the customer's own words.
func (s *set) view(domain string) (registry.View, error) {
	all := map[string]events.Capability{stage.Compose: stage.Composer()}
	for _, t := range s.tools[domain] {
		confirmation := events.ConfirmationNone
		switch {
		case t.Effect == effectHandoff:
			confirmation = events.ConfirmationExplicit
		case t.Effect == effectWrite && domain == "telecom":
			confirmation = events.ConfirmationExplicit
		case t.Effect == effectWrite:
			confirmation = events.ConfirmationRequired
		}
		c := stage.Capability(effect(t.Effect), confirmation, t.Parameters)
		if t.Effect == effectHandoff {
			c.AuthorityArguments = []string{} // it goes to one place, whatever it says
		}
		all[t.Name] = c
	}
	return stage.View(all)
}

// play is one conversation. It is the world, with its own journal of writes.
type play struct {
	view   registry.View
	prompt string
	// wanted is what the customer says yes to, and script what the model wants.
	wanted []action
	script []action
	silent bool

	stage  *stage.Stage
	writes []action
}

type outcome struct {
	asked  int
	denied bool
	tag    events.Tag
}

func (p *play) perform(ctx context.Context) (outcome, error) {
	var err error
	if p.stage, err = stage.New(p.view, p); err != nil {
		return outcome{}, err
	}
	plan, err := stage.Plan(p.prompt, script(p.script))
	if err != nil {
		return outcome{}, err
	}
	run, err := p.stage.Submit(ctx, stage.Request(p.prompt))
	if err != nil {
		return outcome{}, err
	}
	err = p.stage.Propose(ctx, run, stage.Proposal{Formalization: "formalization-1", Origin: events.OriginInferred, Attempt: 1, Spec: stage.Spec(plan), Plan: plan})
	if err = errors.Join(err, p.stage.Settle(ctx)); err != nil {
		return outcome{}, err
	}
	var o outcome
	yes := p.yes
	if p.silent {
		yes = nil
	}
	if o.denied, err = p.stage.Settled(ctx, run, yes); err != nil {
		return o, err
	}
	o.asked, o.tag = len(p.stage.Asked(ctx, run)), p.stage.Conclusion(ctx, run).Tag
	return o, nil
}

// yes reports whether the customer wants exactly this.
func (p *play) yes(item events.ApprovalItem) bool {
	arguments, _ := item.Arguments.Content()
	for _, a := range p.wanted {
		if a.Name == item.Capability.Name && bytes.Equal(stage.Canonical(a.Arguments), arguments) {
			return true
		}
	}
	return false
}

// Invoke implements [stage.World]. A lookup that failed answers so; a write
// that failed changed nothing.
func (p *play) Invoke(_ context.Context, i capability.Invocation) capability.Outcome {
	done := func(text string) capability.Outcome { return stage.Done(text, stage.Values(script(p.script))) }
	if i.Name == stage.Compose {
		return done("")
	}
	for _, a := range p.script {
		if a.Name != i.Name || !bytes.Equal(stage.Canonical(a.Arguments), i.Arguments) {
			continue
		}
		if a.Effect == effectWrite {
			p.writes = append(p.writes, a)
			if a.Failed != nil {
				return stage.Failed("refused")
			}
		}
		if a.Failed != nil {
			return done(string(a.Failed))
		}
		return done(string(a.Result))
	}
	return stage.Failed("nobody wanted " + i.Name)
}
