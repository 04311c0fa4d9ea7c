package bounded

import (
	"math/bits"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// route is a model that was chosen for a turn, with the request for it.
type route struct {
	model   *document.Model
	request []byte
	digest  string
	tokens  uint64 // of the request
	output  uint64 // tokens that are reserved for the response
	cost    uint64 // USD microunits that are reserved
	usage   Usage  // what the accepted response reported
}

// route chooses the model of a turn: of all that are eligible and whose request fits, the one with the least reserved
// cost, then the first provider, then the first model. The order of the catalog has no part in it.
func (r *run) route(turn uint64) (*route, error) {
	tokens := r.limits.OutputTokens - r.trace.Usage.OutputTokens
	if tokens == 0 {
		return nil, diagnostic.Bound(document.FieldOutputTokens, r.limits.OutputTokens)
	}
	var best *route
	for i := range r.profile.Models {
		model := &r.profile.Models[i]
		if !r.profile.Eligible(model) {
			continue
		}
		candidate, err := r.fit(turn, model, tokens)
		if err != nil {
			return nil, err
		}
		if candidate != nil && (best == nil || candidate.before(best)) {
			best = candidate
		}
	}
	if best == nil {
		return nil, diagnostic.NoRoute()
	}
	best.digest = wire.Digest(wire.DomainProviderRequest, best.request)
	return best, nil
}

// before reports whether c is chosen rather than other.
func (c *route) before(other *route) bool {
	if c.cost != other.cost {
		return c.cost < other.cost
	}
	if c.model.ProviderID != other.model.ProviderID {
		return c.model.ProviderID < other.model.ProviderID
	}
	return c.model.ModelID < other.model.ModelID
}

// fitRounds bounds the search for a request that states the output tokens for which it leaves room.
const fitRounds = 8

// fit makes the request for a model, or returns nil when the model cannot be asked within the limits. How many output
// tokens a request can state depends on how long it is, and how long it is on how many it states: the two are repeated
// until they agree. Where they go round in circles, the last round takes the least that was seen, which leaves room.
func (r *run) fit(turn uint64, model *document.Model, most uint64) (*route, error) {
	stated := min(most, model.MaxContextTokens)
	least := stated
	for round := 1; round <= fitRounds; round++ {
		if round == fitRounds {
			stated = least
		}
		request, err := r.render(turn, model, stated)
		if err != nil || request == nil {
			return nil, err
		}
		tokens, known := r.host.Tokenize(model.TokenizerID, request)
		if !known {
			return nil, diagnostic.Provider(diagnostic.UsageInvalid)
		}
		room := min(most, model.MaxContextTokens-min(tokens, model.MaxContextTokens))
		if room == stated || round == fitRounds && room > stated {
			return r.affordable(&route{model: model, request: request, tokens: tokens, output: stated})
		}
		stated = room
		least = min(least, stated)
	}
	return nil, nil //nolint:nilnil // no route and no fault
}

// render writes a request, or returns nil when it is longer than it may be.
func (r *run) render(turn uint64, model *document.Model, stated uint64) ([]byte, error) {
	if r.guard.cancellation.Cancelled() {
		return nil, diagnostic.Cancelled()
	}
	request := document.Request{
		RunID: r.trace.RunID, Turn: turn, Model: model, MaxOutputTokens: stated, Task: r.task, History: r.history, Tools: r.profile.Tools,
	}
	if err := r.builder.take(request.BuilderBytes()); err != nil {
		return nil, err
	}
	w := wire.NewWriter(wire.StyleInput)
	request.Write(w)
	if err := r.builder.take(w.Quoted()); err != nil {
		return nil, err
	}
	if w.Size() > r.limits.ProviderRequestBytes {
		return nil, nil
	}
	return w.Bytes(), nil
}

// affordable completes a route with its cost, or returns nil when there is no output or not enough money for it.
func (r *run) affordable(c *route) (*route, error) {
	if c.output == 0 {
		return nil, nil //nolint:nilnil // no route and no fault
	}
	input, err := price(c.tokens, c.model.InputPrice)
	if err != nil {
		return nil, err
	}
	output, err := price(c.output, c.model.OutputPrice)
	if err != nil {
		return nil, err
	}
	cost := total{document.FieldUSDMicrounits, input, document.Caps().USDMicrounits}
	if c.cost, err = cost.plus(output); err != nil {
		return nil, nil //nolint:nilnil,nilerr // more than any run may cost: no route and no fault
	}
	if _, err := (total{document.FieldUSDMicrounits, r.trace.Usage.USDMicrounits, r.limits.USDMicrounits}).plus(c.cost); err != nil {
		return nil, nil //nolint:nilnil,nilerr // more than is left: no route and no fault
	}
	return c, nil
}

// price is what tokens cost, rounded up.
func price(tokens, perMillion uint64) (uint64, error) {
	const million = 1_000_000
	high, low := bits.Mul64(tokens, perMillion)
	low, carry := bits.Add64(low, million-1, 0)
	if high+carry != 0 {
		return 0, diagnostic.Bound(document.FieldUSDMicrounits, document.Caps().USDMicrounits)
	}
	return low / million, nil
}
