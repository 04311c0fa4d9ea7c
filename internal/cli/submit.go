package cli

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/cli/manifest"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

func (c *cli) submit() *cobra.Command {
	var file, nonce string
	var wait bool
	var timeout time.Duration
	command := &cobra.Command{
		Use: "submit -f FILE", Short: "Submit a request", Args: cobra.NoArgs,
		Long: "Submit an IntentRequest from a YAML or JSON file and print the run.\n\n" +
			"With --wait the run is followed, with progress on standard error and the document on standard output. The exit\n" +
			"code is 0 completed, 10 rejected, 11 unresolved, 12 unsupported, 13 inconclusive, 14 failed, 15 cancelled,\n" +
			"16 indeterminate, 20 waiting for a person, 21 timed out (the run goes on), 1 anything else.",
		Example: "  mandate submit -f request.yaml\n  mandate submit -f request.yaml --wait --timeout 5m -o markdown",
		RunE: func(command *cobra.Command, _ []string) error {
			spec, err := c.request(file)
			if err != nil {
				return err
			}
			cl, err := c.client()
			if err != nil {
				return err
			}
			if nonce == "" {
				// Made here, so that a lost answer can be asked for again.
				nonce = ulid.Make().String()
			}
			var submitted api.Submission
			err = cl.do(command.Context(), call{
				method: http.MethodPost, path: "/v1/runs", body: spec, header: map[string]string{"Idempotency-Key": nonce},
			}, &submitted)
			if err != nil {
				return err
			}
			if !wait {
				return c.print(submitted, table{rows: [][]string{{submitted.Run}}})
			}
			if submitted.Joined {
				c.note("joined run " + submitted.Run)
			} else {
				c.note("run " + submitted.Run)
			}
			return c.finish(command.Context(), cl, submitted.Run, followOptions{timeout: timeout, stopWaiting: true})
		},
	}
	flags := command.Flags()
	flags.StringVarP(&file, "filename", "f", "", "file with the request, or - for standard input")
	flags.StringVar(&nonce, "nonce", "", "ULID that identifies the request; submitting it again joins the same run (default: a new one)")
	flags.BoolVar(&wait, "wait", false, "follow the run and print its document")
	flags.DurationVar(&timeout, "timeout", time.Minute, "how long to follow; the run goes on after it")
	return command
}

// request reads the one request of a file.
func (c *cli) request(file string) ([]byte, error) {
	if file == "" {
		return nil, usage("-f is missing", "give a file with a request, or - for standard input")
	}
	documents, err := c.documents([]string{file})
	if err != nil {
		return nil, err
	}
	d := &documents[0]
	switch {
	case d.Kind != manifest.KindIntentRequest:
		return nil, &manifest.Error{Source: d.Source, Line: d.Line, Message: d.String() + " is not a request", Action: "use mandate apply -f " + d.Source}
	case len(documents) > 1:
		return nil, &manifest.Error{Source: d.Source, Line: documents[1].Line, Message: "more than one document", Action: "submit one request at a time"}
	}
	return d.Spec, nil
}

type followOptions struct {
	timeout     time.Duration // 0 means without end
	stopWaiting bool          // stop when the run waits for a person
}

// Pauses between looks at a run.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// finish follows a run to its end, prints its document, and says with its
// exit code what became of it.
func (c *cli) finish(ctx context.Context, cl *client, run string, o followOptions) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	v, err := c.follow(ctx, cl, run, o)
	if errors.Is(err, errTimeout) {
		return exitWith(exitTimeout, "still running after "+o.timeout.String()+"; follow it with mandate run watch "+run)
	}
	if err != nil {
		return err
	}
	if v.Outcome == "" {
		for _, w := range v.Waiting {
			c.note("waiting for a person; see mandate interactions " + w.Interaction)
		}
		return exitWith(exitWaiting, "")
	}
	var d events.Document
	if err := cl.get(ctx, &d, nil, "v1", "runs", run, "document"); err != nil {
		return err
	}
	if err := c.show(&d); err != nil {
		return err
	}
	c.note("run " + run + ": " + string(v.Outcome) + ", completion " + string(v.Completion))
	return exitWith(exitOf(v.Outcome), "")
}

var errTimeout = errors.New("cli: timed out")

// follow prints what happens in a run until it has its document, or waits for
// a person.
func (c *cli) follow(ctx context.Context, cl *client, run string, o followOptions) (runs.View, error) {
	printed := map[string]bool{}
	pause := firstPause
	for {
		var v runs.View
		err := cl.get(ctx, &v, nil, "v1", "runs", run)
		var passing *unreachable
		switch {
		case errors.As(err, &passing) && len(printed) > 0:
			// The gateway was there before: it may come back.
		case err != nil:
			return v, err
		default:
			news, err := c.progress(ctx, cl, run, printed)
			if err != nil && !errors.As(err, &passing) {
				return v, err
			}
			if news {
				pause = firstPause
			}
			if v.Document && v.Outcome != "" || o.stopWaiting && len(v.Waiting) > 0 && v.Outcome == "" {
				return v, nil
			}
		}
		if err := sleep(ctx, pause); err != nil {
			return v, err
		}
		pause = min(pause*2, lastPause)
	}
}

// progress prints the entries of a timeline that were not printed yet. An entry
// can come between those that are there.
func (c *cli) progress(ctx context.Context, cl *client, run string, printed map[string]bool) (news bool, err error) {
	var t timeline.View
	if err := cl.get(ctx, &t, nil, "v1", "runs", run, "timeline"); err != nil {
		return false, err
	}
	for i := range t.Entries {
		if e := &t.Entries[i]; !printed[e.ID] {
			printed[e.ID], news = true, true
			c.note(entryLine(e))
		}
	}
	return news, nil
}
