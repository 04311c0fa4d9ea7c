package budget

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"example.org/mandate/events"
)

// Errors of a [Ledger]. They are wrapped with the reservation's name.
var (
	ErrReserved = errors.New("reserved before")
	ErrSettled  = errors.New("not open: never reserved, or settled before")
	ErrOveruse  = errors.New("more was used than was reserved")
)

// Ledger keeps one allotment: what is set aside before it is used, and what
// was used. It is a value: every method leaves the ledger it is called on as it
// was, and an error changes nothing.
//
// A reservation is charged from when it is made until it is settled, and only
// what was reported as used stays charged after that. One that is never
// settled, because whoever made it is gone or does not know, stays charged
// whole.
type Ledger struct {
	allotment events.Limits
	settled   events.Limits
	open      map[string]events.Limits
	closed    map[string]bool
}

// NewLedger returns the ledger of an allotment of which nothing is used.
func NewLedger(allotment events.Limits) (Ledger, error) {
	if err := Check(allotment); err != nil {
		return Ledger{}, err
	}
	return Ledger{allotment: allotment, settled: events.Limits{CostUnit: allotment.CostUnit}}, nil
}

// Allotment is what may be used at all.
func (l Ledger) Allotment() events.Limits { return l.allotment }

// Charged is what is used or may have been: everything settled, and everything
// reserved that is not.
func (l Ledger) Charged() events.Limits {
	sum := l.settled
	for _, id := range l.Open() {
		most := l.open[id]
		for _, r := range Resources() {
			*r.Field(&sum) = saturated(*r.Field(&sum), *r.Field(&most))
		}
	}
	return sum
}

// Left is what can still be reserved, never less than nothing.
func (l Ledger) Left() events.Limits {
	left, charged := l.allotment, l.Charged()
	for _, r := range Resources() {
		*r.Field(&left) = max(0, *r.Field(&left)-*r.Field(&charged))
	}
	return left
}

// Open lists the reservations that were not settled, sorted.
func (l Ledger) Open() []string { return slices.Sorted(maps.Keys(l.open)) }

// Reserve sets the most that a use can take aside. It is refused whole if one
// resource does not suffice: with nothing left of it, at its first use.
func (l Ledger) Reserve(id string, most events.Limits) (Ledger, error) {
	if _, taken := l.open[id]; taken || l.closed[id] {
		return l, fmt.Errorf("%w: %s", ErrReserved, id)
	}
	if _, err := Spend(l.Left(), most); err != nil {
		return l, fmt.Errorf("reserve %s: %w", id, err)
	}
	return l.with(id, most), nil
}

func (l Ledger) with(id string, most events.Limits) Ledger {
	l.open = maps.Clone(l.open)
	if l.open == nil {
		l.open = map[string]events.Limits{}
	}
	l.open[id] = most
	return l
}

// Settle replaces a reservation by what was used of it, once. More than was
// reserved is refused: then the reservation stays charged, and whoever let it
// happen did not keep its bound.
func (l Ledger) Settle(id string, used events.Limits) (Ledger, error) {
	most, ok := l.open[id]
	if !ok {
		return l, fmt.Errorf("%w: %s", ErrSettled, id)
	}
	if _, err := Spend(most, used); err != nil {
		return l, fmt.Errorf("%w: %s: %w", ErrOveruse, id, err)
	}
	return l.close(id, used), nil
}

// Expire ends a reservation of which nobody will learn what was used. It stays
// charged whole.
func (l Ledger) Expire(id string) (Ledger, error) {
	most, ok := l.open[id]
	if !ok {
		return l, fmt.Errorf("%w: %s", ErrSettled, id)
	}
	return l.close(id, most), nil
}

func (l Ledger) close(id string, used events.Limits) Ledger {
	l.open, l.closed = maps.Clone(l.open), maps.Clone(l.closed)
	delete(l.open, id)
	if l.closed == nil {
		l.closed = map[string]bool{}
	}
	l.closed[id] = true
	for _, r := range Resources() {
		*r.Field(&l.settled) = saturated(*r.Field(&l.settled), *r.Field(&used))
	}
	return l
}

// Narrow lowers the allotment to what is in both. It is what a candidate's own
// words can do to a limit: nothing they say raises one.
func (l Ledger) Narrow(to events.Limits) Ledger {
	for _, r := range Resources() {
		to := *r.Field(&to)
		*r.Field(&l.allotment) = min(*r.Field(&l.allotment), max(0, to))
	}
	return l
}

// Grant raises the allotment. Only admission grants, and records it.
func (l Ledger) Grant(more events.Limits) (Ledger, error) {
	allotment, err := Add(l.allotment, more)
	if err != nil {
		return l, fmt.Errorf("grant: %w", err)
	}
	l.allotment = allotment
	return l, nil
}

// Delegate sets aside what a nested run may use: what it wants, as far as it is
// left. What the nested run uses is charged to its own ledger and, by this
// reservation, to this one. Time is not set aside, because it passes for both
// at once; the nested run has at most what is left of it.
func (l Ledger) Delegate(child string, wanted events.Limits) (Ledger, events.Limits, error) {
	if err := Check(wanted); err != nil {
		return l, events.Limits{}, fmt.Errorf("delegate to %s: %w", child, err)
	}
	granted := Meet(wanted, l.Left())
	aside := granted
	aside.ElapsedMillis = 0
	next, err := l.Reserve(child, aside)
	if err != nil {
		return l, events.Limits{}, err
	}
	return next, granted, nil
}

// Fold returns the ledger after an event of the chain of the service whose
// allotment it is. What was recorded happened: a reservation beyond the
// allotment is charged too, and leaves nothing.
func (l Ledger) Fold(service events.Owner, p events.Payload) Ledger {
	switch e := p.(type) {
	case *events.AllotmentGranted:
		if e.Service == service {
			if next, err := l.Grant(e.Limits); err == nil {
				return next
			}
		}
	case *events.GenerationReserved:
		if _, taken := l.open[e.Generation]; !taken && !l.closed[e.Generation] {
			return l.with(e.Generation, e.Bound)
		}
	case *events.GenerationSettled:
		next, err := l.Expire(e.Generation)
		switch {
		case e.Status == "not_started":
			next, err = l.Settle(e.Generation, events.Limits{CostUnit: l.allotment.CostUnit})
		case e.Reported && e.Status != "uncertain":
			if settled, refused := l.Settle(e.Generation, e.Usage); refused == nil {
				next = settled
			}
		}
		if err == nil {
			return next
		}
	}
	return l
}

// saturated adds without wrapping around.
func saturated(a, b int64) int64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return 1<<63 - 1
}
