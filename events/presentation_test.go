package events_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
)

const head = `{"schema_version":1,"title":"t","run":"r","blocks":[`

// Every kind of block in one document, as it is stored.
const wholeDocument = head +
	`{"heading":{"level":1,"text":"h"}},` +
	`{"paragraph":{"spans":[{"text":"s","citations":["evaluation-1"],"code":true,"link":"https://example.org/x"}]}},` +
	`{"list":{"ordered":true,"items":[{"spans":[{"text":"i"}]}],"total":2}},` +
	`{"table":{"caption":"c","columns":[{"name":"a","numeric":true},{"name":"b"}],"rows":[["1","2"]],"total_rows":3,"cut_cells":1}},` +
	`{"code":{"language":"json","text":"{}","total_bytes":2}},` +
	`{"result":` + outcome + `,"test_report":{"tool":"go test","origin":"observed","source":"evidence-1","packages":1,"passed":1,"failed":0,` +
	`"skipped":0,"tests":[{"package":"p","name":"n","status":"passed","elapsed_millis":3}],"total_tests":1}},` +
	`{"result":` + outcome + `,"terminal":{"text":"x","total_bytes":1}},` +
	`{"callout":{"kind":"warning","title":"w","spans":[]}},` +
	`{"citations":{"entries":[{"id":"evaluation-1","kind":"evaluation","what":"w","at":"2026-01-02T03:04:05Z"}],"total":1}},` +
	`{"result":` + outcome + `,"diff":{"text":"d","total_bytes":1}},` +
	`{"key_values":{"caption":"c","entries":[{"key":"k","value":"v"}],"total":1}},` +
	`{"result":` + outcome + `,"fallback":{"text":"/w==","encoding":"base64","shown_bytes":1,"total_bytes":9,"media_type":"m","shown":true}}` +
	`],"tag":"completed","completion":"complete","omitted_blocks":1}`

const outcome = `{"result_id":"result-1","node":"n","type":"t","role":"output","producer":{"name":"p","version":1},"status":"complete","valid":true}`

func TestDocumentRoundTrip(t *testing.T) {
	d, err := events.ParseDocument([]byte(wholeDocument))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Blocks) != 12 {
		t.Fatalf("%d blocks", len(d.Blocks))
	}
	body, err := events.NewDocument(events.ClassDocument, d)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := body.Content()
	again, err := events.ParseDocument(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the document changed (-first +again):\n%s", diff)
	}
	want, err := canon.Canonicalize([]byte(wholeDocument))
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != string(want) {
		t.Errorf("written as\n%s\nwant\n%s", data, want)
	}
}

func TestParseDocumentRefuses(t *testing.T) {
	block := func(b string) string { return head + b + "]}" }
	fallback := func(f string) string { return block(`{"result":` + outcome + `,"fallback":{` + f + `}}`) }
	report := func(r string) string { return block(`{"result":` + outcome + `,"test_report":{` + r + `}}`) }
	for name, text := range map[string]string{
		"nothing":            "",
		"not JSON":           "{",
		"two values":         block("") + "{}",
		"other version":      strings.Replace(block(""), `"schema_version":1`, `"schema_version":2`, 1),
		"no run":             strings.Replace(block(""), `"run":"r"`, `"run":""`, 1),
		"unknown member":     strings.Replace(block(""), `"title"`, `"script":"x","title"`, 1),
		"duplicate member":   strings.Replace(block(""), `"title"`, `"title":"x","title"`, 1),
		"member in capitals": strings.Replace(block(""), `"title"`, `"Title"`, 1),
		"unknown tag":        strings.Replace(block(""), `"title"`, `"tag":"verified","title"`, 1),
		"unknown completion": strings.Replace(block(""), `"title"`, `"completion":"verified","title"`, 1),
		"invalid UTF-8":      strings.Replace(block(""), `"t"`, "\"\xff\"", 1),
		"no member":          block(`{}`),
		"only a result":      block(`{"result":` + outcome + `}`),
		"unknown block":      block(`{"script":{"text":"x"}}`),
		"handler":            block(`{"heading":{"level":1,"text":"h","onclick":"x"}}`),
		"two members":        block(`{"heading":{"level":1,"text":"h"},"paragraph":{"spans":[]}}`),
		"level":              block(`{"heading":{"level":5,"text":"h"}}`),
		"script link":        block(`{"paragraph":{"spans":[{"text":"x","link":"javascript:alert(1)"}]}}`),
		"many spans":         block(`{"paragraph":{"spans":[` + strings.Repeat(`{"text":"x"},`, events.MaxSpans) + `{"text":"x"}]}}`),
		"many citations":     block(`{"paragraph":{"spans":[{"text":"x","citations":[` + strings.Repeat(`"a",`, events.MaxSpanCitations) + `"a"]}]}}`),
		"uneven row":         block(`{"table":{"caption":"","columns":[{"name":"a"}],"rows":[["1","2"]],"total_rows":1}}`),
		"no column":          block(`{"table":{"caption":"","columns":[],"rows":[],"total_rows":0}}`),
		"fewer rows":         block(`{"table":{"caption":"","columns":[{"name":"a"}],"rows":[["1"]],"total_rows":0}}`),
		"long cell":          block(`{"table":{"caption":"","columns":[{"name":"a"}],"rows":[["` + strings.Repeat("x", events.MaxCellBytes+1) + `"]],"total_rows":1}}`),
		"language":           block("{\"code\":{\"language\":\"a`b\",\"text\":\"\",\"total_bytes\":0}}"),
		"fewer bytes":        block(`{"code":{"text":"xx","total_bytes":1}}`),
		"callout kind":       block(`{"callout":{"kind":"success","title":"","spans":[]}}`),
		"citation kind":      block(`{"citations":{"entries":[{"id":"x","kind":"rumor","what":""}],"total":1}}`),
		"terminal alone":     block(`{"terminal":{"text":"x","total_bytes":1}}`),
		"source alone":       block(`{"fallback":{"text":"","encoding":"utf-8","shown_bytes":0,"total_bytes":0}}`),
		"result status":      block(`{"result":` + strings.Replace(outcome, `"complete"`, `"verified"`, 1) + `,"heading":{"level":1,"text":"h"}}`),
		"result role":        block(`{"result":` + strings.Replace(outcome, `"output"`, `"main"`, 1) + `,"heading":{"level":1,"text":"h"}}`),
		"source size":        fallback(`"text":"x","encoding":"utf-8","shown_bytes":2,"total_bytes":2`),
		"source encoding":    fallback(`"text":"x","encoding":"hex","shown_bytes":1,"total_bytes":1`),
		"source base64":      fallback(`"text":"x","encoding":"base64","shown_bytes":1,"total_bytes":1`),
		"report alone":       block(`{"test_report":{"tool":"t","origin":"observed","source":"e","packages":0,"passed":0,"failed":0,"skipped":0,"tests":[],"total_tests":0}}`),
		"report origin":      report(`"tool":"t","origin":"said","source":"e","packages":0,"passed":0,"failed":0,"skipped":0,"tests":[],"total_tests":0`),
		"report source":      report(`"tool":"t","origin":"observed","source":"","packages":0,"passed":0,"failed":0,"skipped":0,"tests":[],"total_tests":0`),
		"report counts":      report(`"tool":"t","origin":"observed","source":"e","packages":0,"passed":2,"failed":0,"skipped":0,"tests":[],"total_tests":1`),
		"report hides":       report(`"tool":"t","origin":"observed","source":"e","packages":0,"passed":1,"failed":0,"skipped":0,"tests":[{"package":"p","name":"n","status":"failed","elapsed_millis":0}],"total_tests":1`),
		"many blocks":        block(strings.Repeat(`{"heading":{"level":1,"text":"h"}},`, events.MaxDocumentBlocks) + `{"heading":{"level":1,"text":"h"}}`),
		"large":              block(`{"code":{"text":"` + strings.Repeat("x", events.MaxDocumentBytes) + `","total_bytes":1048576}}`),
		"deep":               block(strings.Repeat("[", 100_000)),
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := events.ParseDocument([]byte(text)); !errors.Is(err, events.ErrDocument) {
				t.Errorf("read as %+v, %v", d, err)
			}
		})
	}
}

func TestSafeLink(t *testing.T) {
	for link, want := range map[string]bool{
		"https://example.org/a?b=c#d": true, "http://example.org": true, "http://[::1]:8080/": true,
		"": false, "example.org": false, "//example.org": false, "HTTPS://example.org": false, "javascript:alert(1)": false,
		"https://": false, "https:///x": false, "https://:80/": false, "https://user@example.org/": false, "https://a b/": false,
		"https://a/\"x": false, "https://a/<x": false, "https://a/\n": false, "data:text/html,x": false, " https://a/": false, "https://é.example/": false,
	} {
		if got := events.SafeLink(link); got != want {
			t.Errorf("SafeLink(%q) = %v, want %v", link, got, want)
		}
	}
}

// What is read can be written, and is then read the same.
func FuzzParseDocument(f *testing.F) {
	f.Add([]byte(wholeDocument))
	f.Add([]byte(head + "]}"))
	f.Add([]byte(fmt.Sprintf(`%s{"heading":{"level":1,"text":%q}}]}`, head, "\u2028")))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := events.ParseDocument(data)
		if err != nil {
			return
		}
		body, err := events.NewDocument(events.ClassDocument, d)
		if err != nil {
			t.Fatal(err)
		}
		written, _ := body.Content()
		again, err := events.ParseDocument(written)
		if err != nil {
			if len(written) > events.MaxDocumentBytes {
				return
			}
			t.Fatalf("%v: %s", err, written)
		}
		if diff := cmp.Diff(d, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("the document changed (-first +again):\n%s", diff)
		}
	})
}
