package document_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
)

// change replaces the one place where old stands.
func change(t *testing.T, data []byte, old, replacement string) []byte {
	t.Helper()
	if n := bytes.Count(data, []byte(old)); n != 1 {
		t.Fatalf("%q stands there %d times", old, n)
	}
	return bytes.Replace(data, []byte(old), []byte(replacement), 1)
}

func profileError(data []byte) error { _, err := document.ParseProfile(data); return err }
func taskError(data []byte) error    { _, err := document.ParseTask(data); return err }
func actionError(data []byte) error  { _, err := document.ParseAction(data, 4096); return err }

// wire mutations are not canonical whatever the document.
func wireMutations(data []byte) map[string][]byte {
	text := string(data)
	line := strings.TrimSuffix(text, "\n")
	schema := line[:strings.Index(line, ",")] // {"schema":"…"
	rest := line[len(schema)+1:]
	return map[string][]byte{
		"no line feed":          []byte(line),
		"two line feeds":        []byte(text + "\n"),
		"carriage return":       []byte(line + "\r\n"),
		"line feed first":       []byte("\n" + text),
		"byte order mark":       []byte("\ufeff" + text),
		"blank":                 []byte(strings.Replace(text, ":", ": ", 1)),
		"blank before the end":  []byte(line + " \n"),
		"two documents":         []byte(line + line + "\n"),
		"cut off":               []byte(line[:len(line)-1] + "\n"),
		"empty":                 {},
		"only a line feed":      []byte("\n"),
		"invalid UTF-8":         bytes.Replace(data, []byte(`"schema":"s`), []byte("\"schema\":\"\xff"), 1),
		"surrogate half":        []byte(strings.Replace(text, `"schema":"s`, `"schema":"\ud800`, 1)),
		"another schema":        []byte(strings.Replace(text, ".v1", ".v2", 1)),
		"schema of other type":  []byte(strings.Replace(text, schema, `{"schema":1`, 1)),
		"schema null":           []byte(strings.Replace(text, schema, `{"schema":null`, 1)),
		"duplicate key":         []byte(schema + "," + schema[1:] + "," + rest + "\n"),
		"extra key":             []byte(schema + `,"x":1,` + rest + "\n"),
		"extra key at the end":  []byte(line[:len(line)-1] + `,"x":1}` + "\n"),
		"keys in another order": []byte("{" + rest[:len(rest)-1] + "," + schema[1:] + "}\n"),
		"escaped though plain":  []byte(strings.Replace(text, `"schema":"s`, `"schema":"\u0073`, 1)),
		"not an object":         []byte("[]\n"),
		"null":                  []byte("null\n"),
	}
}

func TestWireMutations(t *testing.T) {
	for name, kind := range map[string]struct {
		err  func([]byte) error
		want error
	}{
		"profile":      {profileError, diagnostic.Grammar("profile", document.SchemaProfile)},
		"task":         {taskError, diagnostic.Grammar("task", document.SchemaTask)},
		"tool_action":  {actionError, diagnostic.Grammar("action", document.SchemaAction)},
		"final_action": {actionError, diagnostic.Grammar("action", document.SchemaAction)},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-2.9", "BNAR-2.10", "BNAR-2.11", "BNAR-2.14", "BNAR-2.15", "BNAR-5.1")
			for what, data := range wireMutations(known(t, name)) {
				t.Run(what, func(t *testing.T) { refused(t, kind.err(data), kind.want) })
			}
		})
	}
}

func TestProfileMutations(t *testing.T) {
	grammar := diagnostic.Grammar("profile", document.SchemaProfile)
	type mutation struct {
		old, replacement string
		want             error
	}
	tool := `{"tool_id":"fixture.read","description":"Return one bounded fixture value."`
	for name, group := range map[string]struct {
		ids       []string
		mutations map[string]mutation
	}{
		"types": {[]string{"BNAR-2.13"}, map[string]mutation{
			"number for a string":  {`"agent_id":"fixture.agent"`, `"agent_id":1`, grammar},
			"string for a number":  {`"max_turns":2`, `"max_turns":"2"`, grammar},
			"fraction":             {`"max_turns":2`, `"max_turns":2.0`, grammar},
			"exponent":             {`"max_turns":2`, `"max_turns":2e0`, grammar},
			"negative":             {`"max_turns":2`, `"max_turns":-2`, grammar},
			"leading zero":         {`"max_turns":2`, `"max_turns":02`, grammar},
			"beyond 64 bits":       {`"max_turns":2`, `"max_turns":18446744073709551616`, grammar},
			"null for a list":      {`"effects":["read"]`, `"effects":null`, grammar},
			"string for a list":    {`"effects":["read"]`, `"effects":"read"`, grammar},
			"number in a list":     {`"effects":["read"]`, `"effects":[1]`, grammar},
			"list for an object":   {`{"allowed_provider_ids"`, `[{"allowed_provider_ids"`, grammar},
			"unknown locality":     {`"locality":"local"`, `"locality":"moon"`, grammar},
			"unknown tier":         {`"quality_tier":"basic"`, `"quality_tier":"best"`, grammar},
			"unknown requirement":  {`"required_locality":"local_only"`, `"required_locality":"any"`, grammar},
			"extra key in a model": {`"locality":"local",`, `"locality":"local","weight":1,`, grammar},
			"keys of a model swapped": {
				`"provider_id":"fake.local","model_id":"fake-basic"`, `"model_id":"fake-basic","provider_id":"fake.local"`, grammar,
			},
			"duplicate limit": {`"max_turns":2,`, `"max_turns":2,"max_turns":2,`, grammar},
			"a limit missing": {`"max_turns":2,`, ``, grammar},
		}},
		"invariants": {[]string{"BNAR-5.2"}, map[string]mutation{
			"agent":               {`"fixture.agent"`, `"fixture agent"`, diagnostic.Invariant("agent_id")},
			"agent empty":         {`"fixture.agent"`, `""`, diagnostic.Invariant("agent_id")},
			"model identifier":    {`"model_id":"fake-basic"`, `"model_id":"fake/basic"`, diagnostic.Invariant("models.identifiers")},
			"tokenizer":           {`"fake.bytes-v1"`, `""`, diagnostic.Invariant("models.identifiers")},
			"context":             {`"max_context_tokens":4096`, `"max_context_tokens":0`, diagnostic.Invariant("models.max_context_tokens")},
			"description empty":   {`"Return one bounded fixture value."`, `""`, diagnostic.Invariant("tools.identifiers")},
			"grants everything":   {`"granted_capabilities":["tool.read"]`, `"granted_capabilities":["*"]`, diagnostic.Invariant("policy.granted_capabilities")},
			"unknown provider":    {`"allowed_provider_ids":["fake.local"]`, `"allowed_provider_ids":["other"]`, diagnostic.Invariant("policy")},
			"unknown model":       {`"allowed_model_ids":["fake-basic"]`, `"allowed_model_ids":["other"]`, diagnostic.Invariant("policy")},
			"unknown tool":        {`"allowed_tool_ids":["fixture.read"]`, `"allowed_tool_ids":["other"]`, diagnostic.Invariant("policy")},
			"no retries is fine":  {`"max_retries_per_turn":1`, `"max_retries_per_turn":0`, nil},
			"no tool calls, fine": {`"max_tool_calls":1`, `"max_tool_calls":0`, nil},
		}},
		"effects": {[]string{"BNAR-1.6b", "BNAR-6.14"}, map[string]mutation{
			"write":          {`"effects":["read"]`, `"effects":["write"]`, diagnostic.Invariant("tools.effects")},
			"read and write": {`"effects":["read"]`, `"effects":["read","write"]`, diagnostic.Invariant("tools.effects")},
			"read twice":     {`"effects":["read"]`, `"effects":["read","read"]`, diagnostic.Invariant("tools.effects")},
			"none":           {`"effects":["read"]`, `"effects":[]`, diagnostic.Invariant("tools.effects")},
		}},
		"order": {[]string{"BNAR-2.12"}, map[string]mutation{
			"capabilities unsorted": {`"capabilities":["text"]`, `"capabilities":["text","a"]`, diagnostic.Invariant("models.capabilities")},
			"capabilities twice":    {`"capabilities":["text"]`, `"capabilities":["text","text"]`, diagnostic.Invariant("models.capabilities")},
			"required unsorted":     {`"required_capabilities":["tool.read"]`, `"required_capabilities":["tool.read","a"]`, diagnostic.Invariant("tools.required_capabilities")},
			"policy unsorted":       {`"granted_capabilities":["tool.read"]`, `"granted_capabilities":["tool.read","a"]`, diagnostic.Invariant("policy.granted_capabilities")},
			"tool twice": {
				`"tools":[` + tool, `"tools":[` + tool +
					`,"arguments_schema":{"type":"object","fields":[],"additional_properties":false},"result_schema":{"type":"object","fields":[],"additional_properties":false},"effects":["read"],"required_capabilities":[]},` + tool,
				diagnostic.Invariant("tools"),
			},
			"model twice": {
				`"models":[{`, `"models":[{"provider_id":"fake.local","model_id":"fake-basic","locality":"local","quality_tier":"basic","tokenizer_id":"fake.bytes-v1","max_context_tokens":1,"input_usd_microunits_per_million_tokens":0,"output_usd_microunits_per_million_tokens":0,"capabilities":[]},{`,
				diagnostic.Invariant("models"),
			},
		}},
		"concurrency": {[]string{"BNAR-4.1"}, map[string]mutation{
			"none": {`"max_concurrency":1`, `"max_concurrency":0`, diagnostic.Invariant("limits.max_concurrency")},
			"two":  {`"max_concurrency":1`, `"max_concurrency":2`, diagnostic.Bound("max_concurrency", 1)},
		}},
		"nonclaims": {[]string{"BNAR-9.1", "BNAR-9.4"}, map[string]mutation{
			"missing":   {`,"no_general_formal_proof"`, ``, diagnostic.Invariant("nonclaims")},
			"extra":     {`,"no_general_formal_proof"`, `,"no_general_formal_proof","no_more"`, diagnostic.Invariant("nonclaims")},
			"reordered": {`"no_compiler_determinism_from_model_output","no_model_output_authority"`, `"no_model_output_authority","no_compiler_determinism_from_model_output"`, diagnostic.Invariant("nonclaims")},
			"changed":   {`"no_general_formal_proof"`, `"no_general_formal_prooF"`, diagnostic.Invariant("nonclaims")},
		}},
		"schemas": {[]string{"BNAR-1.6a"}, map[string]mutation{
			"open":             {`{"name":"query","type":"string","required":true,"max_bytes":64}],"additional_properties":false`, `{"name":"query","type":"string","required":true,"max_bytes":64}],"additional_properties":true`, grammar},
			"nested":           {`{"name":"query","type":"string"`, `{"name":"query","type":"object"`, grammar},
			"no bytes":         {`{"name":"query","type":"string","required":true,"max_bytes":64}`, `{"name":"query","type":"string","required":true,"max_bytes":0}`, diagnostic.Invariant("tools.arguments_schema")},
			"too many bytes":   {`{"name":"query","type":"string","required":true,"max_bytes":64}`, `{"name":"query","type":"string","required":true,"max_bytes":1048577}`, diagnostic.Invariant("tools.arguments_schema")},
			"bytes beyond":     {`{"name":"query","type":"string","required":true,"max_bytes":64}`, `{"name":"query","type":"string","required":true,"max_bytes":4294967360}`, diagnostic.Invariant("tools.arguments_schema")},
			"most bytes":       {`{"name":"query","type":"string","required":true,"max_bytes":64}`, `{"name":"query","type":"string","required":true,"max_bytes":1048576}`, nil},
			"integer of 19":    {`{"name":"value","type":"string","required":true,"max_bytes":64}`, `{"name":"value","type":"integer","required":true,"max_bytes":19}`, diagnostic.Invariant("tools.result_schema")},
			"integer":          {`{"name":"value","type":"string","required":true,"max_bytes":64}`, `{"name":"value","type":"integer","required":true,"max_bytes":20}`, nil},
			"boolean of 4":     {`{"name":"value","type":"string","required":true,"max_bytes":64}`, `{"name":"value","type":"boolean","required":true,"max_bytes":4}`, diagnostic.Invariant("tools.result_schema")},
			"boolean":          {`{"name":"value","type":"string","required":true,"max_bytes":64}`, `{"name":"value","type":"boolean","required":true,"max_bytes":5}`, nil},
			"name twice":       {`{"name":"query",`, `{"name":"query","type":"boolean","required":true,"max_bytes":5},{"name":"query",`, diagnostic.Invariant("tools.arguments_schema")},
			"names unsorted":   {`{"name":"query",`, `{"name":"r","type":"boolean","required":true,"max_bytes":5},{"name":"query",`, diagnostic.Invariant("tools.arguments_schema")},
			"no name":          {`{"name":"query",`, `{"name":"",`, diagnostic.Invariant("tools.arguments_schema")},
			"not required":     {`{"name":"query","type":"string","required":true`, `{"name":"query","type":"string","required":false`, nil},
			"word for boolean": {`{"name":"query","type":"string","required":true`, `{"name":"query","type":"string","required":null`, grammar},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, group.ids...)
			for what, m := range group.mutations {
				t.Run(what, func(t *testing.T) {
					err := profileError(change(t, known(t, "profile"), m.old, m.replacement))
					if m.want == nil {
						if err != nil {
							t.Errorf("refused: %v", err)
						}
						return
					}
					refused(t, err, m.want)
				})
			}
		})
	}
}

func TestTaskMutations(t *testing.T) {
	req.Covers(t, "BNAR-2.12", "BNAR-2.13")
	grammar := diagnostic.Grammar("task", document.SchemaTask)
	nonce := strings.Repeat("0", 64)
	for name, m := range map[string][2]string{
		"short nonce":        {nonce, nonce[1:]},
		"long nonce":         {nonce, nonce + "0"},
		"capital nonce":      {nonce, "A" + nonce[1:]},
		"nonce of other":     {nonce, "g" + nonce[1:]},
		"unknown provenance": {`"caller_untrusted"`, `"runtime_trusted"`},
		"label":              {`"label":"input"`, `"label":"in put"`},
		"label twice":        {`"context":[`, `"context":[{"label":"input","provenance":"caller_trusted","content":""},`},
		"labels unsorted":    {`"context":[`, `"context":[{"label":"z","provenance":"caller_trusted","content":""},`},
		"objective null":     {`"Return one bounded answer."`, `null`},
		"content a number":   {`"alpha"`, `1`},
		"invalid UTF-8":      {`"alpha"`, "\"al\xffpha\""},
		"half a character":   {`"alpha"`, "\"al\xe2\x82pha\""},
		"a surrogate":        {`"alpha"`, "\"al\xed\xa0\x80pha\""},
		"no context":         {`,"context":[{"label":"input","provenance":"caller_untrusted","content":"alpha"}]`, ``},
		"context an object":  {`[{"label":"input","provenance":"caller_untrusted","content":"alpha"}]`, `{}`},
	} {
		t.Run(name, func(t *testing.T) { refused(t, taskError(change(t, known(t, "task"), m[0], m[1])), grammar) })
	}
	for _, provenance := range []string{"caller_trusted", "retrieved_untrusted"} {
		if err := taskError(change(t, known(t, "task"), "caller_untrusted", provenance)); err != nil {
			t.Errorf("%s: %v", provenance, err)
		}
	}
	if err := taskError(change(t, known(t, "task"), `"context":[`, `"context":[{"label":"a","provenance":"caller_trusted","content":""},`)); err != nil {
		t.Errorf("two labels: %v", err)
	}
}

// TestLimitBoundaries takes every limit to its cap and one beyond.
func TestLimitBoundaries(t *testing.T) {
	for name, most := range map[string]uint64{
		"max_turns": 16, "max_provider_attempts": 32, "max_retries_per_turn": 1, "max_concurrency": 1, "max_elapsed_ms": 300000,
		"max_provider_request_bytes": 4194304, "max_provider_response_bytes": 1048576, "max_stream_chunks": 8192,
		"max_total_provider_input_bytes": 33554432, "max_total_provider_output_bytes": 8388608,
		"max_reported_model_input_tokens": 2097152, "max_reported_model_output_tokens": 262144, "max_usd_microunits": 10000000,
		"max_tool_calls": 32, "max_tool_arguments_bytes": 262144, "max_tool_result_bytes": 1048576, "max_total_tool_bytes": 16777216,
		"max_retained_state_bytes": 16777216, "max_trace_events": 4096, "max_trace_bytes": 16777216, "max_evidence_bytes": 20971520,
		"max_builder_bytes": 67108864,
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-4.7", "BNAR-5.5", "BNAR-6.7")
			switch name {
			case "max_turns":
				req.Covers(t, "BNAR-4.2")
			case "max_provider_attempts":
				req.Covers(t, "BNAR-4.3")
			case "max_tool_calls":
				req.Covers(t, "BNAR-4.4")
			case "max_elapsed_ms":
				req.Covers(t, "BNAR-4.5")
			case "max_builder_bytes":
				req.Covers(t, "BNAR-4.6")
			}
			with := func(value uint64) error {
				data := known(t, "profile")
				at := bytes.Index(data, []byte(`"`+name+`":`)) + len(name) + 3
				end := at + bytes.IndexAny(data[at:], ",}")
				return profileError(append(fmt.Appendf(append([]byte(nil), data[:at]...), "%d", value), data[end:]...))
			}
			if err := with(most); err != nil {
				t.Errorf("%d: %v", most, err)
			}
			refused(t, with(most+1), diagnostic.Bound(name, most))
			err := with(0)
			if zero := map[string]bool{
				"max_retries_per_turn": true, "max_total_provider_input_bytes": true, "max_total_provider_output_bytes": true,
				"max_reported_model_input_tokens": true, "max_reported_model_output_tokens": true, "max_usd_microunits": true,
				"max_tool_calls": true, "max_tool_arguments_bytes": true, "max_tool_result_bytes": true, "max_total_tool_bytes": true,
			}; zero[name] {
				if err != nil {
					t.Errorf("zero: %v", err)
				}
				return
			}
			refused(t, err, diagnostic.Invariant("limits."+name))
		})
	}
}

// repeat returns n things joined by commas, numbered so that they are sorted.
func repeat(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// TestCardinality takes lists, identifiers and whole documents to their caps and one beyond.
func TestCardinality(t *testing.T) {
	profile := known(t, "profile")
	const model = `{"provider_id":"fake.local","model_id":"m%05d","locality":"local","quality_tier":"basic","tokenizer_id":"t","max_context_tokens":1,"input_usd_microunits_per_million_tokens":0,"output_usd_microunits_per_million_tokens":0,"capabilities":[]}`
	const tool = `{"tool_id":"g%05d","description":"d","arguments_schema":{"type":"object","fields":[],"additional_properties":false},"result_schema":{"type":"object","fields":[],"additional_properties":false},"effects":["read"],"required_capabilities":[]}`
	check := func(name string, most int, make func(n int) error, want error) {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-6.7")
			if name == "identifier" {
				req.Covers(t, "BNAR-6.23")
			}
			if err := make(most); err != nil {
				t.Errorf("%d: %v", most, err)
			}
			refused(t, make(most+1), want)
			refused(t, make(most+100), want)
		})
	}
	check("models", 32, func(n int) error {
		return profileError(change(t, profile, `"capabilities":["text"]}],"tools"`, `"capabilities":["text"]},`+repeat(n-1, model)+`],"tools"`))
	}, diagnostic.Invariant("models"))
	check("tools", 32, func(n int) error {
		return profileError(change(t, profile, `"required_capabilities":["tool.read"]}]`, `"required_capabilities":["tool.read"]},`+repeat(n-1, tool)+`]`))
	}, diagnostic.Invariant("tools"))
	check("capabilities", 64, func(n int) error {
		return profileError(change(t, profile, `"capabilities":["text"]}]`, `"capabilities":[`+repeat(n-1, `"a%05d"`)+`,"text"]}]`))
	}, diagnostic.Invariant("models.capabilities"))
	check("granted", 64, func(n int) error {
		return profileError(change(t, profile, `"granted_capabilities":["tool.read"]`, `"granted_capabilities":[`+repeat(n-1, `"a%05d"`)+`,"tool.read"]`))
	}, diagnostic.Invariant("policy.granted_capabilities"))
	check("identifier", 240, func(n int) error {
		return profileError(change(t, profile, "fixture.agent", strings.Repeat("a", n)))
	}, diagnostic.Invariant("agent_id"))
	check("description", 4096, func(n int) error {
		return profileError(change(t, profile, "Return one bounded fixture value.", strings.Repeat("a", n)))
	}, diagnostic.Invariant("tools.identifiers"))
	check("task", 4194304, func(n int) error {
		task := known(t, "task")
		return taskError(change(t, task, "alpha", strings.Repeat("a", n-len(task)+5)))
	}, diagnostic.Bound("task_bytes", 4194304))
	check("action", 4096, func(n int) error {
		return actionError(change(t, known(t, "final_action"), "done", strings.Repeat("a", n-78+4)))
	}, diagnostic.Bound("provider_response_bytes", 4096))
	refused(t, profileError(bytes.Repeat([]byte("a"), 1048577)), diagnostic.Bound("profile_bytes", 1048576))
	refused(t, profileError(bytes.Repeat([]byte("a"), 1048576)), diagnostic.Grammar("profile", document.SchemaProfile))
}

// TestDepth nests to the cap, one beyond it, and far beyond it.
func TestDepth(t *testing.T) {
	nested := func(n int) []byte {
		return change(t, known(t, "task"), `"Return one bounded answer."`, strings.Repeat("[", n)+strings.Repeat("]", n))
	}
	for n, want := range map[int]error{
		1:       diagnostic.Grammar("task", document.SchemaTask),
		15:      diagnostic.Grammar("task", document.SchemaTask),
		16:      diagnostic.Bound("json_depth", 16),
		120:     diagnostic.Bound("json_depth", 16),
		1000000: diagnostic.Grammar("task", document.SchemaTask),
	} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			req.Covers(t, "BNAR-2.16", "BNAR-6.7")
			refused(t, taskError(nested(n)), want)
		})
	}
}

// TestOrderOfChecks has documents with two faults, and the first check in the order tells.
func TestOrderOfChecks(t *testing.T) {
	deep := strings.Repeat("[", 20) + strings.Repeat("]", 20)
	grammar := diagnostic.Grammar("task", document.SchemaTask)
	refused(t, taskError([]byte(`{"a":`+deep+`}`)), grammar)                                                         // no line feed, deep
	refused(t, taskError([]byte(`{"a":`+deep+"}\n")), diagnostic.Bound("json_depth", 16))                            // deep, keys
	refused(t, taskError(append(bytes.Repeat([]byte("["), 4194305), '\n')), diagnostic.Bound("task_bytes", 4194304)) // bytes, deep
	both := change(t, change(t, known(t, "profile"), "fixture.agent", "fixture agent"), `"max_turns":2`, `"max_turns":"2"`)
	refused(t, profileError(both), diagnostic.Grammar("profile", document.SchemaProfile)) // type, invariant
}
