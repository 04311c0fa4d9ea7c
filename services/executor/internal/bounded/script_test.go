package bounded_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// known returns a known answer.
func known(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// changed returns the known profile with pairs of texts replaced, each of which must stand there once.
func changed(tb testing.TB, pairs ...string) []byte {
	tb.Helper()
	data := known(tb, "profile")
	for i := 0; i+1 < len(pairs); i += 2 {
		if n := bytes.Count(data, []byte(pairs[i])); n != 1 {
			tb.Fatalf("%q stands there %d times", pairs[i], n)
		}
		data = bytes.Replace(data, []byte(pairs[i]), []byte(pairs[i+1]), 1)
	}
	return data
}

// limit returns the pair that sets a limit of the known profile.
func limit(tb testing.TB, name string, value uint64) []string {
	tb.Helper()
	data := known(tb, "profile")
	at := bytes.Index(data, []byte(`"`+name+`":`))
	if at < 0 {
		tb.Fatalf("no limit %s", name)
	}
	end := at + bytes.IndexAny(data[at:], ",}")
	return []string{string(data[at:end]), fmt.Sprintf("%q:%d", name, value)}
}

// wide are limits with which several turns and attempts are possible.
func wide(tb testing.TB) []string {
	tb.Helper()
	var pairs []string
	for name, value := range map[string]uint64{
		"max_turns": 16, "max_provider_attempts": 32, "max_tool_calls": 32, "max_builder_bytes": 67108864, "max_total_tool_bytes": 262144,
		"max_total_provider_output_bytes": 131072, "max_reported_model_output_tokens": 131072,
		"max_total_provider_input_bytes": 1048576, "max_reported_model_input_tokens": 1048576, "max_trace_events": 512,
	} {
		pairs = append(pairs, limit(tb, name, value)...)
	}
	return append(pairs, `"max_context_tokens":4096`, `"max_context_tokens":65536`)
}

// answer is a provider that pushes a text in one chunk and reports what it took.
func answer(text string) func(bounded.ProviderCall, *bounded.ProviderSink) bounded.Attempt {
	return func(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
		_ = sink.Push([]byte(text)) // what is refused is the run's business
		return bounded.Succeeded(bounded.Reported(bounded.Tokens{Input: uint64(len(call.Request)), Output: uint64(len(text))}, 0))
	}
}

func final(message string) string { return string(document.RenderFinal(message)) }

// ask is a tool action of the fixture's tool.
func ask(query string) string {
	return `{"schema":"semaprax.agent-runtime-action.v1","kind":"tool","tool_id":"fixture.read","arguments":{"query":"` + query + `"}}` + "\n"
}

// script is a host that answers as it is told and writes down what it was asked.
type script struct {
	epoch, elapsed uint64
	answers        []func(bounded.ProviderCall, *bounded.ProviderSink) bounded.Attempt
	tool           func(bounded.ToolCall, *bounded.ToolSink) bool
	tokens         func(tokenizer string, request []byte) (uint64, bool)
	// observe is called at every observation, before it is made.
	observe   func(what string)
	log       []string
	providers []bounded.ProviderCall
	tools     []bounded.ToolCall
}

func newScript(answers ...string) *script {
	s := &script{epoch: 1}
	for _, text := range answers {
		s.answers = append(s.answers, answer(text))
	}
	return s
}

func (s *script) note(what string) {
	if s.observe != nil {
		s.observe(what)
	}
	s.log = append(s.log, what)
}

func (s *script) PolicyEpoch() uint64 { s.note("epoch"); return s.epoch }

func (s *script) ElapsedMillis() uint64 { s.note("elapsed"); return s.elapsed }

func (s *script) Probe() bounded.Probe {
	s.note("probe")
	return func() (elapsed, epoch uint64) { s.note("chunk"); return s.elapsed, s.epoch }
}

func (s *script) Tokenize(tokenizer string, request []byte) (tokens uint64, known bool) {
	s.note("tokenize")
	if s.tokens != nil {
		return s.tokens(tokenizer, request)
	}
	return uint64(len(request)), true
}

func (s *script) AttemptProvider(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
	s.note("provider")
	s.providers = append(s.providers, call)
	if len(s.answers) == 0 {
		return bounded.FailedUncertain(bounded.Usage{})
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	attempt := next(call, sink)
	s.note("provider over")
	return attempt
}

func (s *script) InvokeTool(call bounded.ToolCall, sink *bounded.ToolSink) bool {
	s.note("tool")
	s.tools = append(s.tools, call)
	ok := true
	if s.tool != nil {
		ok = s.tool(call, sink)
	} else {
		_ = sink.Push([]byte(`{"value":"alpha"}`)) // what is refused is the run's business
	}
	s.note("tool over")
	return ok
}

// external is how often the world was touched.
func (s *script) external() int { return len(s.providers) + len(s.tools) }

// start admits a profile and runs the known task.
func start(tb testing.TB, profile []byte, host bounded.Host, options bounded.Options) (*bounded.AgentRun, error) {
	tb.Helper()
	agent, err := bounded.New(profile, host, options)
	if err != nil {
		return nil, err
	}
	return agent.Run(known(tb, "task"))
}

// over runs and expects records, which it checks and returns.
func over(tb testing.TB, profile []byte, host bounded.Host) (*bounded.AgentRun, *record.Trace) {
	tb.Helper()
	run, err := start(tb, profile, host, bounded.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return run, replayed(tb, profile, known(tb, "task"), run)
}

// replayed verifies the records of a run from their bytes alone and returns the Trace.
func replayed(tb testing.TB, profile, task []byte, run *bounded.AgentRun) *record.Trace {
	tb.Helper()
	p, err := document.ParseProfile(profile)
	if err != nil {
		tb.Fatal(err)
	}
	k, err := document.ParseTask(task)
	if err != nil {
		tb.Fatal(err)
	}
	message, _ := run.UntrustedFinalMessage()
	inputs := record.Inputs{Trace: run.Trace(), Evidence: run.Evidence(), Profile: p, Task: k, Message: &message, Receipt: run.Receipt()}
	if err := record.Verify(inputs); err != nil {
		tb.Errorf("the records do not replay: %v\n%s", err, run.Trace())
	}
	trace, err := record.ParseTrace(run.Trace())
	if err != nil {
		tb.Fatal(err)
	}
	if string(trace.Termination.Status) != run.Status() {
		tb.Errorf("status %s, in the Trace %s", run.Status(), trace.Termination.Status)
	}
	return trace
}

// ended checks how a run ended.
func ended(tb testing.TB, trace *record.Trace, want error) {
	tb.Helper()
	if want == nil {
		if trace.Termination.Status != record.Completed {
			tb.Errorf("ended with %+v", trace.Termination)
		}
		return
	}
	if got := trace.Termination; got != record.TerminationOf(diagnostic.Of(want)) {
		tb.Errorf("ended with %+v, want %v", got, want)
	}
}

// refused checks that an error is exactly one diagnostic.
func refused(tb testing.TB, err, want error) {
	tb.Helper()
	got, expected := diagnostic.Of(err), diagnostic.Of(want)
	if got == nil || *got != *expected {
		tb.Errorf("got %v, want %v", err, want)
	}
}

// kinds are the events of a Trace in short.
func kinds(trace *record.Trace) string {
	var all []string
	for i := range trace.Events {
		all = append(all, string(trace.Events[i].Kind)+"/"+string(trace.Events[i].Status))
	}
	return strings.Join(all, " ")
}
