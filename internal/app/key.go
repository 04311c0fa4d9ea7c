package app

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.org/mandate/internal/sealing"
)

// wrappingKey reads the key that wraps data keys. In a data directory it is
// made at the first start; elsewhere it has to be there.
func wrappingKey(o Options) ([]byte, error) {
	path := o.KeyFile
	if path == "" {
		path = filepath.Join(o.DataDir, "wrapping.key")
		if err := makeKey(path); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("wrapping key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(data)))
	if err != nil || len(key) != sealing.KeyBytes {
		return nil, fmt.Errorf("wrapping key %s: not %d hexadecimal digits", path, 2*sealing.KeyBytes)
	}
	return key, nil
}

// makeKey writes a new key, whole and synced before it has its name, unless
// there is one.
func makeKey(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("wrapping key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("wrapping key: %w", err)
	}
	key := make([]byte, sealing.KeyBytes)
	rand.Read(key)
	file, err := os.CreateTemp(filepath.Dir(path), ".wrapping-*")
	if err != nil {
		return fmt.Errorf("wrapping key: %w", err)
	}
	defer os.Remove(file.Name()) //nolint:errcheck // renamed away when all went well
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		// Link, not rename: whoever was first keeps its key.
		if err = os.Link(file.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("wrapping key: %w", err)
	}
	return nil
}
