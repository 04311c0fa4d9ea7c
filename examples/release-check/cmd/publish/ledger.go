package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
)

// Entry is one line of the ledger.
type Entry struct {
	Module         string    `json:"module"`
	Version        string    `json:"version"`
	IdempotencyKey string    `json:"idempotency_key"`
	ActionID       string    `json:"action_id"`
	Time           time.Time `json:"time"`
}

// complete reports whether nothing is missing but the time.
func (e Entry) complete() bool {
	return e.Module != "" && e.Version != "" && e.IdempotencyKey != "" && e.ActionID != ""
}

// maxLedgerBytes bounds the ledger that is read.
const maxLedgerBytes = 64 << 20

// errUnchanged is wrapped by every error that came before the ledger was
// touched.
var errUnchanged = errors.New("nothing was published")

// publish makes sure that the ledger holds an entry under wanted's key and
// returns its line. It holds the lock on the ledger all the while.
func publish(path string, wanted Entry, now func() time.Time) ([]byte, error) {
	ledger, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnchanged, err)
	}
	// Closing also unlocks. Everything that matters is synced by then.
	defer func() { _ = ledger.Close() }()
	if err := lock(ledger); err != nil {
		return nil, fmt.Errorf("%w: lock the ledger: %w", errUnchanged, err)
	}
	data, err := io.ReadAll(io.LimitReader(ledger, maxLedgerBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: read the ledger: %w", errUnchanged, err)
	}
	if len(data) > maxLedgerBytes {
		return nil, fmt.Errorf("%w: the ledger is larger than %d bytes", errUnchanged, maxLedgerBytes)
	}
	first, end, err := find(data, wanted)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnchanged, err)
	}
	if first != nil {
		// Whoever wrote it may have been stopped before it was safe on disk.
		return first, syncLedger(ledger, path)
	}
	wanted.Time = now().UTC()
	line, err := json.Marshal(wanted)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnchanged, err)
	}
	return line, appendLine(ledger, path, end, line)
}

// lock waits for the exclusive lock on the ledger.
func lock(ledger *os.File) error {
	for {
		err := syscall.Flock(int(ledger.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// find looks for the entry under wanted's key. It returns its line, or where
// the next one belongs: after the last whole line. What follows that is the
// start of an entry that nobody was told about.
func find(data []byte, wanted Entry) (first []byte, end int64, err error) {
	whole := bytes.LastIndexByte(data, '\n') + 1
	number := 0
	for line := range bytes.Lines(data[:whole]) {
		number++
		line = bytes.TrimSuffix(line, []byte("\n"))
		var entry Entry
		if err := json.Unmarshal(line, &entry, json.RejectUnknownMembers(true)); err != nil || !entry.complete() {
			return nil, 0, fmt.Errorf("line %d of the ledger is not an entry", number)
		}
		if entry.IdempotencyKey != wanted.IdempotencyKey {
			continue
		}
		if entry.Module != wanted.Module || entry.Version != wanted.Version {
			return nil, 0, errors.New("the idempotency key belongs to another release")
		}
		return bytes.Clone(line), 0, nil
	}
	return nil, int64(whole), nil
}

// appendLine writes the line at end and makes it safe.
func appendLine(ledger *os.File, path string, end int64, line []byte) error {
	if err := ledger.Truncate(end); err != nil {
		return fmt.Errorf("cut off an unfinished entry: %w", err)
	}
	if _, err := ledger.WriteAt(append(bytes.Clone(line), '\n'), end); err != nil {
		return fmt.Errorf("write the entry: %w", err)
	}
	return syncLedger(ledger, path)
}

// syncLedger makes the ledger's content and its name safe on disk.
func syncLedger(ledger *os.File, path string) error {
	if err := ledger.Sync(); err != nil {
		return fmt.Errorf("sync the ledger: %w", err)
	}
	directory, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("sync the ledger's directory: %w", err)
	}
	defer func() { _ = directory.Close() }()
	if err := directory.Sync(); err != nil {
		return fmt.Errorf("sync the ledger's directory: %w", err)
	}
	return nil
}
