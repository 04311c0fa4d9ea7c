package api

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Health answers the probes of a process.
type Health struct {
	Live  func() bool // the process need not be restarted
	Ready func() bool // the process does what it is for
	Start time.Time
}

func (h *Health) validate() error {
	if h.Live == nil || h.Ready == nil {
		return errors.New("api: probes are needed")
	}
	return nil
}

// NewHealth returns the handler of a process without a gateway: probes and
// metrics.
func NewHealth(h Health) (http.Handler, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	h.register(mux, newCounters())
	return mux, nil
}

func (h *Health) register(mux *http.ServeMux, counts *counters) {
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { probe(w, h.Live()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { probe(w, h.Ready()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { probe(w, h.Live() && h.Ready()) })
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(h.metrics(counts)) // whoever asked may be gone
	})
}

func probe(w http.ResponseWriter, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	answer := "ok\n"
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer = "not ready\n"
	}
	_, _ = w.Write([]byte(answer)) // whoever asked may be gone
}

// counters count what the gateway did.
type counters struct {
	mu       sync.Mutex
	requests map[answered]uint64
	streams  int64
}

type answered struct {
	route  string
	status int
}

func newCounters() *counters { return &counters{requests: map[answered]uint64{}} }

func (c *counters) request(route string, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[answered{route, status}]++
}

func (c *counters) stream(change int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.streams += change
}

// metrics writes everything in the text format of Prometheus.
func (h *Health) metrics(c *counters) []byte {
	var out bytes.Buffer
	metric := func(name, kind, help string) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	number := func(ok bool) int {
		if ok {
			return 1
		}
		return 0
	}
	metric("mandate_ready", "gauge", "Whether the process does what it is for.")
	fmt.Fprintf(&out, "mandate_ready %d\n", number(h.Ready()))
	metric("mandate_start_time_seconds", "gauge", "When the process started, in seconds since 1970.")
	fmt.Fprintf(&out, "mandate_start_time_seconds %d\n", h.Start.Unix())
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	metric("mandate_heap_bytes", "gauge", "Memory of live and dead objects on the heap.")
	fmt.Fprintf(&out, "mandate_heap_bytes %d\n", memory.HeapAlloc)
	metric("mandate_goroutines", "gauge", "Goroutines that exist.")
	fmt.Fprintf(&out, "mandate_goroutines %d\n", runtime.NumGoroutine())
	c.mu.Lock()
	defer c.mu.Unlock()
	metric("mandate_gateway_event_streams", "gauge", "Event streams that are open.")
	fmt.Fprintf(&out, "mandate_gateway_event_streams %d\n", c.streams)
	metric("mandate_gateway_requests_total", "counter", "Requests answered, by route and status.")
	keys := slices.SortedFunc(maps.Keys(c.requests), func(a, b answered) int {
		if order := strings.Compare(a.route, b.route); order != 0 {
			return order
		}
		return a.status - b.status
	})
	for _, key := range keys {
		fmt.Fprintf(&out, "mandate_gateway_requests_total{route=%q,status=\"%d\"} %d\n", key.route, key.status, c.requests[key])
	}
	return out.Bytes()
}
