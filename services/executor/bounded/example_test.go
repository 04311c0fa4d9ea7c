package bounded_test

import (
	"context"
	"fmt"
	"os"

	"example.org/mandate/services/executor/bounded"
)

// replayHost is a host whose provider gives recorded answers and whose tool looks into a map.
type replayHost struct {
	clock   *bounded.Clock
	answers []string
	values  map[string]string
}

// The policy of this host never changes.
func (h *replayHost) PolicyEpoch() uint64 { return 1 }

func (h *replayHost) ElapsedMillis() uint64 { return h.clock.ElapsedMillis() }

func (h *replayHost) Probe() bounded.Probe {
	return func() (elapsed, epoch uint64) { return h.ElapsedMillis(), h.PolicyEpoch() }
}

// Tokenize counts a byte as a token.
func (h *replayHost) Tokenize(tokenizer string, request []byte) (tokens uint64, known bool) {
	return uint64(len(request)), tokenizer == "fake.bytes-v1"
}

// AttemptProvider is where a real host would call a model, within call.RemainingMillis.
func (h *replayHost) AttemptProvider(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
	if len(h.answers) == 0 {
		return bounded.DefinitelyNotStarted(bounded.Usage{})
	}
	answer := h.answers[0]
	h.answers = h.answers[1:]
	if err := sink.Push([]byte(answer)); err != nil {
		return bounded.FailedUncertain(bounded.Usage{})
	}
	return bounded.Succeeded(bounded.Usage{}) // no report: the charge stays unknown
}

func (h *replayHost) InvokeTool(call bounded.ToolCall, sink *bounded.ToolSink) bool {
	value, found := h.values[string(call.Arguments)]
	return found && sink.Push([]byte(value)) == nil
}

// A program brings a host, and gets records that it can give to somebody else.
func Example() {
	profile, err := os.ReadFile("../internal/bounded/testdata/profile.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := os.ReadFile("../internal/bounded/testdata/task.json")
	if err != nil {
		fmt.Println(err)
		return
	}
	agent, err := bounded.New(profile, &replayHost{
		clock: bounded.NewClock(nil),
		answers: []string{
			`{"schema":"semaprax.agent-runtime-action.v1","kind":"tool","tool_id":"fixture.read","arguments":{"query":"height"}}` + "\n",
			`{"schema":"semaprax.agent-runtime-action.v1","kind":"final","message":"It is 8849 m high."}` + "\n",
		},
		values: map[string]string{`{"query":"height"}`: `{"value":"8849 m"}`},
	}, bounded.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := bounded.Run(context.Background(), agent, task)
	if err != nil {
		fmt.Println(err)
		return
	}
	message, _ := run.UntrustedFinalMessage()
	fmt.Println(run.Status(), message)
	fmt.Println(bounded.Verify(bounded.Records{
		Trace: run.Trace(), Evidence: run.Evidence(), Profile: profile, Task: task, Message: &message, Receipt: run.Receipt(),
	}))
	// Output:
	// completed It is 8849 m high.
	// <nil>
}
