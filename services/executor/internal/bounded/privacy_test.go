package bounded_test

import (
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
)

// secret stands in everything that somebody says.
const secret = "sentinel-7c41"

// TestNothingSaidIsRecorded has a secret in each place where text comes in, in runs that end in different ways.
func TestNothingSaidIsRecorded(t *testing.T) {
	task := func(old string) []byte { return []byte(strings.Replace(string(known(t, "task")), old, secret, 1)) }
	plain := known(t, "task")
	for name, test := range map[string]struct {
		task    []byte
		answers []provider
		tool    string
		ids     []string
	}{
		"objective":        {task("Return one bounded answer."), []provider{answer(final("done"))}, "", []string{"BNAR-2.18a"}},
		"context":          {task("alpha"), []provider{answer(final("done"))}, "", []string{"BNAR-2.18a"}},
		"context, failing": {task("alpha"), []provider{fails(bounded.FailedUncertain, bounded.Usage{})}, "", []string{"BNAR-2.18a"}},
		"arguments":        {plain, []provider{answer(ask(secret)), answer(final("done"))}, `{"value":"x"}`, []string{"BNAR-2.18b"}},
		"unknown tool":     {plain, []provider{answer(strings.Replace(ask("x"), "fixture.read", secret, 1))}, "", []string{"BNAR-2.18b", "BNAR-5.11"}},
		"wrong arguments":  {plain, []provider{answer(strings.Replace(ask("x"), "query", secret, 1))}, "", []string{"BNAR-2.18b", "BNAR-5.11"}},
		"message":          {plain, []provider{answer(final(secret))}, "", []string{"BNAR-2.18b"}},
		"malformed":        {plain, []provider{answer(secret + "\n")}, "", []string{"BNAR-2.18b", "BNAR-5.11"}},
		"a near miss":      {plain, []provider{answer(`{"schema":"` + secret + `"}` + "\n")}, "", []string{"BNAR-2.18b", "BNAR-5.11"}},
		"result":           {plain, []provider{answer(ask("x")), answer(final("done"))}, `{"value":"` + secret + `"}`, []string{"BNAR-2.18c"}},
		"wrong result":     {plain, []provider{answer(ask("x"))}, `{"` + secret + `":1}`, []string{"BNAR-2.18c", "BNAR-5.11"}},
		"broken result":    {plain, []provider{answer(ask("x"))}, secret, []string{"BNAR-2.18c", "BNAR-5.11"}},
		"provider error":   {plain, []provider{fails(bounded.FailedUncertain, bounded.Usage{}, "401 bad key "+secret)}, "", []string{"BNAR-2.18d", "BNAR-2.18e", "BNAR-5.11"}},
		"not started":      {plain, []provider{fails(bounded.DefinitelyNotStarted, bounded.Usage{}, secret)}, "", []string{"BNAR-2.18d", "BNAR-5.11"}},
		"too much":         {plain, []provider{fails(bounded.Succeeded, bounded.Usage{}, strings.Repeat(secret, 1000))}, "", []string{"BNAR-2.18d", "BNAR-5.11"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, append(test.ids, "BNAR-2.19", "BNAR-6.21")...)
			s := newScript()
			s.answers = test.answers
			s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool { return sink.Push([]byte(test.tool)) == nil }
			agent, err := bounded.New(known(t, "profile"), s, bounded.Options{})
			if err != nil {
				t.Fatal(err)
			}
			run, err := agent.Run(test.task)
			if err != nil {
				t.Fatal(err)
			}
			replayed(t, known(t, "profile"), test.task, run)
			for what, data := range map[string][]byte{"Trace": run.Trace(), "Evidence": run.Evidence(), "receipt": run.Receipt()} {
				if strings.Contains(string(data), secret) {
					t.Errorf("%s: %s", what, data)
				}
			}
		})
	}
	t.Run("diagnostics", func(t *testing.T) {
		req.Covers(t, "BNAR-5.11", "BNAR-6.21")
		for _, old := range []string{`"fixture.agent"`, `"local"`, `"max_turns"`, "semaprax.agent-runtime-profile.v1", `["read"]`, `"no_general_formal_proof"`} {
			_, err := bounded.New([]byte(strings.Replace(string(known(t, "profile")), old, `"`+secret+" \"", 1)), newScript(), bounded.Options{})
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", old, err)
			}
		}
	})
}

// TestHostOwnsCredentials has a host with a key of its own: the run never asks for it, is never told it, and has no place
// for it.
func TestHostOwnsCredentials(t *testing.T) {
	req.Covers(t, "BNAR-1.14", "BNAR-2.18e")
	s := newScript()
	key := secret
	s.answers = []provider{func(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
		if strings.Contains(string(call.Request), key) {
			t.Error("the request knows the key")
		}
		return answer(final("done"))(call, sink)
	}}
	run, _ := over(t, known(t, "profile"), s)
	for _, data := range [][]byte{run.Trace(), run.Evidence(), run.Receipt()} {
		if strings.Contains(string(data), key) {
			t.Error("the records know the key")
		}
	}
	for _, word := range []string{`"api_key"`, `"authorization"`, `"credential"`, `"endpoint"`, `"url"`} {
		profile := strings.Replace(string(known(t, "profile")), `"agent_id"`, word+`:"x","agent_id"`, 1)
		if _, err := bounded.New([]byte(profile), newScript(), bounded.Options{}); err == nil {
			t.Errorf("a profile has a place for %s", word)
		}
	}
}

// TestOnlyTwoBoundaries counts what the records call external: attempts and invocations, and no observation.
func TestOnlyTwoBoundaries(t *testing.T) {
	req.Covers(t, "BNAR-7.7", "BNAR-7.8")
	s := newScript(ask("alpha"), final("done"))
	observations := 0
	s.observe = func(what string) {
		if what == "epoch" || what == "elapsed" || what == "probe" || what == "tokenize" || what == "chunk" {
			observations++
		}
	}
	run, trace := over(t, known(t, "profile"), s)
	if observations < 10 || trace.Usage.ProviderAttempts != 2 || trace.Usage.ToolCalls != 1 || string(run.Trace()) != string(known(t, "trace")) {
		t.Errorf("%d observations, usage %+v", observations, trace.Usage)
	}
	// Observations alone leave nothing behind: a run that is cancelled after many of them has no records.
	cancellation := bounded.NewCancellation()
	quiet := newScript(final("done"))
	quiet.observe = func(what string) {
		if what == "tokenize" {
			cancellation.Cancel()
		}
	}
	if _, err := start(t, known(t, "profile"), quiet, bounded.Options{Cancellation: cancellation}); err == nil || len(quiet.log) < 4 {
		t.Errorf("%v after %d observations", err, len(quiet.log))
	}
}
