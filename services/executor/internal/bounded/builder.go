package bounded

import (
	"math/bits"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
)

// builder is the one budget of a run for everything it builds. It only ever decreases. What is taken is an upper bound
// of what the step that follows allocates, and it is taken before that step.
type builder struct{ limit, used uint64 }

// take takes n bytes, or nothing when there is not as much left.
func (b *builder) take(n uint64) error {
	used, carry := bits.Add64(b.used, n, 0)
	if carry != 0 || used > b.limit {
		return diagnostic.Bound(document.FieldBuilderBytes, b.limit)
	}
	b.used = used
	return nil
}

// parsing is what reading a document of size bytes takes, before its quoted strings.
func parsing(size uint64) uint64 { return 8*size + 4096 }

// copies is what receiving and reading up to size bytes takes.
func copies(size uint64) uint64 { return 20*size + 256 }

// records is what a run keeps for its Trace, and for its Evidence twice.
func records(l *document.Limits) uint64 { return l.TraceBytes + 2*l.EvidenceBytes + 4096 }

// attemptOverhead is what a provider attempt takes beside its response.
const attemptOverhead = 1024
