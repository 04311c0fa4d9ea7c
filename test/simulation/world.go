// Package simulation puts the five services through schedules of faults in
// memory: lost, late, doubled and reordered deliveries, appends with unknown
// outcome, crashes at every point, and calls that end in every way. A seed
// decides everything, so a schedule that fails can be run again.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/memory"
	"example.org/mandate/internal/reactor"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/sealing"
	"example.org/mandate/internal/testkit"
	"example.org/mandate/services/admission"
	"example.org/mandate/services/evaluator"
	"example.org/mandate/services/executor"
	"example.org/mandate/services/interpreter"
	"example.org/mandate/services/presenter"
)

const tenant = "default"

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// deliverer is a service as the schedule drives it.
type deliverer interface {
	Deliver(ctx context.Context, c *events.Commit, decided func(), settled func(error))
	Fire(ctx context.Context, run events.Subject, name string, decided func(), settled func(error))
}

// lane is one source that one service listens to.
type lane struct {
	reader  string
	source  journal.Source
	service deliverer
}

// world is everything that a schedule happens in. It is driven from one
// goroutine.
type world struct {
	random  *rand.Rand
	journal *memory.Journal
	sealer  *sealing.Sealer
	intake  *intake.Intake
	views   staticRegistry
	lanes   []lane
	calls   []func() // calls in flight
	now     time.Time
	crashes int

	// effects counts what really happened at the target, by action ID.
	effects    map[string]int
	dispatches map[string]int
	submitted  []string
	decided    map[string]bool
	cancelled  map[string]bool
	trace      []string
}

type staticRegistry struct{ view registry.View }

func (s staticRegistry) View(context.Context, string, uint64) (registry.View, error) {
	return s.view, nil
}

func newWorld(seed uint64, view registry.View) *world {
	w := &world{
		random: rand.New(rand.NewPCG(seed, 2)), views: staticRegistry{view}, now: start,
		effects: map[string]int{}, dispatches: map[string]int{}, decided: map[string]bool{}, cancelled: map[string]bool{},
	}
	w.journal = memory.New(memory.Options{Faults: memory.Rough(seed), Simulated: true})
	w.sealer = sealing.New(testkit.Keys{}, w.journal)
	w.intake = intake.New(intake.Options{Streams: w.journal, Sealer: w.sealer, Registries: w.views, Writer: "intake", Clock: w.clock})
	w.boot()
	return w
}

func (w *world) clock() time.Time { return w.now }

// boot starts the five services with nothing in memory.
func (w *world) boot() {
	options := reactor.Options{
		Streams: w.journal, Sealer: w.sealer, Registries: w.views, Caller: w, Writer: fmt.Sprintf("sim-%d", w.crashes), Clock: w.clock,
		Spawn:  func(f func()) { w.calls = append(w.calls, f) },
		Pause:  func(context.Context, time.Duration) bool { return !w.journal.Crashed() },
		Logger: slog.New(slog.DiscardHandler),
	}
	a, i := must(reactor.New(admission.Core(), options)), must(reactor.New(interpreter.Core(), options))
	x, e := must(reactor.New(executor.Core(), options)), must(reactor.New(evaluator.Core(), options))
	p := must(reactor.New(presenter.Core(), options))
	w.calls = nil
	w.lanes = []lane{
		{"admission", journal.Source{Owner: events.OwnerRequest}, a},
		{"admission", journal.Source{Owner: events.OwnerInterpreter}, a},
		{"admission", journal.Source{Owner: events.OwnerExecutor}, a},
		{"admission", journal.Source{Owner: events.OwnerAdmission, Timers: true}, a},
		{"interpreter", journal.Source{Owner: events.OwnerAdmission}, i},
		{"executor", journal.Source{Owner: events.OwnerAdmission}, x},
		{"evaluator", journal.Source{Owner: events.OwnerExecutor}, e},
		{"evaluator", journal.Source{Owner: events.OwnerAdmission}, e},
		{"evaluator", journal.Source{Owner: events.OwnerInterpreter}, e},
		{"presenter", journal.Source{Owner: events.OwnerEvaluator}, p},
		{"presenter", journal.Source{Owner: events.OwnerAdmission}, p},
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // a test that cannot be set up
	}
	return v
}

// Invoke is the outside world: the effect takes place, and then the answer
// comes, or does not.
func (w *world) Invoke(_ context.Context, i capability.Invocation) capability.Outcome {
	w.dispatches[i.Action]++
	o := capability.Outcome{Started: events.At(w.now), Finished: events.At(w.now.Add(time.Millisecond)), MediaType: events.MediaJSON}
	switch w.random.IntN(20) {
	case 0:
		o.Status, o.NotApplied, o.Code, o.Message = capability.StatusFailed, true, events.CodeActionFailed, "refused"
		return o
	case 1:
		if w.random.IntN(2) == 0 {
			w.effects[i.Action]++
		}
		o.Status, o.Code, o.Message = capability.StatusUncertain, events.CodeTimeout, "no answer"
		return o
	}
	w.effects[i.Action]++
	o.Status, o.Value, o.Receipt = capability.StatusCompleted, []byte(`{"failed":0,"passed":3}`), "exit 0"
	if i.Name == "flaky" {
		o.Value = []byte(`{"failed":1,"passed":2}`)
	}
	o.Evidence = []capability.Observation{{Kind: "invocation", Method: "process-exit", Observed: events.At(w.now), SourceModified: events.At(start)}}
	return o
}

// crash ends the process: calls in flight may still reach the target, but
// nobody hears of it.
func (w *world) crash(ctx context.Context) {
	w.crashes++
	lost := w.calls
	w.calls = nil
	w.journal.CrashAfter(1)
	for _, call := range lost {
		if w.random.IntN(2) == 0 {
			call() // the effect happens, and its outcome meets a dead journal
		}
	}
	_, _ = w.journal.Last(ctx, events.OwnerRequest)
	w.journal.Restart()
	w.boot()
}

// restartIfCrashed comes back after the journal crashed by its own schedule.
func (w *world) restartIfCrashed() {
	if w.journal.Crashed() {
		w.crashes++
		w.journal.Restart()
		w.boot()
	}
}

// deliver hands the next delivery of a lane to its service. It reports whether
// there was one.
func (w *world) deliver(ctx context.Context, l lane) bool {
	d, ok := w.journal.Next(l.reader, l.source)
	if !ok {
		return false
	}
	settled := func(err error) {
		if err == nil {
			d.Ack()
		} else {
			w.note(fmt.Sprintf("%s: %v", l.reader, err))
			d.Retry(0)
		}
	}
	if name := d.Timer(); name != "" {
		l.service.Fire(ctx, d.Run(), name, d.Release, settled)
		return true
	}
	c, err := events.Decode(d.Record())
	if err == nil {
		err = w.sealer.Open(ctx, &c)
	}
	if err != nil {
		w.trace = append(w.trace, fmt.Sprintf("decode: %v", err))
		d.Retry(0)
		return true
	}
	l.service.Deliver(ctx, &c, d.Release, settled)
	return true
}

// submit records a request as a client does: again, with the same nonce, until
// it knows.
func (w *world) submit(ctx context.Context, nonce string, request *events.IntentRequest) {
	for range 50 {
		_, err := w.intake.Submit(ctx, tenant, nonce, person, request)
		w.restartIfCrashed()
		var refused *intake.Error
		if err == nil || errors.As(err, &refused) && refused.Diagnostics[0].Code != events.CodeOwnershipUnresolved {
			break
		}
	}
	w.submitted = append(w.submitted, nonce)
}

var person = events.Principal{ID: "ann", Kind: events.PrincipalPerson}

// note keeps the last things that went wrong.
func (w *world) note(what string) {
	w.trace = append(w.trace, what)
	if len(w.trace) > 12 {
		w.trace = w.trace[1:]
	}
}
