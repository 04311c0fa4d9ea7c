// Package stage puts requests through the services in memory for tests against
// data that nobody here wrote. The test is the interpreter, so that it can be
// as hostile as it likes, and it is the world: providers and people.
package stage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

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
	"example.org/mandate/services/presenter"
)

// Tenant is the tenant of every run.
const Tenant = "default"

// User submits and is asked.
var User = events.Principal{ID: "user", Kind: events.PrincipalPerson}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// World is what capabilities reach.
type World interface {
	Invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome
}

// Stage is one journal with admission, executor, evaluator and presenter.
type Stage struct {
	Journal *memory.Journal
	// LastFirst ends calls in the reverse order of their dispatch.
	LastFirst bool

	sealer *sealing.Sealer
	intake *intake.Intake
	lanes  []lane
	calls  []func()
	now    time.Time
	runs   int
	heads  map[string]journal.Position // of the interpreter's chains
	causes map[string]events.Cause
}

type lane struct {
	reader  string
	source  journal.Source
	service interface {
		Deliver(ctx context.Context, c *events.Commit, decided func(), settled func(error))
		Fire(ctx context.Context, run events.Subject, name string, decided func(), settled func(error))
	}
}

type fixed struct{ view registry.View }

func (f *fixed) View(context.Context, string, uint64) (registry.View, error) { return f.view, nil }

// New returns a stage on which view is registered.
func New(view registry.View, world World) (*Stage, error) {
	s := &Stage{
		Journal: memory.New(memory.Options{Simulated: true}), now: start,
		heads: map[string]journal.Position{}, causes: map[string]events.Cause{},
	}
	s.sealer = sealing.New(testkit.Keys{}, s.Journal)
	views := &fixed{view}
	s.intake = intake.New(intake.Options{Streams: s.Journal, Sealer: s.sealer, Registries: views, Writer: "stage-intake", Clock: s.clock})
	options := reactor.Options{
		Streams: s.Journal, Sealer: s.sealer, Registries: views, Caller: world, Writer: "stage", Clock: s.clock,
		Spawn:  func(f func()) { s.calls = append(s.calls, f) },
		Pause:  func(context.Context, time.Duration) bool { return true },
		Logger: slog.New(slog.DiscardHandler),
	}
	a, errA := reactor.New(admission.Core(), options)
	x, errX := reactor.New(executor.Core(), options)
	e, errE := reactor.New(evaluator.Core(), options)
	p, errP := reactor.New(presenter.Core(), options)
	if err := errors.Join(errA, errX, errE, errP); err != nil {
		return nil, err
	}
	s.lanes = []lane{
		{"admission", journal.Source{Owner: events.OwnerRequest}, a},
		{"admission", journal.Source{Owner: events.OwnerInterpreter}, a},
		{"admission", journal.Source{Owner: events.OwnerExecutor}, a},
		{"admission", journal.Source{Owner: events.OwnerAdmission, Timers: true}, a},
		{"executor", journal.Source{Owner: events.OwnerAdmission}, x},
		{"evaluator", journal.Source{Owner: events.OwnerExecutor}, e},
		{"evaluator", journal.Source{Owner: events.OwnerAdmission}, e},
		{"evaluator", journal.Source{Owner: events.OwnerInterpreter}, e},
		{"presenter", journal.Source{Owner: events.OwnerEvaluator}, p},
		{"presenter", journal.Source{Owner: events.OwnerAdmission}, p},
	}
	return s, nil
}

func (s *Stage) clock() time.Time { return s.now }

// Submit submits a request as [User] and returns its run, sealed.
func (s *Stage) Submit(ctx context.Context, r *events.IntentRequest) (string, error) {
	s.runs++
	var id ulid.ULID
	if err := id.SetTime(ulid.Timestamp(start) + uint64(s.runs)); err != nil {
		return "", err
	}
	run := id.String()
	if _, err := s.intake.Submit(ctx, Tenant, run, User, r); err != nil {
		return "", err
	}
	return run, s.Settle(ctx)
}

// Again submits a request for a run that was submitted before, as a client does
// that does not know, and reports whether it joined that run.
func (s *Stage) Again(ctx context.Context, run string, r *events.IntentRequest) (joined bool, err error) {
	s.now = s.now.Add(time.Second)
	submitted, err := s.intake.Submit(ctx, Tenant, run, User, r)
	if err != nil {
		return false, err
	}
	return submitted.Joined, s.Settle(ctx)
}

// Proposal is what the interpreter says.
type Proposal struct {
	Formalization string
	Origin        events.Origin
	Attempt       int
	Spec          *events.OutcomeSpec
	Plan          *events.Plan
}

// Propose commits a proposal to the interpreter's stream. Nothing is delivered
// yet.
func (s *Stage) Propose(ctx context.Context, run string, p Proposal) error {
	var sealed *events.RunSealed
	for _, payload := range s.Payloads(ctx, run, events.OwnerAdmission) {
		if e, ok := payload.(*events.RunSealed); ok {
			sealed = e
		}
	}
	if sealed == nil {
		return fmt.Errorf("run %s is not sealed", run)
	}
	spec, err := events.NewDocument(events.ClassPlan, p.Spec)
	if err != nil {
		return err
	}
	plan, err := events.NewDocument(events.ClassPlan, p.Plan)
	if err != nil {
		return err
	}
	subject := events.Subject{Owner: events.OwnerInterpreter, Tenant: Tenant, Run: run}
	c := reactor.Assemble(reactor.Draft{
		Subject: subject, After: s.heads[run].Head, Correlation: s.causes[run].Commit, Writer: "hostile", At: events.At(s.now),
		Payloads: []events.Payload{
			&events.SpecProposed{Formalization: p.Formalization, Spec: spec, Request: sealed.Request.Commitment, Origin: p.Origin, Heads: events.Heads{}},
			&events.PlanProposed{Formalization: p.Formalization, Plan: plan, Attempt: p.Attempt, Origin: p.Origin, Sources: map[string]string{}},
		},
	})
	if err := s.sealer.Seal(ctx, &c, Tenant+".run-"+run); err != nil {
		return err
	}
	data, err := events.Encode(&c)
	if err != nil {
		return err
	}
	s.heads[run], err = s.Journal.Append(ctx, &c, data, s.heads[run])
	return err
}

// Settle delivers everything and ends every call, until nothing moves.
func (s *Stage) Settle(ctx context.Context) error {
	for round := 0; ; round++ {
		if round > 10_000 {
			return errors.New("it does not come to rest")
		}
		moved := s.Journal.Settle() > 0
		for _, l := range s.lanes {
			m, err := s.deliver(ctx, l)
			if err != nil {
				return err
			}
			moved = moved || m
		}
		if len(s.calls) > 0 {
			next := 0
			if s.LastFirst {
				next = len(s.calls) - 1
			}
			call := s.calls[next]
			s.calls = slices.Delete(s.calls, next, next+1)
			call()
			moved = true
		}
		if !moved {
			return nil
		}
	}
}

func (s *Stage) deliver(ctx context.Context, l lane) (bool, error) {
	d, ok := s.Journal.Next(l.reader, l.source)
	if !ok {
		return false, nil
	}
	var failed error
	settled := func(err error) {
		d.Ack()
		failed = errors.Join(failed, err)
	}
	if name := d.Timer(); name != "" {
		l.service.Fire(ctx, d.Run(), name, d.Release, settled)
		return true, failed
	}
	c, err := events.Decode(d.Record())
	if err == nil {
		err = s.sealer.Open(ctx, &c)
	}
	if err != nil {
		return false, err
	}
	l.service.Deliver(ctx, &c, d.Release, settled)
	return true, failed
}

// Pass lets time go by.
func (s *Stage) Pass(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	s.Journal.FireTimers(s.now)
	return s.Settle(ctx)
}

// Payloads lists what an owner recorded about a run, bodies open.
func (s *Stage) Payloads(ctx context.Context, run string, owner events.Owner) []events.Payload {
	chain, _, err := reactor.LoadChain(ctx, s.Journal, s.sealer, events.Subject{Owner: owner, Tenant: Tenant, Run: run})
	if err != nil {
		return nil
	}
	var all []events.Payload
	for i := range chain {
		for _, e := range chain[i].Events {
			all = append(all, e.Data)
		}
	}
	return all
}

// Waiting lists the approvals of a run that nobody decided on.
func (s *Stage) Waiting(ctx context.Context, run string) []*events.ApprovalRequested {
	decided := map[string]bool{}
	for _, p := range s.Payloads(ctx, run, events.OwnerRequest) {
		if e, ok := p.(*events.ApprovalDecided); ok {
			decided[e.Approval] = true
		}
	}
	var waiting []*events.ApprovalRequested
	for _, p := range s.Payloads(ctx, run, events.OwnerAdmission) {
		if e, ok := p.(*events.ApprovalRequested); ok && !decided[e.Approval] {
			waiting = append(waiting, e)
		}
	}
	return waiting
}

// Decide lets [User] decide, and delivers it.
func (s *Stage) Decide(ctx context.Context, run string, a *events.ApprovalRequested, decision events.Decision) error {
	err := s.intake.DecideApproval(ctx, Tenant, run, events.ApprovalDecided{Principal: User, Approval: a.Approval, Decision: decision, Digest: a.Digest})
	if err != nil {
		return err
	}
	return s.Settle(ctx)
}

// Settled answers everything that a run asks until it has an end: by yes to each
// use, or by letting the time pass where yes is nil. It reports whether anything
// was denied.
func (s *Stage) Settled(ctx context.Context, run string, yes func(events.ApprovalItem) bool) (denied bool, err error) {
	for range 100 {
		waiting := s.Waiting(ctx, run)
		switch {
		case s.Conclusion(ctx, run) != nil:
			return denied, nil
		case len(waiting) == 0:
			return denied, errors.New("the run has no end")
		case yes == nil:
			err = s.Pass(ctx, 2*time.Minute)
		case slices.ContainsFunc(waiting[0].Items, func(item events.ApprovalItem) bool { return !yes(item) }):
			denied = true
			err = s.Decide(ctx, run, waiting[0], events.DecisionDeny)
		default:
			err = s.Decide(ctx, run, waiting[0], events.DecisionApprove)
		}
		if err != nil {
			return denied, err
		}
	}
	return denied, errors.New("it asks without end")
}

// Asked lists every approval that a run asked for.
func (s *Stage) Asked(ctx context.Context, run string) []*events.ApprovalRequested {
	var asked []*events.ApprovalRequested
	for _, p := range s.Payloads(ctx, run, events.OwnerAdmission) {
		if e, ok := p.(*events.ApprovalRequested); ok {
			asked = append(asked, e)
		}
	}
	return asked
}

// Conclusion is how a run ended, nil if it did not.
func (s *Stage) Conclusion(ctx context.Context, run string) *events.RunConcluded {
	for _, p := range s.Payloads(ctx, run, events.OwnerEvaluator) {
		if e, ok := p.(*events.RunConcluded); ok {
			return e
		}
	}
	return nil
}
