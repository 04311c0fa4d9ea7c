// Package document holds the documents of the bounded profile: how they are read, which invariants they keep, and how
// they are written. Reading one and writing it again gives the same bytes, or the document is refused.
package document

import (
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// The schemas of documents. They are part of the contract.
const (
	SchemaProfile         = "semaprax.agent-runtime-profile.v1"
	SchemaTask            = "semaprax.agent-runtime-task.v1"
	SchemaAction          = "semaprax.agent-runtime-action.v1"
	SchemaProviderRequest = "semaprax.agent-runtime-provider-request.v1"
	SchemaToolResult      = "semaprax.agent-runtime-tool-result.v1"
)

// Read is what was read of a document beside its content.
type Read struct {
	Source []byte
	Digest string
	// Quoted is how many bytes of the document are strings that are values; the builder's account counts them.
	Quoted uint64
}

// Size returns the length of the document.
func (r *Read) Size() uint64 { return uint64(len(r.Source)) }

// kind is what differs between the kinds of documents that callers hand in.
type kind struct {
	name, schema string
	field        string // of the bound on its bytes
	most         int
	domain       wire.Domain
}

// scanned checks the bytes of a document before anything is built from them.
func (k kind) scanned(data []byte) error {
	if len(data) > k.most {
		return diagnostic.Bound(k.field, uint64(k.most))
	}
	switch wire.ScanDocument(data) {
	case wire.FaultSyntax:
		return diagnostic.Grammar(k.name, k.schema)
	case wire.FaultDepth:
		return diagnostic.Bound(FieldJSONDepth, wire.MaxDepth)
	case wire.FaultNone:
	}
	return nil
}

// finish checks that what was read is written as data, and says what was read.
func (k kind) finish(data []byte, d *wire.Decoder, write func(*wire.Writer)) (Read, error) {
	d.End()
	if d.Failed() {
		return Read{}, diagnostic.Grammar(k.name, k.schema)
	}
	w := wire.NewSizedWriter(wire.StyleInput, len(data))
	write(w)
	if !w.Same(data) {
		return Read{}, diagnostic.Grammar(k.name, k.schema)
	}
	return Read{Source: w.Bytes(), Digest: wire.Digest(k.domain, data), Quoted: w.Quoted()}, nil
}

// Identifier reports whether text is an identifier.
func Identifier(text string) bool {
	if text == "" || len(text) > MaxIdentifierBytes {
		return false
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// identifiers reports whether list is a sorted list of at most MaxCapabilities different identifiers.
func identifiers(list []string) bool {
	if len(list) > MaxCapabilities {
		return false
	}
	for i, text := range list {
		if !Identifier(text) || i > 0 && text <= list[i-1] {
			return false
		}
	}
	return true
}
