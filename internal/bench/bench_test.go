package bench_test

import (
	"encoding/json"
	"flag"
	"testing"
	"time"

	"example.org/mandate/internal/bench"
)

var duration = flag.Duration("duration", 300*time.Millisecond, "how long each measurement takes")

// TestRun checks that a measurement measures: figures are asserted for being
// there, not for being good.
func TestRun(t *testing.T) {
	report, err := bench.Run(t.Context(), bench.Options{
		Concurrency: []int{1, 16}, Duration: *duration, Sync: []string{"default"}, Dir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
	for _, mode := range report.Modes {
		if mode.MessagesPerRun < 8 || mode.DeliveriesPerRun < mode.MessagesPerRun || mode.DiskBytesPerRun == 0 || mode.ColdStartMillis <= 0 {
			t.Errorf("the shape of a run was not measured: %+v", mode)
		}
		for _, p := range mode.Points {
			if p.Runs.Count == 0 || p.Floor.Count == 0 || p.LatencyRatio <= 0 || p.ThroughputRatio <= 0 {
				t.Errorf("nothing was measured: %+v", p)
			}
		}
	}
}
