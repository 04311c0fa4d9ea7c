package bounded

import (
	"math/bits"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// run is the state of one run.
type run struct {
	profile *document.Profile
	task    *document.Task
	limits  *document.Limits
	host    Host
	guard   guard
	builder builder
	trace   record.Trace
	history []document.Turn
	message *string
	// crossed says that something of the world was touched. From then on the run has records, whatever happens.
	crossed  bool
	attempts []record.Attempt
}

func newRun(a *Agent, task *document.Task, b builder) *run {
	return &run{
		profile: a.profile, task: task, limits: &a.limits, host: a.host, builder: b,
		guard: guard{cancellation: a.cancellation, clock: &clock{}, epoch: a.epoch, limit: a.limits.ElapsedMillis},
		trace: record.Trace{
			RunID: wire.RunID(a.profile.Digest, task.Digest, task.Nonce), ProfileDigest: a.profile.Digest, TaskDigest: task.Digest,
			Usage: record.Usage{MaxConcurrency: 1},
		},
	}
}

// execute drives the run to its end. An error means that there is nothing to record.
func (r *run) execute() error {
	r.push(record.Event{
		Kind: record.RunStarted, InputDigest: r.profile.Digest, OutputDigest: r.task.Digest, Status: record.Started,
	})
	const fewest = 2 // the beginning and the end
	if r.limits.TraceEvents < fewest {
		return diagnostic.Bound(document.FieldTraceEvents, r.limits.TraceEvents)
	}
	end := record.Termination{Status: record.Completed}
	if err := r.drive(); err != nil {
		d := diagnostic.Of(err)
		if d == nil || !r.crossed && unrecorded(d, r.limits) {
			return err
		}
		end = record.TerminationOf(d)
	}
	r.trace.Termination = end
	elapsed := r.guard.clock.note(r.host.ElapsedMillis())
	r.trace.Usage.ElapsedMillis = elapsed
	r.push(record.Event{Turn: r.trace.Usage.Turns, Kind: record.RunFinished, Status: end.Status, Delta: record.Delta{ElapsedMillis: elapsed}})
	return nil
}

// unrecorded reports whether a run that touched nothing ends with its diagnostic alone: it was cancelled, or its records
// have no room.
func unrecorded(d *diagnostic.Diagnostic, l *document.Limits) bool {
	for _, bound := range []error{
		diagnostic.Cancelled(),
		diagnostic.Bound(document.FieldTraceEvents, l.TraceEvents), diagnostic.Bound(document.FieldTraceBytes, l.TraceBytes),
		diagnostic.Bound(document.FieldEvidenceBytes, l.EvidenceBytes), diagnostic.Bound(document.FieldBuilderBytes, l.BuilderBytes),
	} {
		if *diagnostic.Of(bound) == *d {
			return true
		}
	}
	return false
}

// drive takes turns until one is the last.
func (r *run) drive() error {
	for turn := uint64(1); turn <= r.limits.Turns; turn++ {
		final, err := r.turn(turn)
		if final || err != nil {
			return err
		}
	}
	return diagnostic.Bound(document.FieldTurns, r.limits.Turns)
}

// turn asks one model once, or twice when it did not start, and does what it asks for. final says that it gave the final
// message.
func (r *run) turn(turn uint64) (final bool, err error) {
	if err := r.boundary(); err != nil {
		return false, err
	}
	before := r.mark()
	r.trace.Usage.Turns = turn
	chosen, err := r.route(turn)
	if err == nil {
		err = r.record(r.event(chosen, record.Event{Kind: record.RouteSelected, InputDigest: chosen.digest, Status: record.Selected}))
	}
	if err != nil {
		r.rollback(before)
		return false, err
	}
	action, err := r.ask(chosen)
	if err != nil {
		// A turn in which nothing was asked is no turn, except that a used-up budget shows where it ended.
		if untouched := len(r.trace.Events) == before.events+1; untouched && diagnostic.Of(err).Code != diagnostic.CodeBound {
			r.rollback(before)
		}
		return false, err
	}
	if !action.Final {
		return false, r.call(chosen, action)
	}
	if err := r.boundary(); err != nil {
		return false, err
	}
	// There is room for it: it was reserved before the provider was asked.
	r.accept(chosen, record.Event{
		InputDigest: action.Digest, OutputDigest: wire.Digest(wire.DomainFinalMessage, []byte(action.Message)), Status: record.AcceptedFinal,
	})
	r.message = &action.Message
	return true, nil
}

// accept records that an action was accepted, and what its response reported.
func (r *run) accept(chosen *route, e record.Event) {
	e.Kind = record.ActionAccepted
	r.push(r.event(chosen, e))
	if chosen.usage.reported {
		last := &r.attempts[len(r.attempts)-1]
		last.Observed, last.Charge = true, chosen.usage.microunits
	}
}

// boundary says whether the run may go on.
func (r *run) boundary() error { return r.guard.check(r.observe) }

// observe asks the host for elapsed time and epoch.
func (r *run) observe() (elapsed, epoch uint64) { return r.host.ElapsedMillis(), r.host.PolicyEpoch() }

// remaining is the time that remains immediately before an external boundary, more than zero.
func (r *run) remaining() (uint64, error) {
	if err := r.boundary(); err != nil {
		return 0, err
	}
	return r.guard.limit - r.guard.clock.latest, nil
}

// event fills in the turn and the model.
func (r *run) event(chosen *route, e record.Event) record.Event {
	e.Turn, e.ProviderID, e.ModelID = r.trace.Usage.Turns, chosen.model.ProviderID, chosen.model.ModelID
	return e
}

// push appends an event for which there is room, and adds what it used.
func (r *run) push(e record.Event) {
	r.trace.Events = append(r.trace.Events, e)
	u, d := &r.trace.Usage, &e.Delta
	u.InputBytes += d.InputBytes
	u.OutputBytes += d.OutputBytes
	u.InputTokens += d.InputTokens
	u.OutputTokens += d.OutputTokens
	u.USDMicrounits += d.USDMicrounits
	u.ArgumentBytes += d.ArgumentBytes
	u.ResultBytes += d.ResultBytes
}

// record appends an event if every way in which the run can end after it still has room. A run that touched nothing yet
// needs no room: it can end without records.
func (r *run) record(e record.Event) error {
	if r.crossed {
		if err := r.room(record.Ending{Events: []record.Event{e}}); err != nil {
			return err
		}
	}
	if uint64(len(r.trace.Events))+1 >= r.limits.TraceEvents { // the last place is for the end
		return diagnostic.Bound(document.FieldTraceEvents, r.limits.TraceEvents)
	}
	r.push(e)
	return nil
}

// room refuses when one of the endings does not fit.
func (r *run) room(endings ...record.Ending) error {
	e := r.sketch()
	return (&record.Room{Limits: r.limits, Trace: &r.trace, Evidence: &e}).Check(endings...)
}

// sketch is the Evidence as far as it is known from the beginning.
func (r *run) sketch() record.Evidence {
	return record.Evidence{
		RunID:   r.trace.RunID,
		Profile: record.Source{Digest: r.profile.Digest, Bytes: r.profile.Size()},
		Task:    record.Source{Digest: r.task.Digest, Bytes: r.task.Size()},
		Budget: record.Budget{
			Models: uint64(len(r.profile.Models)), Tools: uint64(len(r.profile.Tools)), Capabilities: r.profile.DistinctCapabilities(),
		},
	}
}

// mark is a place to which a run can go back as long as nothing of the world was touched after it.
type mark struct {
	events int
	usage  record.Usage
}

func (r *run) mark() mark { return mark{len(r.trace.Events), r.trace.Usage} }

func (r *run) rollback(m mark) {
	r.trace.Events, r.trace.Usage = r.trace.Events[:m.events], m.usage
}

// total is a counter with its limit.
type total struct {
	field       string
	used, limit uint64
}

// plus returns what the counter is after more, or a diagnostic when that is above its limit or out of range.
func (t total) plus(more uint64) (uint64, error) {
	sum, carry := bits.Add64(t.used, more, 0)
	if carry != 0 || sum > t.limit {
		return 0, diagnostic.Bound(t.field, t.limit)
	}
	return sum, nil
}
