//go:build unix

package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// pipeDelay is how long the output of a group may stay open after its end, for
// a process that left the group and kept it.
const pipeDelay = 2 * time.Second

// Group is a running program with everything it starts, in a process group of
// its own. When the program ends, whatever it left in the group is killed.
//
// A process that leaves its group is not found. If this process itself is
// killed, the program goes on alone until it is done.
type Group struct {
	command *exec.Cmd
	exited  chan struct{}

	readers []*os.File // the read ends of the output pipes
	copies  chan struct{}

	mu   sync.Mutex
	gone bool // the leader was reaped or is about to be: its number is not ours
	cut  bool
}

// Start starts command as the leader of a new group. What the command's Stdout
// and Stderr are is copied to until the group has ended; a writer that answers
// with an error gets nothing more.
func Start(command *exec.Cmd) (*Group, error) {
	g := &Group{command: command, exited: make(chan struct{}), copies: make(chan struct{})}
	writers := []io.Writer{command.Stdout, command.Stderr}
	ends, err := g.pipes()
	if err == nil {
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		err = command.Start()
	}
	closeAll(ends)
	if err != nil {
		closeAll(g.readers)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: %w", ErrProgram, err)
		}
		return nil, fmt.Errorf("host: start: %w", err)
	}
	go g.copy(writers)
	go g.wait()
	return g, nil
}

// pipes gives the command pipes for its output and returns their write ends.
func (g *Group) pipes() (ends []*os.File, err error) {
	for _, stream := range []*io.Writer{&g.command.Stdout, &g.command.Stderr} {
		if *stream == nil {
			g.readers = append(g.readers, nil)
			continue
		}
		if _, isFile := (*stream).(*os.File); isFile {
			g.readers = append(g.readers, nil)
			continue
		}
		reader, writer, err := os.Pipe()
		if err != nil {
			return ends, err
		}
		g.readers = append(g.readers, reader)
		ends = append(ends, writer)
		*stream = writer
	}
	return ends, nil
}

// closeAll closes pipes that nobody else uses.
func closeAll(files []*os.File) {
	for _, file := range files {
		if file != nil {
			_ = file.Close()
		}
	}
}

// copy copies the output until it ends.
func (g *Group) copy(writers []io.Writer) {
	defer close(g.copies)
	var all sync.WaitGroup
	for i, reader := range g.readers {
		if reader == nil {
			continue
		}
		all.Go(func() {
			// An error is the writer's refusal, which it knows itself, or the
			// deadline below.
			_, _ = io.Copy(writers[i], reader)
			_ = reader.Close()
		})
	}
	all.Wait()
}

// wait waits for the leader, kills the rest of the group while the leader's
// number cannot have been given to another process, reaps the leader, and
// waits for the output.
func (g *Group) wait() {
	defer close(g.exited)
	awaitExit(g.command.Process.Pid)
	g.mu.Lock()
	g.kill(syscall.SIGKILL)
	g.gone = true
	g.mu.Unlock()
	// The error repeats the exit code; there is no other kind without pipes of
	// the command's own.
	_ = g.command.Wait()
	timer := time.NewTimer(pipeDelay)
	defer timer.Stop()
	select {
	case <-g.copies:
		return
	case <-timer.C:
	}
	g.mu.Lock()
	g.cut = true
	g.mu.Unlock()
	for _, reader := range g.readers {
		if reader != nil {
			_ = reader.SetReadDeadline(time.Unix(1, 0))
		}
	}
	<-g.copies
}

// Exited is closed when the program has ended and its output is read.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// ExitCode returns the exit code after the end, -1 if a signal ended it.
func (g *Group) ExitCode() int {
	<-g.exited
	return g.command.ProcessState.ExitCode()
}

// OutputCut reports, after the end, whether output may be missing because a
// process that left the group held it open.
func (g *Group) OutputCut() bool {
	<-g.exited
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cut
}

// Stop asks the group to end, kills it after grace, and waits for its end.
func (g *Group) Stop(grace time.Duration) {
	g.signal(syscall.SIGTERM)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-g.exited:
		return
	case <-timer.C:
	}
	g.signal(syscall.SIGKILL)
	<-g.exited
}

// signal sends a signal to the group if it is still ours.
func (g *Group) signal(signal syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.gone {
		g.kill(signal)
	}
}

// kill signals the group. There is nobody to tell if it is gone already.
func (g *Group) kill(signal syscall.Signal) {
	_ = syscall.Kill(-g.command.Process.Pid, signal)
}
