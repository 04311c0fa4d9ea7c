package bundle

import (
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// Recorded is what a service was asked to decide on, and what it decided.
type Recorded struct {
	// Input is what it was asked, without the registry; Known is false where it
	// was not kept.
	Input decider.Input
	Known bool
	// Commit is what it decided, nil where the input led to nothing.
	Commit *events.Commit
	// Epoch is how many commits of the registry it was decided under.
	Epoch int
}

// Decisions are the decisions of one service about one run, in their order.
type Decisions struct {
	Tenant   string
	Run      string
	Registry []*events.Commit
	Recorded []Recorded
}

// DecisionsOf returns the decisions of admission in a bundle that verifies,
// with the decisions of persons that it took no notice of.
func DecisionsOf(data []byte) (*Decisions, error) {
	r, err := newReplay(data)
	if err != nil {
		return nil, err
	}
	d := &Decisions{Tenant: r.v.bundle.Tenant, Run: r.v.bundle.Run, Registry: r.v.chains[events.OwnerRegistry]}
	answered := map[string]bool{}
	for _, c := range r.v.chains[events.OwnerAdmission] {
		answered[c.Cause.Commit] = true
		in, known := r.input(c, nil)
		d.Recorded = append(d.Recorded, Recorded{Input: in, Known: known, Commit: c, Epoch: r.epoch(c)})
	}
	for _, c := range r.v.chains[events.OwnerRequest] {
		if answered[c.ID] || !slices.ContainsFunc(c.Events, func(e events.Event) bool { _, ok := e.Data.(*events.ApprovalDecided); return ok }) {
			continue
		}
		subject := c.Subject
		subject.Owner = events.OwnerAdmission
		d.insert(Recorded{Known: true, Epoch: r.epochAt(timeOf(c)), Input: decider.Input{Kind: decider.Delivered, At: timeOf(c), Run: subject, Commit: c}})
	}
	return d, nil
}

// insert adds what led to nothing at its time.
func (d *Decisions) insert(recorded Recorded) {
	place := slices.IndexFunc(d.Recorded, func(r Recorded) bool { return r.Input.At > recorded.Input.At })
	if place < 0 {
		place = len(d.Recorded)
	}
	d.Recorded = slices.Insert(d.Recorded, place, recorded)
}
