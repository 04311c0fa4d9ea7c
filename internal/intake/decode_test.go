package intake_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

// document is a request document as a caller writes it.
func document(tb testing.TB) map[string]any {
	tb.Helper()
	data, err := json.Marshal(cases.Request(cases.Plan(cases.Read("a"))))
	if err != nil {
		tb.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal(data, &d); err != nil {
		tb.Fatal(err)
	}
	delete(d, "nonce")
	delete(d, "authority")
	return d
}

func limits(d map[string]any) map[string]any {
	l, _ := d["limits"].(map[string]any)
	return l
}

func TestDecode(t *testing.T) {
	req.Covers(t, "C3-RUN-004.a")
	for name, c := range map[string]struct {
		change func(d map[string]any)
		code   events.Code
	}{
		"whole":       {func(map[string]any) {}, 0},
		"no limits":   {func(d map[string]any) { d["limits"] = map[string]any{} }, events.CodeLimitMissing},
		"one missing": {func(d map[string]any) { delete(limits(d), "actions") }, events.CodeLimitMissing},
		"unknown":     {func(d map[string]any) { d["limitz"] = 1 }, events.CodeRequestMalformed},
		"other type":  {func(d map[string]any) { limits(d)["actions"] = "6" }, events.CodeRequestMalformed},
		"nonce":       {func(d map[string]any) { d["nonce"] = "mine" }, events.CodeNonceInvalid},
		"authority":   {func(d map[string]any) { d["authority"] = map[string]any{"id": "root", "kind": "person"} }, events.CodeNonceInvalid},
		"thread":      {func(d map[string]any) { d["thread"] = "a.>" }, events.CodeRequestMalformed},
		"long thread": {func(d map[string]any) { d["thread"] = strings.Repeat("a", 49) }, events.CodeRequestMalformed},
		"parent":      {func(d map[string]any) { d["parent"] = "*" }, events.CodeRequestMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			d := document(t)
			c.change(d)
			data, err := json.Marshal(d, json.Deterministic(true))
			if err != nil {
				t.Fatal(err)
			}
			request, err := intake.Decode(data)
			expect(t, c.code, err)
			if (request == nil) != (c.code != 0) {
				t.Errorf("request %v with code %d", request, c.code)
			}
		})
	}
	_, err := intake.Decode([]byte(strings.Repeat("[", 100_000)))
	expect(t, events.CodeRequestTooDeep, err)
	_, err = intake.Decode([]byte(`{"text":"a","text":"b"}`))
	expect(t, events.CodeRequestMalformed, err)
}

func expect(t *testing.T, code events.Code, err error) {
	t.Helper()
	if code == 0 {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	refused, ok := errors.AsType[*intake.Error](err)
	if !ok || refused.Diagnostics[0].Code != code || refused.Diagnostics[0].Action == "" {
		t.Errorf("got %v, want %v", err, code)
	}
}

// FuzzDecode checks that a document is read whole or refused with what to do.
func FuzzDecode(f *testing.F) {
	data, err := json.Marshal(document(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"limits":{}}`))
	f.Add([]byte(`{"limits":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		request, err := intake.Decode(data)
		if err == nil {
			if request.Nonce != "" || request.Authority.ID != "" {
				t.Error("a document set what the host sets")
			}
			return
		}
		if refused, ok := errors.AsType[*intake.Error](err); !ok || len(refused.Diagnostics) == 0 || refused.Diagnostics[0].Action == "" {
			t.Errorf("no diagnostic: %v", err)
		}
	})
}
