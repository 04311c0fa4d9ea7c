package process

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/internal/host"
)

// diagnosticBytes is how much of the end of standard error is kept as evidence.
const diagnosticBytes = 16 << 10

// ending is how a program ended.
type ending struct {
	stdout, stderr []byte
	exitCode       int
	exceeded       bool // an output limit ended it
	stopped        bool // the end of the context ended it
	cut            bool // output may be missing
}

// run starts the program, waits for its end and judges it.
func (p *Provider) run(ctx context.Context, c call) capability.Outcome {
	end, err := p.execute(ctx, c)
	if errors.Is(err, host.ErrProgram) {
		return provider.Refused(events.CodeProviderMissing, "the capability's program is not there")
	}
	if err != nil {
		return provider.Refused(events.CodeProviderFailed, "the capability's program could not be started")
	}
	finished := events.At(p.options.Now())
	evidence, subject := p.evidence(c, end, finished)
	outcome := judge(ctx, c, end)
	if outcome.Status == capability.StatusCompleted {
		adapted, err := c.adapt(end.stdout, end.exitCode)
		if err != nil {
			outcome = provider.Broken(c.invocation.Effect, events.CodeOutputInvalid, "the program did its work but its output is not what the capability declares")
		} else {
			outcome.Value, outcome.MediaType = adapted.value, adapted.mediaType
		}
		if err == nil && adapted.adapter {
			evidence = append(evidence, capability.Observation{
				Kind: "output", Method: "adapter:" + c.binding.Output,
				Observed: finished, SourceModified: subject.newest, Published: adapted.published,
				Subject: subject.digest, Content: adapted.value, MediaType: events.MediaJSON,
			})
		}
	}
	if outcome.MediaType == "" {
		outcome.MediaType = mediaOf(end.stdout)
	}
	outcome.Raw, outcome.Evidence = end.stdout, evidence
	outcome.Receipt = "exit " + strconv.Itoa(end.exitCode)
	return outcome
}

// execute runs the program to its end, whatever brings it.
func (p *Provider) execute(ctx context.Context, c call) (ending, error) {
	exceeded := make(chan struct{}, 2)
	tooMuch := func() { exceeded <- struct{}{} }
	stdout := provider.NewSink(c.invocation.OutputBytes, tooMuch)
	stderr := provider.NewSink(p.options.StderrBytes, tooMuch)
	group, err := host.Start(&exec.Cmd{
		Path: c.program, Args: c.arguments, Dir: c.directory, Env: c.variables, Stdout: stdout, Stderr: stderr,
	})
	if err != nil {
		return ending{}, err
	}
	var end ending
	select {
	case <-group.Exited():
	case <-exceeded:
		group.Stop(0)
	case <-ctx.Done():
		end.stopped = stop(group, p.options.Grace)
	}
	end.exitCode, end.cut = group.ExitCode(), group.OutputCut()
	var whole, wholeErr bool
	end.stdout, whole = stdout.Seal()
	end.stderr, wholeErr = stderr.Seal()
	end.exceeded = !whole || !wholeErr
	return end, nil
}

// stop ends the group and reports whether it had not ended by itself.
func stop(group *host.Group, grace time.Duration) bool {
	select {
	case <-group.Exited():
		return false
	default:
		group.Stop(grace)
		return true
	}
}

// judge says what the end of the program means for the effect.
func judge(ctx context.Context, c call, end ending) capability.Outcome {
	effect := c.invocation.Effect
	success := c.binding.SuccessExitCodes
	if len(success) == 0 {
		success = []int{0}
	}
	switch {
	case end.exceeded:
		return provider.Broken(effect, events.CodeOutputTooLarge, "the program printed more than it may and was stopped")
	case end.stopped:
		code, message := provider.Ended(ctx)
		return provider.Broken(effect, code, message)
	case end.exitCode >= 0 && slices.Contains(success, end.exitCode):
		if end.cut {
			return provider.Broken(effect, events.CodeOutputInvalid, "the end of the program's output could not be read")
		}
		return capability.Outcome{Status: capability.StatusCompleted}
	case end.exitCode >= 0 && slices.Contains(c.binding.NotAppliedExitCodes, end.exitCode):
		return provider.Refused(events.CodeActionFailed, ended(end)+", which means that nothing was changed")
	case effect == events.EffectWrite:
		return provider.Broken(effect, events.CodeActionUncertain, ended(end)+", which does not say what was changed")
	}
	return provider.Broken(effect, events.CodeActionFailed, ended(end)+", which is not a success")
}

// ended says how a program ended, for whoever has to find out why.
func ended(end ending) string {
	if end.exitCode < 0 {
		return "the program was ended by a signal"
	}
	return "the program ended with exit code " + strconv.Itoa(end.exitCode)
}

// invocationContent is the evidence that a program ran. It holds no argument.
type invocationContent struct {
	ExitCode   int           `json:"exit_code"`
	ArgvDigest events.Digest `json:"argv_digest"`
}

// evidence returns what was observed, and the tree that the output is about:
// none if it changed under the program.
func (p *Provider) evidence(c call, end ending, finished events.Time) ([]capability.Observation, tree) {
	content, err := canon.JSON(invocationContent{end.exitCode, canon.Parts("argv", c.arguments...)})
	if err != nil {
		content = nil
	}
	list := []capability.Observation{{
		Kind: "invocation", Method: "process-exit", Observed: finished, Content: content, MediaType: events.MediaJSON,
	}}
	if len(end.stderr) > 0 {
		last := end.stderr[max(0, len(end.stderr)-diagnosticBytes):]
		list = append(list, capability.Observation{
			Kind: "diagnostics", Method: "process-stderr", Observed: finished, Content: last, MediaType: mediaOf(last),
		})
	}
	if len(c.binding.Observes) == 0 {
		return list, tree{}
	}
	list = append(list, observation("source-files", c.before, c.observed))
	after, err := observe(c.directory, c.binding.Observes)
	if err == nil && after == c.before {
		return list, c.before
	}
	// What cannot be looked at any more counts as changed, to nothing known. A
	// modification time says little about a change while the program ran: what
	// is certain is that it was not later than now. With that, no report can
	// pass for newer than the files.
	now := events.At(p.options.Now())
	changed := observation("source-changed", after, now)
	changed.SourceModified = max(now, finished+1)
	return append(list, changed), tree{}
}

// treeContent is the evidence of a tree beside its digest.
type treeContent struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
}

// observation returns what was seen of a tree.
func observation(kind string, seen tree, observed events.Time) capability.Observation {
	content, err := canon.JSON(treeContent{seen.files, seen.bytes})
	if err != nil {
		content = nil
	}
	return capability.Observation{
		Kind: kind, Method: "file-stat", Observed: observed, SourceModified: seen.newest,
		Subject: seen.digest, Content: content, MediaType: events.MediaJSON,
	}
}
