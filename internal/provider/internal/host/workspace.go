package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrOutside is returned for a name that leaves the workspace.
var ErrOutside = errors.New("host: outside the workspace")

// ErrProgram is returned for a program that cannot be found.
var ErrProgram = errors.New("host: program not found")

// Workspace is the directory that programs run in.
type Workspace struct {
	root string // absolute, without symbolic links
}

// OpenWorkspace returns the workspace at an existing directory.
func OpenWorkspace(directory string) (Workspace, error) {
	if directory == "" {
		return Workspace{}, errors.New("host: a workspace needs a directory")
	}
	absolute, err := filepath.Abs(directory)
	if err != nil {
		return Workspace{}, fmt.Errorf("host: workspace: %w", err)
	}
	root, err := filepath.EvalSymlinks(absolute)
	if err != nil {
		return Workspace{}, fmt.Errorf("host: workspace: %w", err)
	}
	info, err := os.Stat(root)
	if err != nil {
		return Workspace{}, fmt.Errorf("host: workspace: %w", err)
	}
	if !info.IsDir() {
		return Workspace{}, fmt.Errorf("host: workspace %s is not a directory", root)
	}
	return Workspace{root: root}, nil
}

// Root returns the absolute path of the workspace.
func (w Workspace) Root() string { return w.root }

// Directory returns the absolute path of a directory inside the workspace,
// with its symbolic links resolved; "" is the workspace itself.
func (w Workspace) Directory(name string) (string, error) {
	path, err := w.inside(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("host: directory: %w", err)
	}
	if !info.IsDir() {
		return "", errors.New("host: not a directory")
	}
	return path, nil
}

// Program returns the absolute path of a program: an absolute name is itself,
// a name with a slash is relative to the workspace and cannot leave it, and
// any other name is looked up on the host's PATH.
func (w Workspace) Program(name string) (string, error) {
	switch {
	case name == "" || strings.ContainsRune(name, 0):
		return "", ErrProgram
	case filepath.IsAbs(name):
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("%w: %w", ErrProgram, err)
		}
		return name, nil
	case strings.Contains(name, "/"):
		path, err := w.inside(name)
		if errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("%w: %w", ErrProgram, err)
		}
		return path, err
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrProgram, err)
	}
	return path, nil
}

// inside resolves name below the root and refuses one that leaves it, by its
// text or by a symbolic link.
func (w Workspace) inside(name string) (string, error) {
	if name == "" {
		return w.root, nil
	}
	if strings.ContainsRune(name, 0) || !filepath.IsLocal(name) {
		return "", ErrOutside
	}
	path, err := filepath.EvalSymlinks(filepath.Join(w.root, name))
	if err != nil {
		return "", fmt.Errorf("host: %w", err)
	}
	relative, err := filepath.Rel(w.root, path)
	if err != nil || !filepath.IsLocal(relative) {
		return "", ErrOutside
	}
	return path, nil
}
