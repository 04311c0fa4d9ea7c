package bounded

import (
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// Bounds on the bytes of records and documents, for whoever reads them from somewhere.
const (
	MaxProfileBytes  = document.MaxProfileBytes
	MaxTaskBytes     = document.MaxTaskBytes
	MaxTraceBytes    = 16 << 20
	MaxEvidenceBytes = 20 << 20
	MaxReceiptBytes  = document.MaxReceiptBytes
)

// Records are the records of a run, and what they can be compared with. Trace and Evidence are needed. Without the
// others, what only they confirm rests on the Evidence alone.
type Records struct {
	Trace, Evidence []byte
	Profile, Task   []byte
	Message         *string
	Receipt         []byte
}

// Verify replays the records of a run from their bytes.
func Verify(records Records) error {
	in := record.Inputs{Trace: records.Trace, Evidence: records.Evidence, Message: records.Message, Receipt: records.Receipt}
	var err error
	if records.Profile != nil {
		if in.Profile, err = document.ParseProfile(records.Profile); err != nil {
			return err
		}
	}
	if records.Task != nil {
		if in.Task, err = document.ParseTask(records.Task); err != nil {
			return err
		}
	}
	return record.Verify(in)
}

// Nonclaims returns what the bounded profile does not claim, in the order that every profile, Trace and Evidence has.
func Nonclaims() []string { return document.Nonclaims() }
