package cli

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/app"
	"example.org/mandate/internal/bundle"
	"example.org/mandate/internal/cli/manifest"
)

func (c *cli) policy() *cobra.Command {
	return group("policy", "Try policies", "  mandate policy test -f policy.yaml --since 24h", c.policyTest())
}

// maxTried bounds the runs that a policy is tried against at once.
const maxTried = 10_000

func (c *cli) policyTest() *cobra.Command {
	var files, against []string
	var since time.Duration
	command := &cobra.Command{
		Use: "test -f FILE --against RUN,…|--since DURATION", Short: "Try a policy against recorded history", Args: cobra.NoArgs,
		Long: "Take the recorded decisions of admission again as if a policy had been applied all the time, and print those that\n" +
			"would come out otherwise. Nothing is applied, called or recorded. A run is followed up to its first change. The\n" +
			"right to read the content of the runs is needed.",
		Example: "  mandate policy test -f policy.yaml --against 01K…\n  mandate policy test -f policy.yaml --since 24h -o json",
		RunE: func(command *cobra.Command, _ []string) error {
			if (len(against) == 0) == (since <= 0) {
				return usage("exactly one of --against and --since is needed", "name runs, or a duration such as 24h")
			}
			candidate, err := c.candidate(files)
			if err != nil {
				return err
			}
			if since > 0 {
				if against, err = c.runsSince(command.Context(), since); err != nil {
					return err
				}
			}
			return c.try(command.Context(), candidate, against)
		},
	}
	command.Flags().StringSliceVarP(&files, "filename", "f", nil, "file with the policy, or - for standard input")
	command.Flags().StringSliceVar(&against, "against", nil, "runs, or files with exported runs")
	command.Flags().DurationVar(&since, "since", 0, "every run that was submitted since so long ago")
	return command
}

// candidate reads the one policy of some files.
func (c *cli) candidate(files []string) (*app.Candidate, error) {
	documents, err := c.documents(files)
	if err != nil {
		return nil, err
	}
	var policies []manifest.Document
	for i := range documents {
		if documents[i].Kind == string(events.KindPolicy) {
			policies = append(policies, documents[i])
		}
	}
	if len(policies) != 1 {
		return nil, configuration("the files hold "+strconv.Itoa(len(policies))+" policies", "give a file with the one policy to try")
	}
	p := &policies[0]
	candidate, found := app.NewCandidate(p.Name, p.Spec)
	if len(found) > 0 {
		for i := range found {
			found[i].Path = p.Kind + "/" + p.Name + " " + found[i].Path
		}
		return nil, located(&refusal{found}, documents)
	}
	return candidate, nil
}

// runsSince lists the runs that were submitted since so long ago.
func (c *cli) runsSince(ctx context.Context, since time.Duration) ([]string, error) {
	cl, err := c.client()
	if err != nil {
		return nil, err
	}
	begin := events.At(time.Now().Add(-since))
	var found []string
	query := url.Values{"limit": {"500"}}
	for {
		var page api.RunList
		if err := cl.get(ctx, &page, query, "v1", "runs"); err != nil {
			return nil, err
		}
		for i := range page.Runs {
			if page.Runs[i].Submitted >= begin {
				found = append(found, page.Runs[i].Run)
			}
		}
		// The newest come first by their identity, and so nearly by time.
		last := len(page.Runs) - 1
		if page.Cursor == "" || page.Runs[last].Submitted < begin {
			return found, nil
		}
		if len(found) > maxTried {
			return nil, configuration("more than "+strconv.Itoa(maxTried)+" runs were submitted since then", "give a shorter --since")
		}
		query.Set("cursor", page.Cursor)
	}
}

// triedRuns is what policy test prints.
type triedRuns struct {
	Policy string `json:"policy"`
	Runs   int    `json:"runs"`
	app.PolicyTrial
}

func (c *cli) try(ctx context.Context, candidate *app.Candidate, runs []string) error {
	out := triedRuns{Policy: candidate.Name, PolicyTrial: app.PolicyTrial{Changes: []app.PolicyChange{}, Skipped: []string{}}}
	for _, run := range runs {
		data, err := c.bundleOf(ctx, run)
		if err != nil {
			return err
		}
		tried, err := candidate.Try(data)
		if err != nil {
			if _, parseErr := bundle.Parse(data); parseErr != nil {
				return malformed(err)
			}
			out.Skipped = append(out.Skipped, run+": "+err.Error())
			continue
		}
		out.Runs++
		out.Add(tried)
	}
	t := table{columns: []string{"run", "at", "operation", "was", "would be", "rule", "reason"}}
	for _, change := range out.Changes {
		t.row(change.Run, change.At.String(), string(change.Operation), change.Was, change.Now, change.Rule, change.Reason)
	}
	if err := c.print(out, t); err != nil {
		return err
	}
	for _, skipped := range out.Skipped {
		c.note("skipped " + skipped)
	}
	if out.Runs > 0 && out.Registered == 0 {
		c.note("no policy " + candidate.Name + " was registered for these runs, so it decides nothing there; see mandate get policies for the names")
	}
	c.note(strconv.Itoa(len(out.Changes)) + " of " + strconv.Itoa(out.Decisions) + " decisions about " + strconv.Itoa(out.Runs) + " runs would change")
	return nil
}
