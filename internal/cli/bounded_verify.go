package cli

import (
	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/services/executor/bounded"
)

// boundedVerifyFlags are the flags of bounded verify: names of files.
type boundedVerifyFlags struct {
	trace, evidence, profile, task, message, receipt string
}

func (c *cli) boundedVerify() *cobra.Command {
	var f boundedVerifyFlags
	command := &cobra.Command{
		Use: "verify", Short: "Replay the Trace and the Evidence of a bounded run", Args: cobra.NoArgs,
		Long: "Replay the Trace and the Evidence of a bounded run from their bytes. The exit code is 0 only if both are as the\n" +
			"state machine writes them and agree with each other and with whatever else is given.\n\n" +
			"Without --receipt nothing confirms used_builder_bytes; without --profile and --task nothing confirms the lengths and\n" +
			"counts that only they decide; without --message nothing confirms final_message_bytes.",
		Example: "  mandate bounded verify --trace records/trace.json --evidence records/evidence.json\n" +
			"  mandate bounded verify --trace records/trace.json --evidence records/evidence.json --profile profile.json --task task.json --receipt records/accounting-receipt.json",
		RunE: func(*cobra.Command, []string) error { return c.verifyBounded(&f) },
	}
	flags := command.Flags()
	flags.StringVar(&f.trace, "trace", "", "file with the Trace")
	flags.StringVar(&f.evidence, "evidence", "", "file with the Evidence")
	flags.StringVar(&f.profile, "profile", "", "file with the profile of the run")
	flags.StringVar(&f.task, "task", "", "file with the task of the run")
	flags.StringVar(&f.message, "message", "", "file with the final message of the run")
	flags.StringVar(&f.receipt, "receipt", "", "file with the accounting receipt of the run")
	return command
}

// boundedVerified is what bounded verify prints.
type boundedVerified struct {
	Holds bool `json:"holds"`
	// Confirmed names what Trace and Evidence were compared with beside each other.
	Confirmed []string `json:"confirmed"`
	Missing   []string `json:"missing"`
}

func (c *cli) verifyBounded(f *boundedVerifyFlags) error {
	if f.trace == "" || f.evidence == "" {
		return usage("--trace and --evidence are needed", "see mandate bounded verify --help")
	}
	var records bounded.Records
	var message []byte
	verified := boundedVerified{Confirmed: []string{}, Missing: []string{}}
	for _, part := range []struct {
		name, file string
		most       int64
		into       *[]byte
	}{
		{"trace", f.trace, bounded.MaxTraceBytes, &records.Trace},
		{"evidence", f.evidence, bounded.MaxEvidenceBytes, &records.Evidence},
		{"profile", f.profile, bounded.MaxProfileBytes, &records.Profile},
		{"task", f.task, bounded.MaxTaskBytes, &records.Task},
		{"message", f.message, bounded.MaxEvidenceBytes, &message},
		{"receipt", f.receipt, bounded.MaxReceiptBytes, &records.Receipt},
	} {
		if part.file == "" {
			verified.Missing = append(verified.Missing, part.name)
			continue
		}
		data, err := c.readFile(part.file, part.most)
		if err != nil {
			return err
		}
		*part.into = append([]byte{}, data...) // an empty file was given, and is not nothing
		verified.Confirmed = append(verified.Confirmed, part.name)
	}
	if f.message != "" {
		records.Message = new(string(message))
	}
	if err := bounded.Verify(records); err != nil {
		return refuse(events.CodeReplayDivergence, err.Error(), "trust neither of the files; get the records of the run again")
	}
	verified.Holds = true
	var t table
	for _, name := range verified.Confirmed {
		t.row(name, "replays")
	}
	for _, name := range verified.Missing {
		t.row(name, "not given")
	}
	if err := c.print(verified, t); err != nil {
		return err
	}
	c.note("all of it holds")
	return nil
}
