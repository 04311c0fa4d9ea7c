package bounded_test

import (
	"bytes"
	"errors"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
)

// TestSinkOrder has several things wrong at once; the first in the order is told, and it stays.
func TestSinkOrder(t *testing.T) {
	req.Covers(t, "BNAR-10.7", "BNAR-1.15")
	cancellation := bounded.NewCancellation()
	s := newScript()
	wrong := []func(bool){
		func(on bool) {
			if on {
				cancellation.Cancel()
			}
		},
		func(on bool) { s.elapsed = map[bool]uint64{true: 1000}[on] },
		func(on bool) { s.epoch = map[bool]uint64{true: 2, false: 1}[on] },
	}
	wants := []error{
		diagnostic.Cancelled(), diagnostic.Deadline(), diagnostic.Unauthorized(diagnostic.PolicyRevoked),
		diagnostic.Bound("stream_chunks", 2), diagnostic.Bound("provider_response_bytes", 4096),
	}
	long := bytes.Repeat([]byte("x"), 5000)
	for first := range wants {
		s.answers = []provider{func(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
			if first < 4 {
				for range 2 {
					if err := sink.Push(nil); err != nil {
						t.Error(err)
					}
				}
			}
			for i := range wrong {
				wrong[i](i >= first)
			}
			refused(t, sink.Push(long), wants[first])
			for i := range wrong {
				wrong[i](false)
			}
			refused(t, sink.Push(nil), wants[first])
			return bounded.Succeeded(bounded.Usage{})
		}}
		cancellation = bounded.NewCancellation()
		agent, err := bounded.New(changed(t, limit(t, "max_stream_chunks", 2)...), s, bounded.Options{Cancellation: cancellation})
		if err != nil {
			t.Fatal(err)
		}
		run, err := agent.Run(known(t, "task"))
		if err != nil {
			t.Fatal(err)
		}
		ended(t, replayed(t, changed(t, limit(t, "max_stream_chunks", 2)...), known(t, "task"), run), wants[first])
	}
}

// TestChunkCount counts empty chunks, and not those that a boundary refused.
func TestChunkCount(t *testing.T) {
	req.Covers(t, "BNAR-10.7", "BNAR-4.11")
	for n, want := range map[int]error{63: nil, 64: diagnostic.Bound("stream_chunks", 64)} {
		s := newScript()
		s.answers = []provider{func(_ bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
			for range n {
				_ = sink.Push(nil)
			}
			_ = sink.Push([]byte(final("done")))
			return bounded.Succeeded(bounded.Usage{})
		}}
		_, trace := over(t, known(t, "profile"), s)
		ended(t, trace, want)
	}
	// A tool's sink has no such bound.
	s := newScript(ask("alpha"), final("done"))
	s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
		for range 10000 {
			if err := sink.Push(nil); err != nil {
				t.Fatal(err)
			}
		}
		return sink.Push([]byte(`{"value":"alpha"}`)) == nil
	}
	_, trace := over(t, known(t, "profile"), s)
	ended(t, trace, nil)
}

// TestSinksBelongToTheRun has sinks that a host made itself, and sinks after their call.
func TestSinksBelongToTheRun(t *testing.T) {
	req.Covers(t, "BNAR-7.3")
	var provider bounded.ProviderSink
	var tool bounded.ToolSink
	if err := provider.Push([]byte("x")); !errors.Is(err, bounded.ErrSinkClosed) {
		t.Errorf("a sink of the host's own: %v", err)
	}
	if err := tool.Push([]byte("x")); !errors.Is(err, bounded.ErrSinkClosed) {
		t.Errorf("a sink of the host's own: %v", err)
	}
	var kept *bounded.ProviderSink
	s := newScript()
	s.answers = []func(bounded.ProviderCall, *bounded.ProviderSink) bounded.Attempt{
		func(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
			kept = sink
			return answer(ask("alpha"))(call, sink)
		}, answer(final("done")),
	}
	s.tool = func(_ bounded.ToolCall, sink *bounded.ToolSink) bool {
		if err := kept.Push([]byte("late")); !errors.Is(err, bounded.ErrSinkClosed) {
			t.Errorf("a sink after its call: %v", err)
		}
		return sink.Push([]byte(`{"value":"alpha"}`)) == nil
	}
	run, _ := over(t, known(t, "profile"), s)
	if !bytes.Equal(run.Evidence()[:1000], known(t, "evidence")[:1000]) {
		t.Errorf("late bytes changed the Evidence")
	}
}

// TestLateGoroutine pushes from a goroutine of the host's own that outlives the call.
func TestLateGoroutine(t *testing.T) {
	req.Covers(t, "BNAR-1.26")
	over1, done := make(chan struct{}), make(chan struct{})
	s := newScript()
	s.answers = []provider{func(call bounded.ProviderCall, sink *bounded.ProviderSink) bounded.Attempt {
		go func() {
			defer close(done)
			<-over1
			for range 1000 {
				if sink.Push([]byte("late")) == nil {
					t.Error("late bytes were taken")
				}
			}
		}()
		return answer(final("done"))(call, sink)
	}}
	agent, err := bounded.New(known(t, "profile"), s, bounded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := agent.Run(known(t, "task"))
	close(over1)
	<-done
	if err != nil || run.Status() != "completed" {
		t.Errorf("%v", err)
	}
}
