// Command tiltcheck checks a Tiltfile without Tilt and without a cluster. It runs the file with recorders in place of
// the functions that Tilt provides, renders the manifests that the file names, and reports what does not fit: unknown
// functions and arguments, paths that do not exist, resources that name no workload, and images that nothing builds.
//
// It knows only the functions this repository uses. It shows that file and manifests agree, not that Tilt accepts them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdout, os.Stderr}))
}

// streams are the standard streams, replaced in tests.
type streams struct {
	out, err io.Writer
}

// run is main without the process: 0 when all fits, 1 when not, 2 on wrong usage.
func run(ctx context.Context, args []string, std streams) int {
	if len(args) != 1 {
		fmt.Fprintln(std.err, "usage: tiltcheck TILTFILE")
		return 2
	}
	summary, err := Check(args[0], kustomize(ctx))
	if err != nil {
		fmt.Fprintln(std.err, err)
		return 1
	}
	fmt.Fprintln(std.out, summary)
	return 0
}

// kustomize renders folders with the version that this module pins.
func kustomize(ctx context.Context) Renderer {
	return func(dir string) ([]byte, error) {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", dir, err)
		}
		out, err := exec.CommandContext(ctx, "go", "tool", "kustomize", "build", absolute).Output()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return nil, fmt.Errorf("render %s: %w: %s", dir, err, exit.Stderr)
		}
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", dir, err)
		}
		return out, nil
	}
}
