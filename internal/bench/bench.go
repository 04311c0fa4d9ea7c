// Package bench measures whole runs against the floor: the same number of bare
// JetStream publishes and consumer hops, with the same bytes, on the same
// machine in the same call.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/provider/builtin"
)

// Options of a measurement.
type Options struct {
	// Concurrency lists how many runs are under way at once, one measurement
	// each.
	Concurrency []int
	// Duration is how long each measurement takes.
	Duration time.Duration
	// Sync lists the modes: "default" and "always".
	Sync []string
	// Dir is where the data goes; it is removed afterwards.
	Dir string
	// Progress is told what is being measured.
	Progress func(string)
}

// Report is the outcome, as JSON.
type Report struct {
	Modes []Mode `json:"modes"`
}

// Mode is the outcome for one way to sync.
type Mode struct {
	Sync string `json:"sync"`
	// MessagesPerRun and DeliveriesPerRun count what a run puts into streams
	// and buckets, and what consumers are given; the floor does the same.
	MessagesPerRun   float64 `json:"messages_per_run"`
	DeliveriesPerRun float64 `json:"deliveries_per_run"`
	BytesPerMessage  int     `json:"bytes_per_message"`
	DiskBytesPerRun  int64   `json:"disk_bytes_per_run"`
	RSSBytes         int64   `json:"rss_bytes"`
	ColdStartMillis  float64 `json:"cold_start_millis"` // with the data of the measurement
	Points           []Point `json:"points"`
}

// Point is one concurrency, of runs and of the floor.
type Point struct {
	Concurrency int     `json:"concurrency"`
	Runs        Figures `json:"runs"`
	Floor       Figures `json:"floor"`
	// LatencyRatio is p50 of runs over p50 of the floor; ThroughputRatio is
	// the rate of the floor over that of runs. Both are overhead: 1 is none.
	LatencyRatio    float64 `json:"latency_ratio"`
	ThroughputRatio float64 `json:"throughput_ratio"`
	CPURatio        float64 `json:"cpu_ratio"`
}

// Figures are what one measurement gave.
type Figures struct {
	Count     int     `json:"count"`
	PerSecond float64 `json:"per_second"`
	P50Millis float64 `json:"p50_millis"`
	P99Millis float64 `json:"p99_millis"`
	// CPUMillis is the processor time of this process for each, which other
	// work on the machine disturbs less than wall time.
	CPUMillis float64 `json:"cpu_millis"`
}

// Run measures.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	report := &Report{}
	for _, sync := range o.Sync {
		mode, err := measure(ctx, o, sync)
		if err != nil {
			return nil, fmt.Errorf("sync %s: %w", sync, err)
		}
		report.Modes = append(report.Modes, mode)
	}
	return report, nil
}

func measure(ctx context.Context, o Options, sync string) (Mode, error) {
	mode := Mode{Sync: sync}
	dir, err := os.MkdirTemp(o.Dir, "mandate-bench-")
	if err != nil {
		return mode, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	system, err := startSystem(ctx, dir, sync == "always")
	if err != nil {
		return mode, err
	}
	points := map[int]Figures{}
	total := 0
	for _, n := range o.Concurrency {
		o.Progress(fmt.Sprintf("sync %s, %d runs at once", sync, n))
		if points[n], err = system.load(ctx, n, o.Duration); err != nil {
			return mode, errors.Join(err, system.stop(ctx))
		}
		total += points[n].Count
	}
	shape, err := system.shape(ctx)
	if err != nil {
		return mode, errors.Join(err, system.stop(ctx))
	}
	mode.RSSBytes = rss()
	if err := system.stop(ctx); err != nil {
		return mode, err
	}
	mode.DiskBytesPerRun = diskBytes(dir) / int64(max(total, 1))
	mode.MessagesPerRun, mode.DeliveriesPerRun, mode.BytesPerMessage = shape.messages, shape.deliveries, shape.bytes
	begin := time.Now()
	system, err = startSystem(ctx, dir, sync == "always")
	if err != nil {
		return mode, err
	}
	mode.ColdStartMillis = millis(time.Since(begin))
	if err := system.stop(ctx); err != nil {
		return mode, err
	}
	for _, n := range o.Concurrency {
		o.Progress(fmt.Sprintf("sync %s, floor of %d at once", sync, n))
		floor, err := measureFloor(ctx, o, shape, n, sync == "always")
		if err != nil {
			return mode, fmt.Errorf("floor: %w", err)
		}
		p := Point{Concurrency: n, Runs: points[n], Floor: floor}
		if floor.P50Millis > 0 && p.Runs.PerSecond > 0 {
			p.LatencyRatio = p.Runs.P50Millis / floor.P50Millis
			p.ThroughputRatio = floor.PerSecond / p.Runs.PerSecond
			p.CPURatio = p.Runs.CPUMillis / max(floor.CPUMillis, 0.001)
		}
		mode.Points = append(mode.Points, p)
	}
	return mode, nil
}

// system is a whole Mandate in this process.
type system struct {
	app     *app.App
	waiters waiters
	cancel  context.CancelFunc
	done    chan struct{}
}

func startSystem(ctx context.Context, dir string, always bool) (*system, error) {
	functions := builtin.NewBuilder()
	if err := functions.Register("noop", builtin.Noop); err != nil {
		return nil, err
	}
	o := app.DefaultOptions()
	o.DataDir, o.HTTPListen, o.SyncAlways, o.Builtin = dir, "", always, functions.Build()
	o.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	a, err := app.New(o)
	if err != nil {
		return nil, err
	}
	if err := a.Start(ctx); err != nil {
		return nil, err
	}
	s := &system{app: a, done: make(chan struct{})}
	if _, err := a.Intake().Apply(ctx, tenant, principal, resources(), false); err != nil {
		return nil, errors.Join(err, a.Stop(ctx))
	}
	last, err := a.Journal().Last(ctx, events.OwnerPresenter)
	if err != nil {
		return nil, errors.Join(err, a.Stop(ctx))
	}
	followContext, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	go func() {
		defer close(s.done)
		for record, err := range a.Journal().Follow(followContext, events.OwnerPresenter, last+1) {
			if err != nil {
				return
			}
			if subject, err := events.ParseSubject(record.Subject); err == nil {
				s.waiters.wake(subject.Run)
			}
		}
	}()
	return s, nil
}

func (s *system) stop(ctx context.Context) error {
	s.cancel()
	<-s.done
	return s.app.Stop(context.WithoutCancel(ctx))
}

// waiters wait for runs to end.
type waiters struct {
	mu   sync.Mutex
	runs map[string]chan struct{}
}

func (w *waiters) expect(run string) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs == nil {
		w.runs = map[string]chan struct{}{}
	}
	c := make(chan struct{})
	w.runs[run] = c
	return c
}

func (w *waiters) wake(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, ok := w.runs[run]; ok {
		close(c)
		delete(w.runs, run)
	}
}

// load keeps n runs under way for a while and measures each from its
// submission to its document.
func (s *system) load(ctx context.Context, n int, d time.Duration) (Figures, error) {
	request := newRequest()
	return loop(ctx, n, d, func(ctx context.Context, run string) error {
		done := s.waiters.expect(run)
		if _, err := s.app.Intake().Submit(ctx, tenant, run, principal, request); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// figures sorts latencies and sums them up.
func figures(latencies []time.Duration, elapsed time.Duration) Figures {
	if len(latencies) == 0 {
		return Figures{}
	}
	slices.Sort(latencies)
	at := func(q float64) float64 { return millis(latencies[int(q*float64(len(latencies)-1))]) }
	return Figures{Count: len(latencies), PerSecond: float64(len(latencies)) / elapsed.Seconds(), P50Millis: at(0.5), P99Millis: at(0.99)}
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// rss is the resident memory of this process.
func rss() int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

func diskBytes(dir string) int64 {
	var total int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		// A file that went away meanwhile counts nothing.
		if err == nil && !d.IsDir() {
			if info, infoErr := d.Info(); infoErr == nil {
				total += info.Size()
			}
		}
		return nil
	})
	return total
}
