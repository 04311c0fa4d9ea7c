package memory

import (
	"fmt"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Faults say what goes wrong. The numbers are probabilities from 0 to 1 and
// are drawn from the seed; the zero value is a journal that never fails.
type Faults struct {
	Seed uint64

	LoseAppend  float64 // not stored; the outcome is reported unknown
	HideAppend  float64 // stored; the outcome is reported unknown
	DelayAppend float64 // reported unknown; stored some operations later if the place is still free

	// Conflict is how often a competing commit comes first. Rival makes that
	// commit; it must fit the same place. Without Rival, or when it returns
	// nil, the conflict is reported though the chain has not moved.
	Conflict float64
	Rival    func(commit *events.Commit, data []byte) (*events.Commit, []byte)

	Shuffle       bool    // take the next run by seed instead of the oldest
	DelayDelivery float64 // the delivery is lost on its way and comes later
	Redeliver     float64 // a delivery in hand comes again beside the first
	LoseAck       float64 // the acknowledgment is lost: the delivery comes again
	LateTimer     float64 // a due timer waits for the next call of FireTimers
	DoubleTimer   float64 // a timer fires twice

	// CrashAfter crashes the journal at this operation, counting from 1; 0 is
	// never. See [Journal.CrashAfter].
	CrashAfter int
}

// Rough returns faults of every kind, each often enough to matter in a
// schedule of some thirty appends, for one seed.
func Rough(seed uint64) Faults {
	return Faults{
		Seed: seed, Shuffle: true,
		LoseAppend: 0.04, HideAppend: 0.06, DelayAppend: 0.04, Conflict: 0.03,
		DelayDelivery: 0.10, Redeliver: 0.08, LoseAck: 0.08,
		LateTimer: 0.10, DoubleTimer: 0.05,
	}
}

// delayedAppend is an append on its way.
type delayedAppend struct {
	commit events.Commit
	data   []byte
	after  journal.Position
	due    int // operation count
}

// maxDelay is how many operations an append or a delivery may be late.
const maxDelay = 12

// chance draws once. Without a probability it leaves the seed alone.
func (j *Journal) chance(p float64) bool { return p > 0 && j.random.Float64() < p }

// disturbAppend applies at most one fault to an append. hide asks for a stored
// append to be reported as unknown.
func (j *Journal) disturbAppend(commit *events.Commit, data []byte, after journal.Position) (hide bool, err error) {
	f := &j.options.Faults
	switch {
	case j.chance(f.LoseAppend):
		return false, fmt.Errorf("%w: lost on its way", journal.ErrUnknownOutcome)
	case j.chance(f.DelayAppend):
		j.delayed = append(j.delayed, delayedAppend{
			commit: *commit, data: data, after: after,
			due: j.operations + 1 + j.random.IntN(maxDelay),
		})
		return false, fmt.Errorf("%w: delayed on its way", journal.ErrUnknownOutcome)
	case j.chance(f.Conflict):
		return false, j.compete(commit, data, after)
	}
	return j.chance(f.HideAppend), nil
}

// compete lets a rival commit take the place first. A commit that is stored
// already has won.
func (j *Journal) compete(commit *events.Commit, data []byte, after journal.Position) error {
	if s := j.streams[commit.Subject.Owner]; s != nil {
		if _, stored := s.ids[commit.ID]; stored {
			return nil
		}
	}
	// A conflict is final: a copy still on its way must not land later.
	j.delayed = slices.DeleteFunc(j.delayed, func(d delayedAppend) bool { return d.commit.ID == commit.ID })
	if j.options.Faults.Rival == nil {
		return fmt.Errorf("%w: a competing commit was there", journal.ErrConflict)
	}
	rival, rivalData := j.options.Faults.Rival(commit, data)
	if rival == nil {
		return fmt.Errorf("%w: a competing commit was there", journal.ErrConflict)
	}
	if err := journal.Check(rival, rivalData, after); err != nil {
		return fmt.Errorf("rival: %w", err)
	}
	// A place that is taken already is no fault: the append will find it so.
	_, _ = j.store(rival, rivalData, after)
	return nil
}

// landDelayed stores the appends that have arrived.
func (j *Journal) landDelayed() {
	kept := j.delayed[:0]
	for i := range j.delayed {
		d := &j.delayed[i]
		if d.due > j.operations {
			kept = append(kept, *d)
			continue
		}
		// Arriving too late is the ordinary fate of a delayed append.
		_, _ = j.store(&d.commit, d.data, d.after)
	}
	j.delayed = kept
}

// Settle stores every delayed append whose place is still free, whatever its
// delay. It returns how many were on their way.
func (j *Journal) Settle() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := len(j.delayed)
	for i := range j.delayed {
		j.delayed[i].due = 0
	}
	j.landDelayed()
	return n
}

// CrashAfter crashes the journal at the nth operation from now, counting from
// 1; 0 cancels. Every call of the port is one operation and an append is two:
// before and after storing. An acknowledgment is one.
func (j *Journal) CrashAfter(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.crashAt = 0
	if n > 0 {
		j.crashAt = j.operations + n
	}
}

// Operations returns how many operations there were.
func (j *Journal) Operations() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.operations
}

// Crashed reports whether the journal has crashed and not been restarted.
func (j *Journal) Crashed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.crashed
}

func (j *Journal) crash() {
	j.crashed = true
	j.life++
	j.changed()
}

// Restart ends a crash. What was stored is there, deliveries in flight are
// dropped and come again in order, appends on their way may still land. The
// next crash must be asked for anew.
func (j *Journal) Restart() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.crashed {
		j.life++
	}
	j.crashed, j.crashAt = false, 0
	for _, c := range j.order {
		c.giveBack(func(*item) bool { return true })
	}
	j.changed()
}
