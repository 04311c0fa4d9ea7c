// Package candidate is where checkers of other candidates than typed plans
// plug in. None is built in: a candidate whose kind no checker is registered
// for is unsupported.
//
// A checker decides nothing but which requirements a product has evidence for.
// What the contract is, which obligations it has, and what effects are allowed
// is told to it and checked here, so that no product and no checker can amend
// them.
//
// This package is pure: no I/O, no clock, no randomness, no goroutines.
package candidate

import (
	"slices"

	"example.org/mandate/events"
)

// Product is a candidate that is no typed plan, such as code. It is immutable:
// Implementation is the digest of exactly what would run.
type Product struct {
	Kind           string
	Entrypoint     string
	Signature      string
	Effects        []events.Effect
	Dependencies   []events.Digest
	Edition        string
	Implementation events.Digest
	// Contract is the commitment of the specification that it was made for.
	Contract events.Digest
}

// Contract is what was approved.
type Contract struct {
	Digest       events.Digest
	Requirements []events.Requirement
	Bound        []events.Effect
}

// Checker checks the products of one kind.
type Checker interface {
	// Check returns the IDs of the requirements that evidence shows the product
	// to meet. It is given a copy of the contract.
	Check(product Product, contract Contract) []string
}

// Checkers holds the checkers by kind. The zero value has none.
type Checkers map[string]Checker

// Admissible reports everything that keeps a product from being admitted under
// a contract.
func (c Checkers) Admissible(p Product, contract Contract) (found []events.Diagnostic) {
	add := func(code events.Code, message, action string) {
		found = append(found, events.Diagnostic{Code: code, Path: "plan.candidate", Message: message, Action: action})
	}
	checker, ok := c[p.Kind]
	if !ok {
		add(events.CodeCandidateKind, "only typed plans can be admitted; no checker for other candidates is registered", "write candidate: plan")
		return found
	}
	for name, missing := range map[string]bool{
		"entrypoint": p.Entrypoint == "", "signature": p.Signature == "", "effects": p.Effects == nil, "dependencies": p.Dependencies == nil,
		"edition": p.Edition == "", "implementation": p.Implementation == "",
	} {
		if missing {
			add(events.CodePlanInvalid, "the product does not state its "+name, "state it")
		}
	}
	if p.Contract != contract.Digest {
		add(events.CodePlanCoverage, "the product was made for another contract than the approved one", "make it for the approved contract")
	}
	for _, effect := range p.Effects {
		if !slices.Contains(contract.Bound, effect) {
			add(events.CodeEffectOutsideBound, "the product has an effect outside the run's bound: "+string(effect), "use an agent whose bound has it")
		}
	}
	slices.SortFunc(found, func(a, b events.Diagnostic) int { return slices.Compare([]byte(a.Message), []byte(b.Message)) })
	if len(found) > 0 {
		return found
	}
	given := contract
	given.Requirements, given.Bound = slices.Clone(contract.Requirements), slices.Clone(contract.Bound)
	met := checker.Check(p, given)
	for _, r := range contract.Requirements {
		if r.Importance == events.Must && !slices.Contains(met, r.ID) {
			add(events.CodePlanCoverage, "there is no evidence that the product meets "+r.ID, "prove it or change the product")
		}
	}
	return found
}
