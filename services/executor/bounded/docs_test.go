package bounded_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/bounded"
)

// document returns a file of the repository.
func document(t *testing.T, name ...string) string {
	t.Helper()
	root, err := req.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(append([]string{root}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestDocsQuoteEveryNonclaim compares the list in the documentation with the constants.
func TestDocsQuoteEveryNonclaim(t *testing.T) {
	req.Covers(t, "BNAR-9.5")
	text := document(t, "docs", "bounded.md")
	var quoted []string
	nonclaim := regexp.MustCompile("(?m)^[0-9]+\\. `(no_[a-z_]+)`$")
	for _, match := range nonclaim.FindAllStringSubmatch(text, -1) {
		quoted = append(quoted, match[1])
	}
	if !slices.Equal(quoted, bounded.Nonclaims()) || len(quoted) != 24 {
		t.Errorf("quoted %q", quoted)
	}
	for _, claim := range []string{
		"deterministic model", "guarantees that the model", "tamper-proof", "attest", "signed by", "resumes", "durable run of", "billing is",
		"compliant", "formally", "prevents prompt injection", "accurate price", "exactly once", "exactly-once", "in parallel", "sandbox",
	} {
		if strings.Contains(strings.ToLower(nonclaim.ReplaceAllString(text, "")), claim) {
			t.Errorf("the documentation says %q", claim)
		}
	}
}

// TestDocsAreLocal says what was tested, and claims no provider and no finding about a host.
func TestDocsAreLocal(t *testing.T) {
	req.Covers(t, "BNAR-6.27", "BNAR-7.9", "BNAR-7.11")
	text := strings.Join(strings.Fields(document(t, "docs", "bounded.md")), " ")
	for _, sentence := range []string{
		"There is no claim about a live provider, or about the quality of one.",
		"A host for which that is not true is outside of what the Evidence says",
		"nothing here proves that a host has no side effects",
		"what it brings late is not used",
		"Zero refuses.",
	} {
		if !strings.Contains(text, sentence) {
			t.Errorf("%q is missing", sentence)
		}
	}
}

// TestDocsNameEveryCode lists the codes with what they mean.
func TestDocsNameEveryCode(t *testing.T) {
	text := document(t, "docs", "bounded.md")
	for _, code := range []string{"G204", "G205", "G206", "G207", "G208", "G209", "I218", "I219", "I220", "I221"} {
		if strings.Count(text, "| `SPX-"+code+"` |") != 1 {
			t.Errorf("SPX-%s is not described", code)
		}
	}
}
