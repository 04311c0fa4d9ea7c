package cli

import (
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/bundle"
)

// Version is the version of this build.
const Version = "0.1.0-dev"

// buildInfo says what a binary is.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Modified bool   `json:"modified"` // built from a changed tree
	Go       string `json:"go"`
	Protocol int    `json:"protocol"` // of commits
	Document int    `json:"document"` // of presentation documents
	Bundle   string `json:"bundle"`
	API      string `json:"api"` // of resources and requests
}

func newBuildInfo() buildInfo {
	b := buildInfo{
		Version: Version, Commit: "unknown", Go: runtime.Version(),
		Protocol: events.Protocol, Document: events.DocumentVersion, Bundle: bundle.Format, API: events.APIVersion,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				b.Commit = setting.Value
			case "vcs.modified":
				b.Modified = setting.Value == "true"
			}
		}
	}
	return b
}

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the versions of the binary and of what it reads and writes", Args: cobra.NoArgs,
		Example: "  mandate version\n  mandate version -o json",
		RunE: func(*cobra.Command, []string) error {
			b := newBuildInfo()
			var t table
			t.row("version", b.Version)
			t.row("commit", b.Commit)
			t.row("go", b.Go)
			t.row("protocol", strconv.Itoa(b.Protocol))
			t.row("document", strconv.Itoa(b.Document))
			t.row("bundle", b.Bundle)
			t.row("api", b.API)
			return c.print(b, t)
		},
	}
}
