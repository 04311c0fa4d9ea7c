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

// node is a value of a document that keeps the order of members.
type node struct {
	scalar  string // JSON of a scalar
	names   []string
	inner   []*node
	object  bool
	compact bool // an array or an object
}

// parse reads JSON without a line feed.
func parse(tb testing.TB, text string) *node {
	tb.Helper()
	n, rest := parseNode(text)
	if rest != "" {
		tb.Fatalf("%q is left", rest)
	}
	return n
}

func parseNode(text string) (*node, string) {
	if text[0] != '{' && text[0] != '[' {
		end := scalarEnd(text)
		return &node{scalar: text[:end]}, text[end:]
	}
	n := &node{object: text[0] == '{', compact: true}
	for text = text[1:]; text[0] != '}' && text[0] != ']'; {
		if n.object {
			end := scalarEnd(text)
			n.names, text = append(n.names, text[1:end-1]), text[end+1:]
		}
		var inner *node
		inner, text = parseNode(text)
		n.inner = append(n.inner, inner)
		text = strings.TrimPrefix(text, ",")
	}
	return n, text[1:]
}

func scalarEnd(text string) int {
	if text[0] != '"' {
		return strings.IndexAny(text+",", ",]}")
	}
	for i := 1; ; i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

func (n *node) String() string { return string(n.append(nil)) }

func (n *node) append(to []byte) []byte {
	if !n.compact {
		return append(to, n.scalar...)
	}
	ends := "[]"
	if n.object {
		ends = "{}"
	}
	to = append(to, ends[0])
	for i, inner := range n.inner {
		if i > 0 {
			to = append(to, ',')
		}
		if n.object {
			to = append(strconv.AppendQuote(to, n.names[i]), ':')
		}
		to = inner.append(to)
	}
	return append(to, ends[1])
}

// walk visits every node below n with its path.
func (n *node) walk(path string, visit func(path string, parent *node, at int)) {
	for i, inner := range n.inner {
		step := "/" + strconv.Itoa(i)
		if n.object {
			step = "/" + n.names[i]
		}
		visit(path+step, n, i)
		inner.walk(path+step, visit)
	}
}

// scalars are other values that a scalar is changed to.
func scalars(now string) []string {
	others := []string{"null", "0", "1", "true", `""`, `"x"`, "[]", "{}", "-1", "1.5", "18446744073709551615", "18446744073709551616"}
	if n, err := strconv.ParseUint(now, 10, 64); err == nil {
		others = append(others, strconv.FormatUint(n+1, 10), strconv.FormatUint(n-1, 10), `"`+now+`"`)
		if n > 0 {
			others = append(others, now+"0")
		}
	}
	if strings.HasPrefix(now, `"sha256:`) {
		last := now[len(now)-2]
		others = append(others, now[:len(now)-2]+string('0'+(last+1)%8)+`"`, strings.ToUpper(now), strings.Replace(now, "sha256:", "sha512:", 1), now[:len(now)-2]+`"`)
	}
	if strings.HasPrefix(now, `"`) {
		others = append(others, `"x`+now[1:], now[:len(now)-1]+`x"`)
	}
	if word := strings.Trim(now, `"`); now == "null" || slices.Contains(vocabulary, word) {
		for _, word := range vocabulary {
			others = append(others, strconv.Quote(word))
		}
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

// mutations calls visit with every single change of a document: of each scalar to other values, and of each member or
// element to nothing, twice, null, or its neighbor.
func mutations(tb testing.TB, data []byte, visit func(name string, mutated []byte)) {
	tb.Helper()
	text := strings.TrimSuffix(string(data), "\n")
	root := parse(tb, text)
	if root.String() != text {
		tb.Fatalf("read as %s", root)
	}
	emit := func(name string) {
		if changed := root.String(); changed != text {
			visit(name, []byte(changed+"\n"))
		}
	}
	root.walk("", func(path string, parent *node, at int) {
		now := parent.inner[at]
		replacements := map[string]*node{"null": {scalar: "null"}, "an empty array": {scalar: "[]"}, "an empty object": {scalar: "{}"}}
		if !now.compact {
			for _, other := range scalars(now.scalar) {
				replacements[other] = &node{scalar: other}
			}
		}
		for name, other := range replacements {
			parent.inner[at] = other
			emit(path + " = " + name)
		}
		parent.inner[at] = now
		names, inner := parent.names, parent.inner
		name := func(i int) []string {
			if parent.object {
				return names[i : i+1]
			}
			return nil
		}
		parent.inner = slices.Delete(slices.Clone(inner), at, at+1)
		if parent.object {
			parent.names = slices.Delete(slices.Clone(names), at, at+1)
		}
		emit(path + " left out")
		parent.inner, parent.names = slices.Insert(slices.Clone(inner), at, inner[at]), slices.Insert(slices.Clone(names), at*len(name(at)), name(at)...)
		emit(path + " twice")
		if at > 0 {
			parent.inner, parent.names = slices.Clone(inner), slices.Clone(names)
			parent.inner[at-1], parent.inner[at] = inner[at], inner[at-1]
			if parent.object {
				parent.names[at-1], parent.names[at] = names[at], names[at-1]
			}
			emit(path + " before its neighbor")
		}
		parent.inner, parent.names = inner, names
		if parent.object {
			parent.names = slices.Clone(names)
			parent.names[at] += "x"
			emit(path + " renamed")
			parent.names = names
		}
	})
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
			mutations(t, whole, func(what string, mutated []byte) {
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

// passes collects the fields of which some single change is not noticed.
func passes(t *testing.T, part *[]byte, verify func() error) []string {
	t.Helper()
	whole, fields := *part, map[string]bool{}
	mutations(t, whole, func(what string, mutated []byte) {
		*part = mutated
		if verify() == nil {
			fields[strings.Fields(what)[0]] = true
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
			if got := passes(t, &in.Evidence, func() error { return record.Verify(in) }); !slices.Equal(got, test.want) {
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
	got := passes(t, &in.Trace, forge)
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
