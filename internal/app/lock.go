//go:build unix

package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockDataDir makes a data directory and takes it until release is called or
// the process ends, however it ends. Two servers over the same files would
// each overwrite what the other one had confirmed.
func lockDataDir(directory string) (release func() error, err error) {
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(directory, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another process uses it")
		}
		return nil, errors.Join(fmt.Errorf("data directory %s: %w", directory, err), file.Close())
	}
	return file.Close, nil
}
