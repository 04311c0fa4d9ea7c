package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/mandate/internal/app"
)

func TestListenTableIsDocumented(t *testing.T) {
	document, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	if table := app.ListenTable(); !strings.Contains(string(document), table) {
		t.Errorf("docs/architecture.md has another table than:\n%s", table)
	}
}
