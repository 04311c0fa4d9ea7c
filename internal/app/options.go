package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/provider"
)

// Options of an App. DefaultOptions fills what most do not change.
type Options struct {
	// Targets are what the process runs.
	Targets []Target

	// DataDir holds the embedded server's files and the wrapping key. It is
	// needed without NATSURL.
	DataDir string
	// NATSListen is the address of the embedded server, "" for none. Port 0
	// picks a free one.
	NATSListen string
	// SyncAlways makes the embedded server write each message to disk before
	// it acknowledges. For a remote server it says that the server does.
	SyncAlways bool

	// NATSURL connects to a server instead of starting one. Credentials, if
	// any, are read from NATSCredentials.
	NATSURL         string
	NATSCredentials string
	// Replicas and PartitionGroups are how the streams were made.
	Replicas        int
	PartitionGroups int
	// Production refuses weak streams, unless Accept names the weakness.
	Production bool
	Accept     []string

	// HTTPListen is the address of the gateway, or of the probes of another
	// target.
	HTTPListen string
	// KeyFile holds the wrapping key, 64 hexadecimal digits. With a DataDir it
	// is made there if it is not set.
	KeyFile string
	// Workspace is the directory that capabilities work in.
	Workspace string
	// LaptopPolicy lets the owner of a tenant without a policy do everything at
	// the gateway. Without it, nobody may do anything there until the owner
	// applies one.
	LaptopPolicy bool
	// TokenFile holds the bearer tokens that may use the gateway; see
	// internal/api. Without it, whoever reaches the address is the
	// principal Principal, and the owner of every tenant if the address is of
	// this machine only.
	TokenFile string
	Principal string
	// DrainTimeout bounds how long Stop waits for work in hand.
	DrainTimeout time.Duration

	Logger *slog.Logger
	// Injected dependencies.
	Clock func() time.Time
	// WrapJournal may put something around the journal, for tests.
	WrapJournal func(journal.Journal) journal.Journal
	// Builtin provides capabilities that are Go functions.
	Builtin provider.Provider
}

// DefaultOptions returns options for one process on a laptop.
func DefaultOptions() Options {
	return Options{
		Targets: Targets(), HTTPListen: "127.0.0.1:7420", Replicas: 1, PartitionGroups: 1,
		Principal: "local", LaptopPolicy: true, DrainTimeout: 20 * time.Second, Clock: time.Now,
	}
}

// Validate reports everything that would make a start fail or mean something
// else than was meant.
func (o *Options) Validate() error {
	var errs []error
	if len(o.Targets) == 0 {
		errs = append(errs, errors.New("no targets"))
	}
	if (o.NATSURL == "") == (o.DataDir == "") {
		errs = append(errs, errors.New("exactly one of a data directory and a NATS URL is needed"))
	}
	if o.NATSURL != "" && o.KeyFile == "" {
		errs = append(errs, errors.New("a key file is needed to read and write sealed bodies"))
	}
	if o.DrainTimeout <= 0 {
		errs = append(errs, fmt.Errorf("drain timeout %s is not positive", o.DrainTimeout))
	}
	if o.Replicas < 1 || o.PartitionGroups < 1 {
		errs = append(errs, errors.New("replicas and partition groups must be at least 1"))
	}
	if o.Workspace != "" {
		if info, err := os.Stat(o.Workspace); err != nil || !info.IsDir() {
			errs = append(errs, fmt.Errorf("workspace %s is not a directory", o.Workspace))
		}
	}
	for _, address := range []string{o.HTTPListen, o.NATSListen} {
		if _, _, err := net.SplitHostPort(address); address != "" && err != nil {
			errs = append(errs, fmt.Errorf("the address to listen on is not HOST:PORT: %w", err))
		}
	}
	if o.Clock == nil || o.Logger == nil {
		errs = append(errs, errors.New("clock and logger are needed"))
	}
	return errors.Join(errs...)
}
