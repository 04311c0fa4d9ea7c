package bounded_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// priced is the known profile with a price of one microunit for a token, in and out.
func priced(t *testing.T) []byte {
	t.Helper()
	return changed(t, append(limit(t, "max_usd_microunits", 10000000),
		`"input_usd_microunits_per_million_tokens":0`, `"input_usd_microunits_per_million_tokens":1000000`,
		`"output_usd_microunits_per_million_tokens":0`, `"output_usd_microunits_per_million_tokens":1000000`)...)
}

// TestReceipt says of each attempt what was reserved for it, and what was observed of its charge.
func TestReceipt(t *testing.T) {
	report := func(usd uint64) bounded.Usage { return bounded.Reported(bounded.Tokens{Input: 1, Output: 1}, usd) }
	ok := bounded.Succeeded
	const reserved = 4096 // the request and all that is left of the context
	unknown, free := record.Attempt{Reserved: reserved}, record.Attempt{Reserved: reserved, Observed: true}
	seen := record.Attempt{Reserved: reserved, Observed: true, Charge: 7}
	for name, test := range map[string]struct {
		answers []provider
		want    []record.Attempt
		ids     []string
	}{
		"a report":            {[]provider{fails(ok, report(7), final("done"))}, []record.Attempt{seen}, []string{"BNAR-3.4", "BNAR-3.3"}},
		"a report of nothing": {[]provider{fails(ok, bounded.Reported(bounded.Tokens{}, 0), final("done"))}, []record.Attempt{free}, []string{"BNAR-3.9"}},
		"no report":           {[]provider{fails(ok, bounded.Usage{}, final("done"))}, []record.Attempt{unknown}, []string{"BNAR-3.5", "BNAR-3.6"}},
		"failed with report":  {[]provider{fails(bounded.FailedUncertain, report(7), final("done"))}, []record.Attempt{unknown}, []string{"BNAR-3.7"}},
		"failed without":      {[]provider{fails(bounded.FailedUncertain, bounded.Usage{})}, []record.Attempt{unknown}, []string{"BNAR-3.7"}},
		"a host of no words":  {[]provider{func(bounded.ProviderCall, *bounded.ProviderSink) bounded.Attempt { return bounded.Attempt{} }}, []record.Attempt{unknown}, []string{"BNAR-3.5"}},
		"not started, then":   {[]provider{fails(bounded.DefinitelyNotStarted, bounded.Usage{}), fails(ok, report(7), final("done"))}, []record.Attempt{unknown, seen}, []string{"BNAR-3.3", "BNAR-3.7"}},
		"malformed":           {[]provider{fails(ok, report(7), "nonsense\n")}, []record.Attempt{unknown}, []string{"BNAR-3.8"}},
		"invalid UTF-8":       {[]provider{fails(ok, report(7), "\xff")}, []record.Attempt{unknown}, []string{"BNAR-3.8"}},
		"too long":            {[]provider{fails(ok, report(7), strings.Repeat("x", 5000))}, []record.Attempt{unknown}, []string{"BNAR-3.8"}},
		"usage above":         {[]provider{fails(ok, report(reserved+1), final("done"))}, []record.Attempt{unknown}, []string{"BNAR-3.8"}},
		"unauthorized tool":   {[]provider{fails(ok, report(7), strings.Replace(ask("alpha"), "fixture.read", "other", 1))}, []record.Attempt{unknown}, []string{"BNAR-3.8"}},
		"a tool, then final":  {[]provider{fails(ok, report(7), ask("alpha")), fails(ok, report(7), final("done"))}, []record.Attempt{seen, seen}, []string{"BNAR-3.3", "BNAR-3.4"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, append(test.ids, "BNAR-3.10", "BNAR-3.1")...)
			s := newScript()
			s.answers = test.answers
			run, trace := over(t, priced(t), s)
			receipt, err := record.ParseReceipt(run.Receipt())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, receipt.Attempts); diff != "" {
				t.Errorf("attempts differ (-want +got):\n%s", diff)
			}
			totals, err := receipt.Totals()
			if err != nil || totals.Reserved != trace.Usage.USDMicrounits || totals.Reserved != reserved*uint64(len(test.want)) {
				t.Errorf("totals %+v, %v, usage %+v", totals, err, trace.Usage)
			}
			var sum record.Totals
			for _, a := range test.want {
				sum.Reserved += a.Reserved
				sum.Observed += a.Charge
				if !a.Observed {
					sum.Unknown += a.Reserved
				}
			}
			if totals != sum {
				t.Errorf("totals %+v, want %+v", totals, sum)
			}
		})
	}
}

// TestReceiptChangesNoRecord has two runs that differ in nothing but what was reported of the charge.
func TestReceiptChangesNoRecord(t *testing.T) {
	req.Covers(t, "BNAR-2.8")
	run := func(usage bounded.Usage) *bounded.AgentRun {
		s := newScript()
		s.answers = []provider{fails(bounded.Succeeded, usage, final("done"))}
		run, _ := over(t, priced(t), s)
		return run
	}
	unreported, free := run(bounded.Usage{}), run(bounded.Reported(bounded.Tokens{}, 0))
	charged := run(bounded.Reported(bounded.Tokens{}, 99))
	for _, other := range []*bounded.AgentRun{free, charged} {
		if !bytes.Equal(unreported.Trace(), other.Trace()) || !bytes.Equal(unreported.Evidence(), other.Evidence()) || bytes.Equal(unreported.Receipt(), other.Receipt()) {
			t.Error("the receipt changed Trace or Evidence, or did not change itself")
		}
	}
}

// TestReceiptIsNotEvidence refuses a receipt that observes a charge where no response was accepted, or reserves otherwise.
func TestReceiptIsNotEvidence(t *testing.T) {
	req.Covers(t, "BNAR-3.2", "BNAR-3.8")
	s := newScript()
	s.answers = []provider{fails(bounded.Succeeded, bounded.Reported(bounded.Tokens{}, 7), "nonsense\n")}
	run, _ := over(t, priced(t), s)
	for name, change := range map[string]func(*record.Receipt){
		"observed":     func(r *record.Receipt) { r.Attempts[0].Observed, r.Attempts[0].Charge = true, 7 },
		"reserved":     func(r *record.Receipt) { r.Attempts[0].Reserved-- },
		"no attempt":   func(r *record.Receipt) { r.Attempts = nil },
		"one more":     func(r *record.Receipt) { r.Attempts = append(r.Attempts, record.Attempt{}) },
		"status":       func(r *record.Receipt) { r.Status = record.Completed },
		"another run":  func(r *record.Receipt) { r.RunID = r.TraceDigest },
		"other traces": func(r *record.Receipt) { r.TraceDigest = r.RunID },
		"no Evidence":  func(r *record.Receipt) { r.EvidenceDigest = r.RunID },
	} {
		receipt, err := record.ParseReceipt(run.Receipt())
		if err != nil {
			t.Fatal(err)
		}
		change(receipt)
		forged, err := receipt.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if record.Verify(record.Inputs{Trace: run.Trace(), Evidence: run.Evidence(), Receipt: forged}) == nil {
			t.Errorf("%s: the receipt was believed", name)
		}
	}
}
