package cli

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
)

func (c *cli) interactions() *cobra.Command {
	return &cobra.Command{
		Use: "interactions [ID]", Short: "Show what waits for a person", Args: cobra.MaximumNArgs(1),
		Long: "List what waits for a person, or with an ID show exactly what would be approved: the capability and each\n" +
			"argument with where its value is from.",
		Example: "  mandate interactions\n  mandate interactions approval-3f2a…",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				var one api.Interaction
				if err := cl.get(command.Context(), &one, nil, "v1", "interactions", args[0]); err != nil {
					return err
				}
				if c.output == outputJSON || c.output == outputYAML {
					return c.print(one, table{})
				}
				return c.show(one.Document)
			}
			var list api.InteractionList
			if err := cl.get(command.Context(), &list, nil, "v1", "interactions"); err != nil {
				return err
			}
			t := table{columns: []string{"id", "run", "kind", "waits for", "asked by", "expires"}}
			for i := range list.Interactions {
				x := &list.Interactions[i]
				t.row(x.ID, x.Run, x.Kind, strings.Join(x.Items, " "), x.Principal, x.Expires.String())
			}
			return c.print(list, t)
		},
	}
}

// decide is the command approve or deny.
func (c *cli) decide(decision string) *cobra.Command {
	var reason, digest string
	short, example := "Approve exactly what waits under an ID", "  mandate approve approval-3f2a…\n  mandate approve approval-3f2a… --digest sha256:…"
	if decision == "deny" {
		short, example = "Refuse what waits under an ID", "  mandate deny approval-3f2a… --reason 'not this week'"
	}
	why := "why"
	if decision == "deny" {
		why = "why, for whoever asked; it is needed"
	}
	command := &cobra.Command{
		Use: decision + " ID", Short: short, Example: example, Args: cobra.ExactArgs(1),
		Long: short + ". What is decided on is shown.\n\n" +
			"With --digest the decision counts only if exactly that waits; a script gives the digest that it has seen.",
		RunE: func(command *cobra.Command, args []string) error {
			if decision == "deny" && reason == "" {
				return usage("--reason is missing", "say why, for whoever asked")
			}
			return c.decided(command, args[0], api.Decision{Decision: events.Decision(decision), Digest: events.Digest(digest), Reason: reason})
		},
	}
	command.Flags().StringVar(&reason, "reason", "", why)
	command.Flags().StringVar(&digest, "digest", "", "digest of what was seen (default: of what is shown now)")
	return command
}

func (c *cli) decided(command *cobra.Command, id string, body api.Decision) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	var waiting api.Interaction
	if err := cl.get(command.Context(), &waiting, nil, "v1", "interactions", id); err != nil {
		return err
	}
	if body.Digest == "" {
		body.Digest = waiting.Digest
	}
	// What is decided on goes to standard error: the answer is the data.
	shown := &cli{Options: c.Options, output: outputTable, noColor: true}
	var document bytes.Buffer
	shown.Stdout, shown.Terminal = &document, true
	if err := shown.show(waiting.Document); err != nil {
		return err
	}
	c.note(document.String())
	var decided api.Decided
	err = cl.do(command.Context(), call{method: http.MethodPost, path: path("v1", "interactions", id, "decision"), body: body}, &decided)
	if err != nil {
		return err
	}
	var t table
	t.row("interaction/"+decided.Interaction, "decided: "+string(decided.Decision), "run "+decided.Run)
	return c.print(decided, t)
}
