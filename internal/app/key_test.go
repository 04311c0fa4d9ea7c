package app

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"example.org/mandate/internal/journal/memory"
	"example.org/mandate/internal/sealing"
)

// A wrapping key that was lost, changed or damaged stops the start, and is not
// replaced by a new one.
func TestWrappingKeyOfExistingData(t *testing.T) {
	j := memory.New(memory.Options{})
	t.Cleanup(func() { _ = j.Close() })
	o := DefaultOptions()
	o.DataDir = t.TempDir()
	path := filepath.Join(o.DataDir, "wrapping.key")
	if _, err := openKeys(t.Context(), o, j); err != nil {
		t.Fatalf("first start: %v", err)
	}
	right, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openKeys(t.Context(), o, j); err != nil {
		t.Fatalf("second start: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := openKeys(t.Context(), o, j); err == nil {
		t.Error("started without the key of its data")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a lost key was replaced")
	}
	for name, key := range map[string][]byte{
		"another": []byte(hex.EncodeToString(bytes.Repeat([]byte{7}, sealing.KeyBytes))), "short": right[:10], "empty": {}, "not a key": []byte("key"),
	} {
		if err := os.WriteFile(path, key, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openKeys(t.Context(), o, j); err == nil {
			t.Errorf("started with %s", name)
		}
	}
	if err := os.WriteFile(path, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openKeys(t.Context(), o, j); err != nil {
		t.Errorf("the right key is not accepted again: %v", err)
	}
}
