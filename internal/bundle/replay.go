package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/registry"
	"example.org/mandate/internal/sealing"
)

// Divergence is a decision that today's code takes differently.
type Divergence struct {
	Place   string `json:"place"`
	Message string `json:"message"`
}

// Replayed is the outcome of a replay.
type Replayed struct {
	Run         string       `json:"run"`
	Decisions   int          `json:"decisions"` // taken again with the same result
	Skipped     []string     `json:"skipped"`   // decisions whose inputs were not kept
	Divergences []Divergence `json:"divergences"`
}

// Holds reports whether every decision came out the same.
func (r *Replayed) Holds() bool { return len(r.Divergences) == 0 }

// ErrSealed is returned for a bundle without the keys to its content: what was
// decided on cannot be read.
var ErrSealed = errors.New("bundle: the content is sealed; export it with the right to read content")

// Replayer takes the decisions of one service again.
type Replayer interface {
	replay(r *replay)
}

// Core returns the replayer of a service's pure core.
func Core[S any](core decider.Core[S]) Replayer { return coreReplayer[S]{core} }

type coreReplayer[S any] struct{ core decider.Core[S] }

type replay struct {
	v      *verification
	out    *Replayed
	epochs []registry.View // by epoch
}

// Replay folds a bundle through the given cores: no model, no capability, no
// clock. It reports every decision that comes out differently. A bundle that
// does not verify is not replayed.
func Replay(data []byte, cores ...Replayer) (*Replayed, error) {
	return ReplayUnder(registry.View{}, data, cores...)
}

// ReplayUnder is Replay with a registry that the bundle's own continues.
func ReplayUnder(view registry.View, data []byte, cores ...Replayer) (*Replayed, error) {
	r, err := newReplay(data)
	if err != nil {
		return nil, err
	}
	r.epochs = []registry.View{view}
	for _, c := range r.v.chains[events.OwnerRegistry] {
		r.epochs = append(r.epochs, r.epochs[len(r.epochs)-1].Evolve(c))
	}
	for _, core := range cores {
		core.replay(r)
	}
	return r.out, nil
}

// newReplay takes a bundle apart that verifies and has its keys.
func newReplay(data []byte) (*replay, error) {
	b, err := Parse(data)
	if err != nil {
		return nil, err
	}
	report, err := Verify(data)
	if err != nil {
		return nil, err
	}
	if !report.Holds() {
		return nil, fmt.Errorf("bundle: history and artifacts do not match: %s", report.Findings[0])
	}
	if len(b.Keys) == 0 {
		return nil, ErrSealed
	}
	v := &verification{
		bundle: b, report: &Report{}, chains: map[events.Owner][]*events.Commit{},
		byID: map[string]*events.Commit{}, digests: map[events.Owner][]events.Digest{},
	}
	v.decode(b.Records, b.Run)
	v.decode(b.Registry, events.RegistryRun)
	v.bodies()
	return &replay{v: v, out: &Replayed{Run: b.Run, Skipped: []string{}, Divergences: []Divergence{}}}, nil
}

func (cr coreReplayer[S]) replay(r *replay) {
	var state S
	for _, c := range r.v.chains[cr.core.Owner] {
		place := fmt.Sprintf("%s commit %d (%s)", c.Subject.Owner, c.Number, c.ID)
		in, ok := r.input(c, cr.open(state))
		in.Registry = r.epochs[r.epoch(c)]
		if !ok {
			r.out.Skipped = append(r.out.Skipped, place)
		} else {
			decision, err := cr.core.Decide(state, in)
			if err != nil {
				r.diverge(place, "today the input is refused: "+err.Error())
			} else {
				r.compare(place, c, decision.Events)
			}
		}
		for i := range c.Events {
			state = cr.core.Evolve(state, c.Events[i])
		}
	}
}

// open asks the state which actions have no receipt, for cores that have any.
func (cr coreReplayer[S]) open(state S) []string {
	if s, ok := any(state).(interface{ OpenActions() []string }); ok {
		return s.OpenActions()
	}
	return nil
}

func (r *replay) diverge(place, message string) {
	r.out.Divergences = append(r.out.Divergences, Divergence{Place: place, Message: message})
}

// compare checks that what is decided today is what was recorded, to the byte.
func (r *replay) compare(place string, c *events.Commit, payloads []events.Payload) {
	if len(payloads) != len(c.Events) {
		r.diverge(place, fmt.Sprintf("today %d events are decided and %d are recorded", len(payloads), len(c.Events)))
		return
	}
	for i, p := range payloads {
		if p.EventType() != c.Events[i].Type() {
			r.diverge(place, "today "+events.ShortType(p.EventType())+" is decided and "+events.ShortType(c.Events[i].Type())+" is recorded")
			return
		}
		for _, body := range events.Bodies(p) {
			if _, open := body.Content(); open {
				*body, _ = body.Committed(sealing.SaltKey(r.key(c)))
			}
		}
		today, err := events.EncodePayload(p)
		recorded, recordedErr := events.EncodePayload(c.Events[i].Data)
		if err != nil || recordedErr != nil || !bytes.Equal(today, recorded) {
			r.diverge(place, "today "+events.ShortType(p.EventType())+" says something else")
			return
		}
	}
	r.out.Decisions++
}

func (r *replay) key(c *events.Commit) []byte {
	for _, s := range c.Sealed {
		return r.v.bundle.Keys[s.Scope]
	}
	return nil
}

// registryCause begins the cause of a decision on a change of the registry; its
// epoch follows.
const registryCause = "registry:"

// input rebuilds what a commit was decided on, but for the registry.
func (r *replay) input(c *events.Commit, open []string) (decider.Input, bool) {
	in := decider.Input{At: timeOf(c), Run: c.Subject}
	switch name := c.Cause.Event; {
	case strings.HasPrefix(c.Cause.Commit, "commit-"):
		in.Kind, in.Commit = decider.Delivered, r.v.byID[c.Cause.Commit]
		return in, in.Commit != nil
	case strings.HasPrefix(name, "timer:"):
		in.Kind, in.Timer = decider.Fired, strings.TrimPrefix(name, "timer:")
		return in, true
	case strings.HasPrefix(name, "observed:"):
		in.Kind, in.Work = decider.Observed, strings.TrimPrefix(name, "observed:")
		outcome, ok := outcomeOf(c, in.Work)
		in.Outcome = outcome
		return in, ok
	case strings.HasPrefix(name, registryCause):
		in.Kind = decider.Changed
		return in, true
	case strings.HasPrefix(name, "recovered:"):
		in.Kind, in.InFlight = decider.Recovered, map[string]bool{}
		for _, action := range open {
			in.InFlight[action] = !settles(c, action)
		}
		return in, true
	}
	return in, false
}

// epoch is the epoch of the registry that a commit was decided under: the one
// that it names, or else what had been applied by then.
func (r *replay) epoch(c *events.Commit) int {
	applied := r.v.chains[events.OwnerRegistry]
	if text, is := strings.CutPrefix(c.Cause.Event, registryCause); is {
		if epoch, err := strconv.ParseUint(text, 10, 64); err == nil && epoch <= uint64(len(applied)) {
			return int(epoch)
		}
	}
	for i := range c.Events {
		var epoch uint64
		switch e := c.Events[i].Data.(type) {
		case *events.RunSealed:
			epoch = e.Epoch
		case *events.RevisionAdmitted:
			epoch = e.Lease.Epoch
		case *events.ActionDispatched:
			epoch = e.Revalidation.Epoch
		}
		if epoch > 0 && epoch <= uint64(len(applied)) {
			return int(epoch)
		}
	}
	return r.epochAt(timeOf(c))
}

// epochAt is the epoch of the registry at a time.
func (r *replay) epochAt(at events.Time) int {
	epoch := 0
	for i, applied := range r.v.chains[events.OwnerRegistry] {
		if timeOf(applied) <= at {
			epoch = i + 1
		}
	}
	return epoch
}

func settles(c *events.Commit, action string) bool {
	return slices.ContainsFunc(c.Events, func(e events.Event) bool {
		switch p := e.Data.(type) {
		case *events.ActionFailed:
			return p.Action == action
		case *events.ActionUncertain:
			return p.Action == action
		}
		return false
	})
}

// outcomeOf rebuilds the outcome of an action from what was recorded of it. It
// reports false where the content was not kept.
func outcomeOf(c *events.Commit, action string) (capability.Outcome, bool) {
	var o capability.Outcome
	for i := range c.Events {
		switch p := c.Events[i].Data.(type) {
		case *events.ActionCompleted:
			if p.Action == action {
				o.Status, o.Receipt, o.Started, o.Finished = capability.StatusCompleted, p.Receipt, p.Started, p.Finished
			}
		case *events.ActionFailed:
			if p.Action == action {
				o.Status, o.NotApplied = capability.Status(p.Status), true
				o.Code, o.Message, o.Started, o.Finished = p.Diagnostic.Code, p.Diagnostic.Message, p.Started, p.Finished
			}
		case *events.ActionUncertain:
			if p.Action == action {
				o.Status, o.Code, o.Message = capability.StatusUncertain, p.Diagnostic.Code, p.Diagnostic.Message
			}
		case *events.EvidenceRecorded:
			if e := p.Evidence; e.Action == action {
				content, _ := e.Content.Content()
				o.Evidence = append(o.Evidence, capability.Observation{
					Kind: e.Kind, Method: e.Method, Observed: e.Observed, SourceModified: e.SourceModified, Published: e.Published,
					Subject: e.Subject, Content: content, MediaType: e.Content.MediaType,
				})
			}
		case *events.ResultRecorded:
			if r := p.Result; r.Action == action {
				if r.Status == events.ResultUnavailable {
					return o, false
				}
				o.Value, _ = r.Value.Content()
				o.Raw, _ = r.Raw.Content()
				o.MediaType = r.Raw.MediaType
			}
		}
	}
	return o, o.Status != ""
}
