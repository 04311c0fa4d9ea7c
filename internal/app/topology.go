package app

import (
	"fmt"
	"slices"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
)

// Target is something that a process can run.
type Target string

// The targets: the five services and the gateway.
const (
	TargetAdmission   Target = "admission"
	TargetInterpreter Target = "interpreter"
	TargetExecutor    Target = "executor"
	TargetEvaluator   Target = "evaluator"
	TargetPresenter   Target = "presenter"
	TargetGateway     Target = "gateway"
)

// Targets lists every target.
func Targets() []Target {
	return []Target{TargetAdmission, TargetInterpreter, TargetExecutor, TargetEvaluator, TargetPresenter, TargetGateway}
}

// ParseTargets reads a comma-separated list; "all" is every target.
func ParseTargets(text string) ([]Target, error) {
	if text == "all" {
		return Targets(), nil
	}
	var targets []Target
	for name := range strings.SplitSeq(text, ",") {
		t := Target(strings.TrimSpace(name))
		if !slices.Contains(Targets(), t) {
			return nil, fmt.Errorf("target %.40q is not one of %v", name, Targets())
		}
		if !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	return targets, nil
}

// listens is the one table of who listens to what.
var listens = map[Target][]journal.Source{
	TargetAdmission:   {{Owner: events.OwnerRequest}, {Owner: events.OwnerInterpreter}, {Owner: events.OwnerAdmission, Timers: true}},
	TargetInterpreter: {{Owner: events.OwnerAdmission}},
	TargetExecutor:    {{Owner: events.OwnerAdmission}},
	TargetEvaluator:   {{Owner: events.OwnerExecutor}, {Owner: events.OwnerAdmission}, {Owner: events.OwnerInterpreter}},
	TargetPresenter:   {{Owner: events.OwnerEvaluator}, {Owner: events.OwnerAdmission}},
	TargetGateway:     nil, // it reads every stream whole
}

// readers lists the durable consumers that bootstrap makes.
func readers() []jetstream.Reader {
	var all []jetstream.Reader
	for _, t := range Targets() {
		for _, source := range listens[t] {
			all = append(all, jetstream.Reader{Name: string(t), Source: source})
		}
	}
	return all
}

// Readers counts the services that listen to an owner's stream.
func Readers(owner events.Owner) int {
	n := 0
	for _, t := range Targets() {
		if slices.Contains(listens[t], journal.Source{Owner: owner}) {
			n++
		}
	}
	return n
}
