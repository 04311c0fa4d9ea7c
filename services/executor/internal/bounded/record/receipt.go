package record

import (
	"math/bits"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Attempt is what is known about the charge of one provider attempt.
type Attempt struct {
	// Reserved is the ceiling that was reserved for it, in USD microunits.
	Reserved uint64
	// Observed says that an accepted response reported its charge; Charge is what it reported.
	Observed bool
	Charge   uint64
}

// Receipt accounts for the provider attempts of a run. It says what was seen and settles nothing.
type Receipt struct {
	RunID, TraceDigest, EvidenceDigest string
	Status                             Status
	Attempts                           []Attempt
}

// Totals are the sums of a receipt.
type Totals struct {
	Reserved, Observed, Unknown uint64
}

// Totals returns the sums, or an error when they are out of range or a charge is above what was reserved for it.
func (r *Receipt) Totals() (Totals, error) {
	var t Totals
	var carries uint64
	add := func(total *uint64, more uint64) {
		sum, carry := bits.Add64(*total, more, 0)
		*total, carries = sum, carries+carry
	}
	for _, a := range r.Attempts {
		add(&t.Reserved, a.Reserved)
		if !a.Observed {
			add(&t.Unknown, a.Reserved)
			continue
		}
		add(&t.Observed, a.Charge)
		if a.Charge > a.Reserved {
			return Totals{}, diagnostic.Replay()
		}
	}
	if carries != 0 {
		return Totals{}, diagnostic.Replay()
	}
	return t, nil
}

// Bytes returns the receipt as a document.
func (r *Receipt) Bytes() ([]byte, error) {
	totals, err := r.Totals()
	if err != nil {
		return nil, err
	}
	w := wire.NewWriter(wire.StyleInput)
	w.Raw(`{"schema":"` + SchemaReceipt + `","run_id":`)
	w.Text(r.RunID)
	w.Raw(`,"trace_digest":`)
	w.Text(r.TraceDigest)
	w.Raw(`,"evidence_digest":`)
	w.Text(r.EvidenceDigest)
	w.Raw(`,"status":`)
	w.Text(string(r.Status))
	w.Raw(`,"totals":`)
	writeCounters(w, totals.counters())
	w.Raw(`,"attempts":[`)
	for i := range r.Attempts {
		if i > 0 {
			w.Raw(",")
		}
		r.Attempts[i].write(w, uint64(i))
	}
	w.Raw("]}\n")
	if w.Size() > document.MaxReceiptBytes {
		return nil, diagnostic.Bound(document.FieldBuilderBytes, document.MaxReceiptBytes)
	}
	return w.Bytes(), nil
}

func (t *Totals) counters() []counter {
	return []counter{{"reserved_usd_microunits", &t.Reserved}, {"observed_usd_microunits", &t.Observed}, {"unknown_usd_microunits", &t.Unknown}}
}

const (
	chargeUnknown  = `,"charge":{"kind":"unknown"}}`
	chargeObserved = `,"charge":{"kind":"observed","usd_microunits":`
)

func (a *Attempt) write(w *wire.Writer, index uint64) {
	w.Raw(`{"index":`)
	w.Uint(index)
	w.Raw(`,"reserved_usd_microunits":`)
	w.Uint(a.Reserved)
	if !a.Observed {
		w.Raw(chargeUnknown)
		return
	}
	w.Raw(chargeObserved)
	w.Uint(a.Charge)
	w.Raw("}}")
}

// ParseReceipt reads a receipt.
func ParseReceipt(data []byte) (*Receipt, error) {
	grammar := diagnostic.Grammar("accounting receipt", SchemaReceipt)
	if err := scanned(data, document.MaxReceiptBytes, document.FieldBuilderBytes, grammar); err != nil {
		return nil, err
	}
	d := wire.NewDecoder(data)
	var r Receipt
	var stated Totals
	d.Expect(`{"schema":"` + SchemaReceipt + `","run_id":`)
	r.RunID = d.Text()
	d.Expect(`,"trace_digest":`)
	r.TraceDigest = d.Text()
	d.Expect(`,"evidence_digest":`)
	r.EvidenceDigest = d.Text()
	d.Expect(`,"status":`)
	r.Status = Status(d.Text())
	d.Expect(`,"totals":`)
	decodeCounters(d, stated.counters())
	d.Expect(`,"attempts":`)
	d.Each(func() {
		var a Attempt
		d.Expect(`{"index":`)
		if d.Uint() != uint64(len(r.Attempts)) {
			d.Fail()
		}
		d.Expect(`,"reserved_usd_microunits":`)
		a.Reserved = d.Uint()
		if !d.Skip(chargeUnknown) {
			d.Expect(chargeObserved)
			a.Observed, a.Charge = true, d.Uint()
			d.Expect("}}")
		}
		r.Attempts = append(r.Attempts, a)
	})
	d.Expect("}")
	d.End()
	if d.Failed() || uint64(len(r.Attempts)) > document.Caps().ProviderAttempts {
		return nil, diagnostic.Replay()
	}
	// The totals are not read but computed: stated ones that differ give other bytes.
	w, err := r.Bytes()
	if err != nil || string(w) != string(data) {
		return nil, diagnostic.Replay()
	}
	return &r, nil
}
