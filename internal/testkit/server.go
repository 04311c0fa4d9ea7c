package testkit

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startup bounds how long a server may take to serve.
const startup = 20 * time.Second

// ServerOptions configure one embedded server. The zero value keeps its files
// in a directory of the test and syncs them as the server does by default.
type ServerOptions struct {
	StoreDir   string // default: a new directory of the test
	SyncAlways bool   // sync to disk before every acknowledgment
	// Configure may change what the options leave open, such as users.
	Configure func(*server.Options)
}

// StartServer starts a server with JetStream and file storage that listens
// nowhere: connections are made in process, with [Connect]. It stops with the
// test.
func StartServer(tb testing.TB, options ServerOptions) *server.Server {
	tb.Helper()
	if options.StoreDir == "" {
		options.StoreDir = tb.TempDir()
	}
	serverOptions := &server.Options{
		ServerName: "embedded", DontListen: true, JetStream: true, StoreDir: options.StoreDir,
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 64 << 30, SyncAlways: options.SyncAlways,
		NoSigs: true, NoLog: true, DisableJetStreamBanner: true,
	}
	if options.Configure != nil {
		options.Configure(serverOptions)
	}
	s, err := server.NewServer(serverOptions)
	if err != nil {
		tb.Fatal(err)
	}
	s.Start()
	tb.Cleanup(func() { stop(s) })
	if !s.ReadyForConnections(startup) {
		tb.Fatal("the embedded server does not answer")
	}
	return s
}

// Connect opens an in-process connection to a server; it closes with the test.
func Connect(tb testing.TB, s *server.Server, options ...nats.Option) *nats.Conn {
	tb.Helper()
	conn, err := nats.Connect("", append([]nats.Option{nats.InProcessServer(s)}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}
