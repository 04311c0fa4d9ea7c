package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/mandate/internal/provider/internal/host"
)

// Bounds of a server's messages and tools.
const (
	// baseMessageBytes is what any message may have, such as a list of tools.
	baseMessageBytes = 1 << 20
	// messageFactor is how much longer a result may be as a message than as a
	// value: JSON escapes a character with up to six, and servers send a
	// structured result a second time as text.
	messageFactor = 13
	// maxTools bounds the tools of a server.
	maxTools = 2_000
)

// errTools means that a server lists more tools than anybody can use.
var errTools = errors.New("mcp: the server lists too many tools")

// connection is one running server with its client.
type connection struct {
	group   *host.Group
	session *mcp.ClientSession
	frames  *frames
	stdin   *os.File
	grace   time.Duration
	done    chan struct{} // closed when nothing of the server is left

	mu      sync.Mutex
	tools   map[string]bool
	calls   int
	suspect bool // a call was given up on: end the server when nobody needs it
}

// launch says how to start a server.
type launch struct {
	program   string
	arguments []string
	directory string
	variables []string
	grace     time.Duration
}

// connect starts a server and shakes hands with it before ctx ends.
func connect(ctx context.Context, l launch) (*connection, error) {
	serverIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("mcp: start: %w", err)
	}
	stdout, serverOut, err := os.Pipe()
	if err != nil {
		_, _ = serverIn.Close(), stdin.Close()
		return nil, fmt.Errorf("mcp: start: %w", err)
	}
	group, err := host.Start(&exec.Cmd{
		Path: l.program, Args: l.arguments, Dir: l.directory, Env: l.variables, Stdin: serverIn, Stdout: serverOut,
	})
	_, _ = serverIn.Close(), serverOut.Close()
	if err != nil {
		_, _ = stdin.Close(), stdout.Close()
		return nil, err
	}
	c := &connection{
		group: group, stdin: stdin, grace: l.grace, done: make(chan struct{}),
		frames: &frames{source: stdout}, tools: make(map[string]bool),
	}
	c.frames.limit.Store(baseMessageBytes)
	client := mcp.NewClient(&mcp.Implementation{Name: "mandate", Version: "v1"}, &mcp.ClientOptions{
		// No roots, sampling or elicitation: a server gets nothing but calls.
		Capabilities: &mcp.ClientCapabilities{},
		// A call is sent once. Nothing here may send it again.
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	})
	session, err := handshake(ctx, client, c)
	if err != nil {
		c.end()
		close(c.done)
		return nil, err
	}
	c.session = session
	go c.watch()
	return c, nil
}

// handshake connects the client, which a server that is deaf or already dead
// cannot hold up beyond ctx.
func handshake(ctx context.Context, client *mcp.Client, c *connection) (*mcp.ClientSession, error) {
	transport := &mcp.IOTransport{Reader: c.frames, Writer: c.stdin, MaxLineLength: -1}
	finished := make(chan struct{})
	var ender sync.WaitGroup
	ender.Go(func() {
		select {
		case <-ctx.Done():
			c.group.Stop(c.grace)
		case <-finished:
		}
	})
	session, err := client.Connect(ctx, transport, nil)
	close(finished)
	ender.Wait()
	if err != nil {
		return nil, fmt.Errorf("mcp: connect: %w", err)
	}
	return session, nil
}

// watch waits until the server dies or closes its output, and cleans up.
func (c *connection) watch() {
	defer close(c.done)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		// The reason does not matter: the connection is over.
		_ = c.session.Wait()
	}()
	select {
	case <-closed:
	case <-c.group.Exited():
		// What the server wrote before its end is still read.
		timer := time.NewTimer(c.grace)
		defer timer.Stop()
		select {
		case <-closed:
		case <-timer.C:
		}
	}
	c.end()
	_ = c.session.Close()
	<-closed
}

// end closes the pipes, which asks the server to end, and then makes it.
func (c *connection) end() {
	_ = c.stdin.Close()
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-c.group.Exited():
	case <-timer.C:
		c.group.Stop(c.grace)
	}
	_ = c.frames.Close()
}

// alive reports whether calls can be made.
func (c *connection) alive() bool {
	select {
	case <-c.done:
		return false
	case <-c.group.Exited():
		return false
	default:
		return !c.frames.exceeded.Load()
	}
}

// close ends the server and waits until nothing is left of it.
func (c *connection) close() {
	// Closing the server's input makes it end; watch does the rest.
	_ = c.stdin.Close()
	timer := time.NewTimer(c.grace)
	defer timer.Stop()
	select {
	case <-c.done:
		return
	case <-timer.C:
	}
	c.group.Stop(c.grace)
	<-c.done
}

// begin counts a call that may return outputBytes.
func (c *connection) begin(outputBytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.frames.limit.Add(messageFactor * outputBytes)
}

// finish ends what begin began. It reports whether the server should be ended
// because it did not answer a call and nobody else waits for it.
func (c *connection) finish(outputBytes int64, unanswered bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls--
	c.frames.limit.Add(-messageFactor * outputBytes)
	c.suspect = c.suspect || unanswered
	return c.suspect && c.calls == 0
}

// hasTool reports whether the server lists a tool of that name.
func (c *connection) hasTool(ctx context.Context, name string) (bool, error) {
	c.mu.Lock()
	known := c.tools[name]
	c.mu.Unlock()
	if known {
		return true, nil
	}
	tools := make(map[string]bool)
	for tool, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return false, fmt.Errorf("mcp: list tools: %w", err)
		}
		if tools[tool.Name] = true; len(tools) > maxTools {
			return false, errTools
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tools = tools
	return tools[name], nil
}
