package app

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/registry"
	"example.org/mandate/services/admission"
)

// PolicyChange is a recorded decision that would be another one under a
// candidate policy.
type PolicyChange struct {
	Run       string                 `json:"run"`
	At        events.Time            `json:"at"`
	Operation events.PolicyOperation `json:"operation"`
	Was       string                 `json:"was"`
	Now       string                 `json:"now"`
	// Rule is the rule of the candidate that decides now, and Reason what whoever
	// is refused would read.
	Rule   string `json:"rule,omitzero"`
	Reason string `json:"reason,omitzero"`
}

// PolicyTrial is what became of recorded decisions under a candidate policy.
type PolicyTrial struct {
	Decisions int `json:"decisions"` // taken again
	// Registered counts the runs that a policy of the candidate's name was
	// registered for. Without one the candidate takes no part in anything.
	Registered int            `json:"registered"`
	Changes    []PolicyChange `json:"changes"`
	Skipped    []string       `json:"skipped"` // what could not be taken again, and why
}

// Add adds the trial of another run.
func (t *PolicyTrial) Add(other *PolicyTrial) {
	t.Decisions += other.Decisions
	t.Registered += other.Registered
	t.Changes = append(t.Changes, other.Changes...)
	t.Skipped = append(t.Skipped, other.Skipped...)
}

// Candidate is a policy that is tried.
type Candidate struct {
	Name    string
	applied events.Applied
}

// NewCandidate compiles a policy that is tried against history, or returns what
// is wrong with it.
func NewCandidate(name string, definition events.JSON) (*Candidate, []events.Diagnostic) {
	if found := (registry.View{}).Check(events.KindPolicy, name, definition); len(found) > 0 {
		return nil, found
	}
	if name == events.TenantPolicy {
		return nil, []events.Diagnostic{{
			Code: events.CodePolicyInvalid, Path: "metadata.name", Message: "what the policy of a tenant decides is not part of any run's history",
			Action: "try a policy that an agent names",
		}}
	}
	data, err := registry.Normalize(events.KindPolicy, definition)
	var p events.Policy
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return nil, []events.Diagnostic{{Code: events.CodePolicyInvalid, Path: "spec", Message: err.Error(), Action: "correct the policy"}}
	}
	return &Candidate{Name: name, applied: events.Applied{
		Name: name, Version: p.Version, Digest: registry.DigestOf(events.KindPolicy, name, data), Definition: data,
	}}, nil
}

// Try takes the recorded decisions of admission about a run again, as if the
// candidate had been applied all the time, and reports those that come out
// otherwise. It is a function of a bundle's bytes: nothing is called or written.
func (c *Candidate) Try(data []byte) (*PolicyTrial, error) {
	history, err := bundle.DecisionsOf(data)
	if err != nil {
		return nil, err
	}
	t := &trial{candidate: c, views: c.views(history.Registry), result: &PolicyTrial{Changes: []PolicyChange{}, Skipped: []string{}}, run: history.Run, asked: map[string]events.Digest{}}
	if c.registered(history.Registry) {
		t.result.Registered = 1
	}
	for i := range history.Recorded {
		if !t.step(&history.Recorded[i]) {
			break // from here on the run would have been another one
		}
	}
	return t.result, nil
}

// registered reports whether a policy of the candidate's name is in a registry.
func (c *Candidate) registered(commits []*events.Commit) bool {
	for _, commit := range commits {
		for i := range commit.Events {
			if p, ok := commit.Events[i].Data.(*events.PolicyApplied); ok && p.Name == c.Name {
				return true
			}
		}
	}
	return false
}

// views are the registry at every epoch, with the candidate in the place of
// the policy of its name.
func (c *Candidate) views(commits []*events.Commit) []registry.View {
	put := events.Event{Data: &events.PolicyApplied{Applied: c.applied}}
	views := []registry.View{registry.View{}.Evolve(&events.Commit{Events: []events.Event{put}})}
	for _, commit := range commits {
		changed := *commit
		changed.Events = slices.Clone(commit.Events)
		for i := range changed.Events {
			if p, ok := changed.Events[i].Data.(*events.PolicyApplied); ok && p.Name == c.Name {
				changed.Events[i] = put
			}
		}
		views = append(views, views[len(views)-1].Evolve(&changed))
	}
	return views
}

// trial is the trial of one run.
type trial struct {
	candidate *Candidate
	views     []registry.View
	result    *PolicyTrial
	run       string
	state     admission.State
	// asked holds the digests of what was recorded as asked for, by approval: a
	// digest binds the policy, so the same request under the candidate has
	// another.
	asked map[string]events.Digest
}

// step takes one decision again. It reports false where the rest cannot be
// compared.
func (t *trial) step(r *bundle.Recorded) bool {
	if !r.Known || r.Epoch >= len(t.views) {
		t.result.Skipped = append(t.result.Skipped, t.run+": what a decision was taken on was not kept")
		return false
	}
	in := r.Input
	in.Registry = t.views[r.Epoch]
	in.Commit = t.rebound(in.Commit)
	decision, err := admission.Decide(t.state, in)
	t.result.Decisions++
	was, now := "no notice", "no notice"
	var refusal *decider.Error
	switch {
	case errors.As(err, &refusal):
		now = "no notice (" + refusal.Code.String() + ")"
	case err != nil:
		t.result.Skipped = append(t.result.Skipped, t.run+": "+err.Error())
		return false
	case len(decision.Events) > 0:
		now = summary(decision.Events)
	}
	var recorded []events.Payload
	if r.Commit != nil {
		for i := range r.Commit.Events {
			recorded = append(recorded, r.Commit.Events[i].Data)
		}
		was = summary(recorded)
	}
	same := was == now || r.Commit == nil && err != nil
	if !same {
		t.change(in, was, now, decision.Events, refusal)
	}
	for _, p := range recorded {
		if a, ok := p.(*events.ApprovalRequested); ok {
			t.asked[a.Approval] = a.Digest
		}
	}
	for _, p := range decision.Events {
		t.state = admission.Evolve(t.state, events.Event{Time: in.At, Data: p})
	}
	return same
}

func (t *trial) change(in decider.Input, was, now string, list []events.Payload, refusal *decider.Error) {
	c := PolicyChange{Run: t.run, At: in.At, Operation: operationOf(in), Was: was, Now: now}
	for _, p := range list {
		a, reason := authorizationOf(p)
		if a != nil && c.Rule == "" {
			c.Rule = a.Rule
		}
		if c.Reason == "" {
			c.Reason = reason
		}
	}
	if refusal != nil {
		c.Reason = refusal.What
	}
	t.result.Changes = append(t.result.Changes, c)
}

// rebound lets a recorded decision of a person count for the same request under
// the candidate, if it counted for the recorded one.
func (t *trial) rebound(c *events.Commit) *events.Commit {
	if c == nil {
		return c
	}
	changed := *c
	changed.Events = slices.Clone(c.Events)
	for i := range changed.Events {
		e, ok := changed.Events[i].Data.(*events.ApprovalDecided)
		if !ok || e.Digest != t.asked[e.Approval] {
			continue
		}
		waits := t.state.Uses[e.Approval]
		if waits == nil {
			waits = t.state.Pending
		}
		if waits != nil && waits.Approval == e.Approval {
			decided := *e
			decided.Digest = waits.Digest
			changed.Events[i].Data = &decided
		}
	}
	return &changed
}

func operationOf(in decider.Input) events.PolicyOperation {
	if in.Commit != nil {
		for i := range in.Commit.Events {
			switch in.Commit.Events[i].Data.(type) {
			case *events.Submitted:
				return events.OperationSubmit
			case *events.ApprovalDecided:
				return events.OperationApprove
			}
		}
	}
	return events.OperationExecute
}

// summary says in words what was decided, as far as a policy has a part in it.
func summary(list []events.Payload) string {
	var words []string
	for _, p := range list {
		switch e := p.(type) {
		case *events.RunSealed:
			words = append(words, "sealed")
		case *events.RunRejected:
			words = append(words, "rejected "+codes(e.Diagnostics))
		case *events.PlanRejected:
			words = append(words, "plan rejected "+codes(e.Diagnostics))
		case *events.ApprovalRequested:
			nodes := make([]string, 0, len(e.Items))
			for i := range e.Items {
				nodes = append(nodes, e.Items[i].Node)
			}
			words = append(words, strings.TrimSpace("asks a person "+strings.Join(nodes, " ")))
		case *events.SpecApproved:
			words = append(words, "approved by "+approverOf(e))
		case *events.SpecDenied:
			words = append(words, "denied "+e.Diagnostic.Code.String())
		case *events.UseApproved:
			words = append(words, "use of "+e.Node+" approved by "+e.Principal.ID)
		case *events.UseDenied:
			words = append(words, "use of "+e.Node+" denied "+e.Diagnostic.Code.String())
		default:
			words = append(words, events.ShortType(p.EventType()))
		}
	}
	return strings.Join(words, ", ")
}

func approverOf(e *events.SpecApproved) string {
	switch {
	case e.Approver.Principal == nil:
		return "the standing approval"
	case e.Approval == "":
		return "the request itself"
	}
	return e.Approver.Principal.ID
}

func codes(list []events.Diagnostic) string {
	words := make([]string, 0, len(list))
	for _, d := range list {
		if code := d.Code.String(); !slices.Contains(words, code) {
			words = append(words, code)
		}
	}
	return strings.Join(words, " ")
}

// authorizationOf is the decision of a policy in an event, and the reason in
// words.
func authorizationOf(p events.Payload) (*events.PolicyDecision, string) {
	first := func(list []events.Diagnostic) string {
		if len(list) == 0 {
			return ""
		}
		return list[0].Message
	}
	switch e := p.(type) {
	case *events.RunSealed:
		return e.Authorization, ""
	case *events.RunRejected:
		return e.Authorization, first(e.Diagnostics)
	case *events.PlanRejected:
		return e.Authorization, first(e.Diagnostics)
	case *events.SpecApproved:
		return e.Authorization, ""
	case *events.UseApproved:
		return e.Authorization, ""
	case *events.UseDenied:
		return nil, e.Diagnostic.Message
	case *events.ApprovalRequested:
		for i := range e.Items {
			if a := e.Items[i].Authorization; a != nil && a.Verdict == events.PolicyConfirm {
				return a, e.Reason
			}
		}
		return &events.PolicyDecision{Rule: policy.RuleStanding}, e.Reason
	}
	return nil, ""
}

// String returns a change as one line.
func (c PolicyChange) String() string {
	return fmt.Sprintf("%s %s: %s, now %s", c.Run, c.Operation, c.Was, c.Now)
}
