// The filereader is a Model Context Protocol server with one tool that reads
// text files below a directory. It speaks over standard input and output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], &mcp.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "filereader:", err)
		os.Exit(1)
	}
}

// run serves until the client goes away or ctx ends.
func run(ctx context.Context, arguments []string, transport mcp.Transport) error {
	flags := flag.NewFlagSet("filereader", flag.ContinueOnError)
	directory := flags.String("root", "", "directory below which files can be read")
	limit := flags.Int64("max-bytes", 1<<20, "largest file that is read")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if *directory == "" || *limit < 1 || flags.NArg() > 0 {
		return errors.New("usage: filereader -root DIR [-max-bytes N]")
	}
	root, err := os.OpenRoot(*directory)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return serve(ctx, reader{root, *limit}, transport)
}

// serve runs the server with its one tool.
func serve(ctx context.Context, r reader, transport mcp.Transport) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "filereader", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "read_file",
		Description: "Returns the content of one text file below the root directory.",
	}, r.tool)
	return server.Run(ctx, transport)
}

// Arguments are the arguments of the tool.
type Arguments struct {
	Path string `json:"path" jsonschema:"path of the file, relative to the root directory"`
}

// reader reads files below a root, which nothing leads out of: not a path, not
// a symbolic link.
type reader struct {
	root  *os.Root
	limit int64
}

// tool is the handler of the tool.
func (r reader) tool(_ context.Context, _ *mcp.CallToolRequest, arguments Arguments) (*mcp.CallToolResult, any, error) {
	text, err := r.read(arguments.Path)
	if err != nil {
		return nil, nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
}

// read returns the content of a regular text file.
func (r reader) read(path string) (string, error) {
	// A special file must not even be opened: that can wait for ever.
	info, err := r.root.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("read %s: not a regular file", path)
	}
	file, err := r.root.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, r.limit+1))
	switch {
	case err != nil:
		return "", err
	case int64(len(data)) > r.limit:
		return "", fmt.Errorf("read %s: larger than %d bytes", path, r.limit)
	case !utf8.Valid(data):
		return "", fmt.Errorf("read %s: not a text file", path)
	}
	return string(data), nil
}
