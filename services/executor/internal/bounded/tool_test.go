package bounded_test

import (
	"bytes"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/record"
)

const (
	queryField = `{"name":"query","type":"string","required":true,"max_bytes":64}`
	valueField = `{"name":"value","type":"string","required":true,"max_bytes":64}`
)

// withArguments is a tool action with other arguments.
func withArguments(arguments string) string {
	return strings.Replace(ask("alpha"), `{"query":"alpha"}`, arguments, 1)
}

// TestToolAuthorization refuses tool actions without a call.
func TestToolAuthorization(t *testing.T) {
	mismatch := diagnostic.Unauthorized(diagnostic.ArgumentsMismatch)
	scalars := []string{queryField, `{"name":"a","type":"boolean","required":false,"max_bytes":5},{"name":"n","type":"integer","required":true,"max_bytes":20},` + queryField}
	for name, test := range map[string]struct {
		pairs  []string
		action string
		want   error
		ids    []string
	}{
		"unknown tool": {nil, strings.Replace(ask("alpha"), "fixture.read", "fixture.write", 1), diagnostic.Unauthorized(diagnostic.UnknownTool), []string{"BNAR-1.5", "BNAR-5.4", "BNAR-7.10"}},
		"a name alike": {nil, strings.Replace(ask("alpha"), "fixture.read", "fixture.read ", 1), diagnostic.Unauthorized(diagnostic.UnknownTool), []string{"BNAR-1.5"}},
		"not allowed":  {[]string{`"allowed_tool_ids":["fixture.read"]`, `"allowed_tool_ids":[]`}, ask("alpha"), diagnostic.Unauthorized(diagnostic.ToolNotAllowed), []string{"BNAR-5.4", "BNAR-6.16", "BNAR-7.10"}},
		"not granted":  {[]string{`"granted_capabilities":["tool.read"]`, `"granted_capabilities":["tool.reader"]`}, ask("alpha"), diagnostic.Unauthorized(diagnostic.CapabilityMissing), []string{"BNAR-1.6c", "BNAR-5.4", "BNAR-6.15"}},
		"one of two not granted": {
			[]string{`"required_capabilities":["tool.read"]`, `"required_capabilities":["tool.admin","tool.read"]`},
			ask("alpha"),
			diagnostic.Unauthorized(diagnostic.CapabilityMissing),
			[]string{"BNAR-1.6c", "BNAR-6.15"},
		},
		"argument missing":    {nil, withArguments(`{}`), mismatch, []string{"BNAR-1.6a", "BNAR-6.13", "BNAR-5.4"}},
		"argument unknown":    {nil, withArguments(`{"query":"alpha","x":"y"}`), mismatch, []string{"BNAR-1.6a", "BNAR-6.13"}},
		"argument a number":   {nil, withArguments(`{"query":1}`), mismatch, []string{"BNAR-1.6a", "BNAR-6.13"}},
		"argument null":       {nil, withArguments(`{"query":null}`), mismatch, []string{"BNAR-1.6a", "BNAR-6.13"}},
		"argument a list":     {nil, withArguments(`{"query":["alpha"]}`), mismatch, []string{"BNAR-1.6a", "BNAR-6.13"}},
		"argument an object":  {nil, withArguments(`{"query":{"query":"alpha"}}`), mismatch, []string{"BNAR-1.6a", "BNAR-6.13"}},
		"argument too long":   {nil, ask(strings.Repeat("a", 65)), mismatch, []string{"BNAR-1.6a", "BNAR-6.13"}},
		"longest argument":    {nil, ask(strings.Repeat("a", 64)), nil, []string{"BNAR-6.13"}},
		"too long escaped":    {nil, ask(strings.Repeat(`\n`, 33)), mismatch, []string{"BNAR-6.13"}},
		"longest escaped":     {nil, ask(strings.Repeat(`\n`, 32)), nil, []string{"BNAR-6.13"}},
		"all scalars":         {scalars, withArguments(`{"a":false,"n":-9223372036854775808,"query":"q"}`), nil, []string{"BNAR-6.13"}},
		"optional left out":   {scalars, withArguments(`{"n":9223372036854775807,"query":"q"}`), nil, []string{"BNAR-6.13"}},
		"integer too large":   {scalars, withArguments(`{"n":9223372036854775808,"query":"q"}`), mismatch, []string{"BNAR-6.13"}},
		"integer a fraction":  {scalars, withArguments(`{"n":1.0,"query":"q"}`), mismatch, []string{"BNAR-6.13"}},
		"integer an exponent": {scalars, withArguments(`{"n":1e3,"query":"q"}`), mismatch, []string{"BNAR-6.13"}},
		"minus zero":          {scalars, withArguments(`{"n":-0,"query":"q"}`), mismatch, []string{"BNAR-6.13"}},
		"boolean a text":      {scalars, withArguments(`{"a":"true","n":1,"query":"q"}`), mismatch, []string{"BNAR-6.13"}},
		"boolean a number":    {scalars, withArguments(`{"a":1,"n":1,"query":"q"}`), mismatch, []string{"BNAR-6.13"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, test.ids...)
			s := newScript(test.action, final("done"))
			_, trace := over(t, changed(t, test.pairs...), s)
			ended(t, trace, test.want)
			if test.want == nil {
				if len(s.tools) != 1 {
					t.Errorf("%d tool calls", len(s.tools))
				}
				return
			}
			if len(s.tools) != 0 || len(s.providers) != 1 || trace.Usage.ToolCalls != 0 {
				t.Errorf("%d tool calls, %d provider attempts", len(s.tools), len(s.providers))
			}
		})
	}
}

// TestToolResult has results that end the run, and results that do not.
func TestToolResult(t *testing.T) {
	mismatch, invalid := diagnostic.Unauthorized(diagnostic.ResultMismatch), diagnostic.Tool(diagnostic.ResultInvalid)
	for name, test := range map[string]struct {
		result string
		failed bool
		want   error
	}{
		"good":               {`{"value":"alpha"}`, false, nil},
		"blanks":             {" {\n\t\"value\" : \"alpha\" } ", false, nil},
		"escaped":            {`{"\u0076alue":"\u0061lpha"}`, false, nil},
		"longest":            {`{"value":"` + strings.Repeat("a", 64) + `"}`, false, nil},
		"too long":           {`{"value":"` + strings.Repeat("a", 65) + `"}`, false, mismatch},
		"another name":       {`{"values":"alpha"}`, false, mismatch},
		"one more":           {`{"value":"alpha","more":1}`, false, mismatch},
		"empty":              {`{}`, false, mismatch},
		"a number":           {`{"value":1}`, false, mismatch},
		"null":               {`{"value":null}`, false, mismatch},
		"nested":             {`{"value":{"value":"alpha"}}`, false, mismatch},
		"a list":             {`["alpha"]`, false, invalid},
		"a text":             {`"alpha"`, false, invalid},
		"nothing":            {``, false, invalid},
		"cut off":            {`{"value":"alpha"`, false, invalid},
		"two values":         {`{"value":"alpha"}{}`, false, invalid},
		"twice":              {`{"value":"alpha","value":"alpha"}`, false, invalid},
		"invalid UTF-8":      {"{\"value\":\"\xff\"}", false, invalid},
		"half a surrogate":   {`{"value":"\ud800"}`, false, invalid},
		"too deep":           {`{"value":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}`, false, invalid},
		"failed":             {``, true, diagnostic.Tool(diagnostic.InvocationFailed)},
		"failed with result": {`{"value":"alpha"}`, true, diagnostic.Tool(diagnostic.InvocationFailed)},
		"too many bytes":     {`{"value":"` + strings.Repeat("a", 4096) + `"}`, false, diagnostic.Bound("tool_result_bytes", 4096)},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-5.8", "BNAR-6.17", "BNAR-1.16")
			s := newScript(ask("alpha"), final("done"))
			s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
				_ = sink.Push([]byte(test.result))
				return !test.failed
			}
			_, trace := over(t, known(t, "profile"), s)
			ended(t, trace, test.want)
			if test.want == nil {
				return
			}
			last := trace.Events[len(trace.Events)-2]
			received := uint64(len(test.result))
			if received > 4096 {
				received = 0 // the chunk was refused whole
			}
			if last.Kind != record.ToolFinished || last.Status != record.Failed || last.OutputDigest != "" || last.Delta.ResultBytes != received ||
				trace.Usage.ResultBytes != received || len(s.providers) != 1 {
				t.Errorf("ended with %+v, %d provider attempts", last, len(s.providers))
			}
		})
	}
}

// TestCallIdentity is the same for the same call, and different for a different turn or argument.
func TestCallIdentity(t *testing.T) {
	req.Covers(t, "BNAR-10.3")
	calls := func(answers ...string) []string {
		s := newScript(append(answers, final("done"))...)
		over(t, changed(t, wide(t)...), s)
		var ids []string
		for _, call := range s.tools {
			ids = append(ids, call.CallID)
		}
		return ids
	}
	first, second := calls(ask("alpha"), ask("alpha")), calls(ask("alpha"), ask("beta"))
	if first[0] != second[0] || first[0] == first[1] || first[1] == second[1] || len(first) != 2 {
		t.Errorf("%v, %v", first, second)
	}
}

// TestResultIsCanonical tells the model the same result whatever the tool's way to write it.
func TestResultIsCanonical(t *testing.T) {
	req.Covers(t, "BNAR-2.5")
	s := newScript(ask("alpha"), final("done"))
	s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
		return sink.Push([]byte(" { \"val\\u0075e\" : \"alph\\u0061\" }\r\n")) == nil
	}
	run, _ := over(t, known(t, "profile"), s)
	if !bytes.Equal(run.Trace(), known(t, "trace")) {
		t.Errorf("another Trace: %s", run.Trace())
	}
}
