// Command protocoldoc writes the files that describe the protocol, and removes
// schemas of types that are no more.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"example.org/mandate/internal/protocoldoc"
)

func main() {
	root := flag.String("root", ".", "root `directory` of the module")
	flag.Parse()
	if err := write(*root); err != nil {
		fmt.Fprintln(os.Stderr, "protocoldoc:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	files, err := protocoldoc.Generate(root)
	if err != nil {
		return err
	}
	stale, err := protocoldoc.Stale(root, files)
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(root, name)); err != nil {
			return fmt.Errorf("remove a stale schema: %w", err)
		}
	}
	for name, data := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}
