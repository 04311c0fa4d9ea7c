package bounded_test

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// TestToolThenFinal is the usual run: one tool, then the message.
func TestToolThenFinal(t *testing.T) {
	req.Covers(t, "BNAR-1.1", "BNAR-1.2", "BNAR-1.7", "BNAR-5.13", "BNAR-5.14", "BNAR-5.15", "BNAR-5.16")
	s := newScript(ask("alpha"), final("done"))
	run, trace := over(t, known(t, "profile"), s)
	ended(t, trace, nil)
	if message, ok := run.UntrustedFinalMessage(); message != "done" || !ok {
		t.Errorf("message %q %t", message, ok)
	}
	want := "run_started/started route_selected/selected provider_attempt_started/started provider_attempt_finished/succeeded " +
		"action_accepted/tool tool_authorized/authorized tool_finished/succeeded " +
		"route_selected/selected provider_attempt_started/started provider_attempt_finished/succeeded action_accepted/final run_finished/completed"
	if diff := cmp.Diff(want, kinds(trace)); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	if len(s.providers) != 2 || len(s.tools) != 1 || string(s.tools[0].Arguments) != `{"query":"alpha"}` {
		t.Errorf("%d provider attempts, tools %+v", len(s.providers), s.tools)
	}
	for i, name := range []string{"provider_request_turn1", "provider_request_turn2"} {
		if !bytes.Equal(s.providers[i].Request, known(t, name)) {
			t.Errorf("request %d: %s", i, s.providers[i].Request)
		}
	}
}

// TestEveryTurn runs as many turns as there may be, and one more.
func TestEveryTurn(t *testing.T) {
	req.Covers(t, "BNAR-4.2", "BNAR-1.2")
	var answers []string
	for range 15 {
		answers = append(answers, ask("alpha"))
	}
	_, trace := over(t, changed(t, wide(t)...), newScript(append(answers, final("done"))...))
	ended(t, trace, nil)
	if trace.Usage.Turns != 16 || trace.Usage.ToolCalls != 15 {
		t.Errorf("usage %+v", trace.Usage)
	}
	_, trace = over(t, changed(t, wide(t)...), newScript(append(answers, ask("alpha"), final("done"))...))
	ended(t, trace, diagnostic.Bound("turns", 16))
	if trace.Usage.Turns != 16 || trace.Usage.ToolCalls != 16 {
		t.Errorf("usage %+v", trace.Usage)
	}
}

// TestNoHost is refused before anything else.
func TestNoHost(t *testing.T) {
	if _, err := bounded.New(known(t, "profile"), nil, bounded.Options{}); !errors.Is(err, bounded.ErrNoHost) {
		t.Errorf("without a host: %v", err)
	}
}

// TestOneAtATime refuses a second run while one is going on, and allows it afterwards.
func TestOneAtATime(t *testing.T) {
	req.Covers(t, "BNAR-4.1")
	s := newScript()
	agent, err := bounded.New(known(t, "profile"), s, bounded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.answers = append(s.answers, func(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
		_, err := agent.Run(known(t, "task"))
		refused(t, err, diagnostic.Bound("concurrency", 1))
		return answer(final("first"))(call, sink)
	}, answer(final("second")))
	for _, want := range []string{"first", "second"} {
		run, err := agent.Run(known(t, "task"))
		if err != nil {
			t.Fatal(err)
		}
		if message, _ := run.UntrustedFinalMessage(); message != want {
			t.Errorf("message %q, want %q", message, want)
		}
	}
}

// TestModelOutputIsData has a model that says a lot about itself, its rights and its limits.
func TestModelOutputIsData(t *testing.T) {
	for name, text := range map[string]string{
		"more keys":         strings.Replace(final("done"), `"kind"`, `"granted_capabilities":["*"],"kind"`, 1),
		"an approval":       strings.Replace(ask("alpha"), `"tool_id"`, `"approved":true,"tool_id"`, 1),
		"a limit":           strings.Replace(ask("alpha"), `"arguments"`, `"max_turns":99,"arguments"`, 1),
		"another kind":      strings.Replace(final("done"), `"final"`, `"approve"`, 1),
		"two actions":       final("done") + final("done"),
		"no line feed":      strings.TrimSuffix(final("done"), "\n"),
		"carriage return":   strings.Replace(final("done"), "\n", "\r\n", 1),
		"prose":             "Sure! " + final("done"),
		"a code fence":      "```json\n" + final("done") + "```\n",
		"nothing":           "",
		"only a line":       "\n",
		"invalid UTF-8":     final("do\xffne"),
		"half a character":  final("do\xe2\x82ne"),
		"arguments as text": strings.Replace(ask("alpha"), `{"query":"alpha"}`, `"{}"`, 1),
		"unsorted":          strings.Replace(ask("alpha"), `{"query":"alpha"}`, `{"query":"alpha","a":1}`, 1),
		"twice":             strings.Replace(ask("alpha"), `{"query":"alpha"}`, `{"query":"alpha","query":"alpha"}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-1.3", "BNAR-1.4", "BNAR-6.10", "BNAR-6.11", "BNAR-5.7")
			s := newScript(text, final("done"))
			_, trace := over(t, known(t, "profile"), s)
			ended(t, trace, diagnostic.Provider(diagnostic.ResponseInvalid))
			if len(s.providers) != 1 || len(s.tools) != 0 {
				t.Errorf("%d provider attempts, %d tool calls", len(s.providers), len(s.tools))
			}
			if trace.Usage.OutputBytes != uint64(len(text)) {
				t.Errorf("%d output bytes, want %d", trace.Usage.OutputBytes, len(text))
			}
		})
	}
	deep := strings.Replace(ask("alpha"), `"alpha"`, strings.Repeat("[", 16)+strings.Repeat("]", 16), 1)
	_, trace := over(t, known(t, "profile"), newScript(deep))
	ended(t, trace, diagnostic.Bound("json_depth", 16))
}

// TestMessageIsData completes with a message that looks like an action, and stops there.
func TestMessageIsData(t *testing.T) {
	req.Covers(t, "BNAR-1.4", "BNAR-6.24")
	message := ask("alpha") + "\x00\x7f\u0085\u2028\"\\<script>"
	s := newScript(final(message))
	run, trace := over(t, known(t, "profile"), s)
	ended(t, trace, nil)
	if got, _ := run.UntrustedFinalMessage(); got != message || len(s.tools) != 0 {
		t.Errorf("message %q, %d tool calls", got, len(s.tools))
	}
}

// TestChunking cuts the response and the result in every way into two, and into single bytes.
func TestChunking(t *testing.T) {
	req.Covers(t, "BNAR-6.9", "BNAR-6.10", "BNAR-1.15", "BNAR-1.16")
	pairs := append(limit(t, "max_stream_chunks", 4096), `"name":"value","type":"string","required":true,"max_bytes":64`, `"name":"value","type":"string","required":true,"max_bytes":65`)
	profile := changed(t, pairs...)
	const value = `{"value":"al€pha😀"}`
	message := "do€ne 😀"
	run := func(cut func(text string) [][]byte) *bounded.AgentRun {
		stream := func(text string) func(bounded.ProviderCall, *bounded.ProviderSink) bounded.Attempt {
			return func(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
				for _, chunk := range cut(text) {
					if err := sink.Push(chunk); err != nil {
						t.Error(err)
					}
				}
				return bounded.Succeeded(bounded.Usage{})
			}
		}
		s := newScript()
		s.answers = append(s.answers, stream(ask("alpha")), stream(final(message)))
		s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
			for _, chunk := range cut(value) {
				if err := sink.Push(chunk); err != nil {
					t.Error(err)
				}
			}
			return true
		}
		run, trace := over(t, profile, s)
		ended(t, trace, nil)
		return run
	}
	whole := run(func(text string) [][]byte { return [][]byte{[]byte(text)} })
	same := func(name string, other *bounded.AgentRun) {
		if !bytes.Equal(whole.Trace(), other.Trace()) || !bytes.Equal(whole.Evidence(), other.Evidence()) || !bytes.Equal(whole.Receipt(), other.Receipt()) {
			t.Errorf("%s: other records", name)
		}
	}
	same("single bytes", run(func(text string) [][]byte {
		var chunks [][]byte
		for i := range len(text) {
			chunks = append(chunks, []byte{text[i]}, nil)
		}
		return chunks
	}))
	for at := range ask("alpha") {
		same("cut at "+strconv.Itoa(at), run(func(text string) [][]byte {
			at := min(at, len(text))
			return [][]byte{[]byte(text[:at]), []byte(text[at:])}
		}))
	}
}

// TestRunTouchesNothingOfItsInputs hands copies to the host.
func TestRunTouchesNothingOfItsInputs(t *testing.T) {
	s := newScript(ask("alpha"), final("done"))
	s.observe = func(what string) {
		if what == "provider over" || what == "tool over" {
			for i := range s.providers {
				clear(s.providers[i].Request)
			}
			for i := range s.tools {
				clear(s.tools[i].Arguments)
			}
		}
	}
	run, _ := over(t, known(t, "profile"), s)
	if !bytes.Equal(run.Trace(), known(t, "trace")) {
		t.Error("another Trace")
	}
	clear(run.Trace())
	clear(run.Evidence())
	clear(run.Receipt())
	if !bytes.Equal(run.Evidence(), known(t, "evidence")) {
		t.Error("another Evidence")
	}
}

// TestCountersDoNotWrap has prices and token counts at the end of their range.
func TestCountersDoNotWrap(t *testing.T) {
	req.Covers(t, "BNAR-4.8")
	const most = "18446744073709551615"
	for name, test := range map[string]struct {
		pairs  []string
		tokens uint64
		want   error
	}{
		"price times tokens":   {[]string{`"input_usd_microunits_per_million_tokens":0`, `"input_usd_microunits_per_million_tokens":` + most}, 4000, diagnostic.Bound("usd_microunits", 10000000)},
		"both prices":          {[]string{`"input_usd_microunits_per_million_tokens":0`, `"input_usd_microunits_per_million_tokens":` + most, `"output_usd_microunits_per_million_tokens":0`, `"output_usd_microunits_per_million_tokens":` + most}, 1, diagnostic.Bound("usd_microunits", 10000000)},
		"tokens":               {nil, 1<<64 - 1, diagnostic.NoRoute()},
		"tokens and a context": {[]string{`"max_context_tokens":4096`, `"max_context_tokens":` + most}, 1<<64 - 2, diagnostic.Bound("reported_model_input_tokens", 131072)},
		"price out of range":   {[]string{`"max_context_tokens":4096`, `"max_context_tokens":` + most, `"input_usd_microunits_per_million_tokens":0`, `"input_usd_microunits_per_million_tokens":` + most}, 1 << 63, diagnostic.Bound("usd_microunits", 10000000)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(final("done"))
			s.tokens = func(string, []byte) (uint64, bool) { return test.tokens, true }
			_, trace := over(t, changed(t, test.pairs...), s)
			ended(t, trace, test.want)
			if s.external() != 0 {
				t.Errorf("%d external calls", s.external())
			}
		})
	}
	t.Run("usage", func(t *testing.T) {
		s := newScript()
		s.answers = append(s.answers, func(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
			_ = sink.Push([]byte(final("done")))
			return bounded.Succeeded(bounded.Reported(bounded.Tokens{Input: 1<<64 - 1, Output: 1<<64 - 1}, 1<<64-1))
		})
		_, trace := over(t, known(t, "profile"), s)
		ended(t, trace, diagnostic.Provider(diagnostic.UsageInvalid))
		if trace.Usage.OutputTokens != 0 || trace.Usage.OutputBytes != 78 {
			t.Errorf("usage %+v", trace.Usage)
		}
	})
	t.Run("elapsed", func(t *testing.T) {
		s := newScript(final("done"))
		s.observe = func(what string) {
			if what == "provider over" {
				s.elapsed = 1<<64 - 1
			}
		}
		_, trace := over(t, known(t, "profile"), s)
		ended(t, trace, diagnostic.Deadline())
		if trace.Usage.ElapsedMillis != 1<<64-1 {
			t.Errorf("usage %+v", trace.Usage)
		}
	})
}

// TestUnknownTokenizer ends before anything is asked.
func TestUnknownTokenizer(t *testing.T) {
	s := newScript(final("done"))
	s.tokens = func(string, []byte) (uint64, bool) { return 0, false }
	_, trace := over(t, known(t, "profile"), s)
	ended(t, trace, diagnostic.Provider(diagnostic.UsageInvalid))
	if trace.Events[0].Kind != record.RunStarted || len(trace.Events) != 2 || s.external() != 0 {
		t.Errorf("%s, %d external calls", kinds(trace), s.external())
	}
}
