package cli

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.org/mandate/internal/bench"
)

func (c *cli) bench() *cobra.Command {
	o := bench.Options{}
	command := &cobra.Command{
		Use:   "bench",
		Short: "Measure runs against the floor of bare publishes and hops",
		Long: "Measure whole runs of two calls that do nothing, in this process with an embedded server, against the floor: the same\n" +
			"number of bare JetStream publishes and consumer hops with the same bytes, measured in the same call. Ratios of 1 are no\n" +
			"overhead. Everything it writes is removed.",
		Example: "  mandate bench\n  mandate bench --duration 10s --concurrency 1,64 --sync default -o json",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			for _, mode := range o.Sync {
				if !slices.Contains([]string{"default", "always"}, mode) {
					return usage("--sync "+mode+" is not a way to sync", "use default or always")
				}
			}
			if o.Duration <= 0 || slices.ContainsFunc(o.Concurrency, func(n int) bool { return n < 1 || n > 4096 }) || len(o.Concurrency) == 0 {
				return usage("the measurement makes no sense", "give a duration above zero and concurrencies from 1 to 4096")
			}
			o.Progress = c.note
			c.tuneCollector()
			report, err := bench.Run(command.Context(), o)
			if err != nil {
				return fmt.Errorf("bench: %w", err)
			}
			return c.print(report, benchTable(report))
		},
	}
	flags := command.Flags()
	flags.DurationVar(&o.Duration, "duration", 5*time.Second, "how long each measurement takes")
	flags.IntSliceVar(&o.Concurrency, "concurrency", []int{1, 16, 64, 256}, "how many runs are under way at once")
	flags.StringSliceVar(&o.Sync, "sync", []string{"default", "always"}, "how the server syncs: default, always")
	flags.StringVar(&o.Dir, "dir", os.TempDir(), "where the data goes, on the disk to measure")
	return command
}

func benchTable(report *bench.Report) table {
	t := table{columns: []string{"SYNC", "AT ONCE", "RUNS/S", "P50 MS", "P99 MS", "CPU MS", "FLOOR/S", "FLOOR P50", "LATENCY X", "THROUGHPUT X", "CPU X"}}
	for _, m := range report.Modes {
		for _, p := range m.Points {
			t.row(m.Sync, strconv.Itoa(p.Concurrency), number(p.Runs.PerSecond), number(p.Runs.P50Millis), number(p.Runs.P99Millis), number(p.Runs.CPUMillis),
				number(p.Floor.PerSecond), number(p.Floor.P50Millis), number(p.LatencyRatio), number(p.ThroughputRatio), number(p.CPURatio))
		}
		t.row(m.Sync, "", fmt.Sprintf("%.0f messages of %d bytes and %.0f deliveries a run; %d bytes on disk a run; %d MB resident; cold start %.0f ms",
			m.MessagesPerRun, m.BytesPerMessage, m.DeliveriesPerRun, m.DiskBytesPerRun, m.RSSBytes>>20, m.ColdStartMillis))
	}
	return t
}

func number(f float64) string { return fmt.Sprintf("%.2f", f) }
