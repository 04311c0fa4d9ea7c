package bundle

import (
	"cmp"
	"fmt"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
)

// exactlyOne checks the rules that hold under any redelivery, crash or
// duplicate.
func (v *verification) exactlyOne() {
	atMostOne := func(what string, n int) {
		if n > 1 {
			v.find(events.CodeExactlyOne, what, "%d where at most one can be", n)
		}
	}
	if n := len(all[*events.Submitted](v, events.OwnerRequest)); n != 1 {
		v.find(events.CodeExactlyOne, "submitted", "%d submissions", n)
	}
	sealed := len(all[*events.RunSealed](v, events.OwnerAdmission))
	atMostOne("run-sealed and run-rejected", sealed+len(all[*events.RunRejected](v, events.OwnerAdmission)))
	atMostOne("revision-admitted", len(all[*events.RevisionAdmitted](v, events.OwnerAdmission)))
	concluded := all[*events.RunConcluded](v, events.OwnerEvaluator)
	atMostOne("run-concluded", len(concluded))
	documents := len(all[*events.DocumentPresented](v, events.OwnerPresenter))
	atMostOne("document-presented", documents)
	v.report.Complete = len(concluded) == 1 && documents == 1
	if len(concluded) == 1 {
		v.report.Outcome = string(concluded[0].Tag)
	}
	v.actions()
}

// actions checks that each action was dispatched once, in its time, and has at
// most one receipt.
func (v *verification) actions() {
	dispatched := map[string]bool{}
	settled := map[string]int{}
	halted := false
	for _, p := range v.payloads(events.OwnerExecutor) {
		receipt := ""
		switch e := p.(type) {
		case *events.ActionDispatched:
			if dispatched[e.Action] {
				v.find(events.CodeExactlyOne, "action "+e.Action, "dispatched twice")
			}
			if halted {
				v.find(events.CodeTransition, "action "+e.Action, "dispatched after the halt")
			}
			dispatched[e.Action] = true
		case *events.ActionCompleted:
			receipt = e.Action
		case *events.ActionFailed:
			receipt = e.Action
		case *events.ActionUncertain:
			receipt = e.Action
		case *events.ExecutionHalting, *events.ExecutionHalted, *events.ExecutionCompleted:
			halted = true
		}
		if receipt == "" {
			continue
		}
		if !dispatched[receipt] {
			v.find(events.CodeTransition, "action "+receipt, "a receipt without a dispatch")
		}
		if settled[receipt]++; settled[receipt] > 1 {
			v.find(events.CodeExactlyOne, "action "+receipt, "two receipts")
		}
	}
	if len(dispatched) > 0 && len(all[*events.RevisionAdmitted](v, events.OwnerAdmission)) == 0 {
		v.find(events.CodeTransition, "executor", "actions were dispatched and nothing was admitted")
	}
}

// order lists all commits of the run so that every commit comes after the one
// before it in its chain and after its cause; ties by time.
func (v *verification) order() []*events.Commit {
	var ordered []*events.Commit
	placed := map[string]bool{}
	next := map[events.Owner]int{}
	for {
		var best *events.Commit
		for _, owner := range v.bundle.owners() {
			if owner == events.OwnerRegistry || next[owner] >= len(v.chains[owner]) {
				continue
			}
			c := v.chains[owner][next[owner]]
			if cause := v.byID[c.Cause.Commit]; cause != nil && !placed[cause.ID] && cause != c {
				continue
			}
			if best == nil || cmp.Less(timeOf(c), timeOf(best)) {
				best = c
			}
		}
		if best == nil {
			return ordered
		}
		ordered = append(ordered, best)
		placed[best.ID] = true
		next[best.Subject.Owner]++
	}
}

func timeOf(c *events.Commit) events.Time {
	if len(c.Events) == 0 {
		return 0
	}
	return c.Events[0].Time
}

// transitions walks the phases through everything that was recorded.
func (v *verification) transitions() {
	phase := events.PhaseNew
	ordered := v.order()
	total := 0
	for owner, chain := range v.chains {
		if owner != events.OwnerRegistry {
			total += len(chain)
		}
	}
	if len(ordered) != total {
		v.find(events.CodeCauseMissing, "order", "%d commits cannot be put after their causes", total-len(ordered))
	}
	for _, c := range ordered {
		for i := range c.Events {
			place := fmt.Sprintf("%s commit %d (%s)", c.Subject.Owner, c.Number, c.ID)
			for _, step := range phase.StepsOf(c.Events[i].Data) {
				to, ok := phase.Next(step)
				if !ok {
					v.find(events.CodeTransition, place, "the step %s is not permitted in phase %q", step, phase)
					continue
				}
				phase = to
			}
			if e, ok := c.Events[i].Data.(*events.RunConcluded); ok {
				if !events.CanConclude(phase, e.Tag) {
					v.find(events.CodeTransition, place, "a run in phase %q cannot end as %s", phase, e.Tag)
				}
				phase = events.Phase(e.Tag)
			}
		}
	}
}

// budgets redoes the arithmetic: what was granted, and what was used of it.
func (v *verification) budgets() {
	for _, sealed := range all[*events.RunSealed](v, events.OwnerAdmission) {
		var granted events.Limits
		for _, owner := range events.Owners() {
			allotment, ok := sealed.Allotments[owner]
			if !ok {
				continue
			}
			allotment.ElapsedMillis = 0 // passes for all at once
			var err error
			if granted, err = budget.Add(granted, allotment); err != nil {
				v.find(events.CodeBudgetExceeded, "run-sealed", "the allotments cannot be added: %v", err)
			}
		}
		if resource, ok := budget.Within(granted, sealed.Ceiling); !ok {
			v.find(events.CodeBudgetExceeded, "run-sealed", "the allotments exceed the ceiling of %s", resource)
		}
		dispatches := int64(len(all[*events.ActionDispatched](v, events.OwnerExecutor)))
		if most := sealed.Allotments[events.OwnerExecutor].Actions; dispatches > most {
			v.find(events.CodeBudgetExceeded, "executor", "%d actions of %d allowed", dispatches, most)
		}
		for _, concluded := range all[*events.RunConcluded](v, events.OwnerEvaluator) {
			used := concluded.Receipt.Consumed
			used.ElapsedMillis = 0 // over the limit only ends the run
			if resource, ok := budget.Within(used, sealed.Ceiling); !ok {
				v.find(events.CodeBudgetExceeded, "run-concluded", "more %s was used than allowed", resource)
			}
			if used.Actions != dispatches {
				v.find(events.CodeBudgetExceeded, "run-concluded", "%d actions are receipted and %d were dispatched", used.Actions, dispatches)
			}
		}
	}
}

// approvals checks that what a person decided is what was asked and admitted.
func (v *verification) approvals() {
	requested := all[*events.ApprovalRequested](v, events.OwnerAdmission)
	decided := all[*events.ApprovalDecided](v, events.OwnerRequest)
	for _, approved := range all[*events.SpecApproved](v, events.OwnerAdmission) {
		if approved.Approval == "" {
			continue
		}
		asked := slices.ContainsFunc(requested, func(r *events.ApprovalRequested) bool {
			return r.Approval == approved.Approval && r.Digest == approved.Digest && r.Spec.Commitment == approved.Spec
		})
		given := approved.Approver.Principal != nil && slices.ContainsFunc(decided, func(d *events.ApprovalDecided) bool {
			return d.Approval == approved.Approval && d.Digest == approved.Digest && d.Decision == events.DecisionApprove && d.Principal == *approved.Approver.Principal
		})
		if !asked || !given {
			v.find(events.CodeApprovalMismatch, "spec-approved", "nobody approved exactly what is said to be approved")
		}
	}
	approved := all[*events.SpecApproved](v, events.OwnerAdmission)
	for _, admitted := range all[*events.RevisionAdmitted](v, events.OwnerAdmission) {
		for _, n := range admitted.Nodes {
			if n.Effect != events.EffectWrite {
				continue
			}
			byPerson := slices.ContainsFunc(approved, func(a *events.SpecApproved) bool { return a.Approver.Principal != nil && a.Approval == n.Confirmation })
			if !byPerson && n.Confirm != events.ConfirmAtDispatch {
				v.find(events.CodeConfirmationMissing, "revision-admitted", "the write %s was admitted without a person's word", n.ID)
			}
		}
	}
}

// uses checks that what a person decided on at dispatch is what was asked,
// dispatched, and dispatched once.
func (v *verification) uses() {
	requested := all[*events.ApprovalRequested](v, events.OwnerAdmission)
	decided := all[*events.ApprovalDecided](v, events.OwnerRequest)
	approved := all[*events.UseApproved](v, events.OwnerAdmission)
	for _, use := range approved {
		asked := slices.ContainsFunc(requested, func(r *events.ApprovalRequested) bool {
			return r.Approval == use.Approval && r.Digest == use.Digest && r.Use == use.Node && r.Revision == use.Revision &&
				len(r.Items) == 1 && r.Items[0].Arguments.Commitment == use.Arguments.Commitment
		})
		given := slices.ContainsFunc(decided, func(d *events.ApprovalDecided) bool {
			return d.Approval == use.Approval && d.Digest == use.Digest && d.Decision == events.DecisionApprove && d.Principal == use.Principal
		})
		if !asked || !given {
			v.find(events.CodeApprovalMismatch, "use-approved", "nobody approved exactly the use of %s that is said to be approved", use.Node)
		}
	}
	confirm := map[string]bool{}
	for _, admitted := range all[*events.RevisionAdmitted](v, events.OwnerAdmission) {
		for _, n := range admitted.Nodes {
			confirm[n.ID] = n.Confirm == events.ConfirmAtDispatch
		}
	}
	spent := map[string]string{}
	for _, dispatched := range all[*events.ActionDispatched](v, events.OwnerExecutor) {
		if !confirm[dispatched.Node] {
			continue
		}
		covered := slices.ContainsFunc(approved, func(use *events.UseApproved) bool {
			return use.Approval == dispatched.Approval && use.Node == dispatched.Node && use.Arguments.Commitment == dispatched.Arguments.Commitment
		})
		if !covered {
			v.find(events.CodeConfirmationMissing, "action "+dispatched.Action, "%s was dispatched without a person's word on its arguments", dispatched.Node)
		}
		if node, taken := spent[dispatched.Approval]; taken && (node != dispatched.Node || dispatched.Effect == events.EffectWrite) {
			v.find(events.CodeExactlyOne, "action "+dispatched.Action, "the approval %s is spent twice", dispatched.Approval)
		}
		spent[dispatched.Approval] = dispatched.Node
	}
}

// receipt checks the terminal receipt against the chains that it names.
func (v *verification) receipt() {
	for _, c := range v.chains[events.OwnerEvaluator] {
		for i := range c.Events {
			concluded, ok := c.Events[i].Data.(*events.RunConcluded)
			if !ok {
				continue
			}
			for owner, head := range concluded.Receipt.Heads {
				digests := v.digests[owner]
				if head.Number == 0 || head.Number > uint64(len(digests)) || digests[head.Number-1] != head.Digest {
					v.find(events.CodeReceiptHeads, "run-concluded", "the receipt names commit %d of %s, which is not in its chain", head.Number, owner)
				}
			}
			if cause := v.byID[c.Cause.Commit]; cause != nil && concluded.Receipt.Heads[cause.Subject.Owner] != cause.Head() {
				v.find(events.CodeReceiptHeads, "run-concluded", "the receipt does not name the commit that it concludes from")
			}
			uncertain := len(all[*events.ActionUncertain](v, events.OwnerExecutor)) > 0
			if uncertain != (concluded.Tag == events.TagIndeterminate) {
				v.find(events.CodeTransition, "run-concluded", "the outcome is %s and effects are uncertain: %v", concluded.Tag, uncertain)
			}
			if concluded.Tag != events.TagCompleted && !concluded.Output.IsZero() {
				v.find(events.CodeTransition, "run-concluded", "an outcome that is not completed has an output")
			}
		}
	}
}
