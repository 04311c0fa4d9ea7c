package cli

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/mandate/internal/api"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/registry"
)

// kinds are the kinds of resources as people write them.
var kinds = []string{"agents", "capabilities", "policies", "packages", "routes"}

// singular names of kinds are understood too.
var singular = map[string]string{"agent": "agents", "capability": "capabilities", "policy": "policies", "package": "packages", "route": "routes"}

func (c *cli) get() *cobra.Command {
	return &cobra.Command{
		Use: "get KIND [NAME]", Short: "Show what is registered: agents, capabilities, policies, packages or routes",
		Example: "  mandate get agents\n  mandate get capability go.test -o yaml",
		Args:    cobra.RangeArgs(1, 2), ValidArgs: kinds,
		RunE: func(command *cobra.Command, args []string) error {
			kind := args[0]
			if plural, ok := singular[kind]; ok {
				kind = plural
			}
			if !slices.Contains(kinds, kind) {
				return usage("there is no kind "+strconv.Quote(kind), "use "+strings.Join(kinds, ", "))
			}
			cl, err := c.client()
			if err != nil {
				return err
			}
			t := table{columns: []string{"name", "version", "state", "digest"}}
			add := func(r *api.Registered) {
				t.row(r.Name, strconv.Itoa(r.Version), stateOf(r), string(r.Digest))
			}
			if len(args) == 2 {
				var one api.Registered
				if err := cl.get(command.Context(), &one, nil, "v1", "registry", kind, args[1]); err != nil {
					return err
				}
				add(&one)
				return c.print(one, t)
			}
			var list api.ResourceList
			if err := cl.get(command.Context(), &list, nil, "v1", "registry", kind); err != nil {
				return err
			}
			for i := range list.Resources {
				add(&list.Resources[i])
			}
			return c.print(list, t)
		},
	}
}

// stateOf is the state of a resource in a table: what cannot be used says why,
// and when it is tried again.
func stateOf(r *api.Registered) string {
	switch r.State {
	case registry.StateAvailable:
		return "registered"
	case registry.StateUnavailable:
		state := "unavailable: " + r.Reason + "; tried again " + r.Retry
		if r.Attempts > 0 {
			state += ", " + strconv.Itoa(r.Attempts) + " attempts"
		}
		return state
	case registry.StateRevoked:
	}
	return string(r.State) + ": " + r.Reason
}

func (c *cli) revoke() *cobra.Command {
	var reason string
	capability := &cobra.Command{
		Use: "capability NAME", Short: "Withdraw a capability at once, for every run", Args: cobra.ExactArgs(1),
		Example: "  mandate revoke capability release.publish --reason 'the ledger is being repaired'",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			var revoked api.Revoked
			err = cl.do(command.Context(), call{
				method: http.MethodPost, path: path("v1", "registry", "capabilities", args[0], "revoke"), body: api.Reason{Reason: reason},
			}, &revoked)
			if err != nil {
				return err
			}
			var t table
			t.row("capability/"+revoked.Capability, "revoked")
			return c.print(revoked, t)
		},
	}
	capability.Flags().StringVar(&reason, "reason", "", "why, for everybody whom it stops")
	return group("revoke", "Withdraw something that is registered", "  mandate revoke capability release.publish --reason 'broken'", capability)
}

func (c *cli) rebuild() *cobra.Command {
	return &cobra.Command{
		Use: "rebuild [VIEW]", Short: "Drop the views, fold the streams again, and compare", Args: cobra.MaximumNArgs(1),
		Long:    "Drop the views, fold the streams again from their beginning, and print the digests before and after.\nThe exit code is 1 if they differ.",
		Example: "  mandate rebuild\n  mandate rebuild runs",
		RunE: func(command *cobra.Command, args []string) error {
			cl, err := c.client()
			if err != nil {
				return err
			}
			var list api.RebuiltList
			if err := cl.do(command.Context(), call{method: http.MethodPost, path: "/v1/views/rebuild"}, &list); err != nil {
				return err
			}
			if len(args) == 1 {
				list.Views = slices.DeleteFunc(list.Views, func(r projector.Rebuilt) bool { return r.View != args[0] })
				if len(list.Views) == 0 {
					return usage("there is no view "+strconv.Quote(args[0]), "use runs or timeline")
				}
			}
			t := table{columns: []string{"view", "views", "before", "after", "same"}}
			same := true
			for _, r := range list.Views {
				same = same && r.Same()
				t.row(r.View, strconv.Itoa(r.Views), string(r.Before), string(r.After), strconv.FormatBool(r.Same()))
			}
			list.Same = same
			if err := c.print(list, t); err != nil {
				return err
			}
			if !same {
				return exitWith(exitOther, "the rebuilt views differ from what was published; they are in place now")
			}
			return nil
		},
	}
}

func listQuery(values ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(values); i += 2 {
		if values[i+1] != "" {
			query.Set(values[i], values[i+1])
		}
	}
	return query
}
