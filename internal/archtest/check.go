package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// file is what the rules need to know of one source file.
type file struct {
	dir     string // folder relative to the module root, "" for the root itself
	test    bool   // whether it is a _test.go file
	imports []string
}

// check returns what is wrong with the imports of one file, one sentence each.
func check(f file) []string {
	i := layerOf(f.dir)
	if i < 0 {
		return []string{fmt.Sprintf("no layer names folder %q: say in layers.go what it may import", f.dir)}
	}
	rules := layers[i]
	var wrong []string
	for _, to := range f.imports {
		if why := rules.refuses(f, to); why != "" {
			wrong = append(wrong, fmt.Sprintf("%q may not import %s: %s", f.dir, to, why))
		}
	}
	return wrong
}

// layerOf returns the index of the first layer that names the folder, or -1.
func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(l layer) bool { return matchAny(l.match, dir, "") })
}

// refuses says why a file of this layer may not import a package, or "" if it may.
func (l layer) refuses(f file, to string) string {
	if matchAny(nowhere, to, "") {
		return "no package may"
	}
	if dir, ok := ours(to); ok {
		return l.refusesOwn(f, dir)
	}
	tests := f.test || l.testOnly
	if first, _, _ := strings.Cut(to, "/"); strings.Contains(first, ".") {
		if matchAny(l.ext, to, "") || tests && matchAny(testLibraries, to, "") {
			return ""
		}
		return "the layer does not list that module"
	}
	if !tests && matchAny([]string{"testing/..."}, to, "") {
		return "only tests and test-only packages use testing"
	}
	if l.pure && !f.test && !matchAny(pureStd, to, "") && !matchAny(l.std, to, "") {
		return "the layer is pure"
	}
	return ""
}

// refusesOwn says why a file of this layer may not import one of our packages, or "" if it may.
func (l layer) refusesOwn(f file, to string) string {
	if to == f.dir { // an external test imports the package it tests
		return ""
	}
	i := layerOf(to)
	if i < 0 {
		return "no layer names it"
	}
	tests := f.test || l.testOnly
	if layers[i].testOnly && !tests {
		return "only tests may"
	}
	if service(f.dir) != "" && service(to) != "" && service(f.dir) != service(to) {
		return "services speak through events only"
	}
	if matchAny([]string{"internal/app/..."}, to, "") && !matchAny(appImporters, f.dir, "") {
		return "the composition root is imported by programs only"
	}
	if matchAny(l.own, to, service(f.dir)) || tests && !strings.HasPrefix(to, "cmd/") {
		return ""
	}
	return "the layer does not list it"
}

// ours returns the folder of one of our packages, relative to the module root.
func ours(importPath string) (string, bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

// service returns the service that a folder belongs to, or "".
func service(dir string) string {
	if parts := strings.Split(dir, "/"); len(parts) > 1 && parts[0] == "services" {
		return parts[1]
	}
	return ""
}

// matchAny reports whether p matches one of the patterns, with self for SELF.
func matchAny(patterns []string, p, self string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return match(strings.ReplaceAll(pattern, "SELF", self), p)
	})
}

// match reports whether p is what the pattern says; a final /... takes what is below as well.
func match(pattern, p string) bool {
	if root, ok := strings.CutSuffix(pattern, "/..."); ok {
		depth := strings.Count(root, "/") + 1
		parts := strings.Split(p, "/")
		if len(parts) < depth {
			return false
		}
		p, pattern = strings.Join(parts[:depth], "/"), root
	}
	ok, err := path.Match(pattern, p)
	return err == nil && ok
}
