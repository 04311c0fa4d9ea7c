package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/sealing"
)

// openKeys returns the keyring over the data keys in values. In a data
// directory the wrapping key is made at the first start; elsewhere it has to be
// there. A key that does not fit the data keys that are there is refused now,
// not found out run by run.
func openKeys(ctx context.Context, o Options, values journal.Values) (*sealing.Keyring, error) {
	path := o.KeyFile
	if path == "" {
		path = filepath.Join(o.DataDir, "wrapping.key")
		if err := makeKey(ctx, path, values); err != nil {
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
	keys, err := sealing.NewKeyring(values, key)
	if err != nil {
		return nil, err
	}
	if err := keys.Check(ctx); err != nil {
		return nil, fmt.Errorf("wrapping key %s: %w", path, err)
	}
	return keys, nil
}

// makeKey writes a new key, whole and synced before it has its name, unless
// there is one. A key that was lost is not replaced: what it wrapped would stay
// closed while new runs hide that.
func makeKey(ctx context.Context, path string, values journal.Values) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("wrapping key: %w", err)
	}
	switch wrapped, err := values.ValueKeys(ctx, journal.BucketKeys); {
	case err != nil:
		return fmt.Errorf("wrapping key: %w", err)
	case len(wrapped) > 0:
		return fmt.Errorf("wrapping key %s: it is missing, and %d data keys are wrapped with it; put it back", path, len(wrapped))
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
