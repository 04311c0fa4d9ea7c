package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/capability"
	"example.org/mandate/internal/provider"
)

// The ways in which a tool's result becomes a value.
const (
	outputText       = "text"
	outputStructured = "structured"
)

// lost is the outcome of a call without a result.
func lost(ctx context.Context, c *connection, effect events.Effect, err error) (outcome capability.Outcome, answered bool) {
	var refused *jsonrpc.Error
	switch {
	case c.frames.exceeded.Load():
		return provider.Broken(effect, events.CodeOutputTooLarge, "the server sent more than the tool may return and was ended"), false
	case ctx.Err() != nil:
		code, message := provider.Ended(ctx)
		return provider.Broken(effect, code, message), false
	case !errors.Is(err, mcp.ErrConnectionClosed) && c.alive() && errors.As(err, &refused):
		return provider.Broken(effect, events.CodeActionFailed, "the server refused the call"), true
	}
	return provider.Broken(effect, events.CodeActionLost, "the server was lost during the call"), false
}

// read turns a tool's result into an outcome.
func read(invocation capability.Invocation, result *mcp.CallToolResult) capability.Outcome {
	effect := invocation.Effect
	if result.NeedsInput() {
		return provider.Broken(effect, events.CodeActionFailed, "the tool asked for something that only its arguments may hold")
	}
	sink := provider.NewSink(invocation.OutputBytes, nil)
	value, mediaType, err := valueOf(invocation.Provider.MCP.Output, result, sink)
	raw, whole := sink.Seal()
	var outcome capability.Outcome
	switch {
	case result.IsError:
		outcome = capability.Outcome{
			Status: capability.StatusFailed, NotApplied: effect != events.EffectWrite,
			Code: events.CodeActionFailed, Message: "the tool reported an error",
		}
	case !whole:
		return provider.Broken(effect, events.CodeOutputTooLarge, "the tool returned more than it may")
	case err != nil:
		outcome = provider.Broken(effect, events.CodeOutputInvalid, "the tool did not return what the capability declares")
	default:
		outcome = capability.Outcome{Status: capability.StatusCompleted, Value: value}
	}
	outcome.Raw, outcome.MediaType = raw, mediaType
	return outcome
}

// errContent is returned for a result without the declared kind of content.
var errContent = errors.New("mcp: the result has no content of the declared kind")

// valueOf writes what the tool returned to sink and returns the value in it.
func valueOf(output string, result *mcp.CallToolResult, sink *provider.Sink) (value []byte, mediaType string, err error) {
	if output == outputStructured && !result.IsError {
		if result.StructuredContent == nil {
			return nil, events.MediaJSON, errContent
		}
		data, err := canon.JSON(result.StructuredContent)
		if err != nil {
			return nil, events.MediaJSON, err
		}
		if _, err := sink.Write(data); err != nil {
			return nil, events.MediaJSON, err
		}
		value, err = provider.CanonicalValue(data)
		return value, events.MediaJSON, err
	}
	var texts []string
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	if len(texts) == 0 && len(result.Content) > 0 {
		return nil, events.MediaText, errContent
	}
	joined := strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD")
	if _, err := sink.Write([]byte(joined)); err != nil {
		return nil, events.MediaText, err
	}
	value, err = provider.TextValue(joined)
	return value, events.MediaText, err
}

// invocationContent is the evidence that a tool answered. It holds no argument
// and nothing that the server says of itself.
type invocationContent struct {
	Tool    string `json:"tool"`
	IsError bool   `json:"is_error"`
}

// evidence returns the observation that a tool answered.
func (p *Provider) evidence(tool string, isError bool) capability.Observation {
	content, err := canon.JSON(invocationContent{tool, isError})
	if err != nil {
		content = nil
	}
	return capability.Observation{
		Kind: "invocation", Method: "mcp-tool-result", Observed: events.At(p.options.Now()),
		Content: content, MediaType: events.MediaJSON,
	}
}
