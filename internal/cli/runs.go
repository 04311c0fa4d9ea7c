package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/wording"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

func entryLine(e *timeline.Entry) string {
	return wording.Line(e.At.Std().Format("15:04:05.000") + " " + string(e.Owner) + " " + events.ShortType(e.Type) + ": " + e.Summary)
}

func (c *cli) runs() *cobra.Command {
	var phase, outcome string
	var limit int
	command := &cobra.Command{
		Use: "runs", Short: "List runs, the newest first", Args: cobra.NoArgs,
		Example: "  mandate runs\n  mandate runs --outcome failed --limit 10 -o json",
		RunE: func(command *cobra.Command, _ []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			var list api.RunList
			query := listQuery("phase", phase, "outcome", outcome, "limit", strconv.Itoa(limit))
			if err := cl.get(command.Context(), &list, query, "v1", "runs"); err != nil {
				return err
			}
			t := table{columns: []string{"run", "agent", "asked by", "phase", "completion", "submitted"}}
			for i := range list.Runs {
				r := &list.Runs[i]
				t.row(r.Run, r.Agent, r.Principal, string(r.Phase), string(r.Completion), r.Submitted.Std().Format(time.DateTime))
			}
			if list.Cursor != "" {
				c.note("there are more runs; give a larger --limit")
			}
			return c.print(list, t)
		},
	}
	command.Flags().StringVar(&phase, "phase", "", "only runs in this phase")
	command.Flags().StringVar(&outcome, "outcome", "", "only runs with this outcome")
	command.Flags().IntVar(&limit, "limit", 50, "how many at most")
	return command
}

func (c *cli) run() *cobra.Command {
	return group("run", "Show, follow or cancel one run", "  mandate run get RUN\n  mandate run watch RUN\n  mandate run cancel RUN",
		c.runGet(), c.runWatch(), c.runCancel())
}

func (c *cli) runGet() *cobra.Command {
	return &cobra.Command{
		Use: "get RUN", Short: "Show a run: outcome, requirements, budgets and effects", Args: cobra.ExactArgs(1),
		Long:    "Show a run: outcome, requirements, budgets and effects. With -o markdown show its document.",
		Example: "  mandate run get 01K…\n  mandate run get 01K… -o markdown",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			if c.output == outputMarkdown {
				var d events.Document
				if err := cl.get(command.Context(), &d, nil, "v1", "runs", args[0], "document"); err != nil {
					return err
				}
				return c.show(&d)
			}
			var v runs.View
			if err := cl.get(command.Context(), &v, nil, "v1", "runs", args[0]); err != nil {
				return err
			}
			return c.print(v, runTable(&v))
		},
	}
}

func runTable(v *runs.View) table {
	var t table
	add := func(name, value string) {
		if value != "" {
			t.row(name, value)
		}
	}
	add("run", v.Run)
	add("phase", string(v.Phase))
	add("completion", string(v.Completion))
	add("agent", v.Agent)
	add("asked by", v.Principal.ID)
	add("submitted", v.Submitted.String())
	if v.Concluded != 0 {
		add("ended", v.Concluded.String())
	}
	if v.Deadline != 0 {
		add("deadline", v.Deadline.String())
	}
	for _, w := range v.Waiting {
		add("waits", w.Interaction+" ("+strings.Join(w.Items, " ")+") until "+w.Expires.String())
	}
	for _, d := range v.Diagnostics {
		add("diagnostic", d.String())
	}
	for _, r := range v.Requirements {
		add("requirement", fmt.Sprintf("%s: %s %s (%s)", r.ID, r.Importance, r.Verdict, r.Reason))
	}
	for _, a := range v.Actions {
		add("action", fmt.Sprintf("%s: %s@%d %s, %s, attempt %d", a.Node, a.Capability.Name, a.Capability.Version, a.Effect, a.Status, a.Attempt))
	}
	for _, e := range v.UncertainEffects {
		add("uncertain effect", e.Node+" "+e.Capability.Name)
	}
	add("budget", budget(v))
	return t
}

// budget says what was used of what was allowed.
func budget(v *runs.View) string {
	if v.Ceiling == (events.Limits{}) {
		return ""
	}
	return fmt.Sprintf("actions %d of %d, attempts %d of %d, check steps %d of %d, artifact bytes %d of %d",
		v.Consumed.Actions, v.Ceiling.Actions, v.Consumed.Attempts, v.Ceiling.Attempts,
		v.Consumed.CheckSteps, v.Ceiling.CheckSteps, v.Consumed.ArtifactBytes, v.Ceiling.ArtifactBytes)
}

func (c *cli) runWatch() *cobra.Command {
	var timeout time.Duration
	command := &cobra.Command{
		Use: "watch RUN", Short: "Follow a run to its end and print its document", Args: cobra.ExactArgs(1),
		Long:    "Follow a run to its end, also while it waits for a person, and print its document. The exit code is that of\nmandate submit --wait.",
		Example: "  mandate run watch 01K…",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			return c.finish(command.Context(), cl, args[0], followOptions{timeout: timeout})
		},
	}
	command.Flags().DurationVar(&timeout, "timeout", 0, "how long to follow; 0 is until the end")
	return command
}

func (c *cli) runCancel() *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use: "cancel RUN", Short: "Ask to stop a run", Args: cobra.ExactArgs(1),
		Example: "  mandate run cancel 01K… --reason 'no longer needed'",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			var accepted api.Accepted
			err = cl.do(command.Context(), call{method: http.MethodPost, path: path("v1", "runs", args[0], "cancel"), body: api.Reason{Reason: reason}}, &accepted)
			if err != nil {
				return err
			}
			return c.print(accepted, table{rows: [][]string{{"run/" + accepted.Run, "cancellation requested"}}})
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "why")
	return command
}
