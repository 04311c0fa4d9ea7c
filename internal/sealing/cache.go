package sealing

import (
	"container/list"
	"sync"

	"example.org/mandate/events"
)

// cacheBytes bounds what a sealer keeps of sealed bodies and their contents.
const cacheBytes = 32 << 20

// cache keeps bodies that were sealed or opened lately: sealing is a function
// of key and content, and a body is passed on from service to service many
// times. It holds inline bodies only.
type cache struct {
	mu      sync.Mutex
	bytes   int
	entries map[cacheKey]*list.Element
	order   *list.List // of *cached, the longest unused first
}

// cacheKey includes the scope: the same content has another form in another
// scope.
type cacheKey struct {
	scope      string
	commitment events.Digest
}

type cached struct {
	key           cacheKey
	sealed        events.SealedBody
	salt, content []byte
}

func newCache() *cache { return &cache{entries: map[cacheKey]*list.Element{}, order: list.New()} }

func (c *cached) size() int { return len(c.sealed.Ciphertext) + len(c.content) + 256 }

func (c *cache) get(scope string, commitment events.Digest) (*cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[cacheKey{scope, commitment}]
	if !ok {
		return nil, false
	}
	c.order.MoveToBack(e)
	return e.Value.(*cached), true //nolint:errcheck,forcetypeassert // only these are in the list
}

func (c *cache) put(entry *cached) {
	if entry.size() > cacheBytes/8 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.entries[entry.key]; ok {
		return
	}
	c.entries[entry.key] = c.order.PushBack(entry)
	c.bytes += entry.size()
	for c.bytes > cacheBytes {
		oldest := c.order.Remove(c.order.Front()).(*cached) //nolint:errcheck,forcetypeassert // only these are in the list
		delete(c.entries, oldest.key)
		c.bytes -= oldest.size()
	}
}

// forget drops everything of a scope.
func (c *cache) forget(scope string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, e := range c.entries {
		if key.scope == scope {
			c.bytes -= e.Value.(*cached).size() //nolint:errcheck,forcetypeassert // only these are in the list
			c.order.Remove(e)
			delete(c.entries, key)
		}
	}
}
