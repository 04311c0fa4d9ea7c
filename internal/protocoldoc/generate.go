package protocoldoc

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events"
)

// Generate returns every file that describes the protocol, by its path below
// root, the root of this module: package events is read there.
func Generate(root string) (map[string][]byte, error) {
	s, err := readSource(filepath.Join(root, "events"))
	if err != nil {
		return nil, err
	}
	documentsOf := map[string]any{AsyncAPIFile: s.asyncAPIDocument()}
	for _, name := range events.Types() {
		payload, err := events.New(name)
		if err != nil {
			return nil, fmt.Errorf("describe %s: %w", name, err)
		}
		if documentsOf[schemaDir+name+".json"], err = s.schemaOf(events.DataSchema(name), name, typeOf(payload)); err != nil {
			return nil, err
		}
	}
	for name, document := range documents() {
		file := schemaDir + "document." + name + ".json"
		if documentsOf[file], err = s.schemaOf(documentURN+name, name, reflect.TypeOf(document)); err != nil {
			return nil, err
		}
	}
	files := map[string][]byte{CodesFile: s.codeList()}
	for file, document := range documentsOf {
		data, err := json.Marshal(document, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return nil, fmt.Errorf("write %s: %w", file, err)
		}
		files[file] = append(data, '\n')
	}
	return files, nil
}

func typeOf(payload events.Payload) reflect.Type { return reflect.TypeOf(payload).Elem() }

// codeList lists the codes in Markdown.
func (s *source) codeList() []byte {
	var b strings.Builder
	b.WriteString("# Codes\n\nGenerated from the constants of package events by `make generate`. " +
		"A number never changes its meaning; codes are only ever added.\n")
	for _, section := range s.codes {
		fmt.Fprintf(&b, "\n## %s\n\n| code | name |\n|---|---|\n", section.title)
		for _, c := range section.codes {
			name := words(strings.TrimPrefix(c.name, "Code"))
			if c.comment != "" {
				name += ": " + c.comment
			}
			fmt.Fprintf(&b, "| MD-%04s | %s |\n", c.number, name)
		}
	}
	return []byte(b.String())
}

// words splits a Go name: "NonceConflict" becomes "nonce conflict".
func words(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// Stale lists the schemas below root that are not among files.
func Stale(root string, files map[string][]byte) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(root, schemaDir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("list schemas: %w", err)
	}
	var stale []string
	for _, path := range paths {
		name := schemaDir + filepath.Base(path)
		if _, ok := files[name]; !ok {
			stale = append(stale, name)
		}
	}
	return stale, nil
}
