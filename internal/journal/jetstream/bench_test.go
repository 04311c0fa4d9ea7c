package jetstream_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/testkit"
)

// payload is a commit body of ordinary size.
var payload = make([]byte, 600)

// BenchmarkAppend appends commits to as many runs at once as the name says.
// "ungrouped" is the same server without grouping: the floor.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range []struct {
		name          string
		sync, grouped bool
	}{{"lazy sync", false, false}, {"sync always ungrouped", true, false}, {"sync always", true, true}} {
		for _, runs := range []int{1, 16, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", mode.name, runs), func(b *testing.B) {
				conn := testkit.Connect(b, testkit.StartServer(b, testkit.ServerOptions{SyncAlways: mode.sync}))
				j := open(b, conn, jetstream.Config{SyncAlways: mode.grouped, Try: 5 * time.Second})
				benchmarkAppend(b, j, runs)
			})
		}
	}
}

func benchmarkAppend(b *testing.B, j journal.Journal, runs int) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	var writers sync.WaitGroup
	b.ResetTimer()
	for n := range runs {
		subject := events.Subject{Owner: events.OwnerExecutor, Tenant: "bench", Run: fmt.Sprintf("run%d", n)}
		writers.Go(func() {
			var end journal.Position
			for left.Add(-1) >= 0 {
				commit := &events.Commit{
					ID: fmt.Sprintf("%s-%d", subject.Run, end.Number), Subject: subject, Number: end.Number + 1,
					Previous: end.Digest, Correlation: subject.Run, Writer: "bench", Protocol: events.Protocol,
				}
				var err error
				if end, err = j.Append(context.Background(), commit, payload, end); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

// BenchmarkHop is the way of one commit through the broker: append, delivery,
// double acknowledgment.
func BenchmarkHop(b *testing.B) {
	source := journal.Source{Owner: events.OwnerExecutor}
	for _, runs := range []int{1, 64} {
		b.Run(strconv.Itoa(runs), func(b *testing.B) {
			conn := testkit.Connect(b, testkit.StartServer(b, testkit.ServerOptions{}))
			j := open(b, conn, jetstream.Config{Readers: []jetstream.Reader{{Name: "hop", Source: source}}})
			deliveries, err := j.Consume(b.Context(), "hop", source)
			if err != nil {
				b.Fatal(err)
			}
			ends := make([]journal.Position, runs)
			turn := make(map[string]chan struct{}, runs)
			for n := range runs {
				turn[fmt.Sprintf("run%d", n)] = make(chan struct{}, 1)
			}
			go func() {
				for d := range deliveries {
					go func() {
						d.Ack()
						turn[d.Run().Run] <- struct{}{}
					}()
				}
			}()
			var left atomic.Int64
			left.Store(int64(b.N))
			var writers sync.WaitGroup
			b.ResetTimer()
			for n := range runs {
				subject := events.Subject{Owner: source.Owner, Tenant: "bench", Run: fmt.Sprintf("run%d", n)}
				writers.Go(func() {
					for left.Add(-1) >= 0 {
						commit := &events.Commit{
							ID: fmt.Sprintf("%s-%d", subject.Run, ends[n].Number), Subject: subject, Number: ends[n].Number + 1,
							Previous: ends[n].Digest, Correlation: subject.Run, Writer: "bench", Protocol: events.Protocol,
						}
						end, err := j.Append(context.Background(), commit, payload, ends[n])
						if err != nil {
							b.Error(err)
							return
						}
						ends[n] = end
						<-turn[subject.Run]
					}
				})
			}
			writers.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "hops/s")
		})
	}
}
