package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/mandate/events"
	"example.org/mandate/internal/app"
)

// process are the settings of a process that is started.
type process struct {
	targets         string
	dataDir         string
	http            string
	nats            string
	credentials     string
	keyFile         string
	workspace       string
	sync            string
	principal       string
	replicas        int
	partitionGroups int
	production      bool
	accept          []string
	drain           time.Duration
	logLevel        string
	logFormat       string
	config          string
}

// The values of --sync.
const (
	syncAlways  = "always"
	syncDefault = "default"
)

func (p *process) common(flags *pflag.FlagSet) {
	flags.StringVar(&p.http, "http", "127.0.0.1:7420", "address to serve HTTP on; port 0 picks one, empty serves none")
	flags.StringVar(&p.workspace, "workspace", ".", "directory that capabilities work in; empty lets none run here")
	flags.StringVar(&p.principal, "principal", "local", "who everybody is without a token file")
	flags.DurationVar(&p.drain, "drain-timeout", app.DefaultOptions().DrainTimeout, "how long to wait at the end for work in hand")
	flags.StringVar(&p.logLevel, "log-level", "warn", "debug, info, warn or error")
	flags.StringVar(&p.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&p.config, "config", "", "file with settings by the names of the flags")
}

// embedded are the flags of a process with its own NATS server.
func (p *process) embedded(flags *pflag.FlagSet) {
	p.common(flags)
	flags.StringVar(&p.dataDir, "data-dir", "", "directory of everything that is kept (default ~/.local/share/mandate)")
	flags.StringVar(&p.nats, "nats", "", "address for NATS clients; port 0 picks one, empty lets none connect")
	flags.StringVar(&p.sync, "sync", syncDefault, "always writes each message to disk before it counts; default leaves it to the server")
}

// remote are the flags about a NATS server that runs elsewhere.
func (p *process) remote(flags *pflag.FlagSet) {
	flags.StringVar(&p.nats, "nats", "", "URL of NATS")
	flags.StringVar(&p.credentials, "creds", "", "file with credentials for NATS")
	flags.IntVar(&p.replicas, "replicas", 1, "replicas of each stream")
	flags.IntVar(&p.partitionGroups, "partition-groups", 1, "consumers that the partitions of a stream are shared out to")
	flags.StringVar(&p.sync, "sync", syncDefault, "always says that the server writes each message to disk before it counts")
	flags.BoolVar(&p.production, "production", false, "refuse streams that could lose data")
	flags.StringSliceVar(&p.accept, "accept", nil, "weaknesses of streams to accept by name in production")
}

func (c *cli) logger(p *process) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(p.logLevel)); err != nil {
		return nil, configuration("--log-level "+p.logLevel+" is not a level", "use debug, info, warn or error")
	}
	options := &slog.HandlerOptions{Level: level}
	switch p.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(c.Stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(c.Stderr, options)), nil
	}
	return nil, configuration("--log-format "+p.logFormat+" is not a format", "use text or json")
}

// options are the settings as the composition root takes them.
func (c *cli) options(p *process) (app.Options, error) {
	o := app.DefaultOptions()
	logger, err := c.logger(p)
	if err != nil {
		return o, err
	}
	o.Logger, o.HTTPListen, o.TokenFile, o.Principal, o.DrainTimeout = logger, p.http, c.tokenFile, p.principal, p.drain
	if p.workspace != "" {
		if o.Workspace, err = filepath.Abs(p.workspace); err != nil {
			return o, configuration("--workspace: "+err.Error(), "give an absolute path")
		}
	}
	switch p.sync {
	case syncAlways, syncDefault:
		o.SyncAlways = p.sync == syncAlways
	default:
		return o, configuration("--sync "+p.sync+" is not known", "use always or default")
	}
	return o, nil
}

func (c *cli) embeddedOptions(p *process) (app.Options, error) {
	o, err := c.options(p)
	if err != nil {
		return o, err
	}
	o.NATSListen, o.DataDir = p.nats, p.dataDir
	if o.DataDir == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return o, configuration("there is no home directory for data: "+err.Error(), "give --data-dir")
		}
		o.DataDir = filepath.Join(home, ".local", "share", "mandate")
	}
	return o, nil
}

func (c *cli) remoteOptions(p *process) (app.Options, error) {
	o, err := c.options(p)
	if err != nil {
		return o, err
	}
	if p.nats == "" {
		return o, configuration("--nats is missing", "give the URL of a NATS server, or use mandate up")
	}
	o.LaptopPolicy = false
	o.NATSURL, o.NATSCredentials, o.KeyFile = p.nats, p.credentials, p.keyFile
	o.Replicas, o.PartitionGroups, o.Production, o.Accept = p.replicas, p.partitionGroups, p.production, p.accept
	if p.targets != "" {
		if o.Targets, err = app.ParseTargets(p.targets); err != nil {
			return o, configuration(err.Error(), "give --target with names from this list, or all")
		}
	}
	return o, nil
}

// collectorPercent is how much garbage a process lets grow, in percent of what
// is live, unless GOGC says otherwise. What a run leaves behind is short-lived
// and what is live is small, so collecting less often costs little memory.
const collectorPercent = 300

// collectorMemory is how many bytes a process may hold before it collects more
// often than that, unless GOMEMLIMIT says otherwise.
const collectorMemory = 1 << 30

func (c *cli) tuneCollector() {
	if _, set := c.Environment("GOGC"); !set {
		debug.SetGCPercent(collectorPercent)
	}
	if _, set := c.Environment("GOMEMLIMIT"); !set {
		debug.SetMemoryLimit(collectorMemory)
	}
}

func (c *cli) up() *cobra.Command {
	p := &process{}
	command := &cobra.Command{
		Use: "up", Short: "Run everything in one process, with an embedded NATS server", Args: cobra.NoArgs,
		Long: "Run everything in one process, with an embedded NATS server.\n\n" +
			"Prints one line, ready http=… nats=…, when it serves. SIGTERM or SIGINT drains it and it exits with 0.\n" +
			"Until a tenant has a policy of its own, the built-in laptop policy lets the role owner operate it and read its\n" +
			"content; without --token-file whoever reaches an address of this machine only has that role.",
		Example: "  mandate up\n  mandate up --data-dir ./data --http 127.0.0.1:0 --nats 127.0.0.1:0",
		RunE: func(command *cobra.Command, _ []string) error {
			o, err := c.embeddedOptions(p)
			if err != nil {
				return err
			}
			return c.live(command.Context(), o)
		},
	}
	p.embedded(command.Flags())
	return command
}

func (c *cli) serve() *cobra.Command {
	p := &process{}
	command := &cobra.Command{
		Use: "serve", Short: "Run some of the services against a NATS server", Args: cobra.NoArgs,
		Example: "  mandate serve --target executor --nats nats://nats:4222 --key-file wrapping.key\n" +
			"  mandate serve --target gateway,presenter --nats nats://nats:4222 --creds gateway.creds --key-file wrapping.key",
		RunE: func(command *cobra.Command, _ []string) error {
			if p.targets == "" {
				return usage("--target is missing", "name services, such as --target executor, or all")
			}
			o, err := c.remoteOptions(p)
			if err != nil {
				return err
			}
			return c.live(command.Context(), o)
		},
	}
	p.common(command.Flags())
	p.remote(command.Flags())
	command.Flags().StringVar(&p.targets, "target", "", "services to run, separated by commas: admission, interpreter, executor, evaluator, presenter, gateway, or all")
	command.Flags().StringVar(&p.keyFile, "key-file", "", "file with the key that wraps data keys, 64 hexadecimal digits")
	_ = command.RegisterFlagCompletionFunc("target", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { // the flag was just made
		names := []string{"all"}
		for _, t := range app.Targets() {
			names = append(names, string(t))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	return command
}

// live runs a process until ctx ends or it cannot go on.
func (c *cli) live(ctx context.Context, o app.Options) error {
	c.tuneCollector()
	if err := o.Check(); err != nil {
		return configuration(err.Error(), "correct the settings; mandate check says whether they are right")
	}
	a, err := app.New(o)
	if err != nil {
		return configuration(err.Error(), "correct the settings")
	}
	switch err := a.Start(ctx); {
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // it was stopped before it served
	case err != nil:
		return refuse(events.CodeUnavailable, err.Error(), "see whether an address or the data directory is in use, and whether NATS was bootstrapped")
	}
	err = a.AwaitReady(ctx)
	if err == nil && a.UsesLaptopPolicy(ctx) {
		c.note("the tenant default has no policy of its own: the built-in laptop policy lets the role owner operate it and read its content (docs/policies.md)")
	}
	if err == nil {
		nats := a.NATSURL()
		if nats == "" {
			nats = "none"
		}
		err = c.write(fmt.Appendf(nil, "ready http=%s nats=%s\n", a.HTTPAddr(), nats))
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case <-a.Failed().Done():
			err = context.Cause(a.Failed())
		}
	}
	if ctx.Err() != nil {
		err = nil
	}
	err = errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
	if err != nil {
		return refuse(events.CodeUnavailable, err.Error(), "see the log above")
	}
	return nil
}

func (c *cli) bootstrap() *cobra.Command {
	p := &process{}
	command := &cobra.Command{
		Use: "bootstrap", Short: "Make the streams and consumers of a deployment; it may be repeated", Args: cobra.NoArgs,
		Example: "  mandate bootstrap --nats nats://nats:4222 --creds bootstrap.creds --replicas 3",
		RunE: func(command *cobra.Command, _ []string) error {
			p.drain = time.Second
			o, err := c.remoteOptions(p)
			if err != nil {
				return err
			}
			if err := app.Bootstrap(command.Context(), o); err != nil {
				return refuse(events.CodeUnavailable, "bootstrap: "+err.Error(), "check the URL, the credentials and their rights")
			}
			c.note("streams and consumers are there")
			return nil
		},
	}
	p.remote(command.Flags())
	command.Flags().StringVar(&p.logLevel, "log-level", "warn", "debug, info, warn or error")
	command.Flags().StringVar(&p.logFormat, "log-format", "text", "text or json")
	return command
}

func (c *cli) check() *cobra.Command {
	p := &process{}
	command := &cobra.Command{
		Use: "check", Short: "Check a configuration and exit", Args: cobra.NoArgs,
		Long:    "Check what mandate up would be started with: flags, environment and configuration file. Nothing is started or written.",
		Example: "  mandate check --config mandate.yaml",
		RunE: func(*cobra.Command, []string) error {
			o, err := c.embeddedOptions(p)
			if err != nil {
				return err
			}
			if err := o.Check(); err != nil {
				return configuration(err.Error(), "correct the settings")
			}
			return c.write([]byte("the configuration is valid\n"))
		},
	}
	p.embedded(command.Flags())
	return command
}
