package events_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
)

func TestSubjects(t *testing.T) {
	for _, owner := range events.Owners() {
		for i := range 200 {
			s := events.Subject{Owner: owner, Tenant: "acme", Run: canon.ID("run", strconv.Itoa(i))}
			parsed, err := events.ParseSubject(s.String())
			if err != nil || parsed != s {
				t.Fatalf("%s was read as %v: %v", s, parsed, err)
			}
			if p := s.Partition(); p < 0 || p >= events.Partitions {
				t.Fatalf("%s has partition %d", s, p)
			}
			filter := strings.TrimSuffix(events.Filter(owner, s.Partition()), ">")
			if !strings.HasPrefix(s.String(), filter) {
				t.Fatalf("%s is not under %s", s, filter)
			}
			if s.With(events.OwnerExecutor).Partition() != s.Partition() {
				t.Fatal("the partition of a run depends on the owner")
			}
		}
		if owner.Stream() != "MANDATE_"+strings.ToUpper(string(owner)) || !owner.Valid() {
			t.Errorf("stream %s of %s", owner.Stream(), owner)
		}
	}
}

// The partition is part of the contract: it is computed here a second time, as
// the definition of the hash says.
func TestPartitions(t *testing.T) {
	for run, want := range map[string]int{"acme/a": fnv("acme/a"), "acme/registry": fnv("acme/registry"), "t/r": fnv("t/r")} {
		tenant, name, _ := strings.Cut(run, "/")
		if got := events.PartitionOf(tenant, name); got != want {
			t.Errorf("%s: %d, want %d", run, got, want)
		}
	}
	seen := map[int]int{}
	for i := range 3200 {
		seen[events.PartitionOf("acme", strconv.Itoa(i))]++
	}
	for p, n := range seen {
		if n < 40 || n > 200 {
			t.Errorf("partition %d has %d of 3200 runs", p, n)
		}
	}
	if len(seen) != 32 {
		t.Errorf("%d partitions", len(seen))
	}
}

// fnv is FNV-1a with 32 bits, modulo the partitions.
func fnv(s string) int {
	h := uint32(2166136261)
	for _, b := range []byte(s) {
		h = (h ^ uint32(b)) * 16777619
	}
	return int(h % 32)
}

func TestHostileTokens(t *testing.T) {
	hostile := []string{
		"", ".", "*", ">", "a.b", "a b", " a", "a\t", "a\n", "a\r\nX: y", "a\x00", "ä", "日本", "a*", ">a", "$SYS", "a/b", "a\\b", "..",
		"a%2e", "\u202e", strings.Repeat("a", events.MaxTokenBytes+1), "\xff",
	}
	for _, token := range hostile {
		if events.ValidToken(token) {
			t.Errorf("token %q is valid", token)
		}
		for _, s := range []events.Subject{
			{Owner: events.OwnerRequest, Tenant: token, Run: "run"},
			{Owner: events.OwnerRequest, Tenant: "acme", Run: token},
			{Owner: events.Owner(token), Tenant: "acme", Run: "run"},
		} {
			if err := s.Validate(); !errors.Is(err, events.ErrSubject) {
				t.Errorf("%q: %v", s, err)
			}
			if parsed, err := events.ParseSubject(s.String()); !errors.Is(err, events.ErrSubject) {
				t.Errorf("%q was read as %v: %v", s.String(), parsed, err)
			}
		}
	}
	for _, token := range []string{"a", "A-z_0", strings.Repeat("a", events.MaxTokenBytes)} {
		if !events.ValidToken(token) {
			t.Errorf("token %q is not valid", token)
		}
	}
	good := events.Subject{Owner: events.OwnerRequest, Tenant: "acme", Run: "run"}
	other := (good.Partition() + 1) % events.Partitions
	for _, text := range []string{
		"", "mandate", "mandate.v1.request.acme.run", good.String() + ".", good.String() + ".x", " " + good.String(),
		strings.Replace(good.String(), ".v1.", ".v2.", 1), strings.Replace(good.String(), "mandate", "Mandate", 1),
		fmt.Sprintf("mandate.v1.request.%02d.acme.run", other), fmt.Sprintf("mandate.v1.request.%03d.acme.run", good.Partition()),
		"mandate.v1.request.*.acme.run", "mandate.v1.nobody.00.acme.run", "mandate.v1.request.>",
	} {
		if parsed, err := events.ParseSubject(text); !errors.Is(err, events.ErrSubject) {
			t.Errorf("%q was read as %v: %v", text, parsed, err)
		}
	}
}

func TestTimes(t *testing.T) {
	moment := time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("", 3600))
	at := events.At(moment)
	if !at.Std().Equal(moment) || at.Std().Location() != time.UTC || at.String() != "2026-01-02T02:04:05.000000678Z" {
		t.Errorf("%s", at)
	}
	if events.At(time.Time{}) != 0 || !events.Time(0).Std().IsZero() || events.Time(0).String() != "unknown" {
		t.Error("an unknown time does not stay unknown")
	}
	if at.Add(time.Second).Sub(at) != time.Second {
		t.Error("adding and subtracting differ")
	}
	for _, want := range []events.Time{at, 0, 1, -1, math.MaxInt64, math.MinInt64} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got events.Time
		if err := json.Unmarshal(data, &got); err != nil || got != want {
			t.Errorf("%s was read as %d, want %d: %v", data, got, want, err)
		}
	}
	for _, wrong := range []string{"now", "0", "2026-01-02", "2026-13-01T00:00:00Z", "unknown", "2026-01-02T03:04:05"} {
		var got events.Time
		if err := got.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q was read as %s", wrong, got)
		}
	}
}

func TestCodes(t *testing.T) {
	numbers := map[string]string{}
	for name, number := range constants(t, "code.go", "Code") {
		if other, taken := numbers[number]; taken {
			t.Errorf("%s and %s are both %s", name, other, number)
		}
		numbers[number] = name
		n, err := strconv.Atoi(number)
		if err != nil || n < 1000 || n > 1999 {
			t.Errorf("%s is %s", name, number)
			continue
		}
		code := events.Code(n)
		text, err := code.MarshalText()
		if err != nil || string(text) != "MD-"+number || code.String() != string(text) {
			t.Errorf("%s prints as %s: %v", name, text, err)
		}
		var again events.Code
		if err := again.UnmarshalText(text); err != nil || again != code {
			t.Errorf("%s was read as %d: %v", text, again, err)
		}
	}
	if len(numbers) < 80 {
		t.Errorf("%d codes were found", len(numbers))
	}
	var none events.Code
	if text, err := none.MarshalText(); err != nil || len(text) != 0 || none.UnmarshalText(nil) != nil {
		t.Errorf("no code prints as %q", text)
	}
	for _, wrong := range []string{"MD", "1001", "md-1001", "MD-", "MD-x", "MD--1", "MD-65536", "MD-+5", "MD-1001 ", "MD-01001", "MD-5", "MD-0000"} {
		var got events.Code
		if err := got.UnmarshalText([]byte(wrong)); err == nil {
			t.Errorf("%q was read as %s", wrong, got)
		}
	}
}

func TestDiagnosticString(t *testing.T) {
	for want, d := range map[string]events.Diagnostic{
		"MD-1001 m":         {Code: events.CodeRequestMalformed, Message: "m"},
		"MD-1001 p: m":      {Code: events.CodeRequestMalformed, Message: "m", Path: "p"},
		"MD-1001 p: m; act": {Code: events.CodeRequestMalformed, Message: "m", Path: "p", Action: "act"},
	} {
		if d.String() != want {
			t.Errorf("%q, want %q", d.String(), want)
		}
	}
}

func TestEffects(t *testing.T) {
	for _, e := range []events.Effect{events.EffectNone, events.EffectRead, events.EffectWrite} {
		if !e.Valid() {
			t.Errorf("%s cannot be declared", e)
		}
	}
	for _, e := range []events.Effect{"", events.EffectIntent, "Write", "delete"} {
		if e.Valid() {
			t.Errorf("%q can be declared", e)
		}
	}
	if !slices.Contains(events.Owners(), events.OwnerRegistry) || events.Owner("nobody").Valid() {
		t.Error("owners")
	}
}
