package budget_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/req"
)

// tokens are limits of output tokens and cost, and of nothing else.
func tokens(n int64) events.Limits {
	return events.Limits{OutputTokens: n, CostMicros: n, CostUnit: "usd"}
}

func ledger(tb testing.TB, allotment events.Limits) budget.Ledger {
	tb.Helper()
	l, err := budget.NewLedger(allotment)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func TestLedger(t *testing.T) {
	req.Covers(t, "C3-RUN-004.l", "C3-RUN-004.m", "OD-3.6.12d")
	l := ledger(t, tokens(10))
	l, err := l.Reserve("a", tokens(6))
	if err != nil || l.Left() != tokens(4) {
		t.Fatalf("%v, left %+v", err, l.Left())
	}
	if _, err := l.Reserve("b", tokens(5)); !errors.Is(err, budget.ErrExhausted) {
		t.Fatalf("reserved more than is left: %v", err)
	}
	if _, err := l.Reserve("a", tokens(1)); !errors.Is(err, budget.ErrReserved) {
		t.Fatalf("reserved twice: %v", err)
	}
	if _, err := l.Settle("a", tokens(7)); !errors.Is(err, budget.ErrOveruse) {
		t.Fatalf("used more than was reserved: %v", err)
	}
	settled, err := l.Settle("a", tokens(2))
	if err != nil || settled.Left() != tokens(8) || l.Left() != tokens(4) {
		t.Fatalf("%v, left %+v, before %+v", err, settled.Left(), l.Left())
	}
	if _, err := settled.Settle("a", tokens(0)); !errors.Is(err, budget.ErrSettled) {
		t.Fatalf("settled twice: %v", err)
	}
	if _, err := settled.Reserve("a", tokens(1)); !errors.Is(err, budget.ErrReserved) {
		t.Fatalf("a name was used again: %v", err)
	}
	expired, err := l.Expire("a")
	if err != nil || expired.Left() != tokens(4) || len(expired.Open()) != 0 {
		t.Fatalf("%v, left %+v", err, expired.Left())
	}
	if _, err := expired.Settle("a", tokens(0)); !errors.Is(err, budget.ErrSettled) {
		t.Fatalf("what nobody knows was settled: %v", err)
	}
	if _, err := budget.NewLedger(tokens(-1)); !errors.Is(err, budget.ErrNegative) {
		t.Fatalf("%v", err)
	}
	if _, err := l.Reserve("c", tokens(-1)); !errors.Is(err, budget.ErrNegative) {
		t.Fatalf("%v", err)
	}
	if _, err := l.Reserve("c", events.Limits{CostMicros: 1, CostUnit: "eur"}); !errors.Is(err, budget.ErrUnit) {
		t.Fatalf("another unit: %v", err)
	}
}

// With nothing of a resource the first use of it is refused, whichever it is.
func TestLedgerZeroIsZero(t *testing.T) {
	req.Covers(t, "C3-RUN-004.b")
	for _, r := range budget.Resources() {
		allotment := full()
		*r.Field(&allotment) = 0
		use := events.Limits{CostUnit: allotment.CostUnit}
		*r.Field(&use) = 1
		if _, err := ledger(t, allotment).Reserve("a", use); !errors.Is(err, budget.ErrExhausted) {
			t.Errorf("%s: %v", r.Name, err)
		}
		*r.Field(&allotment) = 1
		if _, err := ledger(t, allotment).Reserve("a", use); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
}

func full() events.Limits {
	l := events.Limits{CostUnit: "usd"}
	for _, r := range budget.Resources() {
		*r.Field(&l) = 100
	}
	return l
}

// What a candidate says can lower a limit and never raise one.
func TestNarrow(t *testing.T) {
	req.Covers(t, "C3-RUN-004.c", "C3-RUN-004.d")
	rapid.Check(t, func(t *rapid.T) {
		a, to := draw(t, "allotment"), draw(t, "words")
		l, err := budget.NewLedger(a)
		if err != nil {
			t.Fatal(err)
		}
		got := l.Narrow(to).Allotment()
		for _, r := range budget.Resources() {
			if want := min(*r.Field(&a), *r.Field(&to)); *r.Field(&got) != want {
				t.Fatalf("%s is %d, want %d", r.Name, *r.Field(&got), want)
			}
		}
		to.OutputTokens = -5
		if l.Narrow(to).Allotment().OutputTokens != 0 {
			t.Fatal("less than nothing is something")
		}
	})
	l, _ := ledger(t, tokens(10)).Reserve("a", tokens(6))
	if l = l.Narrow(tokens(4)); l.Left() != tokens(0) {
		t.Fatalf("left %+v of less than is charged", l.Left())
	}
	if l, err := l.Grant(tokens(3)); err != nil || l.Left() != tokens(1) {
		t.Fatalf("%v, left %+v after a grant", err, l.Left())
	}
}

// A nested run is charged to both ledgers, and stops at what is left of its
// parent's.
func TestDelegate(t *testing.T) {
	req.Covers(t, "C3-RUN-004.e", "C3-RUN-004.f", "OD-3.6.12c", "OD-4.2.15")
	parent := ledger(t, tokens(10))
	parent, err := parent.Reserve("own", tokens(4))
	if err != nil {
		t.Fatal(err)
	}
	parent, granted, err := parent.Delegate("child", tokens(100))
	if err != nil || granted != tokens(6) || parent.Left() != tokens(0) {
		t.Fatalf("%v, granted %+v, left %+v", err, granted, parent.Left())
	}
	child := ledger(t, granted)
	if _, err := child.Reserve("a", tokens(7)); !errors.Is(err, budget.ErrExhausted) {
		t.Fatalf("the child got more than its parent had: %v", err)
	}
	child, err = child.Reserve("a", tokens(3))
	if err != nil {
		t.Fatal(err)
	}
	if parent, err = parent.Settle("child", child.Charged()); err != nil || parent.Left() != tokens(3) || child.Left() != tokens(3) {
		t.Fatalf("%v, parent left %+v, child left %+v", err, parent.Left(), child.Left())
	}
	if _, _, err := parent.Delegate("child", tokens(1)); !errors.Is(err, budget.ErrReserved) {
		t.Fatalf("two children of one name: %v", err)
	}
	timed := tokens(10)
	timed.ElapsedMillis = 1000
	wanted := tokens(1)
	wanted.ElapsedMillis = 5000
	parent, granted, err = ledger(t, timed).Delegate("child", wanted)
	if err != nil || granted.ElapsedMillis != 1000 || parent.Left().ElapsedMillis != 1000 {
		t.Fatalf("%v, granted %+v, left %+v", err, granted, parent.Left())
	}
}

// book is a ledger that is drawn at, with what is really used of it and of
// everything nested in it.
type book struct {
	budget.Ledger
	used   map[string]int64 // what open reservations really used by now
	spent  int64            // what closed ones used
	nested map[string]*book
}

func (b *book) total() int64 {
	sum := b.spent
	for _, n := range b.used {
		sum += n
	}
	for _, child := range b.nested {
		sum += child.total()
	}
	return sum
}

// Whatever is reserved, settled, expired and delegated in whatever order, not
// more is used than was allotted, at no level, and the books never say less
// than what was used.
func TestNoSequenceOvershoots(t *testing.T) {
	req.Covers(t, "C3-RUN-004.d", "C3-RUN-004.e", "C3-RUN-004.f", "C3-RUN-004.l", "C3-RUN-004.m")
	rapid.Check(t, func(t *rapid.T) {
		root, err := budget.NewLedger(tokens(rapid.Int64Range(0, 40).Draw(t, "allotment")))
		if err != nil {
			t.Fatal(err)
		}
		books := []*book{{Ledger: root, used: map[string]int64{}, nested: map[string]*book{}}}
		for i := range rapid.IntRange(1, 30).Draw(t, "steps") {
			step(t, &books, fmt.Sprintf("r%d", i))
			for _, b := range books {
				if total, charged := b.total(), b.Charged().OutputTokens; total > b.Allotment().OutputTokens || total > charged || charged > b.Allotment().OutputTokens {
					t.Fatalf("%d of %d used, %d charged", total, b.Allotment().OutputTokens, charged)
				}
			}
		}
	})
}

func step(t *rapid.T, books *[]*book, id string) {
	b := rapid.SampledFrom(*books).Draw(t, "book")
	n := rapid.Int64Range(0, 15).Draw(t, "amount")
	pick := func() string {
		if open := b.Open(); len(open) > 0 && rapid.IntRange(0, 9).Draw(t, "open") > 0 {
			return rapid.SampledFrom(open).Draw(t, "reservation")
		}
		return "r0"
	}
	switch rapid.IntRange(0, 4).Draw(t, "step") {
	case 0, 1:
		if next, err := b.Reserve(id, tokens(n)); err == nil {
			b.Ledger, b.used[id] = next, rapid.Int64Range(0, n).Draw(t, "used")
		}
	case 2:
		id := pick()
		used := n
		if child := b.nested[id]; child != nil {
			used = child.Charged().OutputTokens
		} else if _, open := b.used[id]; open {
			used = max(n, b.used[id]) // a report is not below what was used
		}
		if next, err := b.Settle(id, tokens(used)); err == nil {
			b.end(id, next, books)
		}
	case 3:
		id := pick()
		if next, err := b.Expire(id); err == nil {
			b.end(id, next, books)
		}
	case 4:
		next, granted, err := b.Delegate(id, tokens(n))
		if err != nil {
			return
		}
		child, err := budget.NewLedger(granted)
		if err != nil {
			t.Fatal(err)
		}
		b.Ledger, b.nested[id] = next, &book{Ledger: child, used: map[string]int64{}, nested: map[string]*book{}}
		*books = append(*books, b.nested[id])
	}
}

// end closes a reservation; nothing nested in it goes on.
func (b *book) end(id string, next budget.Ledger, books *[]*book) {
	b.Ledger = next
	b.spent += b.used[id]
	delete(b.used, id)
	if child := b.nested[id]; child != nil {
		b.spent += child.total()
		delete(b.nested, id)
		kept := (*books)[:0]
		for _, other := range *books {
			if !child.holds(other) {
				kept = append(kept, other)
			}
		}
		*books = kept
	}
}

func (b *book) holds(other *book) bool {
	if b == other {
		return true
	}
	for _, child := range b.nested {
		if child.holds(other) {
			return true
		}
	}
	return false
}

// The books follow from what is recorded; what was never settled, or not known,
// stays charged.
func TestFold(t *testing.T) {
	req.Covers(t, "C3-RUN-004.l", "C3-RUN-004.m")
	reserved := func(id string, n int64) events.Payload {
		return &events.GenerationReserved{Generation: id, Bound: tokens(n)}
	}
	settled := func(id, status string, reported bool, n int64) events.Payload {
		return &events.GenerationSettled{Generation: id, Status: status, Reported: reported, Usage: tokens(n)}
	}
	for name, test := range map[string]struct {
		recorded []events.Payload
		left     int64
	}{
		"nothing":                  {nil, 10},
		"reserved":                 {[]events.Payload{reserved("a", 6)}, 4},
		"reserved twice":           {[]events.Payload{reserved("a", 6), reserved("a", 3)}, 4},
		"settled":                  {[]events.Payload{reserved("a", 6), settled("a", "succeeded", true, 2)}, 8},
		"settled twice":            {[]events.Payload{reserved("a", 6), settled("a", "succeeded", true, 2), settled("a", "succeeded", true, 0)}, 8},
		"rejected, and it cost":    {[]events.Payload{reserved("a", 6), settled("a", "rejected", true, 5)}, 5},
		"usage not reported":       {[]events.Payload{reserved("a", 6), settled("a", "succeeded", false, 0)}, 4},
		"uncertain":                {[]events.Payload{reserved("a", 6), settled("a", "uncertain", true, 0)}, 4},
		"not started":              {[]events.Payload{reserved("a", 6), settled("a", "not_started", false, 0)}, 10},
		"more than was reserved":   {[]events.Payload{reserved("a", 6), settled("a", "succeeded", true, 9)}, 4},
		"settled, never reserved":  {[]events.Payload{settled("a", "succeeded", true, 9)}, 10},
		"more than there was":      {[]events.Payload{reserved("a", 16)}, 0},
		"granted":                  {[]events.Payload{&events.AllotmentGranted{Service: events.OwnerInterpreter, Limits: tokens(5)}}, 15},
		"granted to somebody else": {[]events.Payload{&events.AllotmentGranted{Service: events.OwnerExecutor, Limits: tokens(5)}}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			l := ledger(t, tokens(10))
			for _, p := range test.recorded {
				l = l.Fold(events.OwnerInterpreter, p)
			}
			if diff := cmp.Diff(tokens(test.left), l.Left()); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func ExampleLedger() {
	l, _ := budget.NewLedger(events.Limits{OutputTokens: 100, CostUnit: "usd"})
	l, _ = l.Reserve("call-1", events.Limits{OutputTokens: 80})
	_, err := l.Reserve("call-2", events.Limits{OutputTokens: 40})
	fmt.Println(l.Left().OutputTokens, err)
	l, _ = l.Settle("call-1", events.Limits{OutputTokens: 30})
	fmt.Println(l.Left().OutputTokens)
	// Output:
	// 20 reserve call-2: budget exhausted: output_tokens
	// 70
}
