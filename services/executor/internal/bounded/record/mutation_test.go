package record_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// known returns a known answer.
func known(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// inputs are the records of the known run with all that can be compared with them.
func inputs(tb testing.TB) record.Inputs {
	tb.Helper()
	profile, err := document.ParseProfile(known(tb, "profile"))
	if err != nil {
		tb.Fatal(err)
	}
	task, err := document.ParseTask(known(tb, "task"))
	if err != nil {
		tb.Fatal(err)
	}
	return record.Inputs{
		Trace: known(tb, "trace"), Evidence: known(tb, "evidence"), Profile: profile, Task: task, Message: new("done"),
		Receipt: known(tb, "accounting_receipt.derived"),
	}
}

// node is a value of a document with where it stands; the place of a member begins with its name.
type node struct {
	at, value, end int
	object         bool
	inner          []*node
	name           string
}

// parse reads canonical JSON.
func parse(text string) *node {
	n := &node{}
	n.read(text, 0)
	return n
}

// read reads the value that begins at at and returns where it ends.
func (n *node) read(text string, at int) int {
	n.value = at
	if text[at] != '{' && text[at] != '[' {
		n.end = scalarEnd(text, at)
		return n.end
	}
	n.object = text[at] == '{'
	for at++; text[at] != '}' && text[at] != ']'; {
		inner := &node{at: at}
		if n.object {
			end := scalarEnd(text, at)
			inner.name, at = text[at+1:end-1], end+1
		}
		n.inner = append(n.inner, inner)
		if at = inner.read(text, at); text[at] == ',' {
			at++
		}
	}
	n.end = at + 1
	return n.end
}

func scalarEnd(text string, at int) int {
	if text[at] != '"' {
		return at + strings.IndexAny(text[at:]+",", ",]}\n")
	}
	for at++; ; at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
}

// walk visits every node below n with its path, and the one before it.
func (n *node) walk(path string, visit func(path string, n, before *node)) {
	var before *node
	for i, inner := range n.inner {
		step := path + "/" + strconv.Itoa(i)
		if n.object {
			step = path + "/" + inner.name
		}
		visit(step, inner, before)
		inner.walk(step, visit)
		before = inner
	}
}

// similar are other values of the same kind that a scalar is changed to.
func similar(now string) []string {
	var others []string
	if n, err := strconv.ParseUint(now, 10, 64); err == nil {
		others = append(others, strconv.FormatUint(n+1, 10), strconv.FormatUint(n-1, 10))
	}
	if strings.HasPrefix(now, `"sha256:`) {
		last := now[len(now)-2]
		others = append(others, now[:len(now)-2]+string('0'+(last+1)%8)+`"`)
	}
	if word := strings.Trim(now, `"`); now == "null" || slices.Contains(vocabulary, word) {
		for _, word := range vocabulary {
			others = append(others, strconv.Quote(word))
		}
	}
	return others
}

// scalars are all other values that a scalar is changed to.
func scalars(now string) []string {
	others := append(similar(now), "null", "0", "1", "true", `""`, `"x"`, "[]", "{}", "-1", "1.5", "18446744073709551615", "18446744073709551616")
	if n, err := strconv.ParseUint(now, 10, 64); err == nil {
		others = append(others, `"`+now+`"`)
		if n > 0 {
			others = append(others, now+"0")
		}
	}
	if strings.HasPrefix(now, `"sha256:`) {
		others = append(others, strings.ToUpper(now), strings.Replace(now, "sha256:", "sha512:", 1), now[:len(now)-2]+`"`)
	}
	if strings.HasPrefix(now, `"`) {
		others = append(others, `"x`+now[1:], now[:len(now)-1]+`x"`)
	}
	return others
}

// vocabulary are all words that a record may hold somewhere.
var vocabulary = []string{
	"run_started", "route_selected", "provider_attempt_started", "provider_attempt_finished", "action_accepted", "tool_authorized", "tool_finished", "run_finished",
	"started", "selected", "succeeded", "definitely_not_started", "failed_uncertain", "cancelled", "deadline_exceeded", "policy_rejected",
	"final", "tool", "authorized", "failed", "completed", "budget_exhausted", "provider_failed", "tool_failed",
	"SPX-G204", "SPX-G206", "SPX-G207", "SPX-G208", "SPX-G209", "SPX-I218", "SPX-I219", "SPX-I220", "SPX-I221",
	"fake.local", "fake-basic", "fixture.read", record.SchemaTrace, record.SchemaEvidence, document.SchemaProfile, document.SchemaTask,
}

// values calls visit with every change of a scalar to a similar one.
func values(data []byte, visit func(path string, mutated []byte)) {
	text := string(data)
	parse(text).walk("", func(path string, n, _ *node) {
		if len(n.inner) == 0 {
			now := text[n.value:n.end]
			for _, other := range similar(now) {
				if other != now {
					visit(path, []byte(text[:n.value]+other+text[n.end:]))
				}
			}
		}
	})
}

// mutations calls visit with every single change of a document: of each scalar to other values, and of each member or
// element to nothing, twice, null, or its neighbor.
func mutations(data []byte, visit func(name string, mutated []byte)) {
	text := string(data)
	emit := func(name string, parts ...string) {
		if changed := strings.Join(parts, ""); changed != text {
			visit(name, []byte(changed))
		}
	}
	parse(text).walk("", func(path string, n, before *node) {
		others := []string{"null", "[]", "{}"}
		if c := text[n.value]; c != '{' && c != '[' {
			others = scalars(text[n.value:n.end])
		}
		for _, other := range others {
			emit(path+" = "+other, text[:n.value], other, text[n.end:])
		}
		start, end := n.place(), n.end
		emit(path+" twice", text[:end], ",", text[start:end], text[end:])
		switch {
		case before != nil:
			emit(path+" left out", text[:start-1], text[end:])
			emit(path+" before its neighbor", text[:before.place()], text[start:end], text[before.end:start], text[before.place():before.end], text[end:])
		case text[end] == ',':
			emit(path+" left out", text[:start], text[end+1:])
		default:
			emit(path+" left out", text[:start], text[end:])
		}
		if n.name != "" {
			emit(path+" renamed", text[:n.value-2], "x", text[n.value-2:])
		}
	})
}

// place is where the member or element begins.
func (n *node) place() int {
	if n.name != "" {
		return n.at
	}
	return n.value
}

// TestEverySingleChangeIsRefused changes every field of Trace and Evidence in every way, one at a time.
func TestEverySingleChangeIsRefused(t *testing.T) {
	in := inputs(t)
	if err := record.Verify(in); err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]*[]byte{"trace": &in.Trace, "evidence": &in.Evidence, "receipt": &in.Receipt} {
		t.Run(name, func(t *testing.T) {
			switch name {
			case "trace":
				req.Covers(t, "BNAR-6.20", "BNAR-5.6", "BNAR-9.2", "BNAR-9.4", "BNAR-2.13", "BNAR-2.14", "BNAR-2.15")
			case "evidence":
				req.Covers(t, "BNAR-6.20", "BNAR-5.6", "BNAR-9.3", "BNAR-9.4")
			default:
				req.Covers(t, "BNAR-3.1", "BNAR-3.2", "BNAR-3.10")
			}
			whole, count := *part, 0
			mutations(whole, func(what string, mutated []byte) {
				count++
				*part = mutated
				if !isReplay(record.Verify(in)) {
					t.Errorf("%s: %v", what, record.Verify(in))
				}
			})
			*part = whole
			t.Logf("%d changes", count)
			if count < 300 {
				t.Errorf("only %d changes", count)
			}
		})
	}
}

func isReplay(err error) bool {
	d := diagnostic.Of(err)
	return d != nil && *d == *diagnostic.Of(diagnostic.Replay())
}

// passes collects the fields of which some change to a similar value is not noticed.
func passes(part *[]byte, verify func() error) []string {
	whole, fields := *part, map[string]bool{}
	values(whole, func(path string, mutated []byte) {
		*part = mutated
		if verify() == nil {
			fields[path] = true
		}
	})
	*part = whole
	return slices.Sorted(maps.Keys(fields))
}

// TestWhatRestsOnWhat says exactly which fields nothing else confirms when something is not given. A change that shows
// here would be a field that replay forgot.
func TestWhatRestsOnWhat(t *testing.T) {
	req.Covers(t, "BNAR-6.20", "BNAR-5.16")
	for name, test := range map[string]struct {
		without func(*record.Inputs)
		want    []string
	}{
		"no receipt": {func(in *record.Inputs) { in.Receipt = nil }, []string{"/budget/used_builder_bytes"}},
		"no message": {func(in *record.Inputs) { in.Receipt, in.Message = nil, nil }, []string{"/budget/used_builder_bytes", "/result/final_message_bytes"}},
		"no profile": {func(in *record.Inputs) { in.Receipt, in.Profile = nil, nil }, []string{
			"/budget/used_builder_bytes", "/budget/used_capabilities", "/budget/used_models", "/budget/used_tools", "/profile/bytes",
		}},
		"nothing else": {func(in *record.Inputs) { *in = record.Inputs{Trace: in.Trace, Evidence: in.Evidence} }, []string{
			"/budget/used_builder_bytes", "/budget/used_capabilities", "/budget/used_models", "/budget/used_tools", "/profile/bytes",
			"/result/final_message_bytes",
		}},
		"no task": {func(in *record.Inputs) { in.Receipt, in.Task = nil, nil }, []string{"/budget/used_builder_bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputs(t)
			test.without(&in)
			if got := passes(&in.Evidence, func() error { return record.Verify(in) }); !slices.Equal(got, test.want) {
				t.Errorf("Evidence: %q rest on themselves, want %q", got, test.want)
			}
		})
	}
}

// TestForgedTrace changes every field of the Trace and makes Evidence and receipt anew for it, as somebody would who
// wants the change to be believed. What still passes are digests and lengths of what no record holds.
func TestForgedTrace(t *testing.T) {
	req.Covers(t, "BNAR-6.20", "BNAR-5.16")
	in := inputs(t)
	evidence, err := record.ParseEvidence(in.Evidence)
	if err != nil {
		t.Fatal(err)
	}
	forge := func() error {
		trace, err := record.ParseTrace(in.Trace)
		if err != nil {
			return err
		}
		if len(trace.Events) == 0 {
			return diagnostic.Replay()
		}
		forged := *evidence
		forged.RunID, forged.Profile.Digest, forged.Task.Digest = trace.RunID, trace.ProfileDigest, trace.TaskDigest
		forged.Trace, forged.TraceBytes, forged.TraceDigest = string(in.Trace), uint64(len(in.Trace)), wire.Digest(wire.DomainTrace, in.Trace)
		forged.Status, forged.LastTurn = trace.Termination.Status, trace.Events[len(trace.Events)-1].Turn
		forged.Account(trace, evidence.Budget.BuilderBytes)
		if in.Evidence, err = forged.Seal(); err != nil {
			return err
		}
		receipt := record.Receipt{
			RunID: trace.RunID, TraceDigest: forged.TraceDigest, EvidenceDigest: wire.Digest(wire.DomainEvidence, in.Evidence),
			Status: forged.Status, Attempts: make([]record.Attempt, 2),
		}
		if in.Receipt, err = receipt.Bytes(); err != nil {
			return err
		}
		return record.Verify(in)
	}
	if err := forge(); err != nil {
		t.Fatal(err)
	}
	got := passes(&in.Trace, forge)
	want := []string{"/events/3/output_digest", "/events/6/output_digest"}
	if !slices.Equal(got, want) {
		t.Errorf("%q can be forged, want %q", got, want)
	}
}

// TestRecordsOnTheWire has bytes that are no document at all.
func TestRecordsOnTheWire(t *testing.T) {
	for name, kind := range map[string]struct {
		parse   func([]byte) error
		grammar error
		most    error
		size    int
	}{
		"trace": {
			func(data []byte) error { _, err := record.ParseTrace(data); return err },
			diagnostic.Grammar("trace", record.SchemaTrace), diagnostic.Bound("trace_bytes", 16777216), 16777216,
		},
		"evidence": {
			func(data []byte) error { _, err := record.ParseEvidence(data); return err },
			diagnostic.Grammar("evidence", record.SchemaEvidence), diagnostic.Bound("evidence_bytes", 20971520), 20971520,
		},
		"accounting_receipt.derived": {
			func(data []byte) error { _, err := record.ParseReceipt(data); return err },
			diagnostic.Grammar("accounting receipt", record.SchemaReceipt), diagnostic.Bound("builder_bytes", 16384), 16384,
		},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, "BNAR-2.9", "BNAR-2.10", "BNAR-2.16", "BNAR-5.1")
			data := string(known(t, name))
			line := strings.TrimSuffix(data, "\n")
			for what, text := range map[string]string{
				"no line feed": line, "two": data + "\n", "carriage return": line + "\r\n", "blank": strings.Replace(data, ":", ": ", 1),
				"cut off": line[:len(line)-1] + "\n", "invalid UTF-8": strings.Replace(data, "sha256", "\xff", 1), "nothing": "", "garbage": "x\n",
			} {
				err := kind.parse([]byte(text))
				if what == "blank" && err == nil || what != "blank" && (diagnostic.Of(err) == nil || *diagnostic.Of(err) != *diagnostic.Of(kind.grammar)) {
					t.Errorf("%s: %v", what, err)
				}
			}
			deep := strings.Replace(data, `"run_id":`, `"run_id":`+strings.Repeat("[", 16)+strings.Repeat("]", 16)+`,"x":`, 1)
			if err := kind.parse([]byte(deep)); fmt.Sprint(err) != fmt.Sprint(diagnostic.Bound("json_depth", 16)) {
				t.Errorf("deep: %v", err)
			}
			if err := kind.parse(make([]byte, kind.size+1)); fmt.Sprint(err) != fmt.Sprint(kind.most) {
				t.Errorf("too long: %v", err)
			}
		})
	}
}
