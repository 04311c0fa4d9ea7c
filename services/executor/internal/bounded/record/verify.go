package record

import (
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Inputs are what [Verify] looks at. Trace and Evidence are needed. What else is given is compared with them: without
// the profile and the task their lengths and what they list rest on the Evidence alone, without the message its length
// does, and without the receipt the digest of the Evidence is compared with nothing.
type Inputs struct {
	Trace, Evidence []byte
	Profile         *document.Profile
	Task            *document.Task
	Message         *string
	Receipt         []byte
}

// Verify replays a Trace and its Evidence from their bytes alone. Whatever is not as the state machine would have
// written it is refused.
func Verify(in Inputs) error {
	trace, err := ParseTrace(in.Trace)
	if err != nil {
		return err
	}
	evidence, err := ParseEvidence(in.Evidence)
	if err != nil {
		return err
	}
	r := replay{trace: trace}
	if !r.walk() {
		return diagnostic.Replay()
	}
	v := verifier{in: in, trace: trace, evidence: evidence, replay: &r}
	for _, holds := range []func() bool{v.sources, v.result, v.budget, v.catalog, v.message} {
		if !holds() {
			return diagnostic.Replay()
		}
	}
	if in.Receipt != nil {
		return v.receipt()
	}
	return nil
}

// verifier compares the records of a run with one another.
type verifier struct {
	in       Inputs
	trace    *Trace
	evidence *Evidence
	replay   *replay
}

// sources compares what the run was given, and the Trace inside the Evidence.
func (v *verifier) sources() bool {
	t, e := v.trace, v.evidence
	same := e.RunID == t.RunID && e.Profile.Digest == t.ProfileDigest && e.Task.Digest == t.TaskDigest &&
		e.Trace == string(v.in.Trace) && e.TraceBytes == uint64(len(e.Trace)) &&
		e.TraceDigest == wire.Digest(wire.DomainTrace, v.in.Trace)
	if p := v.in.Profile; p != nil {
		same = same && e.Profile == Source{p.Digest, p.Size()}
	}
	if k := v.in.Task; k != nil {
		same = same && e.Task == Source{k.Digest, k.Size()} && e.RunID == wire.RunID(e.Profile.Digest, k.Digest, k.Nonce)
	}
	return same
}

// result compares how the run ended.
func (v *verifier) result() bool {
	e, last := v.evidence, &v.trace.Events[len(v.trace.Events)-1]
	if e.Status != v.trace.Termination.Status || e.LastTurn != last.Turn {
		return false
	}
	if e.Status != Completed {
		return e.MessageDigest == "" && e.MessageBytes == 0
	}
	return e.MessageDigest == v.trace.Events[len(v.trace.Events)-2].OutputDigest
}

// budget computes what was used again.
func (v *verifier) budget() bool {
	stated := v.evidence.Budget
	expected := Budget{
		Models: stated.Models, Tools: stated.Tools, Capabilities: stated.Capabilities, BuilderBytes: stated.BuilderBytes,
		TraceEvents: uint64(len(v.trace.Events)), TraceBytes: uint64(len(v.in.Trace)), EvidenceBytes: uint64(len(v.in.Evidence)),
	}
	expected.use(&v.replay.usage)
	if v.replay.retained {
		expected.RetainedStateBytes = v.replay.sum(v.evidence.Task.Bytes, v.replay.history)
	}
	if p := v.in.Profile; p != nil {
		expected.Models, expected.Tools, expected.Capabilities = uint64(len(p.Models)), uint64(len(p.Tools)), p.DistinctCapabilities()
	}
	caps := document.Caps()
	return stated == expected && !v.replay.wrong && stated.BuilderBytes <= caps.BuilderBytes && stated.Models <= document.MaxModels &&
		stated.Tools <= document.MaxTools
}

// catalog checks that models and tools are of the profile and that its policy lets them be used.
func (v *verifier) catalog() bool {
	p := v.in.Profile
	if p == nil {
		return true
	}
	for i := range v.trace.Events {
		e := &v.trace.Events[i]
		if e.Kind == RouteSelected && !eligible(p, e) {
			return false
		}
		if e.Kind == ToolAuthorized {
			tool := p.Tool(e.ToolID)
			if tool == nil || !p.Allows(tool) || !p.Granted(tool) {
				return false
			}
		}
	}
	return true
}

func eligible(p *document.Profile, e *Event) bool {
	for i := range p.Models {
		if m := &p.Models[i]; m.ProviderID == e.ProviderID && m.ModelID == e.ModelID {
			return p.Eligible(m)
		}
	}
	return false
}

// message compares the final message with every digest and length that it decides.
func (v *verifier) message() bool {
	if v.in.Message == nil {
		return true
	}
	if v.evidence.Status != Completed {
		return *v.in.Message == ""
	}
	action := document.RenderFinal(*v.in.Message)
	events := v.trace.Events
	accepted, finished := &events[len(events)-2], &events[len(events)-3]
	return v.evidence.MessageBytes == uint64(len(*v.in.Message)) &&
		v.evidence.MessageDigest == wire.Digest(wire.DomainFinalMessage, []byte(*v.in.Message)) &&
		accepted.InputDigest == wire.Digest(wire.DomainAction, action) &&
		finished.OutputDigest == wire.Digest(wire.DomainProviderResponse, action) &&
		finished.Delta.OutputBytes == uint64(len(action))
}

// receipt compares the accounting receipt with what it is about.
func (v *verifier) receipt() error {
	r, err := ParseReceipt(v.in.Receipt)
	if err != nil {
		return err
	}
	if r.RunID != v.trace.RunID || r.TraceDigest != v.evidence.TraceDigest || r.Status != v.evidence.Status ||
		r.EvidenceDigest != wire.Digest(wire.DomainEvidence, v.in.Evidence) || !v.attempts(r.Attempts) {
		return diagnostic.Replay()
	}
	return nil
}

// attempts reports whether the receipt has every attempt with what was reserved for it, and observes a charge only where
// a response was accepted.
func (v *verifier) attempts(attempts []Attempt) bool {
	next := 0
	for i := range v.trace.Events {
		e := &v.trace.Events[i]
		if e.Kind != AttemptStarted {
			continue
		}
		if next == len(attempts) || attempts[next].Reserved != e.Delta.USDMicrounits {
			return false
		}
		accepted := i+2 < len(v.trace.Events) && v.trace.Events[i+2].Kind == ActionAccepted
		if attempts[next].Observed && !accepted {
			return false
		}
		next++
	}
	return next == len(attempts)
}
