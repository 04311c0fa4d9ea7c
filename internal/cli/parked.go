package cli

import (
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/mandate/internal/api"
	"example.org/mandate/internal/journal"
)

func (c *cli) parked() *cobra.Command {
	list := &cobra.Command{
		Use: "parked", Short: "Show what no service could handle, and why", Args: cobra.NoArgs,
		Long: "List the messages that a service could not handle, with the reasons. The rest goes on without them.\n\n" +
			"When what was wrong is repaired, mandate parked redeliver gives one to its service again.",
		Example: "  mandate parked\n  mandate parked redeliver 3",
		RunE: func(command *cobra.Command, _ []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			var list api.ParkedList
			if err := cl.get(command.Context(), &list, nil, "v1", "parked"); err != nil {
				return err
			}
			t := table{columns: []string{"id", "service", "stream", "sequence", "at", "reason"}}
			for i := range list.Parked {
				p := &list.Parked[i]
				t.row(p.ID, p.Reader, p.Stream, strconv.FormatUint(p.Sequence, 10), p.At.String(), p.Reason)
			}
			return c.print(list, t)
		},
	}
	list.AddCommand(&cobra.Command{
		Use: "redeliver ID", Short: "Give a parked message to its service again", Args: cobra.ExactArgs(1),
		Long: "Give a parked message to its service again, and with it what came after it in its part of the stream.\n" +
			"A service that has handled a message already does nothing the second time.",
		Example: "  mandate parked redeliver 3",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			var given journal.Parked
			if err := cl.do(command.Context(), call{method: http.MethodPost, path: path("v1", "parked", args[0], "redeliver")}, &given); err != nil {
				return err
			}
			var t table
			t.row("parked/"+given.ID, "given again", given.Reader)
			return c.print(given, t)
		},
	})
	return list
}
