package budget_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/req"
)

// draw draws limits, often at the edges, in one of two units.
func draw(t *rapid.T, name string) events.Limits {
	l := events.Limits{CostUnit: rapid.SampledFrom([]string{"usd", "usd", "usd", "eur"}).Draw(t, name+" unit")}
	for _, r := range budget.Resources() {
		*r.Field(&l) = rapid.OneOf(
			rapid.SampledFrom([]int64{0, 1, math.MaxInt64 - 1, math.MaxInt64}), rapid.Int64Range(0, 100),
		).Draw(t, name+" "+r.Name)
	}
	return l
}

// Every metered resource has a field of its own, and every number in the
// limits is a metered resource.
func TestResourcesAreAllOfTheLimits(t *testing.T) {
	req.Covers(t, "C3-RUN-004.a")
	var l events.Limits
	names := map[string]bool{}
	for i, r := range budget.Resources() {
		*r.Field(&l) = int64(i + 1)
		names[r.Name] = true
	}
	v := reflect.ValueOf(l)
	numbers := map[int64]bool{}
	for _, field := range v.Fields() {
		if field.Kind() == reflect.Int64 {
			numbers[field.Int()] = true
		}
	}
	if len(numbers) != len(budget.Resources()) || numbers[0] || len(names) != len(numbers) {
		t.Fatalf("%d resources for %d numbers: %+v", len(budget.Resources()), len(numbers), l)
	}
	for _, want := range []string{
		"attempts", "revisions", "elapsed_millis", "input_tokens", "output_tokens", "cost_micros", "check_steps", "check_memory_bytes",
		"artifact_bytes", "context_bytes", "actions",
	} {
		if !names[want] {
			t.Errorf("%s is not metered", want)
		}
	}
}

func TestCheckRefusesEveryNegativeLimit(t *testing.T) {
	req.Covers(t, "C3-RUN-004.a")
	if err := budget.Check(events.Limits{CostUnit: "usd"}); err != nil {
		t.Fatalf("zero is a limit: %v", err)
	}
	if err := budget.Check(events.Limits{}); !errors.Is(err, budget.ErrUnit) {
		t.Fatalf("no unit: %v", err)
	}
	for _, r := range budget.Resources() {
		l := events.Limits{CostUnit: "usd"}
		*r.Field(&l) = -1
		if err := budget.Check(l); !errors.Is(err, budget.ErrNegative) {
			t.Errorf("%s of -1: %v", r.Name, err)
		}
	}
}

func TestMissing(t *testing.T) {
	all := map[string]int{}
	for _, r := range budget.Resources() {
		all[r.Name] = 0
	}
	if names := budget.Missing(all); len(names) > 0 {
		t.Errorf("missing %v", names)
	}
	delete(all, "actions")
	delete(all, "attempts")
	if names := budget.Missing(all); !slices.Equal(names, []string{"attempts", "actions"}) {
		t.Errorf("missing %v", names)
	}
}

// Meet is the greatest thing below both: no limit is ever widened by it.
func TestMeet(t *testing.T) {
	req.Covers(t, "OD-3.2.4")
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		m := budget.Meet(a, b)
		for _, other := range []events.Limits{a, b} {
			if name, ok := budget.Within(m, other); !ok {
				t.Fatalf("%s of %+v is above %+v", name, m, other)
			}
		}
		if diff := cmp.Diff(m, budget.Meet(b, a)); diff != "" {
			t.Fatalf("not commutative: %s", diff)
		}
		if diff := cmp.Diff(a, budget.Meet(a, a)); diff != "" {
			t.Fatalf("not idempotent: %s", diff)
		}
		if diff := cmp.Diff(budget.Meet(m, c), budget.Meet(a, budget.Meet(b, c))); diff != "" {
			t.Fatalf("not associative: %s", diff)
		}
		for _, r := range budget.Resources() {
			if a.CostUnit == b.CostUnit && *r.Field(&m) != min(*r.Field(&a), *r.Field(&b)) {
				t.Fatalf("%s of %d and %d is %d", r.Name, *r.Field(&a), *r.Field(&b), *r.Field(&m))
			}
		}
	})
}

// With nothing left the first use of each resource is refused, and named.
func TestZeroIsZero(t *testing.T) {
	for _, r := range budget.Resources() {
		t.Run(r.Name, func(t *testing.T) {
			left := events.Limits{CostUnit: "usd"}
			for _, other := range budget.Resources() {
				*other.Field(&left) = math.MaxInt64
			}
			*r.Field(&left) = 0
			use := events.Limits{CostUnit: "usd"}
			*r.Field(&use) = 1
			after, err := budget.Spend(left, use)
			if !errors.Is(err, budget.ErrExhausted) || err.Error() != "budget exhausted: "+r.Name || after != left {
				t.Fatalf("%+v, %v", after, err)
			}
			*r.Field(&left) = 1
			if after, err = budget.Spend(left, use); err != nil || *r.Field(&after) != 0 {
				t.Fatalf("the last one: %+v, %v", after, err)
			}
			if _, err = budget.Spend(after, use); !errors.Is(err, budget.ErrExhausted) {
				t.Fatalf("one more: %v", err)
			}
		})
	}
}

// However uses follow each other, no more is spent than there was, and a use
// that does not fit changes nothing.
func TestSpendNeverOvershoots(t *testing.T) {
	req.Covers(t, "C3-RUN-004.g", "C3-RUN-004.i")
	rapid.Check(t, func(t *rapid.T) {
		ceiling := draw(t, "ceiling")
		left, spent := ceiling, events.Limits{CostUnit: ceiling.CostUnit}
		for range rapid.IntRange(1, 8).Draw(t, "uses") {
			use := draw(t, "use")
			after, err := budget.Spend(left, use)
			if err != nil {
				if after != left {
					t.Fatalf("a refused use changed %+v to %+v", left, after)
				}
				continue
			}
			if spent, err = budget.Add(spent, use); err != nil {
				t.Fatalf("more was spent than can be counted: %v", err)
			}
			left = after
		}
		for _, r := range budget.Resources() {
			if *r.Field(&left) < 0 || *r.Field(&left)+*r.Field(&spent) != *r.Field(&ceiling) {
				t.Fatalf("%s: %d left and %d spent of %d", r.Name, *r.Field(&left), *r.Field(&spent), *r.Field(&ceiling))
			}
		}
	})
	for _, r := range budget.Resources() {
		use := events.Limits{CostUnit: "usd"}
		*r.Field(&use) = -1
		if _, err := budget.Spend(events.Limits{CostUnit: "usd"}, use); !errors.Is(err, budget.ErrNegative) {
			t.Errorf("giving back %s: %v", r.Name, err)
		}
	}
	if _, err := budget.Spend(events.Limits{CostMicros: 5, CostUnit: "usd"}, events.Limits{CostMicros: 1, CostUnit: "eur"}); !errors.Is(err, budget.ErrUnit) {
		t.Errorf("another unit: %v", err)
	}
}

func TestAddIsChecked(t *testing.T) {
	for _, r := range budget.Resources() {
		a, b := events.Limits{CostUnit: "usd"}, events.Limits{CostUnit: "usd"}
		*r.Field(&a), *r.Field(&b) = math.MaxInt64, 1
		if _, err := budget.Add(a, b); !errors.Is(err, budget.ErrOverflow) {
			t.Errorf("%s: %v", r.Name, err)
		}
		*r.Field(&a) = -1
		if _, err := budget.Add(a, b); !errors.Is(err, budget.ErrNegative) {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	if _, err := budget.Add(events.Limits{CostMicros: 1, CostUnit: "usd"}, events.Limits{CostMicros: 1, CostUnit: "eur"}); !errors.Is(err, budget.ErrUnit) {
		t.Errorf("two units: %v", err)
	}
	sum, err := budget.Add(events.Limits{}, events.Limits{CostMicros: 1, CostUnit: "eur"})
	if err != nil || sum.CostUnit != "eur" {
		t.Errorf("the unit is lost: %+v, %v", sum, err)
	}
}

// What the services get together is the ceiling: nothing is given twice.
func TestAllotmentsSumToTheCeiling(t *testing.T) {
	req.Covers(t, "OD-3.2.5")
	rapid.Check(t, func(t *rapid.T) {
		ceiling := draw(t, "ceiling")
		total := events.Limits{CostUnit: ceiling.CostUnit}
		for owner, part := range budget.Allot(ceiling) {
			if part.ElapsedMillis != ceiling.ElapsedMillis || part.CostUnit != ceiling.CostUnit {
				t.Fatalf("%s has other time or unit: %+v", owner, part)
			}
			if name, ok := budget.Within(part, ceiling); !ok {
				t.Fatalf("%s has more %s than there is", owner, name)
			}
			part.ElapsedMillis = 0
			var err error
			if total, err = budget.Add(total, part); err != nil {
				t.Fatal(err)
			}
		}
		total.ElapsedMillis = ceiling.ElapsedMillis
		if diff := cmp.Diff(ceiling, total); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestWithinNamesWhatIsNot(t *testing.T) {
	for _, r := range budget.Resources() {
		a, b := events.Limits{CostUnit: "usd"}, events.Limits{CostUnit: "usd"}
		*r.Field(&a) = 1
		if name, ok := budget.Within(a, b); ok || name != r.Name {
			t.Errorf("%s: %q, %t", r.Name, name, ok)
		}
	}
	if name, ok := budget.Within(events.Limits{CostMicros: 1, CostUnit: "usd"}, events.Limits{CostMicros: 1, CostUnit: "eur"}); ok || name != "cost_unit" {
		t.Errorf("another unit: %q, %t", name, ok)
	}
	if _, ok := budget.Within(events.Limits{CostUnit: "usd"}, events.Limits{CostUnit: "eur"}); !ok {
		t.Error("nothing in another unit is still nothing")
	}
}

func ExampleMeet() {
	agent := events.Limits{Actions: 10, Attempts: 3, CostUnit: "usd"}
	request := events.Limits{Actions: 99, Attempts: 1, CostUnit: "usd"}
	m := budget.Meet(agent, request)
	_, err := budget.Spend(m, events.Limits{Actions: 11})
	fmt.Println(m.Actions, m.Attempts, err)
	// Output: 10 1 budget exhausted: actions
}
