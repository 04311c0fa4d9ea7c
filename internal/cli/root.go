package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// Options are what the command line is started with.
type Options struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environment    func(name string) (string, bool)
	// Terminal says that a person reads Stdout.
	Terminal bool
}

// cli is one use of the command line.
type cli struct {
	Options
	server    string
	tenant    string
	tokenFile string
	output    string
	noColor   bool
}

// defaultServer is where `mandate up` serves by default.
const defaultServer = "http://127.0.0.1:7420"

// Run runs a command and returns the exit code.
func Run(ctx context.Context, o Options) int {
	c := &cli{Options: o}
	root := c.root()
	root.SetArgs(o.Args)
	root.SetIn(o.Stdin)
	root.SetOut(o.Stdout)
	root.SetErr(o.Stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		if exit.message != "" {
			c.note(exit.message)
		}
		return exit.code
	}
	c.explain(command, err)
	return exitOther
}

// note tells a person something, beside the data on standard output.
func (c *cli) note(text string) { _, _ = io.WriteString(c.Stderr, text+"\n") }

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mandate",
		Short: "Run what people ask of models, with authority, budgets, evidence and receipts",
		Example: "  mandate up\n  mandate apply -f examples/release-check/agent.yaml\n" +
			"  mandate submit -f examples/release-check/request-a.yaml --wait",
		SilenceUsage: true, SilenceErrors: true, DisableAutoGenTag: true,
		PersistentPreRunE: func(command *cobra.Command, _ []string) error { return c.prepare(command) },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.server, "server", defaultServer, "address of the gateway")
	flags.StringVar(&c.tenant, "tenant", "default", "tenant to act for")
	flags.StringVar(&c.tokenFile, "token-file", "", "file with the token to use; for a gateway, the tokens it accepts")
	flags.StringVarP(&c.output, "output", "o", outputTable, "table, json, yaml or markdown")
	flags.BoolVar(&c.noColor, "no-color", false, "no colors")
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions( // the flag was just made
		[]string{outputTable, outputJSON, outputYAML, outputMarkdown}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(
		c.up(), c.serve(), c.bootstrap(), c.check(), c.version(),
		c.apply(), c.get(), c.revoke(), c.policy(),
		c.submit(), c.runs(), c.run(), c.interactions(), c.decide("approve"), c.decide("deny"),
		c.events(), c.export(), c.verify(), c.replay(), c.rebuild(), c.parked(), c.bench(), c.bounded(),
	)
	return root
}

// prepare takes settings from the environment and from a configuration file.
func (c *cli) prepare(command *cobra.Command) error {
	if err := c.settings(command); err != nil {
		return err
	}
	switch c.output {
	case outputTable, outputJSON, outputYAML, outputMarkdown:
	default:
		return usage("-o "+c.output+" is not an output format", "use table, json, yaml or markdown")
	}
	if off, set := c.Environment("NO_COLOR"); set && off != "" {
		c.noColor = true
	}
	return nil
}

// group is a command that only holds others.
func group(use, short, example string, inner ...*cobra.Command) *cobra.Command {
	command := &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return usage(command.CommandPath()+" needs one of its commands", "see "+command.CommandPath()+" --help")
		},
	}
	command.AddCommand(inner...)
	return command
}

// readFile reads a file, or standard input for "-", within a bound.
func (c *cli) readFile(name string, most int64) ([]byte, error) {
	from := c.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, configuration("the file cannot be read: "+err.Error(), "check its name")
		}
		defer file.Close() //nolint:errcheck // it was only read
		from = file
	}
	data, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, configuration("the file "+name+" cannot be read: "+err.Error(), "check that it is a readable file")
	}
	if int64(len(data)) > most {
		return nil, configuration("the file "+name+" is too large", "split it")
	}
	return data, nil
}

// sleep waits, unless ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// environmentName is the environment variable of a flag.
func environmentName(flag string) string {
	return "MANDATE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
