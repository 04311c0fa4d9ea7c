package bounded_test

import (
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/record"
)

type provider = func(bounded.ProviderCall, *bounded.ProviderSink) bounded.Attempt

// fails is a provider that pushes chunks and then says that the attempt failed.
func fails(as func(bounded.Usage) bounded.Attempt, usage bounded.Usage, chunks ...string) provider {
	return func(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
		for _, chunk := range chunks {
			_ = sink.Push([]byte(chunk)) // what is refused is the run's business
		}
		return as(usage)
	}
}

func TestRetry(t *testing.T) {
	zero := bounded.Usage{}
	one := func(input, output, microunits uint64) bounded.Usage {
		return bounded.Reported(bounded.Tokens{Input: input, Output: output}, microunits)
	}
	no, unsure := bounded.DefinitelyNotStarted, bounded.FailedUncertain
	good := answer(final("done"))
	for name, test := range map[string]struct {
		answers []provider
		retries uint64
		asked   int
		want    error
		status  record.Status // of the first attempt
		ids     []string
	}{
		"not started, then started":      {[]provider{fails(no, zero), good}, 1, 2, nil, record.DefinitelyNotStarted, []string{"BNAR-10.5"}},
		"not started, a report of zero":  {[]provider{fails(no, one(0, 0, 0)), good}, 1, 2, nil, record.DefinitelyNotStarted, []string{"BNAR-10.5"}},
		"not started twice":              {[]provider{fails(no, zero), fails(no, zero), good}, 1, 2, diagnostic.Provider(diagnostic.NotStarted), record.DefinitelyNotStarted, []string{"BNAR-10.5", "BNAR-5.7"}},
		"not started, no retries":        {[]provider{fails(no, zero), good}, 0, 1, diagnostic.Provider(diagnostic.NotStarted), record.DefinitelyNotStarted, []string{"BNAR-10.5"}},
		"not started, one byte":          {[]provider{fails(no, zero, "x"), good}, 1, 1, diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain, []string{"BNAR-10.6", "BNAR-5.7"}},
		"not started, an empty chunk":    {[]provider{fails(no, zero, ""), good}, 1, 1, diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain, []string{"BNAR-10.6"}},
		"not started, an input token":    {[]provider{fails(no, one(1, 0, 0)), good}, 1, 1, diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain, []string{"BNAR-10.5"}},
		"not started, an output token":   {[]provider{fails(no, one(0, 1, 0)), good}, 1, 1, diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain, []string{"BNAR-10.5"}},
		"not started, a charge":          {[]provider{fails(no, one(0, 0, 1)), good}, 1, 1, diagnostic.Provider(diagnostic.UsageInvalid), record.FailedUncertain, []string{"BNAR-10.5"}},
		"not started, too long a chunk":  {[]provider{fails(no, zero, strings.Repeat("x", 5000)), good}, 1, 1, diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain, []string{"BNAR-10.6"}},
		"uncertain":                      {[]provider{fails(unsure, zero), good}, 1, 1, diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain, []string{"BNAR-1.13", "BNAR-6.12"}},
		"uncertain with a good response": {[]provider{fails(unsure, zero, final("done")), good}, 1, 1, diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain, []string{"BNAR-1.13", "BNAR-6.12"}},
		"a host that says nothing": {
			[]provider{func(bounded.ProviderCall, *bounded.ProviderSink) bounded.Attempt { return bounded.Attempt{} }, good},
			1, 1,
			diagnostic.Provider(diagnostic.StartUncertain), record.FailedUncertain,
			[]string{"BNAR-1.13", "BNAR-7.4"},
		},
		"too many input tokens":  {[]provider{fails(bounded.Succeeded, one(934, 0, 0), final("done"))}, 1, 1, diagnostic.Provider(diagnostic.UsageInvalid), record.FailedUncertain, []string{"BNAR-5.7"}},
		"all input tokens":       {[]provider{fails(bounded.Succeeded, one(933, 0, 0), final("done"))}, 1, 1, nil, record.Succeeded, []string{"BNAR-5.7"}},
		"too many output tokens": {[]provider{fails(bounded.Succeeded, one(0, 3164, 0), final("done"))}, 1, 1, diagnostic.Provider(diagnostic.UsageInvalid), record.FailedUncertain, []string{"BNAR-5.7"}},
		"all output tokens":      {[]provider{fails(bounded.Succeeded, one(0, 3163, 0), final("done"))}, 1, 1, nil, record.Succeeded, []string{"BNAR-5.7"}},
		"more than reserved":     {[]provider{fails(bounded.Succeeded, one(0, 0, 1), final("done"))}, 1, 1, diagnostic.Provider(diagnostic.UsageInvalid), record.FailedUncertain, []string{"BNAR-5.7"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, test.ids...)
			s := newScript()
			s.answers = test.answers
			_, trace := over(t, changed(t, limit(t, "max_retries_per_turn", test.retries)...), s)
			ended(t, trace, test.want)
			if len(s.providers) != test.asked || trace.Usage.ProviderAttempts != uint64(test.asked) || trace.Events[3].Status != test.status {
				t.Errorf("asked %d times: %s", len(s.providers), kinds(trace))
			}
		})
	}
}

// TestRetryIsPerTurn retries once in each of two turns.
func TestRetryIsPerTurn(t *testing.T) {
	req.Covers(t, "BNAR-10.5")
	s := newScript()
	no := fails(bounded.DefinitelyNotStarted, bounded.Usage{})
	s.answers = []provider{no, answer(ask("alpha")), no, answer(final("done"))}
	_, trace := over(t, changed(t, append(limit(t, "max_provider_attempts", 4), limit(t, "max_builder_bytes", 2000000)...)...), s)
	ended(t, trace, nil)
	if trace.Usage.ProviderAttempts != 4 || trace.Usage.InputBytes != 2*(933+1419) {
		t.Errorf("usage %+v", trace.Usage)
	}
}

// TestToolIsNeverRetried has a tool that fails in every way, once.
func TestToolIsNeverRetried(t *testing.T) {
	for name, tool := range map[string]func(bounded.ToolCall, *bounded.ToolSink) bool{
		"failure":      func(bounded.ToolCall, *bounded.ToolSink) bool { return false },
		"nothing":      func(bounded.ToolCall, *bounded.ToolSink) bool { return true },
		"other result": func(_ bounded.ToolCall, sink *bounded.ToolSink) bool { return sink.Push([]byte(`{"other":1}`)) == nil },
		"failure, bytes": func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
			return sink.Push([]byte(`{"value":"a"}`)) != nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-1.12", "BNAR-1.7")
			s := newScript(ask("alpha"), ask("alpha"), final("done"))
			s.tool = tool
			_, trace := over(t, changed(t, wide(t)...), s)
			if len(s.tools) != 1 || len(s.providers) != 1 || trace.Termination.Status == record.Completed {
				t.Errorf("%d tool calls, %s", len(s.tools), kinds(trace))
			}
		})
	}
}
