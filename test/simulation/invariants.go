package simulation

import (
	"context"
	"fmt"

	"example.org/mandate/events"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/testkit"
	"example.org/mandate/services/admission"
	"example.org/mandate/services/evaluator"
	"example.org/mandate/services/executor"
	"example.org/mandate/services/interpreter"
	"example.org/mandate/services/presenter"
)

// history is every commit about one run, in the order in which it was stored,
// by owner.
type history map[events.Owner][]events.Commit

func (w *world) histories(ctx context.Context) (map[string]history, error) {
	all := map[string]history{}
	for _, owner := range events.Owners() {
		heads := map[string]events.Head{}
		for record, err := range w.journal.Read(ctx, owner, 1) {
			if err != nil {
				return nil, err
			}
			c, err := events.Decode(record)
			if err != nil {
				return nil, err
			}
			if err := events.CheckNext(heads[c.Subject.Run], &c); err != nil {
				return nil, err
			}
			heads[c.Subject.Run] = c.Head()
			if all[c.Subject.Run] == nil {
				all[c.Subject.Run] = history{}
			}
			all[c.Subject.Run][owner] = append(all[c.Subject.Run][owner], c)
		}
	}
	return all, nil
}

// payloads lists the data of every event of an owner.
func (h history) payloads(owner events.Owner) []events.Payload {
	var all []events.Payload
	for _, c := range h[owner] {
		for _, e := range c.Events {
			all = append(all, e.Data)
		}
	}
	return all
}

func count[T events.Payload](h history, owner events.Owner) (n int, last T) {
	for _, p := range h.payloads(owner) {
		if e, ok := p.(T); ok {
			n++
			last = e
		}
	}
	return n, last
}

// check reports the first promise that a schedule broke.
func (w *world) check(ctx context.Context) error {
	all, err := w.histories(ctx)
	if err != nil {
		return err
	}
	for _, run := range w.submitted {
		if err := w.checkRun(all[run]); err != nil {
			return fmt.Errorf("run %s: %w", run, err)
		}
		if err := w.checkBundle(ctx, run); err != nil {
			return fmt.Errorf("run %s: %w", run, err)
		}
	}
	for action, n := range w.dispatches {
		if n > 1 {
			return fmt.Errorf("action %s was called %d times", action, n)
		}
	}
	return nil
}

func (w *world) checkRun(h history) error {
	if n, _ := count[*events.Submitted](h, events.OwnerRequest); n != 1 {
		return fmt.Errorf("%d submissions", n)
	}
	sealed, _ := count[*events.RunSealed](h, events.OwnerAdmission)
	rejected, _ := count[*events.RunRejected](h, events.OwnerAdmission)
	if sealed+rejected != 1 {
		return fmt.Errorf("%d sealed and %d rejected", sealed, rejected)
	}
	admitted, _ := count[*events.RevisionAdmitted](h, events.OwnerAdmission)
	if admitted > 1 {
		return fmt.Errorf("%d revisions", admitted)
	}
	concluded, conclusion := count[*events.RunConcluded](h, events.OwnerEvaluator)
	if concluded != 1 {
		return fmt.Errorf("%d conclusions", concluded)
	}
	if n, _ := count[*events.DocumentPresented](h, events.OwnerPresenter); n != 1 {
		return fmt.Errorf("%d documents", n)
	}
	return w.checkActions(h, admitted, conclusion)
}

func (w *world) checkActions(h history, admitted int, conclusion *events.RunConcluded) error {
	dispatched := map[string]*events.ActionDispatched{}
	settled := map[string]string{}
	for _, p := range h.payloads(events.OwnerExecutor) {
		switch e := p.(type) {
		case *events.ActionDispatched:
			if dispatched[e.Action] != nil {
				return fmt.Errorf("action %s dispatched twice", e.Action)
			}
			if len(settled) > 0 && settled["halt"] != "" {
				return fmt.Errorf("action %s dispatched after the halt", e.Action)
			}
			dispatched[e.Action] = e
		case *events.ActionCompleted:
			settled[e.Action] = "completed"
		case *events.ActionFailed:
			settled[e.Action] = "failed"
		case *events.ActionUncertain:
			settled[e.Action] = "uncertain"
		case *events.ExecutionHalting, *events.ExecutionHalted, *events.ExecutionCompleted:
			settled["halt"] = "yes"
		}
	}
	if len(dispatched) > 0 && admitted == 0 {
		return fmt.Errorf("%d actions without an admitted revision", len(dispatched))
	}
	uncertain := false
	writes := map[string]int{}
	for action, d := range dispatched {
		if settled[action] == "" {
			return fmt.Errorf("action %s has no receipt", action)
		}
		uncertain = uncertain || settled[action] == "uncertain"
		if d.Effect == events.EffectWrite {
			writes[d.Node]++
			if settled[action] == "failed" && w.effects[action] > 0 {
				return fmt.Errorf("action %s took effect and is called failed", action)
			}
		}
		if settled[action] == "completed" && w.effects[action] != 1 {
			return fmt.Errorf("action %s is called completed and took effect %d times", action, w.effects[action])
		}
	}
	for node, n := range writes {
		if n > 1 {
			return fmt.Errorf("the write %s was dispatched %d times", node, n)
		}
	}
	if uncertain != (conclusion.Tag == events.TagIndeterminate) {
		return fmt.Errorf("uncertain effects: %v, outcome %s", uncertain, conclusion.Tag)
	}
	return w.checkConclusion(h, conclusion, writes)
}

func (w *world) checkConclusion(h history, conclusion *events.RunConcluded, writes map[string]int) error {
	if conclusion.Tag == events.TagCompleted {
		for _, a := range conclusion.Actions {
			if a.Status != events.ActionStatusCompleted {
				return fmt.Errorf("completed with action %s %s", a.Node, a.Status)
			}
		}
		for _, e := range conclusion.Evaluations {
			if e.Verdict != events.VerdictMet {
				return fmt.Errorf("completed with requirement %s %s", e.Requirement, e.Verdict)
			}
		}
	} else if !conclusion.Output.IsZero() {
		return fmt.Errorf("outcome %s with an output", conclusion.Tag)
	}
	if len(writes) == 0 {
		return nil
	}
	approvals, approved := count[*events.SpecApproved](h, events.OwnerAdmission)
	uses, _ := count[*events.UseApproved](h, events.OwnerAdmission)
	if approvals != 1 || (approved.Approver.Principal == nil) != (uses == 1) {
		return fmt.Errorf("a write with %d approvals before the run and %d at dispatch", approvals, uses)
	}
	for _, e := range conclusion.Evaluations {
		if e.Verdict != events.VerdictMet && e.Requirement == "none-failed" {
			return fmt.Errorf("a write although the obligation before it is %s", e.Verdict)
		}
	}
	return nil
}

// checkBundle verifies and replays what was recorded, as anybody can offline.
func (w *world) checkBundle(ctx context.Context, run string) error {
	if w.random.IntN(4) > 0 {
		return nil // it costs more than the rest: one run in four is enough
	}
	w.journal.CrashAfter(0)
	data, err := bundle.Collect(ctx, bundle.Source{Chains: w.journal, Blobs: w.journal, Keys: testkit.Keys{}}, tenant, run, events.At(w.now))
	if err != nil {
		return err
	}
	report, err := bundle.Verify(data)
	if err != nil {
		return err
	}
	if !report.Holds() || !report.Complete {
		return fmt.Errorf("verification: complete %v, %v", report.Complete, report.Findings)
	}
	if w.random.IntN(4) > 0 {
		return nil // and one in four of those is replayed
	}
	replayed, err := bundle.ReplayUnder(w.views.view, data, replayers()...)
	if err != nil {
		return err
	}
	if !replayed.Holds() {
		return fmt.Errorf("replay: %v", replayed.Divergences)
	}
	return nil
}

func replayers() []bundle.Replayer {
	return []bundle.Replayer{
		bundle.Core(admission.Core()), bundle.Core(interpreter.Core()), bundle.Core(executor.Core()),
		bundle.Core(evaluator.Core()), bundle.Core(presenter.Core()),
	}
}
