package process

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
)

// Bounds of what is observed of a tree.
const (
	maxObservedFiles   = 10_000
	maxObservedBytes   = 64 << 20
	maxObservedEntries = 100_000
	maxPatternSegments = 32
	maxDoubleStars     = 4
)

var (
	errPattern  = errors.New("process: a pattern of observed files is malformed")
	errObserved = errors.New("process: the observed files exceed a limit")
)

// tree is what was seen of the observed files.
type tree struct {
	digest events.Digest
	newest events.Time
	files  int
	bytes  int64
}

// observe looks at the files under directory that match one of patterns.
// Symbolic links are looked at, never followed.
func observe(directory string, patterns []string) (tree, error) {
	split, err := splitPatterns(patterns)
	if err != nil {
		return tree{}, err
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return tree{}, fmt.Errorf("process: observe: %w", err)
	}
	defer func() { _ = root.Close() }()
	w := &walker{root: root, patterns: split}
	if err := fs.WalkDir(root.FS(), ".", w.visit); err != nil {
		return tree{}, fmt.Errorf("process: observe: %w", err)
	}
	w.seen.digest = canon.Parts("source-tree", w.parts...)
	return w.seen, nil
}

// walker collects a tree in the order of names.
type walker struct {
	root     *os.Root
	patterns [][]string
	entries  int
	parts    []string
	seen     tree
}

// visit implements fs.WalkDirFunc.
func (w *walker) visit(name string, entry fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if w.entries++; w.entries > maxObservedEntries {
		return fmt.Errorf("%w: %d entries", errObserved, maxObservedEntries)
	}
	if name == "." {
		return nil
	}
	segments := strings.Split(name, "/")
	if entry.IsDir() {
		if !slices.ContainsFunc(w.patterns, func(p []string) bool { return canContain(p, segments) }) {
			return fs.SkipDir
		}
		return nil
	}
	if !slices.ContainsFunc(w.patterns, func(p []string) bool { return matches(p, segments) }) {
		return nil
	}
	return w.add(name, entry)
}

// add records one matching file.
func (w *walker) add(name string, entry fs.DirEntry) error {
	if w.seen.files++; w.seen.files > maxObservedFiles {
		return fmt.Errorf("%w: %d files", errObserved, maxObservedFiles)
	}
	info, err := entry.Info()
	if err != nil {
		return err
	}
	w.seen.newest = max(w.seen.newest, events.At(info.ModTime()))
	switch {
	case info.Mode().IsRegular():
		content, err := w.read(name)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, "file", name, string(canon.Sum("source-file", content)))
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(name)
		if err != nil {
			return err
		}
		w.parts = append(w.parts, "link", name, target)
	default:
		w.parts = append(w.parts, "other", name, strconv.FormatUint(uint64(info.Mode().Type()), 8))
	}
	return nil
}

// read reads a regular file within what is left of the bound.
func (w *walker) read(name string) ([]byte, error) {
	file, err := w.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	left := maxObservedBytes - w.seen.bytes
	content, err := io.ReadAll(io.LimitReader(file, left+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > left {
		return nil, fmt.Errorf("%w: %d bytes", errObserved, maxObservedBytes)
	}
	w.seen.bytes += int64(len(content))
	return content, nil
}

// splitPatterns checks patterns and splits them at their slashes.
func splitPatterns(patterns []string) ([][]string, error) {
	split := make([][]string, 0, len(patterns))
	for _, pattern := range patterns {
		segments := strings.Split(pattern, "/")
		stars := 0
		for _, segment := range segments {
			if segment == "**" {
				stars++
				continue
			}
			if _, err := path.Match(segment, "x"); err != nil || segment == "" || segment == "." || segment == ".." {
				return nil, errPattern
			}
		}
		if stars > maxDoubleStars || len(segments) > maxPatternSegments {
			return nil, errPattern
		}
		split = append(split, segments)
	}
	return split, nil
}

// matches reports whether pattern matches the whole name. "**" matches any
// number of segments, also none.
func matches(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		for i := range len(name) + 1 {
			if matches(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	}
	return len(name) > 0 && matchSegment(pattern[0], name[0]) && matches(pattern[1:], name[1:])
}

// canContain reports whether a name below directory could match pattern.
func canContain(pattern, directory []string) bool {
	for i, segment := range directory {
		if i >= len(pattern) {
			return false
		}
		if pattern[i] == "**" {
			return true
		}
		if !matchSegment(pattern[i], segment) {
			return false
		}
	}
	return len(pattern) > len(directory)
}

// matchSegment matches one segment with a pattern that is known to be valid.
func matchSegment(pattern, segment string) bool {
	ok, err := path.Match(pattern, segment)
	return ok && err == nil
}
