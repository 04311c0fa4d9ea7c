package candidate_test

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/plan/candidate"
	"example.org/mandate/internal/req"
)

// prover is a checker that knows which requirements it has evidence for, and
// tries to change what it is told.
type prover []string

func (p prover) Check(_ candidate.Product, contract candidate.Contract) []string {
	clear(contract.Requirements)
	if len(contract.Bound) > 0 {
		contract.Bound[0] = events.EffectWrite
	}
	return p
}

func product() candidate.Product {
	return candidate.Product{
		Kind: "code", Entrypoint: "main", Signature: "() int", Effects: []events.Effect{events.EffectRead}, Dependencies: []events.Digest{},
		Edition: "1", Implementation: "sha256:code", Contract: "sha256:spec",
	}
}

func contract() candidate.Contract {
	return candidate.Contract{
		Digest: "sha256:spec", Bound: []events.Effect{events.EffectRead},
		Requirements: []events.Requirement{{ID: "a", Importance: events.Must}, {ID: "b", Importance: events.Prefer}},
	}
}

func codes(found []events.Diagnostic) (list []events.Code) {
	for _, d := range found {
		list = append(list, d.Code)
	}
	return list
}

// Without a checker nothing but typed plans is admitted; with one, only what
// states everything, was made for the approved contract, stays within the
// bound, and has the evidence that the contract asks for.
func TestAdmissible(t *testing.T) {
	registered := candidate.Checkers{"code": prover{"a"}}
	for name, test := range map[string]struct {
		checkers candidate.Checkers
		change   func(*candidate.Product)
		want     []events.Code
		covers   []string
	}{
		"no checker at all":      {nil, nil, []events.Code{events.CodeCandidateKind}, []string{"C3-RUN-003.a"}},
		"no checker of its kind": {registered, func(p *candidate.Product) { p.Kind = "proof" }, []events.Code{events.CodeCandidateKind}, nil},
		"checked":                {registered, nil, nil, nil},
		"no entrypoint":          {registered, func(p *candidate.Product) { p.Entrypoint = "" }, []events.Code{events.CodePlanInvalid}, []string{"C3-RUN-003.a"}},
		"no signature":           {registered, func(p *candidate.Product) { p.Signature = "" }, []events.Code{events.CodePlanInvalid}, nil},
		"no effects stated":      {registered, func(p *candidate.Product) { p.Effects = nil }, []events.Code{events.CodePlanInvalid}, nil},
		"no dependencies stated": {registered, func(p *candidate.Product) { p.Dependencies = nil }, []events.Code{events.CodePlanInvalid}, nil},
		"no edition":             {registered, func(p *candidate.Product) { p.Edition = "" }, []events.Code{events.CodePlanInvalid}, nil},
		"no implementation":      {registered, func(p *candidate.Product) { p.Implementation = "" }, []events.Code{events.CodePlanInvalid}, nil},
		"another contract":       {registered, func(p *candidate.Product) { p.Contract = "sha256:mine" }, []events.Code{events.CodePlanCoverage}, []string{"C3-RUN-003.c"}},
		"a wider effect":         {registered, func(p *candidate.Product) { p.Effects = []events.Effect{events.EffectWrite} }, []events.Code{events.CodeEffectOutsideBound}, nil},
		"no evidence":            {candidate.Checkers{"code": prover{"b"}}, nil, []events.Code{events.CodePlanCoverage}, []string{"C3-RUN-003.b", "C3-RUN-003.d"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			p, k := product(), contract()
			if test.change != nil {
				test.change(&p)
			}
			if got := codes(test.checkers.Admissible(p, k)); !slices.Equal(got, test.want) {
				t.Fatalf("%v, want %v", got, test.want)
			}
			if k.Requirements[0].ID != "a" || k.Bound[0] != events.EffectRead {
				t.Fatal("the checker changed the contract")
			}
		})
	}
}
