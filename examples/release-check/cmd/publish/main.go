// Publish records the release of a module in a ledger: a file with one JSON
// object per line. A key is recorded once; publishing under it again changes
// nothing and prints the first entry.
//
// The exit code says what is known: 0 means that the entry is in the ledger, 3
// that certainly nothing was changed. After anything else the ledger has to be
// looked at.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

// Exit codes.
const (
	exitPublished = 0
	exitUnknown   = 1
	exitUnchanged = 3
)

func main() {
	os.Exit(run(invocation{arguments: os.Args[1:], getenv: os.Getenv, now: time.Now, stdout: os.Stdout, stderr: os.Stderr}))
}

// invocation is what the program is started with.
type invocation struct {
	arguments      []string
	getenv         func(string) string
	now            func() time.Time
	stdout, stderr io.Writer
}

// run publishes and returns the exit code.
func run(i invocation) int {
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	flags.SetOutput(i.stderr)
	path := flags.String("ledger", "", "file that releases are recorded in")
	module := flags.String("module", "", "module that is released")
	version := flags.String("version", "", "version that is released")
	if err := flags.Parse(i.arguments); err != nil {
		return exitUnchanged
	}
	wanted := Entry{
		Module: *module, Version: *version,
		IdempotencyKey: i.getenv("MANDATE_IDEMPOTENCY_KEY"), ActionID: i.getenv("MANDATE_ACTION_ID"),
	}
	if *path == "" || flags.NArg() > 0 || !wanted.complete() {
		_, _ = fmt.Fprintln(i.stderr, "usage: publish -ledger FILE -module NAME -version VERSION, with MANDATE_IDEMPOTENCY_KEY and MANDATE_ACTION_ID set")
		return exitUnchanged
	}
	line, err := publish(*path, wanted, i.now)
	if err != nil {
		_, _ = fmt.Fprintln(i.stderr, "publish:", err)
		if errors.Is(err, errUnchanged) {
			return exitUnchanged
		}
		return exitUnknown
	}
	if _, err := fmt.Fprintf(i.stdout, "%s\n", line); err != nil {
		return exitUnknown
	}
	return exitPublished
}
