package cli

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/wording"
)

func (c *cli) events() *cobra.Command {
	var follow bool
	command := &cobra.Command{
		Use: "events RUN", Short: "Print the recorded events of a run", Args: cobra.ExactArgs(1),
		Long:    "Print the recorded events of a run. With -o json each line is a CloudEvent; private content is not in it.",
		Example: "  mandate events 01K…\n  mandate events 01K… --follow -o json",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			return c.stream(command.Context(), cl, args[0], follow)
		},
	}
	command.Flags().BoolVar(&follow, "follow", false, "wait for more until the run has its document")
	return command
}

// maxEventLine bounds one message of an event stream: a commit as JSON.
const maxEventLine = 8 << 20

// stream prints the event stream of a run.
func (c *cli) stream(ctx context.Context, cl *client, run string, follow bool) error {
	response, err := cl.open(ctx, call{
		method: http.MethodGet, path: path("v1", "runs", run, "events"), query: url.Values{"follow": {strconv.FormatBool(follow)}},
	})
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxEventLine)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var batch []api.CloudEvent
		if err := json.Unmarshal([]byte(data), &batch); err != nil {
			return refuse(events.CodeUnavailable, "the event stream cannot be read: "+err.Error(), "check that --server is a gateway of this version")
		}
		for i := range batch {
			if err := c.printEvent(&batch[i]); err != nil {
				return err
			}
			if follow && batch[i].Type == new(events.DocumentPresented).EventType() {
				return nil
			}
		}
	}
	if err := lines.Err(); err != nil && ctx.Err() == nil {
		return refuse(events.CodeUnavailable, "the event stream broke off: "+err.Error(), "ask again")
	}
	return context.Cause(ctx)
}

func (c *cli) printEvent(e *api.CloudEvent) error {
	data, err := json.Marshal(e, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	switch c.output {
	case outputJSON:
		return c.write(append(data, '\n'))
	case outputYAML:
		text, err := toYAML(data)
		if err != nil {
			return err
		}
		return c.write(append([]byte("---\n"), text...))
	}
	owner := strings.TrimPrefix(e.Source, "/mandate/")
	line := e.Time.String() + "  " + owner + "  " + e.Number + "  " + events.ShortType(e.Type) + "  " + string(e.Data)
	const most = 400
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "…"
	}
	return c.write([]byte(wording.Line(line) + "\n"))
}

// bundleOf reads a bundle from a file, standard input or the gateway.
func (c *cli) bundleOf(ctx context.Context, name string) ([]byte, error) {
	if info, err := os.Stat(name); name == "-" || err == nil && !info.IsDir() {
		return c.readFile(name, bundle.MaxBytes)
	}
	return c.download(ctx, name)
}

// download returns the bundle of a run from the gateway.
func (c *cli) download(ctx context.Context, run string) ([]byte, error) {
	cl, err := c.client()
	if err != nil {
		return nil, err
	}
	return cl.bytes(ctx, call{method: http.MethodGet, path: path("v1", "runs", run, "bundle")}, bundle.MaxBytes)
}

func (c *cli) export() *cobra.Command {
	return &cobra.Command{
		Use: "export RUN", Short: "Write everything recorded about a run to standard output", Args: cobra.ExactArgs(1),
		Long: "Write everything recorded about a run to standard output: a bundle that verifies and replays without a server.\n" +
			"It holds the keys of the run's content: keep it as private as the content.",
		Example: "  mandate export 01K… > run.bundle",
		RunE: func(command *cobra.Command, args []string) error {
			data, err := c.download(command.Context(), args[0])
			if err != nil {
				return err
			}
			return c.write(data)
		},
	}
}

func malformed(err error) error {
	return refuse(events.CodeBundleMalformed, err.Error(), "export the run again")
}

func (c *cli) verify() *cobra.Command {
	return &cobra.Command{
		Use: "verify RUN|FILE", Short: "Check everything recorded about a run", Args: cobra.ExactArgs(1),
		Long: "Check everything recorded about a run without trusting who recorded it: chains, digests, causes, transitions,\n" +
			"budgets, bodies, approvals and the exactly-one rules. The exit code is 0 only if all of it holds.",
		Example: "  mandate verify 01K…\n  mandate verify run.bundle",
		RunE: func(command *cobra.Command, args []string) error {
			data, err := c.bundleOf(command.Context(), args[0])
			if err != nil {
				return err
			}
			report, err := bundle.Verify(data)
			if err != nil {
				return malformed(err)
			}
			var t table
			t.row("run", report.Run)
			t.row("commits", strconv.Itoa(report.Commits))
			t.row("events", strconv.Itoa(report.Events))
			t.row("bodies", fmt.Sprintf("%d, %d of them opened and checked", report.Bodies, report.Opened))
			t.row("outcome", report.Outcome)
			t.row("complete", strconv.FormatBool(report.Complete))
			for _, f := range report.Findings {
				t.row("does not hold", f.String())
			}
			if err := c.print(report, t); err != nil {
				return err
			}
			if !report.Holds() {
				return exitWith(exitOther, strconv.Itoa(len(report.Findings))+" things do not hold")
			}
			c.note("all of it holds")
			return nil
		},
	}
}

func (c *cli) replay() *cobra.Command {
	return &cobra.Command{
		Use: "replay RUN|FILE", Short: "Take every recorded decision of a run again and compare", Args: cobra.ExactArgs(1),
		Long: "Fold everything recorded about a run through the services as they are built here, with no model, no capability\n" +
			"and no clock, and report every decision that comes out differently.",
		Example: "  mandate replay 01K…\n  mandate replay run.bundle -o json",
		RunE: func(command *cobra.Command, args []string) error {
			data, err := c.bundleOf(command.Context(), args[0])
			if err != nil {
				return err
			}
			replayed, err := app.Replay(data)
			if err != nil {
				return refuse(events.CodeReplayDivergence, err.Error(), "see mandate verify")
			}
			var t table
			t.row("run", replayed.Run)
			t.row("decisions the same", strconv.Itoa(replayed.Decisions))
			t.row("decisions skipped", strconv.Itoa(len(replayed.Skipped)))
			for _, d := range replayed.Divergences {
				t.row("diverges", d.Place+": "+d.Message)
			}
			if err := c.print(replayed, t); err != nil {
				return err
			}
			if !replayed.Holds() {
				return exitWith(exitOther, strconv.Itoa(len(replayed.Divergences))+" decisions come out differently")
			}
			return nil
		},
	}
}
