package document

import (
	"encoding/hex"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Task is an admitted task.
type Task struct {
	Read
	Nonce     [32]byte
	Objective string
	Context   []ContextItem
}

// ContextItem is one text that a task gives.
type ContextItem struct {
	Label, Provenance, Content string
}

// The provenances of a text that a task gives.
const (
	ProvenanceCallerTrusted      = "caller_trusted"
	ProvenanceCallerUntrusted    = "caller_untrusted"
	ProvenanceRetrievedUntrusted = "retrieved_untrusted"
)

// ParseTask reads a task.
func ParseTask(data []byte) (*Task, error) {
	k := kind{"task", SchemaTask, FieldTaskBytes, MaxTaskBytes, wire.DomainTask}
	if err := k.scanned(data); err != nil {
		return nil, err
	}
	d := wire.NewDecoder(data)
	var t Task
	d.Expect(`{"schema":"` + SchemaTask + `","nonce":`)
	nonce := d.Text()
	d.Expect(`,"objective":`)
	t.Objective = d.Text()
	d.Expect(`,"context":`)
	d.Each(func() {
		var c ContextItem
		d.Expect(`{"label":`)
		c.Label = d.Text()
		d.Expect(`,"provenance":`)
		c.Provenance = d.Text()
		d.Expect(`,"content":`)
		c.Content = d.Text()
		d.Expect("}")
		switch c.Provenance {
		case ProvenanceCallerTrusted, ProvenanceCallerUntrusted, ProvenanceRetrievedUntrusted:
		default:
			d.Fail()
		}
		if !Identifier(c.Label) || len(t.Context) > 0 && c.Label <= t.Context[len(t.Context)-1].Label {
			d.Fail()
		}
		t.Context = append(t.Context, c)
	})
	d.Expect("}")
	if len(nonce) != 2*len(t.Nonce) || !wire.IsHex(nonce) {
		return nil, diagnostic.Grammar(k.name, k.schema)
	}
	if _, err := hex.Decode(t.Nonce[:], []byte(nonce)); err != nil {
		return nil, diagnostic.Grammar(k.name, k.schema)
	}
	read, err := k.finish(data, d, t.write)
	if err != nil {
		return nil, err
	}
	t.Read = read
	return &t, nil
}

func (t *Task) write(w *wire.Writer) {
	w.Raw(`{"schema":"` + SchemaTask + `","nonce":`)
	w.Text(hex.EncodeToString(t.Nonce[:]))
	w.Raw(`,"objective":`)
	w.Text(t.Objective)
	w.Raw(`,"context":[`)
	for i := range t.Context {
		c := &t.Context[i]
		if i > 0 {
			w.Raw(",")
		}
		w.Raw(`{"label":`)
		w.Text(c.Label)
		w.Raw(`,"provenance":`)
		w.Text(c.Provenance)
		w.Raw(`,"content":`)
		w.Text(c.Content)
		w.Raw("}")
	}
	w.Raw("]}\n")
}
