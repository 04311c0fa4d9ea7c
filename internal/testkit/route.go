package testkit

import (
	"io"
	"net"
	"sync"
	"testing"
)

// route forwards connections to a target and can be cut.
type route struct {
	listener net.Listener

	mu    sync.Mutex
	down  bool
	ended bool
	conns map[net.Conn]struct{}
}

// newRoute listens; serve forwards.
func newRoute(tb testing.TB) *route {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return &route{listener: listener, conns: make(map[net.Conn]struct{})}
}

func (r *route) serve(target string) {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", target)
		if err != nil || !r.keep(from, to) {
			_ = from.Close()
			if err == nil {
				_ = to.Close()
			}
			continue
		}
		go r.forward(from, to)
		go r.forward(to, from)
	}
}

// keep registers a pair of connections unless the route is cut.
func (r *route) keep(pair ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.down || r.ended {
		return false
	}
	for _, conn := range pair {
		r.conns[conn] = struct{}{}
	}
	return true
}

func (r *route) forward(to, from net.Conn) {
	// How a forwarded connection ends does not matter: the servers reconnect.
	_, _ = io.Copy(to, from)
	_ = to.Close()
	_ = from.Close()
	r.mu.Lock()
	delete(r.conns, from)
	r.mu.Unlock()
}

// cut breaks what is open and refuses what comes, or lets it pass again.
func (r *route) cut(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
	if down {
		r.breakAll()
	}
}

func (r *route) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.breakAll()
}

func (r *route) breakAll() {
	for conn := range r.conns {
		_ = conn.Close()
	}
	clear(r.conns)
}
