package outcome_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/outcome"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

func sound() *events.OutcomeSpec {
	s := cases.Spec(cases.Plan(cases.Read("a"), cases.Read("b", "a")))
	s.Requirements = append(s.Requirements, cases.NoneFailed("a", "b"), cases.NoneFailed("b"))
	s.Partial = []string{"d-a"}
	return s
}

func TestCheck(t *testing.T) {
	if found := outcome.Check(sound(), []string{"a", "b"}); len(found) > 0 {
		t.Fatal(found)
	}
	first := func(f func(*events.Requirement)) func(*events.OutcomeSpec) {
		return func(s *events.OutcomeSpec) { f(&s.Requirements[0]) }
	}
	predicate := func(p events.Predicate) func(*events.OutcomeSpec) {
		return first(func(r *events.Requirement) { r.Predicate = p })
	}
	fieldOf := func(f func(*events.FieldPredicate)) func(*events.OutcomeSpec) {
		return first(func(r *events.Requirement) { f(r.Predicate.Field) })
	}
	const r, d = "outcome.requirements[0]", "outcome.deliverables[0]"
	for name, test := range map[string]struct {
		change func(*events.OutcomeSpec)
		code   events.Code
		path   string
		covers []string
	}{
		"another schema version": {func(s *events.OutcomeSpec) { s.SchemaVersion = 2 }, events.CodeSpecInvalid, "outcome.schema_version", []string{"OD-3.1.1"}},
		"no id":                  {func(s *events.OutcomeSpec) { s.ID = "" }, events.CodeSpecInvalid, "outcome.id", []string{"OD-3.1.1"}},
		"no revision":            {func(s *events.OutcomeSpec) { s.Revision = 0 }, events.CodeSpecInvalid, "outcome.id", []string{"OD-3.1.1"}},
		"no objective":           {func(s *events.OutcomeSpec) { s.Objective = "" }, events.CodeSpecInvalid, "outcome.objective", nil},
		"no deliverable":         {func(s *events.OutcomeSpec) { s.Deliverables, s.Requirements, s.Partial = nil, nil, nil }, events.CodeSpecInvalid, "outcome.deliverables", []string{"OD-3.1.3"}},
		"deliverable without id": {func(s *events.OutcomeSpec) { s.Deliverables[1].ID = ""; s.Requirements = s.Requirements[:1] }, events.CodeSpecInvalid, "outcome.deliverables[1].id", []string{"OD-3.1.3"}},
		"two of one id":          {func(s *events.OutcomeSpec) { s.Deliverables[1].ID = "d-a"; s.Requirements = s.Requirements[:1] }, events.CodeSpecInvalid, "outcome.deliverables[1].id", []string{"OD-3.1.3"}},
		"result of no node":      {func(s *events.OutcomeSpec) { s.Deliverables[0].Result = "z" }, events.CodeSpecReference, d + ".result", nil},
		"depends on nothing":     {func(s *events.OutcomeSpec) { s.Deliverables[0].DependsOn = []string{"z"} }, events.CodeSpecReference, d + ".depends_on", nil},
		"depends on itself":      {func(s *events.OutcomeSpec) { s.Deliverables[0].DependsOn = []string{"d-a"} }, events.CodeSpecReference, d + ".depends_on", nil},
		"requirement without id": {first(func(r *events.Requirement) { r.ID = "" }), events.CodeSpecInvalid, r + ".id", []string{"OD-3.1.7"}},
		"id too long":            {first(func(r *events.Requirement) { r.ID = strings.Repeat("x", 65) }), events.CodeSpecInvalid, r + ".id", nil},
		"requirement of one id":  {func(s *events.OutcomeSpec) { s.Requirements[1].ID = s.Requirements[0].ID }, events.CodeSpecInvalid, "outcome.requirements[1].id", []string{"OD-3.1.7"}},
		"for no deliverable":     {first(func(r *events.Requirement) { r.Deliverable = "z" }), events.CodeSpecReference, r + ".deliverable", []string{"OD-3.1.7"}},
		"importance left out":    {first(func(r *events.Requirement) { r.Importance = "" }), events.CodeSpecInvalid, r + ".importance", []string{"OD-3.1.7", "OD-3.1.8"}},
		"another importance":     {first(func(r *events.Requirement) { r.Importance = "maybe" }), events.CodeSpecInvalid, r + ".importance", []string{"OD-3.1.7"}},
		"origin left out":        {first(func(r *events.Requirement) { r.Origin = "" }), events.CodeSpecInvalid, r + ".origin", []string{"OD-3.1.7", "OD-3.1.8"}},
		"strength left out":      {first(func(r *events.Requirement) { r.Strength = "" }), events.CodeSpecInvalid, r + ".strength", []string{"OD-3.1.8"}},
		"another strength":       {first(func(r *events.Requirement) { r.Strength = "certain" }), events.CodeSpecInvalid, r + ".strength", nil},
		"before no node":         {first(func(r *events.Requirement) { r.Before = []string{"z"} }), events.CodeSpecReference, r + ".before[0]", nil},
		"no predicate":           {predicate(events.Predicate{}), events.CodeSpecInvalid, r + ".predicate", []string{"OD-3.1.7"}},
		"two predicates":         {first(func(r *events.Requirement) { r.Predicate.Exists = &events.ExistsPredicate{Result: "a"} }), events.CodeSpecInvalid, r + ".predicate", nil},
		"field of no node":       {fieldOf(func(f *events.FieldPredicate) { f.Result = "z" }), events.CodeSpecReference, r + ".predicate.field.result", nil},
		"field at no pointer":    {fieldOf(func(f *events.FieldPredicate) { f.Path = "failed" }), events.CodeSpecInvalid, r + ".predicate.field.path", nil},
		"field with another op":  {fieldOf(func(f *events.FieldPredicate) { f.Op = "~" }), events.CodeSpecInvalid, r + ".predicate.field.op", nil},
		"field with an object":   {fieldOf(func(f *events.FieldPredicate) { f.Value = events.JSON(`{}`) }), events.CodeSpecInvalid, r + ".predicate.field.value", nil},
		"field without a bound":  {fieldOf(func(f *events.FieldPredicate) { f.Value = nil }), events.CodeSpecInvalid, r + ".predicate.field.value", nil},
		"exists of no node":      {predicate(events.Predicate{Exists: &events.ExistsPredicate{Result: "z"}}), events.CodeSpecReference, r + ".predicate.exists.result", nil},
		"unit of no node":        {predicate(events.Predicate{Unit: &events.UnitPredicate{Result: "z", Path: "/x"}}), events.CodeSpecReference, r + ".predicate.unit.result", nil},
		"producer of no node":    {predicate(events.Predicate{Producer: &events.ProducerPredicate{Result: "z"}}), events.CodeSpecReference, r + ".predicate.producer.result", nil},
		"a time nobody records":  {predicate(events.Predicate{Newer: &events.NewerPredicate{Left: events.TimeRef{Result: "a", Time: "felt"}, Right: events.TimeRef{Result: "b", Time: "observed"}}}), events.CodeSpecInvalid, r + ".predicate.newer", nil},
		"a time of no node":      {predicate(events.Predicate{Newer: &events.NewerPredicate{Left: events.TimeRef{Result: "a", Time: "observed"}, Right: events.TimeRef{Result: "z", Time: "observed"}}}), events.CodeSpecReference, r + ".predicate.newer", nil},
		"contains nothing":       {predicate(events.Predicate{Contains: &events.ContainsPredicate{Result: "a", Path: "/t"}}), events.CodeSpecInvalid, r + ".predicate.contains.text", nil},
		"contains two":           {predicate(events.Predicate{Contains: &events.ContainsPredicate{Result: "a", Path: "/t", Text: events.Operand{Literal: events.JSON(`"x"`), Input: "/y"}}}), events.CodeSpecInvalid, r + ".predicate.contains.text", nil},
		"partial of nothing":     {func(s *events.OutcomeSpec) { s.Partial = []string{"z"} }, events.CodeSpecReference, "outcome.partial[0]", nil},
		"one deliverable too many": {func(s *events.OutcomeSpec) {
			s.Deliverables = many(outcome.MaxDeliverables + 1)
			s.Requirements, s.Partial = nil, nil
		}, events.CodeSpecInvalid, "outcome.deliverables", nil},
		"one requirement too many": {func(s *events.OutcomeSpec) {
			for i := len(s.Requirements); i <= outcome.MaxRequirements; i++ {
				s.Requirements = append(s.Requirements, cases.NoneFailed("a"))
				s.Requirements[i].ID = strconv.Itoa(i)
			}
		}, events.CodeSpecInvalid, "outcome.requirements", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			s := sound()
			test.change(s)
			found := outcome.Check(s, []string{"a", "b"})
			if len(found) != 1 || found[0].Code != test.code || found[0].Path != test.path || found[0].Action == "" {
				t.Fatalf("found %v, want one %s at %s", found, test.code, test.path)
			}
		})
	}
	t.Run("origin and importance are separate", func(t *testing.T) {
		req.Covers(t, "OD-3.1.9")
		for _, origin := range []events.Origin{events.OriginExplicit, events.OriginInherited, events.OriginInferred} {
			for _, importance := range []events.Importance{events.Must, events.Prefer} {
				s := sound()
				s.Requirements[0].Origin, s.Requirements[0].Importance = origin, importance
				if found := outcome.Check(s, []string{"a", "b"}); len(found) > 0 {
					t.Errorf("%s and %s: %v", origin, importance, found)
				}
			}
		}
	})
}

func many(n int) (list []events.Deliverable) {
	for i := range n {
		list = append(list, events.Deliverable{ID: strconv.Itoa(i), Result: "a"})
	}
	return list
}

func FuzzCheck(f *testing.F) {
	f.Add(cases.JSON(sound()))
	f.Add([]byte(`{"deliverables":[{"id":"a","result":"a","depends_on":["a"]}],"requirements":[{"predicate":{"field":{"value":1e-999999}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s events.OutcomeSpec
		if jsonvalue.Scan(data, jsonvalue.DefaultLimits) != nil || json.Unmarshal(data, &s, json.RejectUnknownMembers(true)) != nil {
			return
		}
		found := outcome.Check(&s, []string{"a", "b"})
		facts := facts(t)
		facts.Results["a"] = facts.Results["report"]
		for _, r := range s.Requirements {
			v := outcome.Judge(r, facts)
			if v.Verdict == "" || v.Reason == "" {
				t.Fatalf("no verdict on %+v", r)
			}
			if v.Verdict == events.VerdictMet && v.Strength.Rank() < r.Strength.Rank() {
				t.Fatalf("met with %s instead of %s", v.Strength, r.Strength)
			}
		}
		if verdicts := outcome.Deliverables(&s, nil, facts.Results, false); len(verdicts) != len(s.Deliverables) {
			t.Fatalf("%d verdicts on %d deliverables, found %v", len(verdicts), len(s.Deliverables), found)
		}
	})
}
