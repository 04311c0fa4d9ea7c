package commandline

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"example.org/mandate/internal/api"
	"example.org/mandate/internal/req"
)

// TestFollowingSurvivesAKill kills the process while a run waits for a person
// and somebody follows it, and starts another one on the same data. Nothing
// that was accepted is lost, and whoever follows sees the end.
func TestFollowingSurvivesAKill(t *testing.T) {
	req.Covers(t, "IK-7.7")
	w, data := workspace(t), t.TempDir()
	s := up(t, "--data-dir", data, "--workspace", w)
	address := s.address
	mandate(t, address, "", "apply", "-f", example(t, "agent.yaml")).want(t, 0)
	run := strings.TrimSpace(mandate(t, address, "", "submit", "-f", example(t, "request-b.yaml")).want(t, 0).stdout)
	mandate(t, address, "", "submit", "-f", example(t, "request-b.yaml"), "--nonce", run, "--wait", "--timeout", "80s").want(t, 20)

	followed := make(chan result, 1)
	go func() {
		followed <- mandate(t, address, "", "run", "watch", run, "--timeout", "85s")
	}()
	// The kill may come before or after the follower's first look; only the
	// second is of interest, so another look goes before it.
	mandate(t, address, "", "run", "watch", run, "--timeout", "1s").want(t, 21)
	if err := s.stop(t, syscall.SIGKILL); err == nil {
		t.Fatal("it was not killed")
	}
	up(t, "--data-dir", data, "--workspace", w, "--http", strings.TrimPrefix(address, "http://"))
	list := read[api.InteractionList](t, mandate(t, address, "", "interactions", "-o", "json").want(t, 0).stdout)
	if len(list.Interactions) != 1 || list.Interactions[0].Run != run {
		t.Fatalf("interactions %+v", list)
	}
	waiting := list.Interactions[0]
	wrong := "sha256:" + strings.Repeat("0", 64)
	if r := mandate(t, address, "", "approve", waiting.ID, "--digest", wrong); r.code != 1 || !strings.Contains(r.stderr, "error: MD-1113") {
		t.Errorf("approved something else: %+v", r)
	}
	approved := mandate(t, address, "", "approve", waiting.ID, "--digest", string(waiting.Digest)).want(t, 0, run)
	for _, text := range []string{"release.publish@1", `"1.2.0"`, "request input /version"} {
		if !strings.Contains(approved.stderr, text) {
			t.Errorf("%q was not shown to whoever approved:\n%s", text, approved.stderr)
		}
	}
	if r := <-followed; r.code != 0 || !strings.Contains(r.stderr, "run-concluded: completed") {
		t.Errorf("whoever followed: %+v", r)
	}
	ledger, err := os.ReadFile(filepath.Join(w, "ledger.jsonl"))
	if err != nil || strings.Count(string(ledger), "\n") != 1 {
		t.Errorf("ledger %q, %v", ledger, err)
	}
	mandate(t, address, "", "verify", run).want(t, 0, "complete  true")
	mandate(t, address, "", "replay", run).want(t, 0)
}

func TestDeny(t *testing.T) {
	w := workspace(t)
	s := up(t, "--data-dir", t.TempDir(), "--workspace", w)
	mandate(t, s.address, "", "apply", "-f", example(t, "agent.yaml")).want(t, 0)
	run := strings.TrimSpace(mandate(t, s.address, "", "submit", "-f", example(t, "request-b.yaml")).want(t, 0).stdout)
	mandate(t, s.address, "", "submit", "-f", example(t, "request-b.yaml"), "--nonce", run, "--wait", "--timeout", "80s").want(t, 20)
	list := read[api.InteractionList](t, mandate(t, s.address, "", "interactions", "-o", "json").want(t, 0).stdout)
	id := list.Interactions[0].ID
	mandate(t, s.address, "", "interactions", id).want(t, 0, "release.publish", "How to answer")
	mandate(t, s.address, "", "deny", id, "--reason", "not this week").want(t, 0, "deny")
	mandate(t, s.address, "", "run", "watch", run, "--timeout", "80s").want(t, 10, "MD-1111")
	if r := mandate(t, s.address, "", "approve", id); r.code != 1 || !strings.HasPrefix(r.stderr, "error: MD-1012") {
		t.Errorf("approved what was denied: %+v", r)
	}
	if _, err := os.Stat(filepath.Join(w, "ledger.jsonl")); err == nil {
		t.Error("something was published")
	}
}
