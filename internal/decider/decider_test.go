package decider_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/testkit/cases"
)

// The heads of a decision are those it knew and that of what it reacts to; the
// ones it knew stay as they were.
func TestHeads(t *testing.T) {
	known := events.Heads{events.OwnerRequest: {Number: 1}, events.OwnerAdmission: {Number: 2}}
	c := cases.Commit(events.OwnerAdmission, 5)
	got := decider.Heads(known, c)
	want := events.Heads{events.OwnerRequest: {Number: 1}, events.OwnerAdmission: c.Head()}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if known[events.OwnerAdmission].Number != 2 {
		t.Error("what was known changed")
	}
	if diff := cmp.Diff(known, decider.Heads(known, nil)); diff != "" {
		t.Error(diff)
	}
	if got := decider.Heads(nil, c); got[events.OwnerAdmission] != c.Head() || len(got) != 1 {
		t.Error(got)
	}
}

func TestErrorNamesOwnerAndCode(t *testing.T) {
	err := &decider.Error{Owner: events.OwnerExecutor, Code: events.CodeConflict, What: "a second revision"}
	if got, want := err.Error(), "executor: MD-1906: a second revision"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
