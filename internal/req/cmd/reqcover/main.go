// Command reqcover reads the output of `go test -json` from the named files, or from standard input, and writes a
// Markdown report of the requirements that passing tests decide.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"example.org/mandate/internal/req"
)

func main() {
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// streams are the standard streams, replaced in tests.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// run is main without the process: 0 after a report, 1 when there is none or a claim names no requirement, 2 on wrong
// usage. Failing tests do not change the exit code; `go test` has said so already.
func run(args []string, std streams) int {
	flags := flag.NewFlagSet("reqcover", flag.ContinueOnError)
	flags.SetOutput(std.err)
	list := flags.String("requirements", "", "requirements `file` (default docs/requirements.md of this module)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	report, err := build(*list, flags.Args(), std.in)
	if err != nil {
		fmt.Fprintln(std.err, "reqcover:", err)
		return 1
	}
	if err := report.WriteMarkdown(std.out); err != nil {
		fmt.Fprintln(std.err, "reqcover:", err)
		return 1
	}
	if unknown := report.Unknown(); len(unknown) > 0 {
		fmt.Fprintf(std.err, "reqcover: %d claimed IDs are not in the list, first %s\n", len(unknown), unknown[0])
		return 1
	}
	return 0
}

// build reads the requirements and the test output.
func build(list string, files []string, in io.Reader) (*req.Report, error) {
	if list == "" {
		root, err := req.ModuleRoot()
		if err != nil {
			return nil, err
		}
		list = filepath.Join(root, "docs", "requirements.md")
	}
	requirements, err := req.LoadFile(list)
	if err != nil {
		return nil, err
	}
	readers := make([]io.Reader, 0, len(files))
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("open test output: %w", err)
		}
		defer func() { _ = file.Close() }() // read only; nothing is lost
		readers = append(readers, file)
	}
	if len(readers) == 0 {
		readers = append(readers, in)
	}
	results, err := req.ReadTestJSON(io.MultiReader(readers...))
	if err != nil {
		return nil, err
	}
	return req.NewReport(requirements, results), nil
}
