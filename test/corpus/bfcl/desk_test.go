package bfcl_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/testkit/cases"
	"example.org/mandate/services/admission"
	"example.org/mandate/services/executor"
)

// resultType is that of every call.
const resultType = "bfcl.result"

// world has the tools of a turn and nothing else, as capabilities whose
// confirmation is the request itself.
func world(tools []tool) *cases.World {
	w := cases.NewWorld()
	w.Capabilities = map[string]events.Capability{}
	w.Agent.Capabilities, w.Policy.Operations = nil, nil
	w.Agent.Limits.Actions = 64
	w.Agent.Output = events.JSON(`true`)
	for _, t := range tools {
		c := cases.Capability(events.EffectRead, events.ConfirmationNone)
		if t.Effect == "write" {
			c.Effect, c.Confirmation = events.EffectWrite, events.ConfirmationExplicit
		}
		c.Input, c.Output, c.ResultType = events.JSON(t.Parameters), events.JSON(`true`), resultType
		w.Capabilities[t.Name] = c
		w.Policy.Operations = append(w.Policy.Operations, t.Name)
	}
	slices.Sort(w.Policy.Operations)
	w.Policy.Operations = slices.Compact(w.Policy.Operations)
	for _, name := range w.Policy.Operations {
		w.Agent.Capabilities = append(w.Agent.Capabilities, events.CapabilityRef{Name: name, Version: 1})
	}
	return w
}

// views remembers registries by their tools: turns of a case share them.
type views map[string]registry.View

func (v views) of(t *testing.T, tools []tool) registry.View {
	t.Helper()
	var key strings.Builder
	for _, one := range tools {
		key.WriteString(one.Name + "\x00" + string(one.Parameters) + "\x00")
	}
	view, ok := v[key.String()]
	if !ok {
		view = world(tools).View()
		if _, compiles := view.Agent(cases.Agent); !compiles {
			t.Fatalf("an agent with %d tools does not compile", len(tools))
		}
		v[key.String()] = view
	}
	return view
}

// sequence is a plan of calls one after the other; independent is one of calls
// that wait for nothing.
func sequence(t *testing.T, calls []call, effects map[string]events.Effect) *events.Plan {
	t.Helper()
	p := independent(t, calls, effects)
	for i := 1; i < len(p.Nodes); i++ {
		p.Nodes[i].After = []string{p.Nodes[i-1].ID}
	}
	return p
}

func independent(t *testing.T, calls []call, effects map[string]events.Effect) *events.Plan {
	t.Helper()
	var nodes []events.PlanNode
	for i, c := range calls {
		n := events.PlanNode{
			ID: fmt.Sprintf("c%02d", i), Capability: events.CapabilityRef{Name: c.Name, Version: 1}, Effect: effects[c.Name],
			After: []string{}, Arguments: map[string]events.Argument{},
		}
		if n.Effect == "" {
			n.Effect = events.EffectRead
		}
		for name, value := range c.arguments() {
			data, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			n.Arguments[name] = events.Argument{Literal: data}
		}
		nodes = append(nodes, n)
	}
	p := cases.Plan(nodes...)
	p.Output.Type = resultType
	return p
}

func effectsOf(tools []tool) map[string]events.Effect {
	effects := map[string]events.Effect{}
	for _, t := range tools {
		effects[t.Name] = events.EffectRead
		if t.Effect == "write" {
			effects[t.Name] = events.EffectWrite
		}
	}
	return effects
}

// decided is what admission decides on a plan that a request carries.
func decided(t *testing.T, view registry.View, p *events.Plan) ([]events.Payload, *events.RevisionAdmitted) {
	t.Helper()
	r := cases.Request(p, func(r *events.IntentRequest) { r.Limits.Actions = 64 })
	desk := cases.NewScript(admission.Core())
	d := desk.Do(t, cases.Delivered(cases.Start, view, cases.Commit(events.OwnerRequest, 1, cases.Submission(r))))
	if desk.State.Sealed == nil {
		t.Fatalf("not sealed: %v", cases.Want[*events.RunRejected](t, d.Events).Diagnostics)
	}
	d = desk.Do(t, cases.Delivered(cases.Start+cases.Second, view, cases.Commit(events.OwnerInterpreter, 1,
		&events.SpecProposed{
			Formalization: "f", Spec: cases.Document(events.ClassPlan, r.Outcome), Request: desk.State.Sealed.Request.Commitment, Origin: events.OriginExplicit,
		},
		&events.PlanProposed{Formalization: "f", Plan: cases.Document(events.ClassPlan, p), Attempt: 1, Origin: events.OriginExplicit},
	)))
	admitted, _ := cases.Event[*events.RevisionAdmitted](d.Events)
	return d.Events, admitted
}

// dispatched lists the capabilities that the executor calls for a revision, in
// order, when every call works at once.
func dispatched(t *testing.T, view registry.View, admitted *events.RevisionAdmitted) (names []string) {
	t.Helper()
	x := cases.NewScript(executor.Core())
	at := cases.Start + 2*cases.Second
	x.Do(t, cases.Delivered(at, view, cases.Commit(events.OwnerAdmission, 2, admitted)))
	for !x.State.Over {
		open := x.State.OpenActions()
		if len(open) == 0 {
			t.Fatal("the executor waits for nothing")
		}
		x.Do(t, cases.Observed(at, view, open[0], capability.Outcome{Status: capability.StatusCompleted, Value: []byte(`{}`), MediaType: events.MediaJSON}))
	}
	for _, e := range cases.Events[*events.ActionDispatched](x.All) {
		names = append(names, e.Capability.Name)
	}
	cases.Want[*events.ExecutionCompleted](t, x.All)
	return names
}
