package authority_test

import (
	"fmt"
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/authority"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/req"
)

// full are limits with another number for each resource.
func full() events.Limits {
	l := events.Limits{CostUnit: "usd"}
	for i, r := range budget.Resources() {
		*r.Field(&l) = int64(100 + i)
	}
	return l
}

// The one table has an entry for every limit that there is, with its value,
// and what it calls enforced names the code that enforces it.
func TestEveryBoundHasAnEntry(t *testing.T) {
	req.Covers(t, "OD-3.6.13", "OD-1.15", "OD-3.2.3", "OD-3.2.6")
	l := full()
	for _, usesModel := range []bool{false, true} {
		bounds := authority.Bounds(l, []events.Effect{events.EffectRead}, 5000, 7, usesModel)
		byName := map[string]events.Bound{}
		for _, b := range bounds {
			byName[b.Name] = b
			if (b.Status == events.BoundEnforced) != (b.Consumer != "") || b.Reason == "" {
				t.Errorf("bound %+v", b)
			}
			if !slices.Contains([]events.BoundStatus{events.BoundEnforced, events.BoundAdvisory, events.BoundUnavailable, events.BoundNotApplicable}, b.Status) {
				t.Errorf("status of %+v", b)
			}
		}
		for _, r := range budget.Resources() {
			if b, ok := byName[r.Name]; !ok || b.Value != *r.Field(&l) {
				t.Errorf("%s of %d: %+v", r.Name, *r.Field(&l), b)
			}
		}
		for name, want := range map[string]int64{"lease_millis": 5000, "operations": 7, "effects": 1} {
			if byName[name].Value != want {
				t.Errorf("%s: %+v", name, byName[name])
			}
		}
		if len(bounds) != len(authority.Names()) || len(byName) != len(bounds) {
			t.Errorf("%d bounds for %d names", len(bounds), len(authority.Names()))
		}
	}
}

// A bound that a run needs and that nothing keeps is listed.
func TestUnkept(t *testing.T) {
	req.Covers(t, "OD-3.6.13", "OD-3.2.9")
	if names := authority.Unkept(authority.Bounds(full(), nil, 1, 1, false)); len(names) > 0 {
		t.Errorf("without a model: %v", names)
	}
	want := []string{"context_bytes", "cost_micros", "input_tokens", "output_tokens"}
	if names := authority.Unkept(authority.Bounds(full(), nil, 1, 1, true)); !slices.Equal(names, want) {
		t.Errorf("with a model: %v, want %v", names, want)
	}
}

func TestWithin(t *testing.T) {
	read, write := events.EffectRead, events.EffectWrite
	for _, test := range []struct {
		effects, bound []events.Effect
		want           bool
	}{
		{nil, nil, true},
		{[]events.Effect{read}, nil, false},
		{[]events.Effect{read}, []events.Effect{read, write}, true},
		{[]events.Effect{read, write}, []events.Effect{read}, false},
		{[]events.Effect{""}, []events.Effect{read}, false},
	} {
		if got := authority.Within(test.effects, test.bound); got != test.want {
			t.Errorf("%v within %v: %t", test.effects, test.bound, got)
		}
	}
}

// A name in a list is exactly that name; nobody without a name is anybody.
func TestAllows(t *testing.T) {
	for _, test := range []struct {
		list []string
		id   string
		want bool
	}{
		{nil, "ann", false},
		{[]string{"ann"}, "ann", true},
		{[]string{"ann"}, "anna", false},
		{[]string{"ann"}, "ANN", false},
		{[]string{"*"}, "ann", true},
		{[]string{"*"}, "", false},
		{[]string{""}, "", false},
		{[]string{"ann"}, "*", false},
	} {
		if got := authority.Allows(test.list, events.Principal{ID: test.id}); got != test.want {
			t.Errorf("%v allows %q: %t", test.list, test.id, got)
		}
	}
}

func ExampleUnkept() {
	bounds := authority.Bounds(events.Limits{InputTokens: 1000}, nil, 60_000, 3, true)
	fmt.Println(authority.Unkept(bounds))
	// Output: [context_bytes cost_micros input_tokens output_tokens]
}
