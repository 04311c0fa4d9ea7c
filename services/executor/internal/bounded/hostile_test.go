package bounded_test

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// allocated returns how many bytes a function allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// largest is the known profile with every limit at its cap and room in the context.
func largest(t *testing.T) []byte {
	t.Helper()
	data := string(known(t, "profile"))
	w := string(known(t, "evidence"))
	from := strings.Index(w, `"max_turns"`)
	to := strings.Index(w, `,"max_json_depth"`)
	start := strings.Index(data, `"max_turns"`)
	end := strings.Index(data, `},"nonclaims"`)
	data = data[:start] + w[from:to] + data[end:]
	// One run has room for the records, or for long responses: the former take most of the builder at their caps.
	for _, pair := range [][2]string{
		{`"max_trace_bytes":16777216`, `"max_trace_bytes":65536`},
		{`"max_evidence_bytes":20971520`, `"max_evidence_bytes":131072`},
		{`"max_context_tokens":4096`, `"max_context_tokens":2000000`},
	} {
		data = strings.Replace(data, pair[0], pair[1], 1)
	}
	return []byte(data)
}

// TestHostileStreams allocates no more than the builder was charged, whatever a provider or a tool sends.
func TestHostileStreams(t *testing.T) {
	const mib = 1 << 20
	fill := func(start, part, end string) string {
		return start + strings.Repeat(part, (mib-len(start)-len(end))/len(part)) + end
	}
	arguments := `{"schema":"semaprax.agent-runtime-action.v1","kind":"tool","tool_id":"fixture.read","arguments":{`
	for name, text := range map[string]string{
		"open arrays":       fill("", "[", "\n"),
		"nested objects":    fill("", `{"":`, "\n"),
		"numbers":           fill("[", "1,", "1]\n"),
		"empty objects":     fill("[", "{},", "1]\n"),
		"a long text":       fill(`"`, "a", "\"\n"),
		"escapes":           fill(`{"schema":"semaprax.agent-runtime-action.v1","kind":"final","message":"`, `\u0000`, "\"}\n"),
		"a long message":    final(strings.Repeat("a", mib-80)),
		"many arguments":    fill(arguments, `"a":1,`, `"b":1}}`+"\n"),
		"arguments, sorted": arguments + numbered(mib-len(arguments)-10) + "}}\n",
		"nested arguments":  fill(arguments+`"a":[`, `[],`, `[]]}}`+"\n"),
		"line feeds":        fill("", "\n", "\n"),
		"invalid UTF-8":     fill("", "\xff", "\n"),
		"too long":          strings.Repeat("x", 3*mib),
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-4.6", "BNAR-4.11", "BNAR-6.25")
			for _, size := range []int{128, 3 * mib} {
				s := newScript()
				s.answers = []provider{func(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
					for chunk := range chunks(text, size) {
						if sink.Push(chunk) != nil {
							break
						}
					}
					return bounded.Succeeded(bounded.Usage{})
				}}
				var trace *record.Trace
				var used uint64
				profile := largest(t)
				spent := allocated(func() {
					run, err := start(t, profile, s, bounded.Options{})
					if err != nil {
						t.Fatal(err)
					}
					e, err := record.ParseEvidence(run.Evidence())
					if err != nil {
						t.Fatal(err)
					}
					used = e.Budget.BuilderBytes
					trace, err = record.ParseTrace(run.Trace())
					if err != nil {
						t.Fatal(err)
					}
				})
				if spent > used {
					t.Errorf("in chunks of %d: %d bytes were allocated, the builder was charged %d", size, spent, used)
				}
				if trace.Termination.Status == record.Completed && !strings.HasPrefix(text, `{"schema":"semaprax.agent-runtime-action.v1","kind":"final"`) {
					t.Errorf("completed")
				}
			}
		})
	}
}

// TestHostileResults does the same with what a tool returns.
func TestHostileResults(t *testing.T) {
	req.Covers(t, "BNAR-4.6", "BNAR-6.25")
	const most = 1<<20 - 400
	for name, text := range map[string]string{
		"open arrays": strings.Repeat("[", most), "many members": "{" + numbered(most-10) + "}", "blanks": strings.Repeat(" ", most),
		"one name": "{" + strings.Repeat(`"a":1,`, most/6-2) + `"a":1}`, "a long text": `{"value":"` + strings.Repeat("a", most-20) + `"}`,
	} {
		s := newScript(ask("alpha"), final("done"))
		s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
			for chunk := range chunks(text, 4096) {
				if sink.Push(chunk) != nil {
					break
				}
			}
			return true
		}
		var used uint64
		profile := largest(t)
		spent := allocated(func() {
			run, err := start(t, profile, s, bounded.Options{})
			if err != nil {
				t.Fatal(err)
			}
			e, err := record.ParseEvidence(run.Evidence())
			if err != nil {
				t.Fatal(err)
			}
			used = e.Budget.BuilderBytes
			if e.Status == record.Completed {
				t.Errorf("%s: completed", name)
			}
		})
		if spent > used {
			t.Errorf("%s: %d bytes were allocated, the builder was charged %d", name, spent, used)
		}
	}
}

// TestHostileDocuments allocates no more for a document than the builder takes for reading one.
func TestHostileDocuments(t *testing.T) {
	req.Covers(t, "BNAR-4.6", "BNAR-6.25")
	profile := string(known(t, "profile"))
	fill := func(old, start, part, end string, most int) []byte {
		return []byte(strings.Replace(profile, old, start+strings.Repeat(part, (most-len(profile)-len(start)-len(end))/len(part))+end, 1))
	}
	for name, data := range map[string][]byte{
		"capabilities": fill(`["text"]}],"tools"`, "[", `"",`, `""]}],"tools"`, document.MaxProfileBytes),
		"effects":      fill(`["read"]`, "[", `"",`, `""]`, document.MaxProfileBytes),
		"fields":       fill(`{"name":"query"`, "", `{"name":"","type":"string","required":true,"max_bytes":1},`, `{"name":"query"`, document.MaxProfileBytes),
		"nonclaims":    fill(`"no_general_formal_proof"`, "", `"",`, `""`, document.MaxProfileBytes),
		"numbers":      []byte("[" + strings.Repeat("1,", document.MaxProfileBytes/2-2) + "1]\n"),
		"nesting":      bytes.Repeat([]byte("["), document.MaxProfileBytes),
		"too long":     bytes.Repeat([]byte("["), document.MaxProfileBytes+1),
	} {
		charge := 8*uint64(len(data)) + 4096
		if spent := allocated(func() { _, _ = document.ParseProfile(data) }); spent > charge {
			t.Errorf("%s: %d bytes were allocated, %d are charged", name, spent, charge)
		}
	}
	item := `{"label":"%","provenance":"caller_trusted","content":""},`
	task := []byte(`{"schema":"semaprax.agent-runtime-task.v1","nonce":"` + strings.Repeat("0", 64) + `","objective":"","context":[` +
		strings.Repeat(item, document.MaxTaskBytes/len(item)-4) + "]}\n")
	if spent := allocated(func() { _, _ = document.ParseTask(task) }); spent > 8*uint64(len(task))+4096 {
		t.Errorf("task: %d bytes were allocated for %d", spent, len(task))
	}
	if err := taskError(task); err == nil {
		t.Error("the task was read")
	}
}

func taskError(data []byte) error { _, err := document.ParseTask(data); return err }

// numbered are members with rising names.
func numbered(most int) string {
	var out strings.Builder
	name := []byte("aaaa")
	for out.Len()+len(`"aaaa":1,`)*2 < most {
		out.WriteString(`"` + string(name) + `":1,`)
		for i := len(name) - 1; i >= 0; i-- {
			if name[i]++; name[i] <= 'z' {
				break
			}
			name[i] = 'a'
		}
	}
	return out.String() + `"zzzzz":1`
}

// chunks cuts a text.
func chunks(text string, size int) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for from := 0; from < len(text); from += size {
			if !yield([]byte(text[from:min(from+size, len(text))])) {
				return
			}
		}
	}
}

// FuzzRun has a host that does whatever the input says: what it answers, reports and returns, when time goes by, when the
// policy changes and when somebody cancels. Whatever that is, the run ends with records that replay, or with a diagnostic
// before anything was touched.
func FuzzRun(f *testing.F) {
	f.Add([]byte(ask("alpha")), []byte(final("done")), []byte(`{"value":"alpha"}`), uint64(0))
	f.Add([]byte(ask("alpha")), []byte("x"), []byte(`{}`), uint64(0x1234_5678_9abc_def0))
	f.Add([]byte{}, []byte(final("")), []byte(``), uint64(0xffff_ffff_ffff_ffff))
	profile := known(f, "profile")
	f.Fuzz(func(t *testing.T, first, second, result []byte, dice uint64) {
		next := func(n uint64) uint64 {
			dice = dice*6364136223846793005 + 1442695040888963407
			return (dice >> 33) % n
		}
		cancellation := bounded.NewCancellation()
		s := newScript()
		s.observe = func(string) {
			switch next(60) {
			case 0:
				s.elapsed += next(2000)
			case 1:
				s.epoch += next(2)
			case 2:
				if next(3) == 0 {
					cancellation.Cancel()
				}
			}
		}
		provide := func(text []byte) provider {
			return func(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
				for chunk := range chunks(string(text), int(1+next(64))) {
					_ = sink.Push(chunk)
				}
				usage := bounded.Usage{}
				if next(2) == 0 {
					usage = bounded.Reported(bounded.Tokens{Input: next(1000), Output: next(4000)}, next(2)*next(2))
				}
				switch next(6) {
				case 0:
					return bounded.FailedUncertain(usage)
				case 1:
					return bounded.DefinitelyNotStarted(usage)
				}
				return bounded.Succeeded(usage)
			}
		}
		s.answers = []provider{provide(first), provide(second), provide(first)}
		s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
			_ = sink.Push(result)
			return next(8) > 0
		}
		agent, err := bounded.New(profile, s, bounded.Options{Cancellation: cancellation})
		if err != nil {
			t.Fatal(err)
		}
		run, err := agent.Run(known(t, "task"))
		if err != nil {
			if s.external() != 0 || diagnostic.Of(err) == nil {
				t.Errorf("%v after %d external calls", err, s.external())
			}
			return
		}
		trace := replayed(t, profile, known(t, "task"), run)
		if len(s.providers) != int(trace.Usage.ProviderAttempts) || len(s.tools) > int(trace.Usage.ToolCalls) {
			t.Errorf("%d attempts, %d tool calls, recorded %+v", len(s.providers), len(s.tools), trace.Usage)
		}
	})
}
