package canon_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events/canon"
)

func TestCanonicalize(t *testing.T) {
	for text, want := range map[string]string{
		` {"b": 1, "a": [1.0, 1e2, -0, 0.1e1, "\u0061\u20ac\/"]} `: `{"a":[1,100,0,1,"a€/"],"b":1}`,
		"null":                       "null",
		`"\u000a\b\u001f\"\\"`:       `"\n\b\u001f\"\\"`,
		`{"\ud83d\ude00":1,"ﬀ":2}`:   `{"😀":1,"ﬀ":2}`, // sorted by UTF-16 code units
		`[333333333.33333329,1E30]`:  `[333333333.3333333,1e+30]`,
		`{"":{"":[]},"a":{},"b":""}`: `{"":{"":[]},"a":{},"b":""}`,
	} {
		got, err := canon.Canonicalize([]byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s, want %s: %v", text, got, want, err)
			continue
		}
		if again, err := canon.Canonicalize(got); err != nil || string(again) != want {
			t.Errorf("%s is not stable: %s, %v", want, again, err)
		}
	}
	for _, wrong := range []string{
		"", " ", "{", `{"a":1,"a":2}`, "\"\xff\"", `"\ud800"`, "01", "nan", "1 2", "{}x", `{a:1}`, "'a'", "[1,]",
		strings.Repeat("[", 20000) + strings.Repeat("]", 20000),
	} {
		if got, err := canon.Canonicalize([]byte(wrong)); err == nil {
			t.Errorf("%.40q became %s", wrong, got)
		}
	}
}

// The vectors of RFC 8785 that its authors publish.
func TestPublicVectors(t *testing.T) {
	dir := os.Getenv("MANDATE_DATA")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "data")
	}
	file, err := os.Open(filepath.Join(dir, "json-robustness", "jcs.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("SKIPPED: the vectors of RFC 8785 are not here (set MANDATE_DATA)")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	lines, count := bufio.NewScanner(file), 0
	for lines.Scan() {
		var row struct {
			ID       string `json:"id"`
			Input    []byte `json:"input_b64"`
			Output   []byte `json:"output_b64"`
			Bits     string `json:"ieee754_hex"`
			Expected any    `json:"expected"`
			Error    any    `json:"error"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		count++
		if row.Bits != "" {
			bits, err := strconv.ParseUint(row.Bits, 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			got, err := canon.JSON(math.Float64frombits(bits))
			if (err != nil) != (row.Error != nil) || err == nil && string(got) != row.Expected {
				t.Errorf("%s: %s, want %v: %v", row.ID, got, row.Expected, err)
			}
			continue
		}
		if got, err := canon.Canonicalize(row.Input); err != nil || string(got) != string(row.Output) {
			t.Errorf("%s: %s\n got %s\nwant %s", row.ID, base64.StdEncoding.EncodeToString(row.Input), got, row.Output)
		}
	}
	if err := lines.Err(); err != nil || count < 20 {
		t.Errorf("%d vectors, %v", count, err)
	}
	t.Logf("%d vectors", count)
}

func TestDigests(t *testing.T) {
	sum := sha256.Sum256([]byte("mandate.plan.v1\x00{}"))
	want := canon.Digest("sha256:" + hex.EncodeToString(sum[:]))
	if got := canon.Sum("plan", []byte("{}")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	data, digest, err := canon.Document("plan", map[string]any{})
	if err != nil || string(data) != "{}" || digest != want {
		t.Errorf("%s %s, %v", data, digest, err)
	}
	if canon.Sum("spec", []byte("{}")) == want {
		t.Error("two kinds of documents have one digest")
	}
	if parsed, err := canon.ParseDigest(string(want)); err != nil || parsed != want || "sha256:"+parsed.Hex() != string(want) {
		t.Errorf("%s: %v", parsed, err)
	}
	if canon.Digest("").Hex() != "" {
		t.Error("no digest has digits")
	}
	digits := want.Hex()
	for _, wrong := range []string{
		"", "sha256:", digits, "sha1:" + digits, "sha256:" + digits[1:], "sha256:" + digits + "0", "SHA256:" + digits,
		"sha256:" + strings.ToUpper(digits), "sha256:g" + digits[1:], " sha256:" + digits, "sha256:" + digits + "\n",
	} {
		if got, err := canon.ParseDigest(wrong); !errors.Is(err, canon.ErrDigest) {
			t.Errorf("%q is the digest %s: %v", wrong, got, err)
		}
	}
	if _, _, err := canon.Document("plan", map[string]any{"f": func() {}}); err == nil {
		t.Error("a function has a digest")
	}
}

// No two different sequences of parts share an identity.
func TestParts(t *testing.T) {
	seen := map[canon.Digest][]string{}
	for _, parts := range [][]string{
		nil, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""}, {"a\x00b"}, {"\x00\x00\x00\x01a"}, {"a", "b", ""},
	} {
		d := canon.Parts("x", parts...)
		if other, taken := seen[d]; taken {
			t.Errorf("%q and %q are one", parts, other)
		}
		seen[d] = parts
	}
	id := canon.ID("run", "a")
	if again := canon.ID("run", "a"); again != id {
		t.Errorf("%s is then %s", id, again)
	}
	_, digits, _ := strings.Cut(id, "-")
	if _, other, _ := strings.Cut(canon.ID("action", "a"), "-"); other == digits || len(digits) != 26 {
		t.Errorf("digits %s of a run and %s of an action", digits, other)
	}
}
