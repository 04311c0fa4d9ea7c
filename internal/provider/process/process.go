package process

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/internal/host"
)

// Options configure a Provider.
type Options struct {
	// Workspace is the directory that programs run in and cannot be pointed
	// out of.
	Workspace string
	// StderrBytes bounds the diagnostics of a program; more ends it.
	StderrBytes int64
	// Grace is how long a program has to end after it was asked to.
	Grace time.Duration
	// Lookup reads the host's environment; nil is the process's own.
	Lookup func(string) (string, bool)
	// Now is the clock of the host; nil is the system's.
	Now func() time.Time
}

// Defaults of Options.
const (
	DefaultStderrBytes = 1 << 20
	DefaultGrace       = 2 * time.Second
)

// validate completes o and refuses what makes no sense.
func (o *Options) validate() error {
	if o.StderrBytes == 0 {
		o.StderrBytes = DefaultStderrBytes
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.StderrBytes < 0 || o.Grace < 0 {
		return errors.New("process: a limit is negative")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Provider runs programs. It implements provider.Provider.
type Provider struct {
	options   Options
	workspace host.Workspace
	gate      provider.Gate
}

// New returns a provider for the programs of one workspace.
func New(options Options) (*Provider, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	workspace, err := host.OpenWorkspace(options.Workspace)
	if err != nil {
		return nil, fmt.Errorf("process: %w", err)
	}
	return &Provider{options: options, workspace: workspace}, nil
}

// Close implements provider.Provider.
func (p *Provider) Close() error {
	p.gate.Close()
	return nil
}

// Invoke implements provider.Provider.
func (p *Provider) Invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	started := events.At(p.options.Now())
	outcome := p.invoke(ctx, invocation)
	outcome.Started, outcome.Finished = started, events.At(p.options.Now())
	return outcome
}

// invoke prepares, runs and judges one invocation.
func (p *Provider) invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	ctx, leave, ok := p.gate.Enter(ctx)
	if !ok {
		return provider.Refused(events.CodeUnavailable, "the provider is closed")
	}
	defer leave()
	prepared, refusal := p.prepare(invocation)
	if refusal != nil {
		return *refusal
	}
	if ctx.Err() != nil {
		code, message := provider.Ended(ctx)
		return provider.Refused(code, message)
	}
	return p.run(ctx, prepared)
}

// call is an invocation that is ready to run.
type call struct {
	invocation capability.Invocation
	binding    *events.ProcessBinding
	program    string
	arguments  []string // the whole vector, with the program as it is named
	directory  string
	variables  []string
	adapt      adapter
	before     tree
	observed   events.Time
}

// prepare checks everything that can be checked before anything happens.
func (p *Provider) prepare(invocation capability.Invocation) (call, *capability.Outcome) {
	refuse := func(code events.Code, message string) (call, *capability.Outcome) {
		refusal := provider.Refused(code, message)
		return call{}, &refusal
	}
	binding := invocation.Provider.Process
	if binding == nil {
		return refuse(events.CodeProviderMissing, "the capability has no process binding")
	}
	adapt, ok := adapterFor(binding.Output)
	if !ok {
		return refuse(events.CodeProviderMissing, fmt.Sprintf("there is no adapter for the output %.80q of the capability", binding.Output))
	}
	arguments, err := provider.DecodeArguments(invocation.Arguments)
	if err != nil {
		return refuse(events.CodeArgumentsInvalid, "the arguments are not an acceptable JSON object")
	}
	vector, err := expandCommand(binding.Command, arguments)
	if errors.Is(err, errArgument) {
		return refuse(events.CodeArgumentsInvalid, "an argument is missing, not a scalar, or not allowed where the command uses it")
	}
	if err != nil {
		return refuse(events.CodeProviderFailed, "the capability's command is malformed")
	}
	directory, err := p.directory(binding.Directory, arguments)
	switch {
	case err != nil && hasPlaceholder(binding.Directory):
		return refuse(events.CodeArgumentsInvalid, "the arguments do not name a directory of the workspace")
	case err != nil:
		return refuse(events.CodeProviderFailed, "the capability's directory is not one of the workspace")
	}
	program, err := p.workspace.Program(binding.Command[0])
	switch {
	case errors.Is(err, host.ErrProgram):
		return refuse(events.CodeProviderMissing, "the capability's program is not there")
	case err != nil:
		return refuse(events.CodeProviderFailed, "the capability's program is not one of the workspace")
	}
	variables, err := p.environment(invocation, binding)
	if err != nil {
		return refuse(events.CodeProviderFailed, "the capability's environment is malformed")
	}
	prepared := call{
		invocation: invocation, binding: binding, program: program, arguments: vector,
		directory: directory, variables: variables, adapt: adapt,
	}
	if len(binding.Observes) > 0 {
		prepared.observed = events.At(p.options.Now())
		if prepared.before, err = observe(directory, binding.Observes); err != nil {
			return refuse(events.CodeProviderFailed, "the files that the capability is about cannot be observed")
		}
	}
	return prepared, nil
}

// directory returns the working directory. Arguments in it name a directory
// inside the workspace, or nothing does.
func (p *Provider) directory(template string, arguments map[string]jsontext.Value) (string, error) {
	name, err := expand(template, arguments)
	if err != nil {
		return "", err
	}
	if name == "" && template != "" {
		return "", fmt.Errorf("%w: it names no directory", errArgument)
	}
	return p.workspace.Directory(name)
}

// environment returns the variables of the program.
func (p *Provider) environment(invocation capability.Invocation, binding *events.ProcessBinding) ([]string, error) {
	for name := range binding.Set {
		if strings.HasPrefix(name, ownPrefix) {
			return nil, host.ErrVariable
		}
	}
	return host.Environment{
		Pass: binding.Environment, Set: binding.Set, Lookup: p.options.Lookup,
		Own: map[string]string{
			ownPrefix + "ACTION_ID":       invocation.Action,
			ownPrefix + "IDEMPOTENCY_KEY": invocation.IdempotencyKey,
			ownPrefix + "RUN":             invocation.Run,
		},
	}.List()
}

// ownPrefix begins the names of the runtime's own variables.
const ownPrefix = "MANDATE_"
