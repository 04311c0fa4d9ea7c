package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A body that never arrives does not hold a connection for ever.
func TestBodyThatDoesNotArrive(t *testing.T) {
	read := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limitBodyTime(w, r, 50*time.Millisecond)
		c := &call{ResponseWriter: w, Request: r}
		_, err := c.body()
		read <- err
	}))
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close() //nolint:errcheck // the test is over
	fmt.Fprint(connection, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	select {
	case err := <-read:
		if err == nil {
			t.Error("a part of a body was taken for the whole")
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the body is still waited for")
	}
	if err := connection.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, connection); err != nil {
		t.Errorf("the connection stays open: %v", err)
	}
}
