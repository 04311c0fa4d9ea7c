package document

import (
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Turn is what a run keeps of a turn: the action and the result that it led to.
type Turn struct {
	Action, Result []byte
}

// Request is what a provider is asked.
type Request struct {
	RunID           string
	Turn            uint64
	Model           *Model
	MaxOutputTokens uint64
	Task            *Task
	History         []Turn
	Tools           []Tool
}

// instruction is the only text of the runtime that a model is given.
const instruction = "Return exactly one canonical Agent Runtime action."

// Write writes the request.
func (r *Request) Write(w *wire.Writer) {
	w.Raw(`{"schema":"` + SchemaProviderRequest + `","run_id":`)
	w.Text(r.RunID)
	w.Raw(`,"turn":`)
	w.Uint(r.Turn)
	w.Raw(`,"provider_id":`)
	w.Text(r.Model.ProviderID)
	w.Raw(`,"model_id":`)
	w.Text(r.Model.ModelID)
	w.Raw(`,"max_output_tokens":`)
	w.Uint(r.MaxOutputTokens)
	w.Raw(`,"segments":[`)
	segment(w, "system", "runtime_trusted", instruction)
	w.Raw(",")
	segment(w, "objective", ProvenanceCallerTrusted, r.Task.Objective)
	for i := range r.Task.Context {
		w.Raw(",")
		segment(w, "context", r.Task.Context[i].Provenance, r.Task.Context[i].Content)
	}
	for i := range r.History {
		w.Raw(",")
		segment(w, "history", "provider_untrusted", string(r.History[i].Action))
		w.Raw(",")
		segment(w, "history", "tool_untrusted", string(r.History[i].Result))
	}
	w.Raw(`],"tools":[`)
	for i := range r.Tools {
		if i > 0 {
			w.Raw(",")
		}
		r.Tools[i].write(w)
	}
	w.Raw("]}\n")
}

func segment(w *wire.Writer, role, provenance, content string) {
	w.Raw(`{"role":`)
	w.Text(role)
	w.Raw(`,"provenance":`)
	w.Text(provenance)
	w.Raw(`,"content":`)
	w.Text(content)
	w.Raw("}")
}

// BuilderBytes is what the builder's account takes for one rendering of the request, before its quoted strings.
func (r *Request) BuilderBytes() uint64 {
	const (
		perField      = 96
		perCapability = 3
		worstEscape   = 6
		envelope      = 8192
		copies        = 2
	)
	sum := len(r.Task.Objective)
	for i := range r.Task.Context {
		sum += len(r.Task.Context[i].Label) + len(r.Task.Context[i].Content)
	}
	for i := range r.History {
		sum += len(r.History[i].Action) + len(r.History[i].Result)
	}
	for i := range r.Tools {
		t := &r.Tools[i]
		sum += len(t.ToolID) + len(t.Description)
		for _, schema := range []*Schema{&t.Arguments, &t.Result} {
			for j := range schema.Fields {
				sum += len(schema.Fields[j].Name) + perField
			}
		}
		for _, capability := range t.RequiredCapabilities {
			sum += len(capability) + perCapability
		}
	}
	// Task, history and tools are in memory within their own caps, so their sum is far from overflowing.
	return (uint64(sum)*worstEscape + envelope) * copies
}

// Result is what a model is told about a call of a tool.
type Result struct {
	CallID, ToolID string
	// Value is the canonical object of the tool's result.
	Value []byte
}

// Write writes the result.
func (r *Result) Write(w *wire.Writer) {
	w.Raw(`{"schema":"` + SchemaToolResult + `","call_id":`)
	w.Text(r.CallID)
	w.Raw(`,"tool_id":`)
	w.Text(r.ToolID)
	w.Raw(`,"status":"ok","result":`)
	w.RawBytes(r.Value)
	w.Raw("}\n")
}
