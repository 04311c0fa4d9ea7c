package outcome

import (
	"slices"

	"example.org/mandate/events"
)

// Deliverables aggregates the verdicts on requirements and the states of the
// results into a completion verdict per deliverable (OD-5.3.11 to .14).
// cancelled says that the run was cancelled.
func Deliverables(spec *events.OutcomeSpec, evaluations []events.Evaluation, results map[string]Result, cancelled bool) []events.DeliverableVerdict {
	verdicts := make([]events.DeliverableVerdict, 0, len(spec.Deliverables))
	for _, d := range spec.Deliverables {
		verdicts = append(verdicts, deliverable(d, evaluations, results, cancelled))
	}
	// What depends on something that was not delivered is blocked, not failed.
	for i, d := range spec.Deliverables {
		v := &verdicts[i]
		if v.Completion == events.CompletionComplete || v.Completion == events.CompletionCancelled {
			continue
		}
		for _, dependency := range d.DependsOn {
			j := slices.IndexFunc(verdicts, func(other events.DeliverableVerdict) bool { return other.Deliverable == dependency })
			if j >= 0 && verdicts[j].Completion != events.CompletionComplete {
				v.Completion = events.CompletionBlocked
				v.Limitations = append(v.Limitations, "depends on "+dependency)
			}
		}
	}
	return verdicts
}

func deliverable(d events.Deliverable, evaluations []events.Evaluation, results map[string]Result, cancelled bool) events.DeliverableVerdict {
	v := events.DeliverableVerdict{Deliverable: d.ID, Completion: events.CompletionComplete}
	r, produced := results[d.Result]
	switch {
	case !produced && cancelled:
		v.Completion = events.CompletionCancelled
		v.Limitations = append(v.Limitations, "not produced: the run was cancelled")
	case !produced:
		v.Completion = events.CompletionBlocked
		v.Limitations = append(v.Limitations, "not produced")
	case r.Status == events.ResultFailed || r.Status == events.ResultUnavailable:
		v.Completion = events.CompletionFailed
		v.Limitations = append(v.Limitations, "the result is "+string(r.Status))
	case r.Status != events.ResultComplete || !r.Valid:
		v.Completion = events.CompletionPartial
		v.Limitations = append(v.Limitations, "the result is not complete and valid")
	}
	for _, e := range evaluations {
		if e.Deliverable != d.ID || e.Verdict == events.VerdictMet || e.Verdict == events.VerdictNotApplicable {
			continue
		}
		v.Limitations = append(v.Limitations, e.Requirement+" is "+string(e.Verdict))
		if e.Importance == events.Must && v.Completion == events.CompletionComplete {
			v.Completion = events.CompletionPartial
		}
	}
	return v
}

// Overall is the completion of the run: complete only if every deliverable is.
func Overall(verdicts []events.DeliverableVerdict) events.Completion {
	count := map[events.Completion]int{}
	for _, v := range verdicts {
		count[v.Completion]++
	}
	switch n := len(verdicts); {
	case n > 0 && count[events.CompletionComplete] == n:
		return events.CompletionComplete
	case n > 0 && count[events.CompletionCancelled] == n:
		return events.CompletionCancelled
	case n == 0 || count[events.CompletionFailed] == n:
		return events.CompletionFailed
	case count[events.CompletionBlocked] == n:
		return events.CompletionBlocked
	default:
		return events.CompletionPartial
	}
}
