package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

func TestEscapes(t *testing.T) {
	req.Covers(t, "BNAR-6.24")
	const text = "\"\\\n\r\t\b\f\x00\x1f /<>&'\x7f\u0080\u009f\u00a0é\u2028\u2029\U0001f600"
	for style, want := range map[wire.Style]string{
		wire.StyleInput:  `"\"\\\n\r\t\u0008\u000c\u0000\u001f /<>&'\u007f\u0080\u009f` + "\u00a0é\u2028\u2029\U0001f600\"",
		wire.StyleRecord: `"\"\\\n\r\t\b\f\u0000\u001f /<>&'` + "\x7f\u0080\u009f\u00a0é\u2028\u2029\U0001f600\"",
	} {
		w, counter := wire.NewWriter(style), wire.NewCounter(style)
		w.Text(text)
		counter.Text(text)
		if string(w.Bytes()) != want {
			t.Errorf("style %d: %s, want %s", style, w.Bytes(), want)
		}
		if w.Size() != uint64(len(want)) || counter.Size() != w.Size() || w.Quoted() != w.Size() || counter.Quoted() != w.Size() {
			t.Errorf("style %d: size %d and %d, quoted %d, want %d", style, w.Size(), counter.Size(), w.Quoted(), len(want))
		}
		outer := wire.NewWriter(wire.StyleRecord)
		outer.Text(want)
		if counter.Escaped()+2 != outer.Size() {
			t.Errorf("style %d: escaped %d, inside a string it takes %d", style, counter.Escaped(), outer.Size()-2)
		}
		d := wire.NewDecoder(w.Bytes())
		if got := d.Text(); d.Failed() || got != text {
			t.Errorf("style %d: read %q", style, got)
		}
	}
}

// TestScanDepth counts a scalar as 1 and every container as 1 more.
func TestScanDepth(t *testing.T) {
	req.Covers(t, "BNAR-2.16")
	nest := func(n int, inner string) []byte {
		return []byte(strings.Repeat("[", n) + inner + strings.Repeat("]", n) + "\n")
	}
	for n, want := range map[int]wire.Fault{0: wire.FaultNone, 15: wire.FaultNone, 16: wire.FaultDepth, 127: wire.FaultDepth, 200: wire.FaultSyntax} {
		if got := wire.ScanDocument(nest(n, "1")); got != want {
			t.Errorf("a scalar in %d arrays: %d, want %d", n, got, want)
		}
	}
	for n, want := range map[int]wire.Fault{15: wire.FaultNone, 16: wire.FaultDepth} {
		if got := wire.ScanDocument(nest(n, "{}")); got != want {
			t.Errorf("an object in %d arrays: %d, want %d", n, got, want)
		}
	}
	if got := wire.ScanDocument([]byte(strings.Repeat("[", 100) + "\n")); got != wire.FaultSyntax {
		t.Errorf("open arrays: %d", got)
	}
}

// TestScanAllocatesNothing has the worst that can be thrown at it.
func TestScanAllocatesNothing(t *testing.T) {
	for name, data := range map[string][]byte{
		"numbers":  []byte("[" + strings.Repeat("1,", 1<<19) + "1]\n"),
		"strings":  []byte("[" + strings.Repeat(`"",`, 1<<18) + "1]\n"),
		"deep":     []byte(strings.Repeat("[", 1<<20) + "\n"),
		"objects":  []byte("[" + strings.Repeat(`{"":{}},`, 1<<17) + "1]\n"),
		"escapes":  []byte(`"` + strings.Repeat(`\u0000`, 1<<17) + "\"\n"),
		"unclosed": []byte(`"` + strings.Repeat(`a`, 1<<20) + "\n"),
	} {
		if n := testing.AllocsPerRun(3, func() { wire.ScanDocument(data) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// FuzzScan compares the scan with the standard library's view of the same bytes.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0,2.5e3,"\ud83d\ude00"],"b":{}}`, `[]`, ` [ 1 , 2 ] `, `"\u00`, `01`, `-`, `1.`, `{"a":1,}`, `[1,]`, `nul`, `{"a" 1}`, "\"\x01\"", strings.Repeat("[", 20),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fault := wire.ScanValue(data)
		valid := utf8.Valid(data) && json.Valid(data)
		if fault == wire.FaultNone && !valid {
			t.Errorf("%q passed and is not JSON", data)
		}
		if valid && fault == wire.FaultSyntax && depth(data) < 100 {
			t.Errorf("%q is JSON and did not pass", data)
		}
		d := wire.NewValueDecoder(data)
		if fault == wire.FaultNone {
			d.Members(10)
			d.End()
		}
	})
}

// depth is at least how deep data is nested.
func depth(data []byte) int {
	deepest, now := 0, 0
	for _, c := range data {
		switch c {
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now--
		}
	}
	return deepest
}
