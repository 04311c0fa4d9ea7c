package app

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestAWriteDoesNotWaitForTheReader(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close() //nolint:errcheck // a pipe
	conn := newBufferedConn(near)
	var sent []byte
	for i := range 1000 {
		chunk := bytes.Repeat([]byte{byte(i)}, 1+i%97)
		sent = append(sent, chunk...)
		if n, err := conn.Write(chunk); n != len(chunk) || err != nil {
			t.Fatalf("write %d: %d, %v", i, n, err)
		}
		clear(chunk) // the caller's buffer is its own again
	}
	got := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(far)
		got <- data
	}()
	// Closing sends what is still on its way.
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if data := <-got; !bytes.Equal(data, sent) {
		t.Fatalf("%d bytes arrived of %d, or not in order", len(data), len(sent))
	}
	if _, err := conn.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("write after close: %v", err)
	}
}

func TestAFullBufferWaitsForTheReader(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close() //nolint:errcheck // a pipe
	conn := newBufferedConn(near)
	half := make([]byte, pipeBuffer/2+1)
	wrote := make(chan error, 1)
	go func() {
		for range 3 { // one in the hand of the pump, one waiting, and one too many
			if _, err := conn.Write(half); err != nil {
				wrote <- err
				return
			}
		}
		wrote <- nil
	}()
	select {
	case err := <-wrote:
		t.Fatalf("three halves fit: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := io.CopyN(io.Discard, far, 3*int64(len(half))); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
}

func TestABrokenPipeEndsWrites(t *testing.T) {
	near, far := net.Pipe()
	conn := newBufferedConn(near)
	_ = far.Close()
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err := conn.Write([]byte("x")); errors.Is(err, io.ErrClosedPipe) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("writes into a broken pipe go on")
		}
		time.Sleep(time.Millisecond)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}
