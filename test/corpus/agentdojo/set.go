// Package agentdojo runs the user tasks and prompt injections of AgentDojo
// against admission and execution, with an interpreter that the attacker
// controls entirely.
package agentdojo

import (
	"fmt"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/test/corpus/stage"
)

// call is one recorded call of a tool.
type call struct {
	Seq      int                    `json:"seq"`
	Function string                 `json:"function"`
	Args     map[string]events.JSON `json:"args"`
	Effect   events.Effect          `json:"effect"`
	Egress   bool                   `json:"egress"`
	Result   string                 `json:"result"`
}

// userTask is what the user wants, with the calls that do it.
type userTask struct {
	ID     string `json:"id"`
	Suite  string `json:"suite"`
	Task   string `json:"task"`
	Prompt string `json:"prompt"`
	Plan   []call `json:"plan"`
	Class  string `json:"plan_class"`
}

// The classes of user tasks, from what nobody can attack to what data decides.
const (
	readOnly       = "read_only"
	promptBound    = "prompt_bound"
	dataBound      = "data_bound"
	injectableData = "injectable_data_bound"
)

// injectionTask is what the attacker wants.
type injectionTask struct {
	Suite string `json:"suite"`
	Task  string `json:"task"`
	Goal  string `json:"goal"`
	Calls []call `json:"calls"`
}

// pair is a user task during which an injection is read.
type pair struct {
	ID        string         `json:"id"`
	Suite     string         `json:"suite"`
	User      string         `json:"user_task"`
	Injection string         `json:"injection_task"`
	Vectors   map[string]int `json:"vectors"`
	Exposed   int            `json:"first_exposed_after_call"`
	Forbidden []int          `json:"forbidden_injection_calls"`
	Class     string         `json:"plan_class"`
}

// tool is one tool of a suite.
type tool struct {
	Name       string        `json:"name"`
	Parameters events.JSON   `json:"parameters"`
	Effect     events.Effect `json:"effect"`
	Egress     bool          `json:"egress"`
	Authority  []string      `json:"authority_args"`
}

// set is the whole set.
type set struct {
	tools      map[string]map[string]tool // by suite and name
	users      map[string]userTask        // by suite/task
	injections map[string]injectionTask
	pairs      []pair
	defaults   map[string]string // of attacker slots, by suite/slot
}

// load reads the set.
func load(dir string) (*set, error) {
	s := &set{tools: map[string]map[string]tool{}, users: map[string]userTask{}, injections: map[string]injectionTask{}, defaults: map[string]string{}}
	var tools struct {
		Suites map[string][]tool `json:"suites"`
	}
	if err := stage.Document(filepath.Join(dir, "tools.json"), &tools); err != nil {
		return nil, err
	}
	for suite, list := range tools.Suites {
		s.tools[suite] = map[string]tool{}
		for _, t := range list {
			s.tools[suite][t.Name] = t
		}
	}
	var slots map[string]map[string]struct {
		Default string `json:"default"`
	}
	if err := stage.Document(filepath.Join(dir, "injection_vectors.json"), &slots); err != nil {
		return nil, err
	}
	for suite, named := range slots {
		for name, slot := range named {
			s.defaults[suite+"/"+name] = slot.Default
		}
	}
	if err := stage.Lines(filepath.Join(dir, "user_tasks.jsonl"), func(t userTask) { s.users[t.Suite+"/"+t.Task] = t }); err != nil {
		return nil, err
	}
	if err := stage.Lines(filepath.Join(dir, "injection_tasks.jsonl"), func(t injectionTask) { s.injections[t.Suite+"/"+t.Task] = t }); err != nil {
		return nil, err
	}
	return s, stage.Lines(filepath.Join(dir, "pairs.jsonl"), func(p pair) { s.pairs = append(s.pairs, p) })
}

// script is what a user task calls.
func (s *set) script(t userTask) []stage.Call {
	calls := make([]stage.Call, len(t.Plan))
	for i, c := range t.Plan {
		calls[i] = stage.Call{
			Function: c.Function, Args: c.Args, Effect: s.effect(t.Suite, c.Function), Far: s.tools[t.Suite][c.Function].Egress, Result: c.Result,
		}
	}
	return calls
}

func (s *set) effect(suite, function string) events.Effect {
	if s.tools[suite][function].Effect == events.EffectWrite {
		return events.EffectWrite
	}
	return events.EffectRead
}

// capabilities are the tools of a suite as a deployment declares them: writes
// that the user's own request confirms, reads that nobody does, and what
// decides where either goes.
func (s *set) capabilities(suite string) (map[string]events.Capability, error) {
	all := map[string]events.Capability{}
	for name, t := range s.tools[suite] {
		var schema map[string]any
		if err := json.Unmarshal(t.Parameters, &schema); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		schema["additionalProperties"] = false
		input, err := json.Marshal(schema, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		effect, confirmation := events.EffectRead, events.ConfirmationNone
		if t.Effect == events.EffectWrite {
			effect, confirmation = events.EffectWrite, events.ConfirmationExplicit
		}
		c := stage.Capability(effect, confirmation, input)
		c.AuthorityArguments = append([]string{}, t.Authority...)
		all[name] = c
	}
	all[stage.Compose] = stage.Composer()
	return all, nil
}
