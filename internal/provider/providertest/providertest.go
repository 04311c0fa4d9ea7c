// Package providertest holds the contract of a provider.Provider as one suite
// that every provider passes.
package providertest

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
)

// Subject is a provider under test and bindings that behave in known ways.
type Subject struct {
	// New returns a provider; the suite closes it.
	New func(t *testing.T) provider.Provider
	// Echo completes with a value made of the argument "message".
	Echo events.ProviderBinding
	// EchoValue is the canonical value of Echo for a message.
	EchoValue func(message string) string
	// Fail ends in a failure that does not say whether it changed anything.
	Fail events.ProviderBinding
	// Hang ends only when it is ended.
	Hang events.ProviderBinding
	// Flood returns at least a megabyte.
	Flood events.ProviderBinding
	// Garbage does its work and returns something else than it declares.
	Garbage events.ProviderBinding
	// Missing names something that is not there.
	Missing events.ProviderBinding
	// Foreign is a binding of another kind.
	Foreign events.ProviderBinding
}

// secret stands in arguments and must never be in a message.
const secret = "sentinel-5d1f"

// patience bounds what must happen soon.
const patience = 30 * time.Second

// Run checks the contract.
func Run(t *testing.T, subject Subject) {
	tests := map[string]func(*testing.T, Subject){
		"completes":                  testCompletes,
		"failure":                    testFailure,
		"deadline":                   testDeadline,
		"cancellation":               testCancellation,
		"output limit":               testOutputLimit,
		"no output allowed":          testNoOutputAllowed,
		"invalid output":             testInvalidOutput,
		"missing":                    testMissing,
		"malformed arguments":        testMalformedArguments,
		"ended before it starts":     testEnded,
		"concurrent":                 testConcurrent,
		"close ends what is running": testClose,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, subject) })
	}
}

// open returns a provider that is closed when the test ends.
func open(t *testing.T, subject Subject) provider.Provider {
	t.Helper()
	p := subject.New(t)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// Invocation returns an invocation of binding with a message.
func Invocation(binding events.ProviderBinding, effect events.Effect) capability.Invocation {
	return capability.Invocation{
		Tenant: "tenant", Run: "run-1", Action: "action-1", Name: "test.capability", Version: 1, Effect: effect,
		Arguments: []byte(`{"message":"` + secret + `"}`), IdempotencyKey: "key-1",
		OutputBytes: 64 << 10, Provider: binding,
	}
}

// check checks what holds for every outcome.
func check(t *testing.T, got capability.Outcome) {
	t.Helper()
	if got.Started == 0 || got.Finished < got.Started {
		t.Errorf("started %v, finished %v", got.Started, got.Finished)
	}
	if strings.Contains(got.Message, secret) || strings.Contains(got.Receipt, secret) {
		t.Errorf("the message %q or the receipt %q holds an argument", got.Message, got.Receipt)
	}
	completed := got.Status == capability.StatusCompleted
	if completed != (got.Value != nil) || completed != (got.Code == 0) || completed != (got.Message == "") {
		t.Errorf("status %s with value %q, code %v, message %q", got.Status, got.Value, got.Code, got.Message)
	}
	for _, evidence := range got.Evidence {
		if evidence.Kind == "" || evidence.Method == "" || evidence.Observed == 0 {
			t.Errorf("incomplete evidence: %+v", evidence)
		}
	}
}

// checkBroken checks the outcome of an invocation that was under way.
func checkBroken(t *testing.T, effect events.Effect, got capability.Outcome) {
	t.Helper()
	check(t, got)
	if effect != events.EffectWrite {
		if got.Status != capability.StatusFailed || !got.NotApplied {
			t.Errorf("a %s is %s, not applied %v; want failed without effect", effect, got.Status, got.NotApplied)
		}
		return
	}
	if got.NotApplied || (got.Status != capability.StatusUncertain && got.Status != capability.StatusFailed) {
		t.Errorf("a write is %s, not applied %v; want no claim about its effect", got.Status, got.NotApplied)
	}
}

// checkRefused checks the outcome of an invocation that certainly did nothing.
func checkRefused(t *testing.T, code events.Code, got capability.Outcome) {
	t.Helper()
	check(t, got)
	if got.Status != capability.StatusFailed || !got.NotApplied || got.Code != code {
		t.Errorf("outcome = %s, not applied %v, %v (%s); want failed, not applied, %v", got.Status, got.NotApplied, got.Code, got.Message, code)
	}
}

// effects are the effects whose failures differ.
var effects = []events.Effect{events.EffectNone, events.EffectRead, events.EffectWrite}

func testCompletes(t *testing.T, subject Subject) {
	p := open(t, subject)
	for _, message := range []string{"hello", `quote " and \ slash`, "ünïcödé \u2028 😀", "$(id); `id` | cat > x", ""} {
		invocation := Invocation(subject.Echo, events.EffectWrite)
		invocation.Arguments = []byte(`{"message":` + quote(message) + `}`)
		got := p.Invoke(t.Context(), invocation)
		check(t, got)
		if got.Status != capability.StatusCompleted || string(got.Value) != subject.EchoValue(message) {
			t.Errorf("%q: outcome = %s %q (%v %s), want completed %q", message, got.Status, got.Value, got.Code, got.Message, subject.EchoValue(message))
		}
		if len(got.Evidence) == 0 || got.Evidence[0].Kind != "invocation" {
			t.Errorf("%q: no evidence of the invocation: %+v", message, got.Evidence)
		}
	}
}

// quote returns message as a JSON string.
func quote(message string) string {
	value, err := provider.TextValue(message)
	if err != nil {
		return `""`
	}
	return string(bytes.TrimSuffix(bytes.TrimPrefix(value, []byte(`{"text":`)), []byte("}")))
}

func testFailure(t *testing.T, subject Subject) {
	p := open(t, subject)
	for _, effect := range effects {
		got := p.Invoke(t.Context(), Invocation(subject.Fail, effect))
		checkBroken(t, effect, got)
	}
}

func testDeadline(t *testing.T, subject Subject) {
	p := open(t, subject)
	for _, effect := range effects {
		ctx, stop := context.WithTimeout(t.Context(), 700*time.Millisecond)
		got := p.Invoke(ctx, Invocation(subject.Hang, effect))
		stop()
		checkBroken(t, effect, got)
		if got.Code != events.CodeTimeout {
			t.Errorf("%s: code = %v, want %v", effect, got.Code, events.CodeTimeout)
		}
	}
}

func testCancellation(t *testing.T, subject Subject) {
	p := open(t, subject)
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(300*time.Millisecond, cancel)
	defer timer.Stop()
	got := p.Invoke(ctx, Invocation(subject.Hang, events.EffectRead))
	checkBroken(t, events.EffectRead, got)
	if got.Code != events.CodeCancelled {
		t.Errorf("code = %v, want %v", got.Code, events.CodeCancelled)
	}
}

func testOutputLimit(t *testing.T, subject Subject) {
	p := open(t, subject)
	for _, effect := range effects {
		got := p.Invoke(t.Context(), Invocation(subject.Flood, effect))
		checkBroken(t, effect, got)
		if got.Code != events.CodeOutputTooLarge {
			t.Errorf("%s: code = %v (%s), want %v", effect, got.Code, got.Message, events.CodeOutputTooLarge)
		}
		if len(got.Raw) > 64<<10 {
			t.Errorf("%s: %d bytes kept", effect, len(got.Raw))
		}
	}
}

func testNoOutputAllowed(t *testing.T, subject Subject) {
	p := open(t, subject)
	invocation := Invocation(subject.Echo, events.EffectRead)
	invocation.OutputBytes = 0
	got := p.Invoke(t.Context(), invocation)
	checkBroken(t, events.EffectRead, got)
	if got.Code != events.CodeOutputTooLarge {
		t.Errorf("code = %v, want %v: zero is zero", got.Code, events.CodeOutputTooLarge)
	}
}

func testInvalidOutput(t *testing.T, subject Subject) {
	p := open(t, subject)
	for _, effect := range effects {
		got := p.Invoke(t.Context(), Invocation(subject.Garbage, effect))
		checkBroken(t, effect, got)
		if got.Code != events.CodeOutputInvalid {
			t.Errorf("%s: code = %v (%s), want %v", effect, got.Code, got.Message, events.CodeOutputInvalid)
		}
	}
}

func testMissing(t *testing.T, subject Subject) {
	p := open(t, subject)
	for name, binding := range map[string]events.ProviderBinding{
		"missing": subject.Missing, "foreign": subject.Foreign, "none": {},
	} {
		t.Run(name, func(t *testing.T) {
			checkRefused(t, events.CodeProviderMissing, p.Invoke(t.Context(), Invocation(binding, events.EffectWrite)))
		})
	}
}

func testMalformedArguments(t *testing.T, subject Subject) {
	p := open(t, subject)
	for _, arguments := range []string{`[`, `[]`, `7`, `{"message":"a","message":"b"}`, strings.Repeat(`{"message":`, 40) + "1" + strings.Repeat("}", 40)} {
		invocation := Invocation(subject.Echo, events.EffectWrite)
		invocation.Arguments = []byte(arguments)
		checkRefused(t, events.CodeArgumentsInvalid, p.Invoke(t.Context(), invocation))
	}
}

func testEnded(t *testing.T, subject Subject) {
	p := open(t, subject)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checkRefused(t, events.CodeCancelled, p.Invoke(ctx, Invocation(subject.Echo, events.EffectWrite)))
}

func testConcurrent(t *testing.T, subject Subject) {
	p := open(t, subject)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			message := "message " + strconv.Itoa(i)
			invocation := Invocation(subject.Echo, events.EffectRead)
			invocation.Arguments = []byte(`{"message":` + quote(message) + `}`)
			got := p.Invoke(t.Context(), invocation)
			if got.Status != capability.StatusCompleted || string(got.Value) != subject.EchoValue(message) {
				t.Errorf("outcome = %s %q (%v), want completed %q", got.Status, got.Value, got.Code, subject.EchoValue(message))
			}
		})
	}
	all.Wait()
}

func testClose(t *testing.T, subject Subject) {
	p := open(t, subject)
	outcome := make(chan capability.Outcome, 1)
	go func() {
		outcome <- p.Invoke(context.WithoutCancel(t.Context()), Invocation(subject.Hang, events.EffectRead))
	}()
	timer := time.NewTimer(300 * time.Millisecond)
	defer timer.Stop()
	select {
	case got := <-outcome:
		t.Fatalf("ended by itself: %+v", got)
	case <-timer.C:
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	select {
	case got := <-outcome:
		checkBroken(t, events.EffectRead, got)
		if got.Code != events.CodeUnavailable {
			t.Errorf("code = %v, want %v", got.Code, events.CodeUnavailable)
		}
	case <-time.After(patience):
		t.Fatal("still running after Close")
	}
	checkRefused(t, events.CodeUnavailable, p.Invoke(t.Context(), Invocation(subject.Echo, events.EffectRead)))
	if err := p.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}
