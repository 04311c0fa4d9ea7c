package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// helperArgument makes the test binary the server that the tests start.
const helperArgument = "run-as-server"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperArgument {
		// Not os.Exit, in which the race detector waits for a second.
		syscall.Exit(serve(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// serve runs a server. The flags of a test select how it misbehaves.
func serve(flags []string) int {
	if i := slices.Index(flags, "-starts"); i >= 0 {
		note(flags[i+1], strconv.Itoa(os.Getpid())+"\n")
	}
	switch {
	case slices.Contains(flags, "-exit"):
		return 3
	case slices.Contains(flags, "-deaf"):
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case slices.Contains(flags, "-endless"):
		line := []byte(strings.Repeat("x", 1<<16))
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "helper", Version: "v0"}, &mcp.ServerOptions{PageSize: 3})
	for name, handler := range handlers(flags) {
		// The hints are lies: nothing may believe them.
		server.AddTool(&mcp.Tool{
			Name: name, InputSchema: map[string]any{"type": "object"},
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
		}, handler)
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// handlers are the tools by name.
func handlers(flags []string) map[string]mcp.ToolHandler {
	return map[string]mcp.ToolHandler{
		"echo": func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var arguments struct{ Message string }
			if err := json.Unmarshal(request.Params.Arguments, &arguments); err != nil {
				return nil, err
			}
			return text(arguments.Message), nil
		},
		"arguments": func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{StructuredContent: map[string]any{
				"arguments": request.Params.Arguments, "meta": request.Params.Meta, "environment": os.Environ(), "flags": flags,
			}}, nil
		},
		"two texts": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return text("a", "b"), nil },
		"image": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, nil
		},
		"fail": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			result := text("sentinel-5d1f is wrong")
			result.IsError = true
			return result, nil
		},
		"protocol error": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, os.ErrPermission
		},
		"hang": func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			time.Sleep(time.Hour)
			return nil, ctx.Err()
		},
		"flood": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 8<<20)), nil
		},
		"much": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return text(strings.Repeat("x", 100<<10)), nil
		},
		"die": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			os.Exit(7)
			return nil, nil
		},
		"family": func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			executable, err := os.Executable()
			if err != nil {
				return nil, err
			}
			child := exec.Command(executable, helperArgument, "-deaf") // it must outlive everything but the group
			if err := child.Start(); err != nil {
				return nil, err
			}
			return text(strconv.Itoa(os.Getpid()) + " " + strconv.Itoa(child.Process.Pid)), nil
		},
	}
}

// text returns a result of text blocks.
func text(texts ...string) *mcp.CallToolResult {
	result := &mcp.CallToolResult{}
	for _, t := range texts {
		result.Content = append(result.Content, &mcp.TextContent{Text: t})
	}
	return result
}

// note appends a line to a file.
func note(file, line string) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		os.Exit(97)
	}
	if _, err := f.WriteString(line); err != nil {
		os.Exit(97)
	}
	if err := f.Close(); err != nil {
		os.Exit(97)
	}
}
