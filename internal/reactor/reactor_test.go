package reactor_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/memory"
	"example.org/mandate/internal/reactor"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/sealing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && goleak.Find() != nil {
		_, _ = os.Stderr.WriteString(goleak.Find().Error())
		code = 1
	}
	os.Exit(code)
}

// desk is a reactor over a memory journal, with a core of the test's own.
type desk struct {
	t       *testing.T
	journal *memory.Journal
	sealer  *sealing.Sealer
	logs    *safeBuffer
}

type safeBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

type noRegistry struct{}

func (noRegistry) View(context.Context, string, uint64) (registry.View, error) {
	return registry.View{}, nil
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	j := memory.New(memory.Options{})
	t.Cleanup(func() { _ = j.Close() })
	keys, err := sealing.NewKeyring(j, make([]byte, sealing.KeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t: t, journal: j, sealer: sealing.New(keys, j), logs: &safeBuffer{}}
}

// run starts a service with a router, and returns how to stop it.
func (d *desk) run(core decider.Core[int], caller reactor.Caller) (stop func()) {
	d.t.Helper()
	logger := slog.New(slog.NewTextHandler(d.logs, nil))
	s, err := reactor.New(core, reactor.Options{
		Streams: d.journal, Sealer: d.sealer, Registries: noRegistry{}, Caller: caller, Writer: rand(), Clock: time.Now, Logger: logger,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	router, err := reactor.NewRouter(reactor.RouterOptions{
		Journal: d.journal, Sealer: d.sealer, Clock: time.Now, Logger: logger, DrainTimeout: 2 * time.Second,
	})
	if err != nil {
		d.t.Fatal(err)
	}
	router.Listen(s, journal.Source{Owner: events.OwnerExecutor}, (&events.ExecutionHalting{}).EventType())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- router.Run(ctx) }()
	<-router.Running()
	return func() {
		d.t.Helper()
		if err := router.Close(); err != nil {
			d.t.Error(err)
		}
		within, ended := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer ended()
		if err := s.Close(within); err != nil {
			d.t.Error(err)
		}
		cancel()
		if err := <-done; err != nil {
			d.t.Error(err)
		}
	}
}

var starts atomic.Int64

func rand() string { return "writer-" + time.Now().String() + string(rune('a'+starts.Add(1))) }

// send appends a commit of the executor about a run.
func (d *desk) send(run string, after journal.Position, payloads ...events.Payload) journal.Position {
	d.t.Helper()
	subject := events.Subject{Owner: events.OwnerExecutor, Tenant: "default", Run: run}
	c := reactor.Assemble(reactor.Draft{
		Subject: subject, After: after.Head, Cause: events.Cause{Event: "test"}, Writer: "test", At: events.At(time.Now()), Payloads: payloads,
	})
	if err := d.sealer.Seal(d.t.Context(), &c, "default.run-"+run); err != nil {
		d.t.Fatal(err)
	}
	data, err := events.Encode(&c)
	if err != nil {
		d.t.Fatal(err)
	}
	position, err := d.journal.Append(d.t.Context(), &c, data, after)
	if err != nil {
		d.t.Fatal(err)
	}
	return position
}

func halting(word string) events.Payload {
	return &events.ExecutionHalting{Cause: events.HaltFailed, Diagnostic: events.Diagnostic{Code: events.CodeActionFailed, Message: word}}
}

// words lists what the core recorded about a run.
func (d *desk) words(run string) []string {
	d.t.Helper()
	records, err := d.journal.Load(d.t.Context(), events.Subject{Owner: events.OwnerEvaluator, Tenant: "default", Run: run}, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	var words []string
	for i := range records {
		c, err := events.Decode(records[i])
		if err != nil {
			d.t.Fatal(err)
		}
		for _, e := range c.Events {
			if p, ok := e.Data.(*events.RecoveryRequested); ok {
				words = append(words, p.Reason)
			}
		}
	}
	return words
}

func (d *desk) await(what string, holds func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("%s: not in time\n%s", what, d.logs.String())
		}
	}
}

// echo records the word of every halting. It panics at the word "panic", and
// calls a capability at "call".
func echo(failures *atomic.Int64) decider.Core[int] {
	word := func(in decider.Input) string {
		for _, e := range in.Commit.Events {
			if p, ok := e.Data.(*events.ExecutionHalting); ok {
				return p.Diagnostic.Message
			}
		}
		return ""
	}
	return decider.Core[int]{
		Owner: events.OwnerEvaluator,
		Evolve: func(n int, e events.Event) int {
			if p, ok := e.Data.(*events.RecoveryRequested); ok && p.Reason == "call" {
				return n + 1
			}
			return n
		},
		Decide: func(open int, in decider.Input) (decider.Decision, error) {
			say := func(what string) decider.Decision {
				return decider.Decision{Events: []events.Payload{&events.RecoveryRequested{Unmet: []string{}, Reason: what}}}
			}
			switch in.Kind {
			case decider.Delivered:
				w := word(in)
				if w == "panic" && failures.Load() >= 0 {
					panic("this core does not bear it")
				}
				if w == "fail" && failures.Add(-1) >= 0 {
					return decider.Decision{}, errors.New("not now")
				}
				d := say(w)
				if w == "call" {
					d.Work = []decider.Work{decider.CallCapability{Key: "key", Deadline: events.At(time.Now().Add(time.Minute))}}
				}
				return d, nil
			case decider.Observed:
				return say("observed " + string(in.Outcome.Status)), nil
			case decider.Changed:
			case decider.Recovered:
				if open > 0 && !in.InFlight["key"] && open < 2 {
					return decider.Decision{Events: []events.Payload{
						&events.RecoveryRequested{Unmet: []string{}, Reason: "lost"}, &events.RecoveryRequested{Unmet: []string{}, Reason: "call"},
					}}, nil
				}
			case decider.Fired:
			}
			return decider.Decision{}, nil
		},
	}
}

func TestPoisonIsParkedAndDeliveredAgain(t *testing.T) {
	req.Covers(t, "IK-2.10")
	d := newDesk(t)
	failures := new(atomic.Int64)
	stop := d.run(echo(failures), nil)
	defer stop()
	d.send("bad", journal.Position{}, halting("panic"))
	d.send("good", journal.Position{}, halting("word"))
	d.await("the run beside the poison", func() bool { return slices.Equal(d.words("good"), []string{"word"}) })
	var parked []journal.Parked
	d.await("the parked message", func() bool {
		var err error
		if parked, err = d.journal.ParkedMessages(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(parked) == 1
	})
	p := parked[0]
	if p.Reader != "evaluator" || p.Stream != "MANDATE_EXECUTOR" || p.Sequence != 1 || !strings.Contains(p.Reason, "does not bear it") || p.Commit == "" {
		t.Errorf("parked %+v", p)
	}
	if words := d.words("bad"); len(words) != 0 {
		t.Errorf("the poison led to %v", words)
	}
	failures.Store(-1) // the core was mended
	if err := d.journal.Redeliver(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	d.await("the parked message, again", func() bool { return slices.Equal(d.words("bad"), []string{"panic"}) })
}

func TestPassingErrorsAreTriedAgain(t *testing.T) {
	d := newDesk(t)
	failures := new(atomic.Int64)
	failures.Store(3)
	stop := d.run(echo(failures), nil)
	defer stop()
	after := d.send("run", journal.Position{}, halting("fail"))
	d.send("run", after, halting("next"))
	d.await("both inputs, in order", func() bool { return slices.Equal(d.words("run"), []string{"fail", "next"}) })
	if parked, err := d.journal.ParkedMessages(t.Context()); err != nil || len(parked) != 0 {
		t.Errorf("parked %v %v", parked, err)
	}
}

func TestOtherTypesArePassedOver(t *testing.T) {
	d := newDesk(t)
	stop := d.run(echo(new(atomic.Int64)), nil)
	defer stop()
	after := d.send("run", journal.Position{}, &events.ActionReconciled{Action: "a", Node: "n", Found: "applied"})
	d.send("run", after, halting("word"))
	d.await("what concerns the service", func() bool { return slices.Equal(d.words("run"), []string{"word"}) })
	d.await("everything to be settled", func() bool {
		return d.journal.Unsettled("evaluator", journal.Source{Owner: events.OwnerExecutor}) == 0
	})
}

// slow is a caller whose calls end when they are told to.
type slow struct {
	begun chan struct{}
	end   chan struct{}
}

func (s *slow) Invoke(ctx context.Context, _ capability.Invocation) capability.Outcome {
	s.begun <- struct{}{}
	select {
	case <-s.end:
		return capability.Outcome{Status: capability.StatusCompleted}
	case <-ctx.Done():
		return capability.Outcome{Status: capability.StatusFailed}
	}
}

// TestNextInputPassesACallInFlight checks that an input is not acknowledged
// while its call is in flight, and does not hold up the next one.
func TestNextInputPassesACallInFlight(t *testing.T) {
	d := newDesk(t)
	caller := &slow{begun: make(chan struct{}, 1), end: make(chan struct{})}
	stop := d.run(echo(new(atomic.Int64)), caller)
	defer stop()
	after := d.send("run", journal.Position{}, halting("call"))
	<-caller.begun
	d.send("run", after, halting("next"))
	d.await("the next input", func() bool { return slices.Equal(d.words("run"), []string{"call", "next"}) })
	source := journal.Source{Owner: events.OwnerExecutor}
	if n := d.journal.Unsettled("evaluator", source); n != 2 {
		t.Errorf("%d inputs are unsettled while the call is in flight, want 2", n)
	}
	close(caller.end)
	d.await("the outcome", func() bool { return slices.Equal(d.words("run"), []string{"call", "next", "observed completed"}) })
	d.await("both to be settled", func() bool { return d.journal.Unsettled("evaluator", source) == 0 })
}

// TestCallLostWithItsProcess stops a process in the middle of a call. The next
// one finds the call without an outcome.
func TestCallLostWithItsProcess(t *testing.T) {
	req.Covers(t, "C3-RUN-006.f")
	d := newDesk(t)
	caller := &slow{begun: make(chan struct{}, 1), end: make(chan struct{})}
	stop := d.run(echo(new(atomic.Int64)), caller)
	d.send("run", journal.Position{}, halting("call"))
	<-caller.begun
	stop()
	if words := d.words("run"); !slices.Equal(words, []string{"call"}) {
		t.Fatalf("after the stop: %v: the interruption was taken for an outcome", words)
	}
	stop = d.run(echo(new(atomic.Int64)), caller)
	defer stop()
	d.await("the recovery", func() bool { return slices.Equal(d.words("run"), []string{"call", "lost", "call"}) })
}
