package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/internal/host"
)

// Options configure a Provider.
type Options struct {
	// Workspace is the directory that servers run in and cannot be pointed
	// out of.
	Workspace string
	// StartTimeout bounds the start of a server up to its handshake.
	StartTimeout time.Duration
	// Grace is how long a server has to end by itself, each time it is asked.
	Grace time.Duration
	// Lookup reads the host's environment; nil is the process's own.
	Lookup func(string) (string, bool)
	// Now is the clock of the host; nil is the system's.
	Now func() time.Time
}

// Defaults of Options.
const (
	DefaultStartTimeout = 20 * time.Second
	DefaultGrace        = 2 * time.Second
)

// maxOutputBytes bounds the output of every call, whatever it may return.
const maxOutputBytes = 64 << 20

// maxServers bounds the servers of one provider.
const maxServers = 64

// validate completes o and refuses what makes no sense.
func (o *Options) validate() error {
	if o.StartTimeout == 0 {
		o.StartTimeout = DefaultStartTimeout
	}
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.StartTimeout < 0 || o.Grace < 0 {
		return errors.New("mcp: a limit is negative")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Provider calls tools. It implements provider.Provider.
type Provider struct {
	options   Options
	workspace host.Workspace
	gate      provider.Gate

	mu      sync.Mutex
	servers map[canon.Digest]*server
}

// New returns a provider whose servers run in one workspace.
func New(options Options) (*Provider, error) {
	if err := options.validate(); err != nil {
		return nil, err
	}
	workspace, err := host.OpenWorkspace(options.Workspace)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	return &Provider{options: options, workspace: workspace, servers: make(map[canon.Digest]*server)}, nil
}

// Close implements provider.Provider.
func (p *Provider) Close() error {
	p.gate.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range p.servers {
		all.Go(s.close)
	}
	all.Wait()
	clear(p.servers)
	return nil
}

// Invoke implements provider.Provider.
func (p *Provider) Invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	started := events.At(p.options.Now())
	outcome := p.invoke(ctx, invocation)
	outcome.Started, outcome.Finished = started, events.At(p.options.Now())
	return outcome
}

// invoke finds the server and its tool; nothing has happened until call.
func (p *Provider) invoke(ctx context.Context, invocation capability.Invocation) capability.Outcome {
	ctx, leave, ok := p.gate.Enter(ctx)
	if !ok {
		return provider.Refused(events.CodeUnavailable, "the provider is closed")
	}
	defer leave()
	binding := invocation.Provider.MCP
	if binding == nil {
		return provider.Refused(events.CodeProviderMissing, "the capability has no MCP binding")
	}
	if binding.Output != outputText && binding.Output != outputStructured {
		return provider.Refused(events.CodeProviderMissing, "there is no adapter for the capability's output")
	}
	arguments, err := toolArguments(invocation.Arguments, binding.Arguments)
	if err != nil {
		return provider.Refused(events.CodeArgumentsInvalid, "the arguments are not an acceptable JSON object")
	}
	s, refusal := p.server(binding)
	if refusal != nil {
		return *refusal
	}
	invocation.OutputBytes = min(max(invocation.OutputBytes, 0), maxOutputBytes)
	limit := invocation.OutputBytes
	c, err := s.acquire(ctx, limit)
	if err != nil {
		return unreachable(ctx, err)
	}
	answered := false
	defer func() { s.release(c, limit, answered) }()
	found, err := c.hasTool(ctx, binding.Tool)
	if err != nil {
		return unreachable(ctx, err)
	}
	if !found {
		answered = true
		return provider.Refused(events.CodeProviderMissing, "the server has no tool of the capability's name for it")
	}
	if ctx.Err() != nil {
		return unreachable(ctx, ctx.Err())
	}
	var outcome capability.Outcome
	outcome, answered = p.call(ctx, c, invocation, arguments)
	return outcome
}

// unreachable is the outcome when a call was not made.
func unreachable(ctx context.Context, err error) capability.Outcome {
	switch {
	case ctx.Err() != nil:
		code, message := provider.Ended(ctx)
		return provider.Refused(code, message)
	case errors.Is(err, host.ErrProgram):
		return provider.Refused(events.CodeProviderMissing, "the server's program is not there")
	}
	return provider.Refused(events.CodeProviderFailed, "the server could not be reached")
}

// server returns the one server of a definition.
func (p *Provider) server(binding *events.MCPBinding) (*server, *capability.Outcome) {
	refuse := func(code events.Code, message string) (*server, *capability.Outcome) {
		refusal := provider.Refused(code, message)
		return nil, &refusal
	}
	if len(binding.Command) == 0 || strings.ContainsRune(strings.Join(binding.Command, ""), 0) {
		return refuse(events.CodeProviderFailed, "the server's command is malformed")
	}
	variables, err := host.Environment{Pass: binding.Environment, Set: binding.Set, Lookup: p.options.Lookup}.List()
	if err != nil {
		return refuse(events.CodeProviderFailed, "the server's environment is malformed")
	}
	directory, err := p.workspace.Directory(binding.Directory)
	if err != nil {
		return refuse(events.CodeProviderFailed, "the server's directory is not one of the workspace")
	}
	program, err := p.workspace.Program(binding.Command[0])
	switch {
	case errors.Is(err, host.ErrProgram):
		return refuse(events.CodeProviderMissing, "the server's program is not there")
	case err != nil:
		return refuse(events.CodeProviderFailed, "the server's program is not one of the workspace")
	}
	key := canon.Parts("mcp-server", program, directory,
		string(canon.Parts("argv", binding.Command...)), string(canon.Parts("environment", variables...)))
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := p.servers[key]; ok {
		return s, nil
	}
	if len(p.servers) >= maxServers {
		return refuse(events.CodeProviderFailed, "the executor runs as many servers as it may")
	}
	s := newServer(launch{
		program: program, arguments: binding.Command, directory: directory,
		variables: variables, grace: p.options.Grace,
	}, p.options.StartTimeout, p.options.Now)
	p.servers[key] = s
	return s, nil
}

// toolArguments returns the arguments under the tool's names for them.
func toolArguments(data []byte, names map[string]string) (map[string]jsontext.Value, error) {
	arguments, err := provider.DecodeArguments(data)
	if err != nil {
		return nil, err
	}
	renamed := maps.Clone(arguments)
	for _, own := range names {
		delete(renamed, own)
	}
	for tool, own := range names {
		value, given := arguments[own]
		if !given {
			continue
		}
		if _, taken := renamed[tool]; taken {
			return nil, errors.New("mcp: two arguments have one name")
		}
		renamed[tool] = value
	}
	return renamed, nil
}

// call makes the call. It reports whether the server answered.
func (p *Provider) call(ctx context.Context, c *connection, invocation capability.Invocation, arguments map[string]jsontext.Value) (outcome capability.Outcome, answered bool) {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{
		Name:      invocation.Provider.MCP.Tool,
		Arguments: arguments,
		Meta: mcp.Meta{
			"mandate/action_id": invocation.Action, "mandate/idempotency_key": invocation.IdempotencyKey,
		},
	})
	if err != nil {
		return lost(ctx, c, invocation.Effect, err)
	}
	outcome = read(invocation, result)
	outcome.Evidence = append(outcome.Evidence, p.evidence(invocation.Provider.MCP.Tool, result.IsError))
	return outcome, true
}
