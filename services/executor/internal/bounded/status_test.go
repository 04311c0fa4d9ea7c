package bounded_test

import (
	"maps"
	"slices"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// TestStatuses ends a run in every way there is, and finds the seven statuses and no other.
func TestStatuses(t *testing.T) {
	req.Covers(t, "BNAR-10.8", "BNAR-5.13", "BNAR-5.14")
	during := func(what string, end func(*script)) *script {
		s := newScript(ask("alpha"), final("done"))
		s.observe = func(now string) {
			if now == what {
				end(s)
			}
		}
		return s
	}
	cancellation := bounded.NewCancellation()
	noTool := newScript(ask("alpha"))
	noTool.tool = func(bounded.ToolCall, *bounded.ToolSink) bool { return false }
	found := map[string]bool{}
	for _, s := range []*script{
		newScript(ask("alpha"), final("done")),
		during("tool over", func(*script) { cancellation.Cancel() }),
		during("tool over", func(s *script) { s.elapsed = 1000 }),
		during("tool over", func(s *script) { s.epoch++ }),
		newScript(ask("alpha"), ask("alpha")),
		newScript("nonsense\n"),
		noTool,
	} {
		run, err := start(t, known(t, "profile"), s, bounded.Options{Cancellation: cancellation})
		if err != nil {
			t.Fatal(err)
		}
		cancellation = bounded.NewCancellation()
		trace := replayed(t, known(t, "profile"), known(t, "task"), run)
		if last := trace.Events[len(trace.Events)-1]; last.Kind != record.RunFinished || string(last.Status) != run.Status() {
			t.Errorf("ended with %+v", last)
		}
		if trace.Usage.ProviderAttempts != uint64(len(s.providers)) || trace.Usage.ToolCalls != uint64(len(s.tools)) {
			t.Errorf("used %+v, asked %d and called %d times", trace.Usage, len(s.providers), len(s.tools))
		}
		found[run.Status()] = true
	}
	want := []string{"budget_exhausted", "cancelled", "completed", "deadline_exceeded", "policy_rejected", "provider_failed", "tool_failed"}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("statuses %q, want %q", got, want)
	}
}
