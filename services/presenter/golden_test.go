package presenter_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"example.org/mandate/events"
)

var update = flag.Bool("update", false, "write the golden files")

// The bytes of documents are stable: they are what was shown, for good.
func TestGolden(t *testing.T) {
	f := several(t, events.TagCompleted)
	f.c.OutputType, f.c.Output = "test.report", f.c.Results[0].Value
	f.result("ledger", "records", `[{"version":"1.1.0","size":10},{"version":"1.2.0","size":12}]`, "mcp-tool-result")
	f.c.Receipt.CompletedEffects = []events.EffectSummary{{
		Action: "action-ledger", Node: "ledger", Capability: events.CapabilityRef{Name: "cap.ledger", Version: 1}, Effect: events.EffectWrite, Receipt: "line 2",
	}}
	golden(t, "document.json", f.present().bytes)

	f = several(t, events.TagFailed)
	f.c.Receipt.Partial[0].Value = body(t, report(t, 1))
	f.c.Evaluations[0].Verdict, f.c.Evaluations[0].Strength, f.c.Evaluations[0].Reason = events.VerdictUnmet, "", "the field does not have the required value"
	f.c.Completion = events.CompletionPartial
	f.c.Receipt.Diagnostic = &events.Diagnostic{
		Code: events.CodeRequirementUnmet, Path: "outcome.requirements.pass", Message: "the required condition pass is not met", Action: "see the results",
	}
	golden(t, "failed.json", f.present().bytes)

	_, s := present(t, request(t, `{"note":"first","version":"1.2.0"}`))
	golden(t, "approval.json", s.bytes)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update and review):\n%s", path, got)
	}
}
