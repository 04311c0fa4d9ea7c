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

// listen is a source that a target listens to, and the events in it that it
// acts on.
type listen struct {
	source journal.Source
	types  []string
}

// commits names the events of an owner by examples.
func commits(owner events.Owner, examples ...events.Payload) listen {
	l := listen{source: journal.Source{Owner: owner}}
	for _, e := range examples {
		l.types = append(l.types, e.EventType())
	}
	return l
}

// listensTo is the one table of who listens to what.
func listensTo(t Target) []listen {
	switch t {
	case TargetAdmission:
		return []listen{
			commits(events.OwnerRequest, &events.Submitted{}, &events.CancelRequested{}, &events.ApprovalDecided{},
				&events.Steered{}, &events.ChoiceAnswered{}, &events.ReconciliationRequested{}),
			commits(events.OwnerInterpreter, &events.SpecProposed{}),
			commits(events.OwnerExecutor, &events.ConfirmationNeeded{}),
			{source: journal.Source{Owner: events.OwnerAdmission, Timers: true}},
		}
	case TargetInterpreter:
		return []listen{commits(events.OwnerAdmission, &events.RunSealed{})}
	case TargetExecutor:
		return []listen{commits(events.OwnerAdmission, &events.RevisionAdmitted{}, &events.RunCancelled{}, &events.LeaseRevoked{},
			&events.UseApproved{}, &events.UseDenied{})}
	case TargetEvaluator:
		return []listen{
			commits(events.OwnerExecutor, &events.ExecutionCompleted{}, &events.ExecutionHalted{}),
			commits(events.OwnerAdmission, &events.RunRejected{}, &events.SpecDenied{}, &events.PlanRejected{},
				&events.RunExpired{}, &events.RunCancelled{}),
			commits(events.OwnerInterpreter, &events.InterpretationFailed{}),
		}
	case TargetPresenter:
		return []listen{
			commits(events.OwnerEvaluator, &events.RunConcluded{}),
			commits(events.OwnerAdmission, &events.ApprovalRequested{}),
		}
	case TargetGateway: // it reads every stream whole
	}
	return nil
}

// readers lists the durable consumers that bootstrap makes.
func readers() []jetstream.Reader {
	var all []jetstream.Reader
	for _, t := range Targets() {
		for _, l := range listensTo(t) {
			all = append(all, jetstream.Reader{Name: string(t), Source: l.source})
		}
	}
	return all
}

// Readers counts the services that listen to an owner's stream.
func Readers(owner events.Owner) int {
	n := 0
	for _, t := range Targets() {
		if slices.ContainsFunc(listensTo(t), func(l listen) bool { return l.source == journal.Source{Owner: owner} }) {
			n++
		}
	}
	return n
}
