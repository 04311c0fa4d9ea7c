package sealing

import (
	"fmt"
	"testing"

	"example.org/mandate/events"
)

func entry(scope string, i, size int) *cached {
	commitment := events.Digest(fmt.Sprint("sha256:", i))
	return &cached{
		key:    cacheKey{scope, commitment},
		sealed: events.SealedBody{Commitment: commitment, Scope: scope, Ciphertext: make([]byte, size/2)}, content: make([]byte, size/2),
	}
}

// The cache stays within its bound, drops what was unused longest, and forgets
// a scope whole.
func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	c.put(entry("a", 0, cacheBytes/4))
	if _, ok := c.get("a", "sha256:0"); ok {
		t.Error("one body takes more than its share")
	}
	const size = 1 << 20
	for i := 1; i <= 2*cacheBytes/size; i++ {
		c.put(entry("a", i, size))
		if i > 1 {
			if _, ok := c.get("a", "sha256:1"); !ok {
				t.Fatalf("what is used again and again was dropped after %d", i)
			}
		}
		if c.bytes > cacheBytes || len(c.entries) != c.order.Len() {
			t.Fatalf("%d bytes in %d entries, %d in order", c.bytes, len(c.entries), c.order.Len())
		}
	}
	if _, ok := c.get("a", "sha256:2"); ok {
		t.Error("what was unused longest is still there")
	}
	before := c.bytes
	c.put(entry("a", 1, size))
	if c.bytes != before {
		t.Error("the same body counts twice")
	}
	c.put(entry("b", 1, size))
	c.forget("a")
	if _, ok := c.get("b", "sha256:1"); !ok || len(c.entries) != 1 || c.order.Len() != 1 || c.bytes != entry("b", 1, size).size() {
		t.Errorf("after forgetting a: %d entries, %d bytes", len(c.entries), c.bytes)
	}
	c.forget("b")
	if c.bytes != 0 {
		t.Errorf("%d bytes of nothing", c.bytes)
	}
}
