package bounded_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/record"
)

// trigger is something that ends a run from outside.
type trigger struct {
	pull   func(*script, *bounded.Cancellation)
	want   error
	status record.Status
	ids    []string
}

func triggers() map[string]trigger {
	return map[string]trigger{
		"cancellation": {
			func(_ *script, c *bounded.Cancellation) { c.Cancel() }, diagnostic.Cancelled(), record.Cancelled,
			[]string{"BNAR-1.6e", "BNAR-1.24", "BNAR-5.9", "BNAR-6.18", "BNAR-7.2"},
		},
		"deadline": {
			func(s *script, _ *bounded.Cancellation) { s.elapsed = 1000 }, diagnostic.Deadline(), record.DeadlineExceeded,
			[]string{"BNAR-1.6f", "BNAR-1.8", "BNAR-5.10", "BNAR-6.19"},
		},
		"policy": {
			func(s *script, _ *bounded.Cancellation) { s.epoch++ }, diagnostic.Unauthorized(diagnostic.PolicyRevoked), record.PolicyRejected,
			[]string{"BNAR-1.6d", "BNAR-6.16", "BNAR-10.9"},
		},
	}
}

// TestBoundaries ends the usual run at each of its observations, one after the other. Whatever the place, nothing of the
// world is touched afterwards, and what was touched has records.
func TestBoundaries(t *testing.T) {
	whole := newScript(ask("alpha"), final("done"))
	over(t, known(t, "profile"), whole)
	for name, end := range triggers() {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, end.ids...)
			reached := map[string]bool{}
			for at := 1; at < len(whole.log); at++ { // the first is the admission of the policy
				if name == "deadline" && whole.log[at] == "epoch" {
					continue // the clock was looked at just before: that time went by is seen at the next look
				}
				t.Run(strconv.Itoa(at)+" "+whole.log[at], func(t *testing.T) { reached[endAt(t, end, at)] = true })
			}
			for _, event := range []record.Kind{record.RunStarted, record.AttemptFinished, record.ToolAuthorized, record.ToolFinished} {
				if !reached[string(event)] {
					t.Errorf("no run ended after %s", event)
				}
			}
		})
	}
}

// endAt ends a run at an observation and returns the last event before the end.
func endAt(t *testing.T, end trigger, at int) string {
	t.Helper()
	cancellation := bounded.NewCancellation()
	s := newScript(ask("alpha"), final("done"))
	external := 0
	s.observe = func(string) {
		if len(s.log) == at {
			external = s.external()
			end.pull(s, cancellation)
		}
	}
	agent, err := bounded.New(known(t, "profile"), s, bounded.Options{Cancellation: cancellation})
	if err != nil {
		t.Fatal(err)
	}
	run, err := agent.Run(known(t, "task"))
	inside := at < len(s.log) && (s.log[at] == "provider" || s.log[at] == "tool")
	if inside {
		external++ // the call that was about to be noted
	}
	if s.external() != external {
		t.Errorf("%d external calls, %d of them after the end", s.external(), s.external()-external)
	}
	if err != nil {
		refused(t, err, end.want)
		if s.external() != 0 || end.status != record.Cancelled {
			t.Errorf("no records, and %d external calls", s.external())
		}
		return string(record.RunStarted)
	}
	trace := replayed(t, known(t, "profile"), known(t, "task"), run)
	if trace.Termination.Status == record.Completed {
		if at < len(whole(t))-1 { // the last observation is how long the run took
			t.Errorf("completed")
		}
		return string(record.RunFinished)
	}
	ended(t, trace, end.want)
	last := trace.Events[len(trace.Events)-2]
	if (last.Kind == record.AttemptFinished || last.Kind == record.ToolFinished) && last.Status != record.Succeeded && last.Status != end.status {
		t.Errorf("ended after %s/%s", last.Kind, last.Status)
	}
	return string(last.Kind)
}

// whole is what the usual run observes.
func whole(t *testing.T) []string {
	t.Helper()
	s := newScript(ask("alpha"), final("done"))
	over(t, known(t, "profile"), s)
	return s.log
}

// TestDeadlineBoundary has one millisecond left, and none.
func TestDeadlineBoundary(t *testing.T) {
	req.Covers(t, "BNAR-1.8", "BNAR-6.19")
	s := newScript(ask("alpha"), final("done"))
	s.elapsed = 999
	_, trace := over(t, known(t, "profile"), s)
	ended(t, trace, nil)
	if trace.Usage.ElapsedMillis != 999 {
		t.Errorf("usage %+v", trace.Usage)
	}
	s = newScript(ask("alpha"), final("done"))
	s.elapsed = 1000
	_, trace = over(t, known(t, "profile"), s)
	ended(t, trace, diagnostic.Deadline())
	if s.external() != 0 {
		t.Errorf("%d external calls", s.external())
	}
}

// deadlineScript is a script whose tool has a deadline.
type deadlineScript struct {
	*script
	remaining []uint64
	stop      func()
}

func (d *deadlineScript) InvokeToolWithDeadline(call bounded.ToolCall, remaining uint64, sink *bounded.ToolSink) bool {
	d.remaining = append(d.remaining, remaining)
	if d.stop != nil {
		d.stop()
		return false
	}
	return d.InvokeTool(call, sink)
}

// TestRemainingTime gives what remains to both boundaries, computed after everything local is prepared.
func TestRemainingTime(t *testing.T) {
	req.Covers(t, "BNAR-1.9", "BNAR-1.10", "BNAR-1.11", "BNAR-1.28", "BNAR-4.5")
	s := newScript(ask("alpha"), final("done"))
	d := &deadlineScript{script: s}
	s.observe = func(what string) {
		if what == "elapsed" {
			s.elapsed += 10 // time goes by with every look at the clock
		}
	}
	_, trace := over(t, known(t, "profile"), d)
	ended(t, trace, nil)
	var before []string // what was observed directly before each external call
	for i, what := range s.log {
		if what == "provider" || what == "tool" {
			before = append(before, strings.Join(s.log[i-3:i], " "))
		}
	}
	if want := []string{"probe elapsed epoch", "probe elapsed epoch", "probe elapsed epoch"}; !slices.Equal(before, want) {
		t.Errorf("observed %q", before)
	}
	given := []uint64{s.providers[0].RemainingMillis, d.remaining[0], s.providers[1].RemainingMillis}
	for i, remaining := range given {
		if remaining == 0 || remaining >= 1000 || i > 0 && remaining >= given[i-1] {
			t.Errorf("remaining %v", given)
		}
	}
	// Two looks at the clock came before the first attempt, and the third was the last thing before it.
	if given[0] != 1000-30 {
		t.Errorf("remaining %d for the first attempt, want 970", given[0])
	}
}

// TestRemainingTimeNeverRises has a clock that goes back.
func TestRemainingTimeNeverRises(t *testing.T) {
	req.Covers(t, "BNAR-1.9", "BNAR-1.10")
	s := newScript(ask("alpha"), final("done"))
	d := &deadlineScript{script: s}
	s.elapsed = 400
	s.observe = func(what string) {
		if what == "provider over" {
			s.elapsed = 100
		}
	}
	_, trace := over(t, known(t, "profile"), d)
	ended(t, trace, nil)
	if s.providers[0].RemainingMillis != 600 || d.remaining[0] != 600 || s.providers[1].RemainingMillis != 600 || trace.Usage.ElapsedMillis != 400 {
		t.Errorf("remaining %d, %v, %d; used %d", s.providers[0].RemainingMillis, d.remaining, s.providers[1].RemainingMillis, trace.Usage.ElapsedMillis)
	}
}

// TestToolWithoutDeadlineHook returns late: its late bytes are refused and no late result is used.
func TestToolWithoutDeadlineHook(t *testing.T) {
	req.Covers(t, "BNAR-1.25", "BNAR-1.26", "BNAR-1.27")
	s := newScript(ask("alpha"), final("done"))
	s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
		if err := sink.Push([]byte(`{"value":`)); err != nil {
			t.Error(err)
		}
		s.elapsed = 1000
		refused(t, sink.Push([]byte(`"alpha"}`)), diagnostic.Deadline())
		s.elapsed = 0
		refused(t, sink.Push([]byte(`"alpha"}`)), diagnostic.Deadline()) // the refusal stays
		return true
	}
	_, trace := over(t, known(t, "profile"), s)
	ended(t, trace, diagnostic.Deadline())
	last := trace.Events[len(trace.Events)-2]
	if last.Kind != record.ToolFinished || last.OutputDigest != "" || last.Delta.ResultBytes != 9 || len(s.providers) != 1 {
		t.Errorf("ended with %+v after %d provider attempts", last, len(s.providers))
	}
	// All bytes in time, but the return is late.
	s = newScript(ask("alpha"), final("done"))
	s.observe = func(what string) {
		if what == "tool over" {
			s.elapsed = 1000
		}
	}
	_, trace = over(t, known(t, "profile"), s)
	ended(t, trace, diagnostic.Deadline())
	if len(s.providers) != 1 {
		t.Errorf("%d provider attempts", len(s.providers))
	}
}

// TestToolWithDeadlineHook ends the call itself.
func TestToolWithDeadlineHook(t *testing.T) {
	req.Covers(t, "BNAR-1.28")
	s := newScript(ask("alpha"), final("done"))
	d := &deadlineScript{script: s}
	d.stop = func() { s.elapsed = d.remaining[0] }
	_, trace := over(t, known(t, "profile"), d)
	ended(t, trace, diagnostic.Deadline())
	if len(s.tools) != 0 || len(d.remaining) != 1 || d.remaining[0] != 1000 {
		t.Errorf("%d blocking calls, remaining %v", len(s.tools), d.remaining)
	}
}

// TestCancelledBefore returns a diagnostic alone.
func TestCancelledBefore(t *testing.T) {
	req.Covers(t, "BNAR-5.12", "BNAR-7.2", "BNAR-6.18")
	cancellation := bounded.NewCancellation()
	cancellation.Cancel()
	cancellation.Cancel()
	s := newScript(final("done"))
	_, err := start(t, known(t, "profile"), s, bounded.Options{Cancellation: cancellation})
	refused(t, err, diagnostic.Cancelled())
	if !cancellation.Cancelled() || s.external() != 0 {
		t.Errorf("%d external calls", s.external())
	}
}
