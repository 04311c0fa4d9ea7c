package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/oklog/ulid/v2"

	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/journal/jetstream"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/registries"
	"example.org/mandate/internal/sealing"
)

// App is a running process. Make it with New, then Start, and Stop.
type App struct {
	o       Options
	logger  *slog.Logger
	writer  string
	ctx     context.Context //nolint:containedctx // the life of what runs in the background
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	stops    []stop
	stopOnce sync.Once
	stopErr  error

	httpAddr string
	natsURL  string
	ready    chan struct{}
	broken   atomic.Bool // a chain with a gap stopped a consumption

	embedded   *server.Server
	conn       *nats.Conn
	more       []*nats.Conn
	journal    journal.Journal
	keys       *sealing.Keyring
	sealer     *sealing.Sealer
	registries *registries.Registries
	intake     *intake.Intake
	projector  *projector.Projector
}

// stop releases one acquired thing.
type stop struct {
	name string
	run  func(context.Context) error
}

// New checks options and returns an App that is not started.
func New(o Options) (*App, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	a := &App{o: o, logger: o.Logger, writer: host + "-" + ulid.Make().String(), ready: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancelCause(context.Background())
	return a, nil
}

// onStop registers the release of what was just acquired. Releases run in the
// reverse order.
func (a *App) onStop(name string, run func(context.Context) error) {
	a.stops = append(a.stops, stop{name, run})
}

// Start brings everything up and returns when it serves. If it fails it
// releases what it had acquired.
func (a *App) Start(ctx context.Context) error {
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"nats", a.startNATS},
		{"journal", a.startJournal},
		{"registry", a.startRegistries},
		{"services", a.startServices},
		{"http", a.startHTTP},
	} {
		if err := step.run(ctx); err != nil {
			err = fmt.Errorf("start %s: %w", step.name, err)
			return errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
		}
	}
	close(a.ready)
	return nil
}

// HTTPAddr is the address that the process serves on.
func (a *App) HTTPAddr() string { return a.httpAddr }

// NATSURL is where NATS can be reached, "" if only from within the process.
func (a *App) NATSURL() string { return a.natsURL }

// Failed is done when something in the background cannot go on; the cause says
// what.
func (a *App) Failed() context.Context { return a.ctx }

// Stop drains and releases everything, once, in the reverse order of its
// acquisition.
func (a *App) Stop(ctx context.Context) error {
	a.stopOnce.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, a.o.DrainTimeout+15*time.Second)
		defer cancel()
		var errs []error
		for _, s := range slices.Backward(a.stops) {
			if err := s.run(ctx); err != nil {
				errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
			}
		}
		a.cancel(nil)
		a.running.Wait()
		a.stopErr = errors.Join(errs...)
	})
	return a.stopErr
}

// background runs f until the App stops. If it fails before, the process
// cannot go on.
func (a *App) background(name string, f func(context.Context) error) {
	ctx, cancel := context.WithCancel(a.ctx)
	done := make(chan struct{})
	a.running.Go(func() {
		defer close(done)
		if err := f(ctx); err != nil && ctx.Err() == nil {
			a.logger.Error("background work failed", "part", name, "err", err)
			a.cancel(fmt.Errorf("%s: %w", name, err))
		}
	})
	a.onStop(name, func(ctx context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// moreConnections is how many connections a process has beside the first.
const moreConnections = 4

func (a *App) startNATS(context.Context) error {
	if a.o.NATSURL == "" {
		release, err := lockDataDir(a.o.DataDir)
		if err != nil {
			return err
		}
		a.onStop("data directory", func(context.Context) error { return release() })
		embedded, url, err := startServer(a.o)
		if err != nil {
			return err
		}
		a.embedded, a.natsURL = embedded, url
		a.onStop("embedded NATS server", func(context.Context) error {
			embedded.Shutdown()
			embedded.WaitForShutdown()
			return nil
		})
		a.background("embedded NATS server", func(ctx context.Context) error { return watchServer(ctx, embedded) })
	} else {
		a.natsURL = a.o.NATSURL
	}
	conn, err := connect(a.o, a.embedded, "mandate "+a.writer)
	if err != nil {
		return err
	}
	a.conn = conn
	a.onStop("NATS connection", func(context.Context) error { conn.Close(); return nil })
	for range moreConnections {
		more, err := connect(a.o, a.embedded, "mandate "+a.writer)
		if err != nil {
			return err
		}
		a.more = append(a.more, more)
		a.onStop("NATS connection", func(context.Context) error { more.Close(); return nil })
	}
	return nil
}

func (a *App) config() jetstream.Config {
	return jetstream.Config{
		Replicas: a.o.Replicas, PartitionGroups: a.o.PartitionGroups, Readers: readers(),
		More: a.more, SyncAlways: a.o.SyncAlways, Production: a.o.Production, Accept: a.o.Accept, Logger: a.logger,
		Fatal: func(err error) { a.cancel(err) },
		// The rest goes on; whoever watches the process learns of it.
		Alarm: func(error) { a.broken.Store(true) },
	}
}

func (a *App) startJournal(ctx context.Context) error {
	if a.embedded != nil {
		if err := jetstream.Provision(ctx, a.conn, a.config()); err != nil {
			return err
		}
	}
	opened, err := jetstream.Open(ctx, a.conn, a.config())
	if err != nil {
		return err
	}
	a.onStop("journal", func(context.Context) error { return opened.Close() })
	a.journal = opened
	if a.o.WrapJournal != nil {
		a.journal = a.o.WrapJournal(opened)
	}
	if a.keys, err = openKeys(ctx, a.o, a.journal); err != nil {
		return err
	}
	a.sealer = sealing.New(a.keys, a.journal)
	return nil
}

func (a *App) startRegistries(context.Context) error {
	a.registries = registries.New(a.journal)
	a.background("registry", a.registries.Run)
	a.intake = intake.New(intake.Options{
		Streams: a.journal, Sealer: a.sealer, Registries: a.registries, Writer: a.writer, Clock: a.o.Clock,
	})
	return nil
}

func (a *App) startHTTP(ctx context.Context) error {
	if a.o.HTTPListen == "" {
		return nil
	}
	handler, err := a.handler()
	if err != nil {
		return err
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", a.o.HTTPListen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", a.o.HTTPListen, err)
	}
	a.httpAddr = "http://" + listener.Addr().String()
	s := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return a.ctx },
	}
	a.running.Go(func() {
		if err := s.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			a.cancel(fmt.Errorf("serve HTTP: %w", err))
		}
	})
	a.onStop("http", func(ctx context.Context) error {
		// Event streams end only when they are cut; give the rest a moment.
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			return s.Close()
		}
		return nil
	})
	return nil
}

// Bootstrap makes the streams and consumers of a deployment. It may be
// repeated.
func Bootstrap(ctx context.Context, o Options) error {
	conn, err := connect(o, nil, "mandate bootstrap")
	if err != nil {
		return err
	}
	defer conn.Close()
	a := &App{o: o, logger: o.Logger, cancel: func(error) {}}
	return jetstream.Provision(ctx, conn, a.config())
}

// Intake records requests on behalf of whoever embeds the App.
func (a *App) Intake() *intake.Intake { return a.intake }

// Projector holds the views, nil without the gateway target.
func (a *App) Projector() *projector.Projector { return a.projector }

// Journal is the journal that the process uses.
func (a *App) Journal() journal.Journal { return a.journal }

// Sealer opens sealed bodies.
func (a *App) Sealer() *sealing.Sealer { return a.sealer }
