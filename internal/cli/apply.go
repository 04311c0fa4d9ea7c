package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/cli/manifest"
)

func (c *cli) apply() *cobra.Command {
	var files []string
	var dryRun bool
	command := &cobra.Command{
		Use: "apply -f FILE|DIR", Short: "Register agents, capabilities, policies, packages and routes", Args: cobra.NoArgs,
		Long: "Register resources from YAML or JSON files. All or none are registered, policies first and agents last.\n" +
			"What is registered as it is stays as it is.",
		Example: "  mandate apply -f agent.yaml\n  mandate apply -f resources/ --dry-run\n  mandate apply -f - < agent.yaml",
		RunE: func(command *cobra.Command, _ []string) error {
			documents, err := c.documents(files)
			if err != nil {
				return err
			}
			return c.register(command.Context(), documents, dryRun)
		},
	}
	command.Flags().StringSliceVarP(&files, "filename", "f", nil, "file, directory of .yaml, .yml and .json files, or - for standard input")
	command.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would change")
	return command
}

// documents reads the documents of files and directories.
func (c *cli) documents(names []string) ([]manifest.Document, error) {
	if len(names) == 0 {
		return nil, usage("-f is missing", "give a file, a directory, or - for standard input")
	}
	var documents []manifest.Document
	for _, name := range names {
		files := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if files, err = manifests(name); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			data, err := c.readFile(file, manifest.MaxBytes)
			if err != nil {
				return nil, err
			}
			found, err := manifest.Parse(sourceName(file), data)
			if err != nil {
				return nil, err
			}
			documents = append(documents, found...)
		}
	}
	return documents, nil
}

func sourceName(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

func manifests(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, configuration("the directory cannot be read: "+err.Error(), "check its name")
	}
	var files []string
	for _, entry := range entries {
		switch filepath.Ext(entry.Name()) {
		case ".yaml", ".yml", ".json":
			if !entry.IsDir() {
				files = append(files, filepath.Join(directory, entry.Name()))
			}
		}
	}
	if len(files) == 0 {
		return nil, configuration("there is no .yaml, .yml or .json file in "+directory, "name a directory that has some")
	}
	return files, nil
}

// order is the order in which kinds are registered: what others refer to
// first.
var order = []string{
	string(events.KindPolicy), string(events.KindCapability), string(events.KindRoutes), string(events.KindPackage), string(events.KindAgent),
}

func (c *cli) register(ctx context.Context, documents []manifest.Document, dryRun bool) error {
	cl, err := c.client()
	if err != nil {
		return err
	}
	slices.SortStableFunc(documents, func(a, b manifest.Document) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	resources := make([]api.Resource, 0, len(documents))
	for i := range documents {
		d := &documents[i]
		if d.Kind == manifest.KindIntentRequest {
			return &manifest.Error{Source: d.Source, Line: d.Line, Message: "a request is not a resource", Action: "use mandate submit -f " + d.Source}
		}
		resources = append(resources, api.Resource{Kind: events.Kind(d.Kind), Name: d.Name, Definition: d.Spec})
	}
	query := url.Values{}
	if dryRun {
		query.Set("dry_run", "true")
	}
	var list api.AppliedList
	if err := cl.do(ctx, call{method: http.MethodPut, path: "/v1/registry", query: query, body: resources}, &list); err != nil {
		return located(err, documents)
	}
	var t table
	for _, a := range list.Applied {
		did := "unchanged"
		if a.Changed {
			did = "applied"
		}
		if a.Changed && dryRun {
			did = "would be applied"
		}
		t.row(strings.ToLower(string(a.Kind))+"/"+a.Name, fmt.Sprintf("version %d", a.Version), did)
	}
	return c.print(list, t)
}

// located adds file and line to refusals that name a resource.
func located(err error, documents []manifest.Document) error {
	var refused *refusal
	if !errors.As(err, &refused) {
		return err
	}
	found := slices.Clone(refused.diagnostics)
	for i, d := range found {
		name, place, _ := strings.Cut(d.Path, " ")
		for j := range documents {
			document := &documents[j]
			if document.Kind+"/"+document.Name != name {
				continue
			}
			line := document.Line
			if place != "" {
				line = document.LineOf(pointerOf(place))
			}
			found[i].Path = fmt.Sprintf("%s:%d %s", document.Source, line, d.Path)
			break
		}
	}
	return &refusal{found}
}

// pointerOf turns a path such as spec.nodes[2].path into the JSON Pointer
// below spec.
func pointerOf(place string) string {
	place = strings.TrimPrefix(strings.TrimPrefix(place, "spec"), ".")
	if place == "" {
		return ""
	}
	return "/" + strings.NewReplacer(".", "/", "[", "/", "]", "").Replace(place)
}
