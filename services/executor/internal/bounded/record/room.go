package record

import (
	"math"
	"slices"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Room answers whether the records of a run that goes on still have room for the worst that can come of it.
type Room struct {
	Limits *document.Limits
	// Trace is the Trace so far, and Evidence what is known of the Evidence.
	Trace    *Trace
	Evidence *Evidence
}

// Ending is a way in which a run can end: events that come first, and whether a final message comes with them.
type Ending struct {
	Events    []Event
	Completed bool
}

// Check measures the records of each ending with the largest numbers it can have, and refuses when they do not fit.
func (r *Room) Check(endings ...Ending) error {
	for i := range endings {
		if err := r.check(&endings[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *Room) check(ending *Ending) error {
	trace := *r.Trace
	trace.Events = append(slices.Clip(trace.Events), ending.Events...)
	trace.Termination = Termination{Status: Completed}
	if !ending.Completed {
		trace.Termination = longestTermination()
	}
	trace.Events = append(trace.Events, Event{
		Turn: trace.Usage.Turns, Kind: RunFinished, Status: trace.Termination.Status, Delta: Delta{ElapsedMillis: math.MaxUint64},
	})
	if uint64(len(trace.Events)) > r.Limits.TraceEvents {
		return diagnostic.Bound(document.FieldTraceEvents, r.Limits.TraceEvents)
	}
	r.worst(&trace.Usage)
	counter := wire.NewCounter(wire.StyleRecord)
	trace.Write(counter)
	if counter.Size() > r.Limits.TraceBytes {
		return diagnostic.Bound(document.FieldTraceBytes, r.Limits.TraceBytes)
	}
	evidence := *r.Evidence
	evidence.TraceBytes, evidence.LastTurn, evidence.Status = counter.Size(), trace.Usage.Turns, trace.Termination.Status
	evidence.TraceDigest = trace.RunID // as long as every digest
	if ending.Completed {
		evidence.MessageDigest, evidence.MessageBytes = trace.RunID, r.Limits.ProviderResponseBytes
	}
	evidence.Budget.use(&trace.Usage)
	evidence.Budget.TraceEvents, evidence.Budget.TraceBytes = uint64(len(trace.Events)), counter.Size()
	evidence.Budget.BuilderBytes, evidence.Budget.EvidenceBytes = r.Limits.BuilderBytes, 0
	around := wire.NewCounter(wire.StyleRecord)
	evidence.writeHead(around)
	evidence.writeTail(around)
	size, err := fixedPoint(around.Size() - 1 + counter.Escaped() + uint64(len(`""`)))
	if err != nil {
		return err
	}
	if size > r.Limits.EvidenceBytes {
		return diagnostic.Bound(document.FieldEvidenceBytes, r.Limits.EvidenceBytes)
	}
	return nil
}

// worst raises what can still rise to the most it can be.
func (r *Room) worst(u *Usage) {
	l := r.Limits
	u.ProviderAttempts, u.InputBytes, u.OutputBytes = l.ProviderAttempts, l.TotalInputBytes, l.TotalOutputBytes
	u.InputTokens, u.OutputTokens, u.USDMicrounits = l.InputTokens, l.OutputTokens, l.USDMicrounits
	u.ResultBytes, u.RetainedStateBytes = l.TotalToolBytes, l.RetainedStateBytes
	u.ElapsedMillis = math.MaxUint64 // a host may return as late as it likes
}

// longestTermination is the termination that takes the most bytes.
func longestTermination() Termination {
	var longest Termination
	size := func(t Termination) int { return 2*len(t.Status) + len(t.Code) + len(t.Message) } // the status is there twice
	for _, d := range diagnostic.Longest() {
		if t := TerminationOf(&d); size(t) > size(longest) {
			longest = t
		}
	}
	return longest
}
