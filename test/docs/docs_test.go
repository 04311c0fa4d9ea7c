package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
)

// files returns the contents of all files of this repository with one of the extensions, by path from its root.
func files(t *testing.T, extensions ...string) map[string]string {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		skipped := strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"bin", "build", "testdata"}, entry.Name())
		if entry.IsDir() && skipped && name != root {
			return filepath.SkipDir
		}
		if entry.IsDir() || !slices.Contains(extensions, filepath.Ext(name)) {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, name)
		found[filepath.ToSlash(relative)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatalf("no file ends in %q", extensions)
	}
	return found
}

// exists reports whether a path from the root of the repository exists.
func exists(t *testing.T, name string) bool {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

var link = regexp.MustCompile(`\]\(([^)\s#]+)(?:#[^)]*)?\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for name, text := range files(t, ".md") {
		for _, match := range link.FindAllStringSubmatch(text, -1) {
			target := match[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			if !exists(t, filepath.ToSlash(filepath.Join(filepath.Dir(name), target))) {
				t.Errorf("%s: link to %s leads nowhere", name, target)
			}
		}
	}
}

var (
	makeCommand = regexp.MustCompile("(?m)(?:`|^    )make ([a-z-]+)")
	makeTarget  = regexp.MustCompile(`(?m)^([a-z-]+):`)
)

func TestMakeTargetsExist(t *testing.T) {
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, match := range makeTarget.FindAllStringSubmatch(string(makefile), -1) {
		targets[match[1]] = true
	}
	count := 0
	for name, text := range files(t, ".md") {
		for _, match := range makeCommand.FindAllStringSubmatch(text, -1) {
			count++
			if !targets[match[1]] {
				t.Errorf("%s: the Makefile has no target %s", name, match[1])
			}
		}
	}
	if count == 0 {
		t.Error("no document names a target")
	}
}

var mapRow = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\|")

// TestMapNamesWhatIsThere checks the first path in each row of the map in README.md.
func TestMapNamesWhatIsThere(t *testing.T) {
	_, text, ok := strings.Cut(files(t, ".md")["README.md"], "\n## Map\n")
	if !ok {
		t.Fatal("README.md has no map")
	}
	text, _, _ = strings.Cut(text, "\n## ")
	rows := mapRow.FindAllStringSubmatch(text, -1)
	if len(rows) < 10 {
		t.Fatalf("the map has %d rows", len(rows))
	}
	for _, row := range rows {
		name := strings.Split(row[1], "`")[1]
		name, _, _ = strings.Cut(name, "/<")
		if !exists(t, name) {
			t.Errorf("the map in README.md names %s, which is not there", name)
		}
	}
}

var (
	exactlyOnce = regexp.MustCompile(`(?i)exactly[- ]once`)
	execution   = regexp.MustCompile(`(?i)effect|execut|dispatch|invo|action|deliver|happen`)
	negated     = regexp.MustCompile(`(?i)\b(no|not|never|nobody|nothing|cannot|without|neither|nor)\b`)
	sentenceEnd = regexp.MustCompile(`[.;:|]\s|\n\s*\n`)
)

// promises returns the sentences of a text that speak of exactly-once execution without denying it.
func promises(text string) []string {
	var found []string
	for _, sentence := range sentenceEnd.Split(text, -1) {
		if exactlyOnce.MatchString(sentence) && execution.MatchString(sentence) && !negated.MatchString(sentence) {
			found = append(found, strings.TrimSpace(sentence))
		}
	}
	return found
}

func TestNothingPromisesExactlyOnceExecution(t *testing.T) {
	req.Covers(t, "C3-RUN-006.n")
	for name, text := range files(t, ".md", ".go", ".json", ".yaml", ".html") {
		// The requirements say what a model must do in a test; they claim nothing.
		if name == "docs/requirements.md" || strings.HasPrefix(name, "test/docs/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, sentence := range promises(text) {
			t.Errorf("%s: %q", name, sentence)
		}
	}
}

// TestPromisesAreFound shows that the check above can fail.
func TestPromisesAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"Actions are executed exactly once.":                                  1,
		"The text appears exactly once.":                                      0,
		"We do not promise that actions are executed exactly once.":           0,
		"It never fails. Effects happen exactly-once.":                        1,
		"It does not promise:\n\n- **No exactly-once effects in the world.**": 0,
	} {
		if got := promises(text); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}
