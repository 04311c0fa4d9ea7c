package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// startTimeout bounds how long the embedded server and the first connection
// may take.
const startTimeout = 30 * time.Second

// startServer starts the embedded server and returns it with the URL it
// listens on, "" if it does not.
func startServer(o Options) (*server.Server, string, error) {
	options := &server.Options{
		ServerName: "mandate", JetStream: true, StoreDir: filepath.Join(o.DataDir, "nats"),
		NoSigs: true, NoLog: true, DisableJetStreamBanner: true, SyncAlways: o.SyncAlways,
		DontListen: o.NATSListen == "", MaxPayload: 1 << 20,
		JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 1 << 40,
	}
	if o.NATSListen != "" {
		host, port, err := net.SplitHostPort(o.NATSListen)
		if err != nil {
			return nil, "", fmt.Errorf("NATS address %q: %w", o.NATSListen, err)
		}
		if options.Port, err = strconv.Atoi(port); err != nil {
			return nil, "", fmt.Errorf("NATS address %q: %w", o.NATSListen, err)
		}
		if options.Port == 0 {
			options.Port = server.RANDOM_PORT
		}
		options.Host = host
	}
	s, err := server.NewServer(options)
	if err != nil {
		return nil, "", fmt.Errorf("embedded NATS server: %w", err)
	}
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		s.Shutdown()
		return nil, "", errors.New("embedded NATS server: not ready in time; is another process using the address or the data directory?")
	}
	if !s.JetStreamEnabled() {
		s.Shutdown()
		return nil, "", fmt.Errorf("embedded NATS server: JetStream did not start; is %s in use by another process?", options.StoreDir)
	}
	if o.NATSListen == "" {
		return s, "", nil
	}
	return s, s.ClientURL(), nil
}

// How often the embedded server is looked at, and how many times in a row it
// has to be found unable before that counts.
const (
	serverCheck    = time.Second
	serverFailures = 3
)

// watchServer returns when the embedded server cannot store any more. A server
// whose disk was full answers no publish until it is started again, also when
// there is room again: a process that stays would accept requests and never
// finish one.
func watchServer(ctx context.Context, s *server.Server) error {
	ticker := time.NewTicker(serverCheck)
	defer ticker.Stop()
	for failures := 0; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		health := s.Healthz(nil)
		if health.StatusCode == http.StatusOK {
			failures = 0
			continue
		}
		if failures++; failures == serverFailures {
			return fmt.Errorf("it cannot store: %s; make sure that the data directory has room and may be written, and start again", health.Error)
		}
	}
}

// connect opens the connection of one process, to the embedded server within
// the process or to a remote one.
func connect(o Options, embedded *server.Server, name string) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.Timeout(5 * time.Second),
		nats.RetryOnFailedConnect(embedded == nil),
	}
	url := o.NATSURL
	if embedded != nil {
		url = ""
		options = append(options, nats.InProcessServer(inProcess{embedded}))
	}
	if o.NATSCredentials != "" {
		options = append(options, nats.UserCredentials(o.NATSCredentials))
	}
	conn, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	deadline := time.Now().Add(startTimeout)
	for !conn.IsConnected() {
		if time.Now().After(deadline) {
			conn.Close()
			return nil, fmt.Errorf("connect to NATS at %s: no answer in %s", o.NATSURL, startTimeout)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return conn, nil
}
