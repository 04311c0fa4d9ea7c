package record_test

import (
	"bytes"
	"testing"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// fuzzRecord checks that what is accepted is exactly what is written, and that what is refused has a diagnostic.
func fuzzRecord(f *testing.F, name string, parse func([]byte) ([]byte, error)) {
	f.Helper()
	f.Add(known(f, name))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		written, err := parse(data)
		if err != nil {
			if diagnostic.Of(err) == nil {
				t.Errorf("refused without a diagnostic: %v", err)
			}
			return
		}
		if !bytes.Equal(written, data) {
			t.Errorf("read %q, wrote %q", data, written)
		}
	})
}

func FuzzTrace(f *testing.F) {
	fuzzRecord(f, "trace", func(data []byte) ([]byte, error) {
		trace, err := record.ParseTrace(data)
		if err != nil {
			return nil, err
		}
		return trace.Bytes(), nil
	})
}

func FuzzEvidence(f *testing.F) {
	fuzzRecord(f, "evidence", func(data []byte) ([]byte, error) {
		e, err := record.ParseEvidence(data)
		if err != nil {
			return nil, err
		}
		before := e.Budget.EvidenceBytes
		written, err := e.Seal()
		if before != uint64(len(data)) {
			return data, nil // the length it states is another: Verify refuses that
		}
		return written, err
	})
}

func FuzzReceipt(f *testing.F) {
	fuzzRecord(f, "accounting_receipt.derived", func(data []byte) ([]byte, error) {
		r, err := record.ParseReceipt(data)
		if err != nil {
			return nil, err
		}
		return r.Bytes()
	})
}

// FuzzVerify never takes a Trace and an Evidence that do not say the same.
func FuzzVerify(f *testing.F) {
	f.Add(known(f, "trace"), known(f, "evidence"))
	trace, evidence := known(f, "trace"), known(f, "evidence")
	f.Fuzz(func(t *testing.T, a, b []byte) {
		err := record.Verify(record.Inputs{Trace: a, Evidence: evidence})
		if (err == nil) != bytes.Equal(a, trace) {
			t.Errorf("Trace %q: %v", a, err)
		}
		if err := record.Verify(record.Inputs{Trace: trace, Evidence: b}); err == nil && !bytes.Contains(b, []byte(`"digest":"sha256:e9660046d86a3ec409b4d58843db2b34ade0125e67bb1d4b6e192b9140587c38"`)) {
			t.Errorf("Evidence %q was accepted", b)
		}
	})
}
