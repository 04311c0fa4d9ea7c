package bounded_test

import (
	"errors"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// TestBudgets has each budget at what the usual run needs, and one below.
func TestBudgets(t *testing.T) {
	for name, test := range map[string]struct {
		limit     string
		needs     uint64
		field     string
		providers int // that are asked with one less
		tools     int
		ids       []string
	}{
		"turns":               {"max_turns", 2, "turns", 1, 1, nil},
		"attempts":            {"max_provider_attempts", 2, "provider_attempts", 1, 1, []string{"BNAR-4.3"}},
		"input bytes":         {"max_total_provider_input_bytes", 2352, "total_provider_input_bytes", 1, 1, nil},
		"output bytes":        {"max_total_provider_output_bytes", 193, "total_provider_output_bytes", 2, 1, []string{"BNAR-4.11"}},
		"input tokens":        {"max_reported_model_input_tokens", 2352, "reported_model_input_tokens", 1, 1, nil},
		"response bytes":      {"max_provider_response_bytes", 115, "provider_response_bytes", 1, 0, []string{"BNAR-4.11"}},
		"chunks":              {"max_stream_chunks", 1, "", 1, 0, nil},
		"tool calls":          {"max_tool_calls", 1, "tool_calls", 1, 0, []string{"BNAR-1.6g", "BNAR-4.4"}},
		"arguments":           {"max_tool_arguments_bytes", 17, "tool_arguments_bytes", 1, 0, []string{"BNAR-1.6g"}},
		"result":              {"max_tool_result_bytes", 201, "tool_result_bytes", 1, 1, []string{"BNAR-4.11"}},
		"an empty result":     {"max_tool_result_bytes", 186, "tool_result_bytes", 1, 1, []string{"BNAR-1.6g"}},
		"tool bytes":          {"max_total_tool_bytes", 218, "total_tool_bytes", 1, 1, []string{"BNAR-1.6g", "BNAR-4.11"}},
		"retained state":      {"max_retained_state_bytes", 556, "retained_state_bytes", 1, 1, []string{"BNAR-6.25"}},
		"trace events":        {"max_trace_events", 12, "trace_events", 1, 1, []string{"BNAR-4.9"}},
		"builder":             {"max_builder_bytes", 1028405, "builder_bytes", 2, 1, []string{"BNAR-4.6", "BNAR-6.25"}},
		"output tokens":       {"max_reported_model_output_tokens", 193, "", 2, 1, nil},
		"output tokens, none": {"max_reported_model_output_tokens", 115, "reported_model_output_tokens", 1, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, append(test.ids, "BNAR-5.5", "BNAR-4.8")...)
			run := func(value uint64) (*script, *record.Trace) {
				s := newScript(ask("alpha"), final("done"))
				_, trace := over(t, changed(t, limit(t, test.limit, value)...), s)
				return s, trace
			}
			if test.field == "" {
				_, trace := run(test.needs)
				ended(t, trace, nil)
				return
			}
			value := test.needs - 1
			switch name {
			case "an empty result", "output tokens, none":
				value = test.needs
			default:
				_, trace := run(test.needs)
				ended(t, trace, nil)
			}
			s, trace := run(value)
			ended(t, trace, diagnostic.Bound(test.field, value))
			if len(s.providers) != test.providers || len(s.tools) != test.tools {
				t.Errorf("%d provider attempts, %d tool calls: %s", len(s.providers), len(s.tools), kinds(trace))
			}
		})
	}
}

// TestNothingIsAskedWithoutBudget has budgets of nothing where a profile may have none.
func TestNothingIsAskedWithoutBudget(t *testing.T) {
	for name, field := range map[string]string{
		"max_total_provider_input_bytes": "total_provider_input_bytes", "max_total_provider_output_bytes": "total_provider_output_bytes",
		"max_reported_model_input_tokens": "reported_model_input_tokens", "max_reported_model_output_tokens": "reported_model_output_tokens",
	} {
		s := newScript(final("done"))
		_, trace := over(t, changed(t, limit(t, name, 0)...), s)
		ended(t, trace, diagnostic.Bound(field, 0))
		if s.external() != 0 {
			t.Errorf("%s: %d external calls", name, s.external())
		}
	}
}

// sweep runs the usual run, which is ended in some way, under every value of a limit from high down to low, and checks
// what must hold whatever the value: records that fit, or nothing touched.
func sweep(t *testing.T, name string, values []uint64, end func(*script)) (completed, recorded, alone int) {
	t.Helper()
	for _, value := range values {
		s := newScript(ask("alpha"), final("done"))
		if end != nil {
			end(s)
		}
		profile := changed(t, limit(t, name, value)...)
		run, err := start(t, profile, s, bounded.Options{})
		if err != nil {
			alone++
			if d := diagnostic.Of(err); s.external() != 0 || d == nil || d.Code != diagnostic.CodeBound {
				t.Fatalf("%s %d: %v after %d external calls", name, value, err, s.external())
			}
			continue
		}
		trace := replayed(t, profile, known(t, "task"), run)
		if name == "max_trace_bytes" && uint64(len(run.Trace())) > value || name == "max_evidence_bytes" && uint64(len(run.Evidence())) > value ||
			name == "max_trace_events" && uint64(len(trace.Events)) > value {
			t.Fatalf("%s %d: a Trace of %d bytes, Evidence of %d", name, value, len(run.Trace()), len(run.Evidence()))
		}
		if len(s.providers) != int(trace.Usage.ProviderAttempts) || len(s.tools) > int(trace.Usage.ToolCalls) {
			t.Fatalf("%s %d: %d attempts, %d tool calls, recorded %+v", name, value, len(s.providers), len(s.tools), trace.Usage)
		}
		if trace.Termination.Status == record.Completed {
			completed++
		} else {
			recorded++
		}
	}
	return completed, recorded, alone
}

func values(low, high, step uint64) []uint64 {
	var all []uint64
	for value := low; value <= high; value += step {
		all = append(all, value)
	}
	return all
}

// TestRoomForRecords takes the limits of records from more than enough to almost nothing. No external call is made unless
// its completion fits, and every run that made one has records that fit.
func TestRoomForRecords(t *testing.T) {
	endings := map[string]func(*script){
		"usual": nil,
		"fails": func(s *script) {
			s.answers = []provider{fails(bounded.FailedUncertain, bounded.Usage{}, strings.Repeat("x", 4096))}
		},
		"late": func(s *script) {
			s.observe = func(what string) {
				if what == "tool over" {
					s.elapsed = 1<<64 - 1
				}
			}
		},
		"expired": func(s *script) {
			s.observe = func(what string) {
				if what == "provider over" {
					s.elapsed = 1<<64 - 1
				}
			}
		},
	}
	for name, test := range map[string]struct {
		limit  string
		values []uint64
	}{
		"trace":    {"max_trace_bytes", values(1, 9500, 127)},
		"evidence": {"max_evidence_bytes", values(1, 14000, 181)},
		"events":   {"max_trace_events", values(1, 14, 1)},
		"builder":  {"max_builder_bytes", values(600000, 1100000, 9001)},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-4.9", "BNAR-4.10", "BNAR-5.12", "BNAR-5.13", "BNAR-5.15", "BNAR-5.16", "BNAR-6.25")
			for ending, end := range endings {
				completed, recorded, alone := sweep(t, test.limit, test.values, end)
				if alone == 0 || ending == "usual" && (completed == 0 || recorded == 0) || ending != "usual" && recorded == 0 {
					t.Errorf("%s: %d completed, %d recorded, %d alone", ending, completed, recorded, alone)
				}
			}
		})
	}
}

// TestLeastRoom finds the least limits under which the usual run completes, and looks one below.
func TestLeastRoom(t *testing.T) {
	for name, most := range map[string]uint64{"max_trace_bytes": 9500, "max_evidence_bytes": 14000, "max_builder_bytes": 1028405, "max_trace_events": 12} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-4.9", "BNAR-4.10", "BNAR-6.7")
			completes := func(value uint64) bool {
				run, err := start(t, changed(t, limit(t, name, value)...), newScript(ask("alpha"), final("done")), bounded.Options{})
				return err == nil && run.Status() == "completed"
			}
			low, high := uint64(1), most
			if !completes(high) {
				t.Fatalf("%d is not enough", high)
			}
			for low < high {
				if middle := (low + high) / 2; completes(middle) {
					high = middle
				} else {
					low = middle + 1
				}
			}
			for value := high - 5; value < high; value++ {
				if completes(value) {
					t.Errorf("%d is enough, %d is not", value, high-1)
				}
			}
			t.Logf("%d is the least", high)
		})
	}
}

// TestLongIdentities counts 240 bytes of each identity before anything is asked.
func TestLongIdentities(t *testing.T) {
	req.Covers(t, "BNAR-6.23", "BNAR-4.9")
	long := strings.Repeat("a", 240)
	data := string(known(t, "profile"))
	for _, pair := range [][2]string{{"fake.local", "p"}, {"fake-basic", "m"}, {"fixture.read", "t"}} {
		data = strings.ReplaceAll(data, `"`+pair[0]+`"`, `"`+pair[1]+long[1:]+`"`)
	}
	action := strings.Replace(ask("alpha"), "fixture.read", "t"+long[1:], 1)
	sum := 0
	for _, most := range values(1, 16000, 97) {
		s := newScript(action, final("done"))
		profile := strings.Replace(data, `"max_trace_bytes":131072`, limit(t, "max_trace_bytes", most)[1], 1)
		run, err := start(t, []byte(profile), s, bounded.Options{})
		if err != nil {
			if s.external() != 0 || diagnostic.Of(err) == nil {
				t.Errorf("%v after %d external calls", err, s.external())
			}
			continue
		}
		replayed(t, []byte(profile), known(t, "task"), run)
		if run.Status() == "completed" {
			sum++
		}
	}
	if sum == 0 {
		t.Error("no run completed")
	}
	if _, err := bounded.New([]byte(strings.ReplaceAll(data, "p"+long[1:], "p"+long)), newScript(), bounded.Options{}); err == nil {
		t.Error("an identity of 241 bytes was admitted")
	}
}

// TestLongestTermination has room for the longest text of all after history that is not empty.
func TestLongestTermination(t *testing.T) {
	req.Covers(t, "BNAR-4.9")
	longest := diagnostic.Of(diagnostic.Grammar("provider request", document.SchemaProviderRequest))
	for _, d := range diagnostic.Longest() {
		if len(d.Message) > len(longest.Message) {
			t.Errorf("%s is longer", d.Message)
		}
	}
	// Under the least limit with which a tool is called, a Trace that ended with the longest text would still fit.
	var least uint64
	for _, value := range values(4000, 9000, 7) {
		s := newScript(ask("alpha"), final("done"))
		if _, err := start(t, changed(t, limit(t, "max_trace_bytes", value)...), s, bounded.Options{}); err == nil && len(s.tools) == 1 {
			least = value
			break
		}
	}
	if least == 0 {
		t.Fatal("no tool was called")
	}
	_, trace := over(t, changed(t, limit(t, "max_trace_bytes", least)...), newScript(ask("alpha")))
	trace.Termination = record.TerminationOf(longest)
	trace.Events[len(trace.Events)-1].Status = trace.Termination.Status
	if size := uint64(len(trace.Bytes())); size > least {
		t.Errorf("a Trace of %d bytes would not fit %d", size, least)
	}
}

// TestOuterBudgets lowers limits to what the caller has left, and refuses when that is nothing.
func TestOuterBudgets(t *testing.T) {
	req.Covers(t, "BNAR-4.7")
	for name, test := range map[string]struct {
		set   func(*bounded.Outer, *uint64)
		field string
		low   uint64
		want  error
	}{
		"elapsed":       {func(o *bounded.Outer, v *uint64) { o.ElapsedMillis = v }, "elapsed_ms", 5, diagnostic.Deadline()},
		"attempts":      {func(o *bounded.Outer, v *uint64) { o.ProviderAttempts = v }, "provider_attempts", 1, diagnostic.Bound("provider_attempts", 1)},
		"input tokens":  {func(o *bounded.Outer, v *uint64) { o.InputTokens = v }, "reported_model_input_tokens", 1000, diagnostic.Bound("reported_model_input_tokens", 1000)},
		"output tokens": {func(o *bounded.Outer, v *uint64) { o.OutputTokens = v }, "reported_model_output_tokens", 115, diagnostic.Bound("reported_model_output_tokens", 115)},
		"money":         {func(o *bounded.Outer, v *uint64) { o.USDMicrounits = v }, "usd_microunits", 1, nil},
		"tool calls":    {func(o *bounded.Outer, v *uint64) { o.ToolCalls = v }, "tool_calls", 1, nil},
		"evidence":      {func(o *bounded.Outer, v *uint64) { o.EvidenceBytes = v }, "evidence_bytes", 100, errors.New("alone")},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(value uint64) (*bounded.AgentRun, error) {
				var options bounded.Options
				test.set(&options.Outer, new(value))
				s := newScript(ask("alpha"), final("done"))
				s.elapsed = 5
				return start(t, known(t, "profile"), s, options)
			}
			_, err := run(0)
			refused(t, err, diagnostic.Bound(test.field, 0))
			wide, err := run(1 << 40)
			if err != nil || wide.Status() != "completed" {
				t.Errorf("a wide budget: %v", err)
			}
			low, err := run(test.low)
			if err != nil {
				if test.want == nil || diagnostic.Of(test.want) != nil {
					t.Error(err)
				}
				return
			}
			ended(t, replayed(t, known(t, "profile"), known(t, "task"), low), test.want)
		})
	}
}

// TestToolBytesAddUp counts the arguments and results of all calls together.
func TestToolBytesAddUp(t *testing.T) {
	req.Covers(t, "BNAR-1.6g", "BNAR-4.8")
	for total, want := range map[uint64]struct {
		calls int
		end   error
	}{
		2*218 - 1: {2, diagnostic.Bound("total_tool_bytes", 2*218-1)}, // the second result does not fit
		218 + 16:  {1, diagnostic.Bound("total_tool_bytes", 218+16)},  // the second arguments do not
		2 * 218:   {2, nil},
	} {
		pairs := wide(t)
		for i := range pairs {
			if strings.HasPrefix(pairs[i], `"max_total_tool_bytes":262144`) {
				pairs[i] = limit(t, "max_total_tool_bytes", total)[1]
			}
		}
		s := newScript(ask("alpha"), ask("alpha"), final("done"))
		_, trace := over(t, changed(t, pairs...), s)
		ended(t, trace, want.end)
		if len(s.tools) != want.calls {
			t.Errorf("%d: %d tool calls: %s", total, len(s.tools), kinds(trace))
		}
	}
}
