package testkit

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// nodes is the size of a cluster: the smallest that survives the loss of one.
const nodes = 3

// Cluster is three servers in this process that replicate to one another over
// routes that can be cut.
type Cluster struct {
	tb      testing.TB
	mu      sync.Mutex
	options [nodes]server.Options
	servers [nodes]*server.Server
	routes  [nodes][nodes]*route // from, to
}

// StartCluster starts a cluster on free ports of 127.0.0.1; it stops with the
// test. StoreDir is ignored.
func StartCluster(tb testing.TB, options ServerOptions) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	// The routes listen before ports are chosen: a route on the port of the node
	// that it leads to would forward to itself, without end.
	for from := range nodes {
		for to := range nodes {
			if from != to {
				c.routes[from][to] = newRoute(tb)
			}
		}
	}
	ports := freePorts(tb, 2*nodes)
	clusterPorts, clientPorts := ports[:nodes], ports[nodes:]
	for from := range nodes {
		var urls []*url.URL
		for to, r := range c.routes[from] {
			if r != nil {
				urls = append(urls, &url.URL{Scheme: "nats", Host: r.listener.Addr().String()})
				go r.serve("127.0.0.1:" + strconv.Itoa(clusterPorts[to]))
			}
		}
		c.options[from] = server.Options{
			ServerName: "node" + strconv.Itoa(from), Host: "127.0.0.1", Port: clientPorts[from],
			JetStream: true, StoreDir: tb.TempDir(), SyncAlways: options.SyncAlways,
			JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 64 << 30,
			NoSigs: true, NoLog: true, DisableJetStreamBanner: true,
			Routes: urls,
			Cluster: server.ClusterOpts{
				Name: "testkit", Host: "127.0.0.1", Port: clusterPorts[from], NoAdvertise: true, PoolSize: 1,
			},
		}
		c.start(from)
	}
	tb.Cleanup(c.stop)
	c.WaitReady()
	return c
}

func (c *Cluster) start(node int) {
	options := c.options[node] // the server keeps and changes what it is given
	s, err := server.NewServer(&options)
	if err != nil {
		c.tb.Error(err)
		return
	}
	s.Start()
	c.mu.Lock()
	c.servers[node] = s
	c.mu.Unlock()
}

func (c *Cluster) stop() {
	for node := range nodes {
		if s := c.Server(node); s != nil {
			stop(s)
		}
		for _, r := range c.routes[node] {
			if r != nil {
				r.close()
			}
		}
	}
}

// Server returns a node.
func (c *Cluster) Server(node int) *server.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.servers[node]
}

// WaitReady waits until the cluster has a leader and every node is current.
func (c *Cluster) WaitReady() {
	c.tb.Helper()
	deadline := time.Now().Add(startup)
	for time.Now().Before(deadline) {
		leader, current := false, true
		for node := range nodes {
			s := c.Server(node)
			switch {
			case s == nil || !s.Running():
				current = false
			case s.JetStreamIsLeader():
				leader = true
			case !s.JetStreamIsCurrent():
				current = false
			}
		}
		if leader && current {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.tb.Error("the cluster does not form")
}

// Restart stops a node, waits for down, and starts it again on its files. It
// returns at once; the node catches up by itself.
func (c *Cluster) Restart(node int, down time.Duration) {
	stop(c.Server(node))
	time.Sleep(down)
	c.start(node)
}

// Isolate cuts the routes between a node and its peers, or mends them.
func (c *Cluster) Isolate(node int, cut bool) {
	for peer := range nodes {
		if peer != node {
			c.routes[node][peer].cut(cut)
			c.routes[peer][node].cut(cut)
		}
	}
}

// Leader returns the node that leads a stream, -1 if none does.
func (c *Cluster) Leader(stream string) int {
	for node := range nodes {
		if s := c.Server(node); s != nil && s.Running() && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return node
		}
	}
	return -1
}

// StepDown asks the leader of a stream to give up leading.
func (c *Cluster) StepDown(conn *nats.Conn, stream string) {
	// Without an answer the leader is changing anyway.
	_, _ = conn.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, nil, time.Second)
}

// Connect opens a connection that moves among the nodes; it closes with the
// test.
func (c *Cluster) Connect(tb testing.TB, options ...nats.Option) *nats.Conn {
	tb.Helper()
	urls := make([]string, nodes)
	for node := range nodes {
		urls[node] = "nats://127.0.0.1:" + strconv.Itoa(c.options[node].Port)
	}
	conn, err := nats.Connect(strings.Join(urls, ","), append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(50 * time.Millisecond), nats.Timeout(time.Second),
	}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	return conn
}

// freePorts returns ports of 127.0.0.1 that were free a moment ago.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	ports := make([]int, n)
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		address, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			tb.Fatalf("listening on %s", listener.Addr())
		}
		ports[i] = address.Port
	}
	return ports
}
