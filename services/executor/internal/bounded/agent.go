// Package bounded runs a task under the bounded profile: one loop that asks a model of a frozen catalog, accepts only
// canonical actions, calls read-only tools, and leaves a Trace, Evidence and an accounting receipt that replay.
//
// The package has no I/O, clock, randomness or goroutine; a [Host] is asked for everything of the world. What a model
// writes is data and never authority.
package bounded

import (
	"bytes"
	"errors"
	"sync/atomic"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Options are what an agent is made with beside its profile and host.
type Options struct {
	// Cancellation is shared with whoever may end runs; nil makes one of the agent's own.
	Cancellation *Cancellation
	// Outer lowers the limits of the profile to what the caller has left.
	Outer Outer
}

// Agent runs tasks under one admitted profile, one at a time.
type Agent struct {
	profile      *document.Profile
	limits       document.Limits
	host         Host
	cancellation *Cancellation
	epoch        uint64
	builder      builder
	running      atomic.Bool
}

// ErrNoHost is returned for an agent without a host.
var ErrNoHost = errors.New("bounded: an agent needs a host")

// New admits a profile. The policy that is in force now is the one that every run of the agent needs to the end.
func New(profile []byte, host Host, options Options) (*Agent, error) {
	if host == nil {
		return nil, ErrNoHost
	}
	b := builder{limit: document.Caps().BuilderBytes}
	if len(profile) <= document.MaxProfileBytes {
		if err := b.take(parsing(uint64(len(profile)))); err != nil {
			return nil, err
		}
	}
	p, err := document.ParseProfile(profile)
	if err != nil {
		return nil, err
	}
	if err := b.take(p.Quoted); err != nil {
		return nil, err
	}
	limits, err := options.Outer.lower(p.Limits)
	if err != nil {
		return nil, err
	}
	b.limit = limits.BuilderBytes
	if err := b.take(0); err != nil {
		return nil, err
	}
	if options.Cancellation == nil {
		options.Cancellation = NewCancellation()
	}
	return &Agent{
		profile: p, limits: limits, host: host, cancellation: options.Cancellation, epoch: host.PolicyEpoch(), builder: b,
	}, nil
}

// Cancellation ends the runs of the agent.
func (a *Agent) Cancellation() *Cancellation { return a.cancellation }

// Run runs a task to its end. An error means that nothing of the world was touched; every other end, also a failure, is
// a run with its records.
func (a *Agent) Run(task []byte) (*AgentRun, error) {
	if !a.running.CompareAndSwap(false, true) {
		return nil, diagnostic.Bound("concurrency", a.limits.Concurrency)
	}
	defer a.running.Store(false)
	b := a.builder
	if len(task) <= document.MaxTaskBytes {
		if err := b.take(parsing(uint64(len(task)))); err != nil {
			return nil, err
		}
	}
	t, err := document.ParseTask(task)
	if err != nil {
		return nil, err
	}
	for _, n := range []uint64{t.Quoted, records(&a.limits)} {
		if err := b.take(n); err != nil {
			return nil, err
		}
	}
	r := newRun(a, t, b)
	if err := r.execute(); err != nil {
		return nil, err
	}
	return r.bundle()
}

// AgentRun is what a run left behind. Nothing in it authorizes anything.
type AgentRun struct {
	status                      record.Status
	message                     *string
	trace, evidence, receipt    []byte
	traceDigest, evidenceDigest string
	receiptDigest               string
}

// Status says how the run ended.
func (r *AgentRun) Status() string { return string(r.status) }

// UntrustedFinalMessage is what the model said in the end, when the run completed. It is data that a model wrote.
func (r *AgentRun) UntrustedFinalMessage() (message string, ok bool) {
	if r.message == nil {
		return "", false
	}
	return *r.message, true
}

// Trace returns the canonical Trace.
func (r *AgentRun) Trace() []byte { return bytes.Clone(r.trace) }

// TraceDigest returns the digest of the Trace.
func (r *AgentRun) TraceDigest() string { return r.traceDigest }

// Evidence returns the canonical Evidence.
func (r *AgentRun) Evidence() []byte { return bytes.Clone(r.evidence) }

// EvidenceDigest returns the digest of the Evidence.
func (r *AgentRun) EvidenceDigest() string { return r.evidenceDigest }

// Receipt returns the canonical accounting receipt. It settles nothing and bills nobody.
func (r *AgentRun) Receipt() []byte { return bytes.Clone(r.receipt) }

// ReceiptDigest returns the digest of the accounting receipt.
func (r *AgentRun) ReceiptDigest() string { return r.receiptDigest }

// bundle makes the records of a run that is over, and replays them from their bytes.
func (r *run) bundle() (*AgentRun, error) {
	trace := r.trace.Bytes()
	if uint64(len(trace)) > r.limits.TraceBytes {
		return nil, diagnostic.Bound(document.FieldTraceBytes, r.limits.TraceBytes)
	}
	e := r.sketch()
	e.Trace, e.TraceBytes, e.TraceDigest = string(trace), uint64(len(trace)), wire.Digest(wire.DomainTrace, trace)
	e.Status, e.LastTurn = r.trace.Termination.Status, r.trace.Usage.Turns
	if r.message != nil {
		e.MessageDigest, e.MessageBytes = wire.Digest(wire.DomainFinalMessage, []byte(*r.message)), uint64(len(*r.message))
	}
	e.Account(&r.trace, r.builder.used)
	evidence, err := e.Seal()
	if err != nil {
		return nil, err
	}
	if uint64(len(evidence)) > r.limits.EvidenceBytes {
		return nil, diagnostic.Bound(document.FieldEvidenceBytes, r.limits.EvidenceBytes)
	}
	receipt := record.Receipt{
		RunID: r.trace.RunID, TraceDigest: e.TraceDigest, EvidenceDigest: wire.Digest(wire.DomainEvidence, evidence),
		Status: e.Status, Attempts: r.attempts,
	}
	accounting, err := receipt.Bytes()
	if err != nil {
		return nil, err
	}
	if err := record.Verify(record.Inputs{
		Trace: trace, Evidence: evidence, Profile: r.profile, Task: r.task, Message: r.message, Receipt: accounting,
	}); err != nil {
		return nil, err
	}
	return &AgentRun{
		status: e.Status, message: r.message, trace: trace, evidence: evidence, receipt: accounting,
		traceDigest: e.TraceDigest, evidenceDigest: receipt.EvidenceDigest, receiptDigest: wire.Digest(wire.DomainReceipt, accounting),
	}, nil
}
