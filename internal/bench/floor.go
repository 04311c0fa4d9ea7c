package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
)

// shape is what one run does to the streams, for the floor to do the same.
type shape struct {
	// stages are the stream and the bytes of each message of a run, in the
	// order of cause and effect.
	stages []stage
	// side counts the messages beside the chain: keys and views.
	side       int
	messages   float64
	deliveries float64
	bytes      int
}

type stage struct {
	owner events.Owner
	bytes int
}

// shape reads a finished run back.
func (s *system) shape(ctx context.Context) (shape, error) {
	var out shape
	var last string
	for record, err := range s.app.Journal().Read(ctx, events.OwnerPresenter, 1) {
		if err != nil {
			return out, err
		}
		last = record.Subject
	}
	subject, err := events.ParseSubject(last)
	if err != nil {
		return out, err
	}
	var records []events.Record
	for _, owner := range events.Owners() {
		if owner == events.OwnerRegistry {
			continue
		}
		chain, err := s.app.Journal().Load(ctx, subject.With(owner), 0)
		if err != nil {
			return out, err
		}
		records = append(records, chain...)
	}
	sortByStored(records)
	total := 0
	for _, r := range records {
		parsed, err := events.ParseSubject(r.Subject)
		if err != nil {
			return out, err
		}
		size := len(r.Data)
		for name, value := range r.Header {
			size += len(name) + len(value) + 4
		}
		out.stages = append(out.stages, stage{parsed.Owner, size})
		total += size
		out.deliveries += float64(app.Readers(parsed.Owner)) + 1 // and the projector
	}
	// One data key and two views a run.
	out.side = 3
	out.messages = float64(len(records) + out.side)
	out.bytes = total / len(records)
	return out, nil
}

func sortByStored(records []events.Record) {
	for i := 1; i < len(records); i++ {
		for j := i; j > 0 && records[j].Stored < records[j-1].Stored; j-- {
			records[j], records[j-1] = records[j-1], records[j]
		}
	}
}

// floor is the bare pipeline: streams, consumers, and nothing in between.
type floor struct {
	js      jetstream.JetStream
	shape   shape
	waiters waiters
	padding []byte
	side    chan string
	errs    chan error
	group   sync.WaitGroup
}

// measureFloor measures the bare pipeline on a server of its own.
func measureFloor(ctx context.Context, o Options, s shape, n int, always bool) (Figures, error) {
	dir, err := os.MkdirTemp(o.Dir, "mandate-floor-")
	if err != nil {
		return Figures{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // temporary
	srv, err := server.NewServer(&server.Options{
		ServerName: "floor", DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, SyncAlways: always,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 40,
	})
	if err != nil {
		return Figures{}, err
	}
	srv.Start()
	defer func() { srv.Shutdown(); srv.WaitForShutdown() }()
	if !srv.ReadyForConnections(10 * time.Second) {
		return Figures{}, errors.New("the server is not ready")
	}
	conn, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		return Figures{}, err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return Figures{}, err
	}
	f := &floor{js: js, shape: s, padding: make([]byte, 1<<20), side: make(chan string, 4096), errs: make(chan error, 1)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stops, err := f.open(ctx)
	if err != nil {
		return Figures{}, err
	}
	figures, err := loop(ctx, n, o.Duration, f.one)
	for _, stop := range stops {
		stop.Stop()
	}
	cancel()
	f.group.Wait()
	select {
	case failed := <-f.errs:
		err = errors.Join(err, failed)
	default:
	}
	return figures, err
}

// open makes the streams and consumers that a deployment has.
func (f *floor) open(ctx context.Context) ([]jetstream.ConsumeContext, error) {
	if _, err := f.js.CreateStream(ctx, jetstream.StreamConfig{Name: "SIDE", Subjects: []string{"side.>"}, MaxMsgsPerSubject: 1, AllowDirect: true}); err != nil {
		return nil, err
	}
	var stops []jetstream.ConsumeContext
	for _, owner := range events.Owners() {
		name := "FLOOR_" + strings.ToUpper(string(owner))
		config := jetstream.StreamConfig{
			Name: name, Subjects: []string{"floor." + string(owner) + ".>"}, Discard: jetstream.DiscardNew, MaxBytes: 1 << 30,
			Duplicates: 10 * time.Minute, DenyDelete: true, DenyPurge: true, AllowDirect: true,
		}
		if _, err := f.js.CreateStream(ctx, config); err != nil {
			return nil, fmt.Errorf("stream %s: %w", name, err)
		}
		// The first reader passes the run on; the others and the projector only
		// take what they are given.
		for i := range app.Readers(owner) + 1 {
			consumer, err := f.js.CreateConsumer(ctx, name, jetstream.ConsumerConfig{
				Durable: fmt.Sprintf("reader-%d", i), AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1024, AckWait: 10 * time.Second,
			})
			if err != nil {
				return nil, fmt.Errorf("consumer of %s: %w", name, err)
			}
			stop, err := consumer.Consume(f.handler(ctx, i == 0))
			if err != nil {
				return nil, fmt.Errorf("consume %s: %w", name, err)
			}
			stops = append(stops, stop)
		}
	}
	for range 8 {
		f.group.Go(func() { f.publishSide(ctx) })
	}
	return stops, nil
}

func (f *floor) handler(ctx context.Context, passOn bool) jetstream.MessageHandler {
	return func(m jetstream.Msg) {
		go func() {
			if passOn {
				parts := strings.Split(m.Subject(), ".")
				f.next(ctx, parts[3], parts[2])
			}
			if err := m.DoubleAck(ctx); err != nil && ctx.Err() == nil {
				f.fail(err)
			}
		}()
	}
}

func (f *floor) fail(err error) {
	select {
	case f.errs <- err:
	default:
	}
}

// next publishes the message after stage, or ends the run.
func (f *floor) next(ctx context.Context, run, stageText string) {
	var at int
	if _, err := fmt.Sscan(stageText, &at); err != nil {
		f.fail(err)
		return
	}
	if at+1 == len(f.shape.stages) {
		f.waiters.wake(run)
		return
	}
	if err := f.publish(ctx, run, at+1); err != nil && ctx.Err() == nil {
		f.fail(err)
	}
}

func (f *floor) publish(ctx context.Context, run string, at int) error {
	s := f.shape.stages[at]
	m := nats.NewMsg(fmt.Sprintf("floor.%s.%d.%s", s.owner, at, run))
	m.Header.Set(jetstream.MsgIDHeader, fmt.Sprintf("%s-%d", run, at))
	m.Data = f.padding[:s.bytes]
	_, err := f.js.PublishMsg(ctx, m)
	return err
}

func (f *floor) publishSide(ctx context.Context) {
	for {
		select {
		case run := <-f.side:
			for i := range f.shape.side - 1 {
				if _, err := f.js.Publish(ctx, fmt.Sprintf("side.%d.%s", i, run), f.padding[:f.shape.bytes]); err != nil && ctx.Err() == nil {
					f.fail(err)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// one is one run of the bare pipeline.
func (f *floor) one(ctx context.Context, run string) error {
	done := f.waiters.expect(run)
	if _, err := f.js.Publish(ctx, "side.key."+run, f.padding[:64]); err != nil {
		return err
	}
	if err := f.publish(ctx, run, 0); err != nil {
		return err
	}
	select {
	case <-done:
	case err := <-f.errs:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case f.side <- run:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}
