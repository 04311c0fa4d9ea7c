package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/services/executor/bounded"
)

func (c *cli) bounded() *cobra.Command {
	return group("bounded", "Run and verify tasks of the bounded profile",
		"  mandate bounded run --profile profile.json --task task.json --out records --fixture\n"+
			"  mandate bounded verify --trace records/trace.json --evidence records/evidence.json",
		c.boundedRun(), c.boundedVerify())
}

// The files of a run of the bounded profile.
const (
	boundedTrace    = "trace.json"
	boundedEvidence = "evidence.json"
	boundedReceipt  = "accounting-receipt.json"
	boundedMessage  = "final-message.txt"
)

// boundedRunFlags are the flags of bounded run.
type boundedRunFlags struct {
	profile, task, out string
	fixture            bool
}

func (c *cli) boundedRun() *cobra.Command {
	var f boundedRunFlags
	command := &cobra.Command{
		Use: "run", Short: "Run a task under a profile and write its records", Args: cobra.NoArgs,
		Long: "Run a task under a profile of the bounded kind and write Trace, Evidence, accounting receipt and, when the run\n" +
			"completes, the final message, which a model wrote, into a directory. Files that are there are not replaced.\n\n" +
			"A run needs a host, which a Go program supplies. With --fixture the host is the one of the known answers, which\n" +
			"touches nothing of the world.\n\n" +
			"The exit code is 0 when the run completed, 10 when policy refused it, 14 when it failed, 15 when it was cancelled.",
		Example: "  mandate bounded run --profile profile.json --task task.json --out records --fixture",
		RunE:    func(command *cobra.Command, _ []string) error { return c.runBounded(command.Context(), &f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.profile, "profile", "", "file with the profile, - for standard input")
	flags.StringVar(&f.task, "task", "", "file with the task, - for standard input")
	flags.StringVar(&f.out, "out", "", "directory to write the records into; it is made if it is missing")
	flags.BoolVar(&f.fixture, "fixture", false, "use the host of the known answers")
	return command
}

// boundedResult is what bounded run prints.
type boundedResult struct {
	Status         string   `json:"status"`
	TraceDigest    string   `json:"trace_digest"`
	EvidenceDigest string   `json:"evidence_digest"`
	ReceiptDigest  string   `json:"receipt_digest"`
	Files          []string `json:"files"`
}

func (c *cli) runBounded(ctx context.Context, f *boundedRunFlags) error {
	for _, needed := range [][2]string{{"--profile", f.profile}, {"--task", f.task}, {"--out", f.out}} {
		if needed[1] == "" {
			return usage(needed[0]+" is missing", "see mandate bounded run --help")
		}
	}
	if f.profile == "-" && f.task == "-" {
		return usage("profile and task cannot both be standard input", "name a file for one of them")
	}
	if !f.fixture {
		return refuse(events.CodeProviderMissing, "a bounded run needs a host for models and tools, and this command has none",
			"use --fixture for the host of the known answers; a Go program supplies its own host to example.org/mandate/services/executor/bounded")
	}
	profile, err := c.readFile(f.profile, bounded.MaxProfileBytes)
	if err != nil {
		return err
	}
	task, err := c.readFile(f.task, bounded.MaxTaskBytes)
	if err != nil {
		return err
	}
	agent, err := bounded.New(profile, bounded.NewFixture(), bounded.Options{})
	if err != nil {
		return notRun(err)
	}
	run, err := bounded.Run(ctx, agent, task)
	if err != nil {
		return notRun(err)
	}
	result := boundedResult{
		Status: run.Status(), TraceDigest: run.TraceDigest(), EvidenceDigest: run.EvidenceDigest(), ReceiptDigest: run.ReceiptDigest(),
	}
	if result.Files, err = writeBounded(f.out, run); err != nil {
		return err
	}
	var t table
	t.row("status", result.Status)
	t.row("trace", result.TraceDigest)
	t.row("evidence", result.EvidenceDigest)
	t.row("receipt", result.ReceiptDigest)
	t.row("files", strings.Join(result.Files, ", "))
	if err := c.print(result, t); err != nil {
		return err
	}
	return exitWith(boundedExit(result.Status), "the run ended as "+result.Status)
}

// writeBounded writes the records of a run into new files of a directory.
func writeBounded(dir string, run *bounded.AgentRun) ([]string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, configuration("the directory cannot be made: "+err.Error(), "name another with --out")
	}
	files := []struct {
		name string
		data []byte
	}{{boundedTrace, run.Trace()}, {boundedEvidence, run.Evidence()}, {boundedReceipt, run.Receipt()}}
	if message, ok := run.UntrustedFinalMessage(); ok {
		files = append(files, struct {
			name string
			data []byte
		}{boundedMessage, []byte(message)})
	}
	var written []string
	for _, file := range files {
		name := filepath.Join(dir, file.name)
		if err := writeNew(name, file.data); err != nil {
			action := "name another directory with --out"
			if errors.Is(err, fs.ErrExist) {
				return nil, configuration("the file "+name+" is there already", action)
			}
			return nil, configuration("the records cannot be written: "+err.Error(), action)
		}
		written = append(written, name)
	}
	return written, nil
}

// writeNew writes a file that must not be there yet.
func writeNew(name string, data []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// notRun is a run of which there is nothing to record.
func notRun(err error) error {
	code := events.CodeRequestMalformed
	if d, ok := errors.AsType[*bounded.Diagnostic](err); ok && d.Code == "SPX-I220" {
		code = events.CodeCancelled
	}
	return refuse(code, err.Error(), "see docs/bounded.md for what a profile and a task are")
}

// boundedExit is the exit code of a status.
func boundedExit(status string) int {
	switch status {
	case "completed":
		return exitOK
	case "cancelled":
		return exitCancelled
	case "policy_rejected":
		return exitRejected
	}
	return exitFailed
}
