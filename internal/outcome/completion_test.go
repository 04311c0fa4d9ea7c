package outcome_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/outcome"
	"example.org/mandate/internal/req"
)

func TestDeliverables(t *testing.T) {
	spec := &events.OutcomeSpec{Deliverables: []events.Deliverable{{ID: "d", Result: "n"}}}
	whole := outcome.Result{ResultRecord: events.ResultRecord{Status: events.ResultComplete, Valid: true}}
	with := func(status events.ResultStatus, valid bool) outcome.Result {
		return outcome.Result{ResultRecord: events.ResultRecord{Status: status, Valid: valid}}
	}
	verdict := func(v events.Verdict, i events.Importance) []events.Evaluation {
		return []events.Evaluation{{Requirement: "r", Deliverable: "d", Verdict: v, Importance: i}}
	}
	for name, test := range map[string]struct {
		result      *outcome.Result
		evaluations []events.Evaluation
		cancelled   bool
		want        events.Completion
		limitations []string
		covers      []string
	}{
		"produced":                  {&whole, nil, false, events.CompletionComplete, nil, nil},
		"met":                       {&whole, verdict(events.VerdictMet, events.Must), false, events.CompletionComplete, nil, nil},
		"not applicable":            {&whole, verdict(events.VerdictNotApplicable, events.Must), false, events.CompletionComplete, nil, nil},
		"unmet":                     {&whole, verdict(events.VerdictUnmet, events.Must), false, events.CompletionPartial, []string{"r is unmet"}, []string{"OD-5.3.12"}},
		"unknown":                   {&whole, verdict(events.VerdictUnknown, events.Must), false, events.CompletionPartial, []string{"r is unknown"}, []string{"OD-5.3.13"}},
		"unmet preference":          {&whole, verdict(events.VerdictUnmet, events.Prefer), false, events.CompletionComplete, []string{"r is unmet"}, []string{"OD-5.3.14"}},
		"unknown preference":        {&whole, verdict(events.VerdictUnknown, events.Prefer), false, events.CompletionComplete, []string{"r is unknown"}, []string{"OD-5.3.14"}},
		"another's requirement":     {&whole, []events.Evaluation{{Requirement: "r", Deliverable: "e", Verdict: events.VerdictUnmet, Importance: events.Must}}, false, events.CompletionComplete, nil, nil},
		"not produced":              {nil, nil, false, events.CompletionBlocked, []string{"not produced"}, nil},
		"not produced, cancelled":   {nil, nil, true, events.CompletionCancelled, []string{"not produced: the run was cancelled"}, nil},
		"produced before the stop":  {&whole, nil, true, events.CompletionComplete, nil, nil},
		"failed":                    {new(with(events.ResultFailed, false)), nil, false, events.CompletionFailed, []string{"the result is failed"}, nil},
		"unavailable":               {new(with(events.ResultUnavailable, false)), nil, false, events.CompletionFailed, []string{"the result is unavailable"}, nil},
		"partial":                   {new(with(events.ResultPartial, true)), nil, false, events.CompletionPartial, []string{"the result is not complete and valid"}, nil},
		"complete but not valid":    {new(with(events.ResultComplete, false)), nil, false, events.CompletionPartial, []string{"the result is not complete and valid"}, []string{"OD-3.3.3"}},
		"failed, and a requirement": {new(with(events.ResultFailed, false)), verdict(events.VerdictUnknown, events.Must), false, events.CompletionFailed, []string{"the result is failed", "r is unknown"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			results := map[string]outcome.Result{}
			if test.result != nil {
				results["n"] = *test.result
			}
			v := outcome.Deliverables(spec, test.evaluations, results, test.cancelled)
			if len(v) != 1 || v[0].Deliverable != "d" || v[0].Completion != test.want || !slices.Equal(v[0].Limitations, test.limitations) {
				t.Fatalf("%+v", v)
			}
		})
	}
	t.Run("what depends on something missing is blocked", func(t *testing.T) {
		spec := &events.OutcomeSpec{Deliverables: []events.Deliverable{{ID: "a", Result: "a"}, {ID: "b", Result: "b", DependsOn: []string{"a"}}, {ID: "c", Result: "c", DependsOn: []string{"a"}}}}
		v := outcome.Deliverables(spec, nil, map[string]outcome.Result{"a": with(events.ResultFailed, false), "b": with(events.ResultFailed, false), "c": whole}, false)
		if v[0].Completion != events.CompletionFailed || v[1].Completion != events.CompletionBlocked || v[2].Completion != events.CompletionComplete {
			t.Fatalf("%+v", v)
		}
		if !slices.Contains(v[1].Limitations, "depends on a") {
			t.Fatalf("%+v", v[1])
		}
	})
}

func TestOverall(t *testing.T) {
	const complete, partial, blocked, failed, cancelled = events.CompletionComplete, events.CompletionPartial, events.CompletionBlocked, events.CompletionFailed, events.CompletionCancelled
	for _, test := range []struct {
		of   []events.Completion
		want events.Completion
	}{
		{nil, failed},
		{[]events.Completion{complete}, complete},
		{[]events.Completion{complete, complete}, complete},
		{[]events.Completion{complete, failed}, partial},
		{[]events.Completion{complete, blocked}, partial},
		{[]events.Completion{partial}, partial},
		{[]events.Completion{failed, failed}, failed},
		{[]events.Completion{blocked, blocked}, blocked},
		{[]events.Completion{blocked, failed}, partial},
		{[]events.Completion{cancelled, cancelled}, cancelled},
		{[]events.Completion{cancelled, complete}, partial},
	} {
		var verdicts []events.DeliverableVerdict
		for _, c := range test.of {
			verdicts = append(verdicts, events.DeliverableVerdict{Completion: c})
		}
		if got := outcome.Overall(verdicts); got != test.want {
			t.Errorf("%v: %s, want %s", test.of, got, test.want)
		}
	}
}

// A run is complete only if every single deliverable is, whatever the best of
// them achieved.
func TestOverallIsCompleteOnlyIfAllAre(t *testing.T) {
	req.Covers(t, "OD-5.3.11")
	all := []events.Completion{events.CompletionComplete, events.CompletionPartial, events.CompletionBlocked, events.CompletionFailed, events.CompletionCancelled}
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.SliceOfN(rapid.SampledFrom(all), 0, 6).Draw(t, "completions")
		verdicts := make([]events.DeliverableVerdict, len(of))
		for i, c := range of {
			verdicts[i].Completion = c
		}
		every := len(of) > 0 && !slices.ContainsFunc(of, func(c events.Completion) bool { return c != events.CompletionComplete })
		if got := outcome.Overall(verdicts); (got == events.CompletionComplete) != every {
			t.Fatalf("%v: %s", of, got)
		}
	})
}
