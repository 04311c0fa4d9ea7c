// Package timeline is the view of one run as a list of what happened, in
// order.
//
// A view is a pure fold of the commits about its run. Entries are kept sorted
// by time, owner and place in the chain, so how the owners interleave makes no
// difference and a rebuild gives the same bytes. Nothing private is in it.
package timeline

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"example.org/mandate/events"
)

// Name is the name of the view.
const Name = "timeline"

// MaxEntries bounds a view: the first entries are kept, the rest is counted.
const MaxEntries = 500

// View is what happened in one run.
type View struct {
	Tenant    string                  `json:"tenant"`
	Run       string                  `json:"run"`
	Entries   []Entry                 `json:"entries"`
	Total     int                     `json:"total"`
	Positions map[events.Owner]uint64 `json:"positions"`
}

// Entry is one event.
type Entry struct {
	At     events.Time  `json:"at"`
	Owner  events.Owner `json:"owner"`
	Number uint64       `json:"number"` // of the commit in its chain
	Index  int          `json:"index"`  // in the commit
	Type   string       `json:"type"`
	ID     string       `json:"id"`
	Commit string       `json:"commit"`
	Cause  string       `json:"cause,omitzero"`
	// Summary says in fixed words what the event is about.
	Summary string `json:"summary"`
}

// Apply returns the view after a commit about its run. A commit that was
// applied before changes nothing.
func Apply(v View, c *events.Commit) View {
	if c.Number <= v.Positions[c.Subject.Owner] {
		return v
	}
	positions := make(map[events.Owner]uint64, len(v.Positions)+1)
	maps.Copy(positions, v.Positions)
	positions[c.Subject.Owner] = c.Number
	v.Positions, v.Tenant, v.Run = positions, c.Subject.Tenant, c.Subject.Run
	entries := slices.Clone(v.Entries)
	for i := range c.Events {
		e := &c.Events[i]
		v.Total++
		entries = append(entries, Entry{
			At: e.Time, Owner: c.Subject.Owner, Number: c.Number, Index: i, Type: e.Type(), ID: e.ID,
			Commit: c.ID, Cause: c.Cause.Commit, Summary: summary(e.Data),
		})
	}
	slices.SortFunc(entries, compare)
	v.Entries = entries[:min(len(entries), MaxEntries)]
	return v
}

func compare(a, b Entry) int {
	return cmp.Or(
		cmp.Compare(a.At, b.At), cmp.Compare(rank(a.Owner), rank(b.Owner)),
		cmp.Compare(a.Number, b.Number), cmp.Compare(a.Index, b.Index),
	)
}

func rank(owner events.Owner) int { return slices.Index(events.Owners(), owner) }

// because adds a reason, if one was given.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func summary(p events.Payload) string {
	switch e := p.(type) {
	case *events.Submitted:
		return e.Principal.ID + " asked " + e.Agent
	case *events.CancelRequested:
		return e.Principal.ID + " asked to cancel"
	case *events.ApprovalDecided:
		return e.Principal.ID + ": " + string(e.Decision) + because(e.Reason)
	case *events.RunSealed:
		return "sealed for " + e.Agent.Name + " under " + e.Policy.Name + " at epoch " + strconv.FormatUint(e.Epoch, 10)
	case *events.RunRejected:
		return string(e.Tag) + first(e.Diagnostics)
	case *events.SpecProposed:
		return "an interpretation, " + string(e.Origin)
	case *events.PlanProposed:
		return "candidate " + strconv.Itoa(e.Attempt)
	case *events.ApprovalRequested:
		if len(e.Items) == 1 {
			return "1 use waits for a person" + because(e.Reason)
		}
		return strconv.Itoa(len(e.Items)) + " uses wait for a person" + because(e.Reason)
	case *events.SpecApproved:
		if e.Approver.Principal != nil {
			return "by " + e.Approver.Principal.ID
		}
		return "by the standing approval of " + e.Approver.Policy
	case *events.UseApproved:
		return e.Node + ": approved by " + e.Principal.ID
	case *events.UseDenied:
		return e.Node + ": " + e.Diagnostic.String()
	case *events.SpecDenied:
		return e.Diagnostic.String()
	case *events.PlanRejected:
		return "candidate " + strconv.Itoa(e.Attempt) + first(e.Diagnostics)
	case *events.RevisionAdmitted:
		return "revision " + strconv.Itoa(e.Revision) + ", " + strconv.Itoa(len(e.Nodes)) + " actions"
	case *events.RunCancelled:
		return "cancelled by " + e.Principal.ID
	case *events.RunExpired:
		return e.Diagnostic.String()
	case *events.InterpretationFailed:
		return string(e.Tag) + first(e.Diagnostics)
	case *events.RunConcluded:
		return string(e.Tag) + ", " + string(e.Completion)
	case *events.RequirementEvaluated:
		return e.Evaluation.Requirement + ": " + string(e.Evaluation.Verdict) + ", " + e.Evaluation.Reason
	case *events.DocumentPresented:
		return "the final document"
	case *events.InteractionPresented:
		return string(e.Kind)
	}
	return executed(p)
}

func executed(p events.Payload) string {
	switch e := p.(type) {
	case *events.ConfirmationNeeded:
		return e.Node + ": its arguments wait for a person"
	case *events.ConfirmationReceived:
		return e.Node + ": the approval is taken over"
	case *events.ActionDispatched:
		return e.Node + ": " + e.Capability.Name + "@" + strconv.Itoa(e.Capability.Version) + ", attempt " + strconv.Itoa(e.Attempt)
	case *events.ActionCompleted:
		return e.Node + ": " + e.Receipt
	case *events.ActionFailed:
		return e.Node + ": " + e.Diagnostic.String()
	case *events.ActionUncertain:
		return e.Node + ": " + e.Diagnostic.String()
	case *events.ResultRecorded:
		return e.Result.Node + ": " + e.Result.Type + ", " + string(e.Result.Status)
	case *events.EvidenceRecorded:
		return e.Evidence.Node + ": " + e.Evidence.Kind + " by " + e.Evidence.Method
	case *events.ExecutionHalting:
		return string(e.Cause) + ": " + e.Diagnostic.String()
	case *events.ExecutionHalted:
		return string(e.Cause) + ": " + e.Diagnostic.String()
	}
	return ""
}

func first(d []events.Diagnostic) string {
	if len(d) == 0 {
		return ""
	}
	return ": " + d[0].String()
}
