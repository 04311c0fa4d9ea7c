package app

import (
	"net"
	"sync"
	"time"
)

// pipeBuffer bounds what may wait on its way into the embedded server.
const pipeBuffer = 4 << 20

// pipeFlush bounds how long a closing connection waits for what it has sent.
const pipeFlush = 2 * time.Second

// inProcess connects to the embedded server within the process.
type inProcess struct {
	server interface{ InProcessConn() (net.Conn, error) }
}

// InProcessConn implements [nats.InProcessConnProvider].
func (p inProcess) InProcessConn() (net.Conn, error) {
	conn, err := p.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	return newBufferedConn(conn), nil
}

// bufferedConn is a connection whose writes do not wait for the reader. The
// server's pipe has no buffer: a write returns when the server has read and
// handled what came before, and meanwhile the client holds the lock that every
// publish and request needs. A socket has a buffer in the kernel; this is ours.
type bufferedConn struct {
	net.Conn

	mu     sync.Mutex
	change sync.Cond // buffered, err, closing or idle changed
	data   []byte
	err    error // why writing ended
	closed bool
	idle   bool // the pump has nothing in hand
}

func newBufferedConn(conn net.Conn) *bufferedConn {
	c := &bufferedConn{Conn: conn, idle: true}
	c.change.L = &c.mu
	go c.pump()
	return c
}

// Write implements [net.Conn]. It waits only while the buffer is full.
func (c *bufferedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.err == nil && !c.closed && len(c.data) > 0 && len(c.data)+len(p) > pipeBuffer {
		c.change.Wait()
	}
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.err != nil:
		return 0, c.err
	}
	c.data = append(c.data, p...)
	c.change.Broadcast()
	return len(p), nil
}

// SetWriteDeadline does nothing: a write waits for room in memory, and the
// server is in this process.
func (c *bufferedConn) SetWriteDeadline(time.Time) error { return nil }

// SetDeadline implements [net.Conn] for reads.
func (c *bufferedConn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// Close implements [net.Conn]. What was written is sent first, if the server
// takes it in time.
func (c *bufferedConn) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return c.Conn.Close()
	}
	c.closed = true
	c.change.Broadcast()
	timer := time.AfterFunc(pipeFlush, func() { _ = c.Conn.Close() })
	for c.err == nil && (len(c.data) > 0 || !c.idle) {
		c.change.Wait()
	}
	c.mu.Unlock()
	timer.Stop()
	return c.Conn.Close()
}

// pump hands what is buffered to the pipe.
func (c *bufferedConn) pump() {
	var sending []byte
	for {
		c.mu.Lock()
		c.idle = true
		c.change.Broadcast()
		for len(c.data) == 0 && !c.closed && c.err == nil {
			c.change.Wait()
		}
		if len(c.data) == 0 || c.err != nil {
			c.mu.Unlock()
			return
		}
		// The two buffers take turns.
		sending, c.data = c.data, sending[:0]
		c.idle = false
		c.mu.Unlock()
		if _, err := c.Conn.Write(sending); err != nil {
			c.mu.Lock()
			c.err = err
			c.change.Broadcast()
			c.mu.Unlock()
			return
		}
	}
}
