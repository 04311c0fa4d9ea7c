package document_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/document"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// known returns a known answer.
func known(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name+".json"))
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// refused checks that an error is exactly one diagnostic.
func refused(t *testing.T, err, want error) {
	t.Helper()
	got, expected := diagnostic.Of(err), diagnostic.Of(want)
	if got == nil || *got != *expected {
		t.Errorf("got %v, want %v", err, want)
	}
}

func raw(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestKnownDocuments reads each known document and writes it again.
func TestKnownDocuments(t *testing.T) {
	for name, test := range map[string]struct {
		read func([]byte) (document.Read, error)
		raw  string
		size int
		ids  []string
	}{
		"profile": {func(data []byte) (document.Read, error) {
			p, err := document.ParseProfile(data)
			if err != nil {
				return document.Read{}, err
			}
			return p.Read, nil
		}, "14981ee99af965dcea311121a90cacfb9891a00d6365e7ad00cab8cefe69c01a", 2835, []string{"BNAR-2.1", "BNAR-6.1", "BNAR-8.1"}},
		"task": {func(data []byte) (document.Read, error) {
			p, err := document.ParseTask(data)
			if err != nil {
				return document.Read{}, err
			}
			return p.Read, nil
		}, "b6be370dea6708b7b3f7c6bd46299061c8f146a684fdf9895c32dc7e50c9a425", 240, []string{"BNAR-2.2", "BNAR-6.2", "BNAR-8.2"}},
		"tool_action":  {action, "a7142d92a8d33130892472cfeafee44519fe7bbc9c52a12319638089583a5286", 115, []string{"BNAR-2.3", "BNAR-6.3", "BNAR-8.3"}},
		"final_action": {action, "2b44a98bfc80bb89339c4a76c6d43637f3a65c5b0a65a9a5571d507289f6681a", 78, []string{"BNAR-6.4", "BNAR-8.4"}},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, test.ids...)
			read, err := test.read(known(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if raw(read.Source) != test.raw || len(read.Source) != test.size {
				t.Errorf("wrote %d bytes with SHA-256 %s", len(read.Source), raw(read.Source))
			}
		})
	}
}

func action(data []byte) (document.Read, error) {
	a, err := document.ParseAction(data, 4096)
	if err != nil {
		return document.Read{}, err
	}
	return a.Read, nil
}

// TestKnownDigests compares digests in their domains, and the two identities that are made of several parts.
func TestKnownDigests(t *testing.T) {
	req.Covers(t, "BNAR-2.17", "BNAR-10.1", "BNAR-10.2", "BNAR-10.3")
	profile, err := document.ParseProfile(known(t, "profile"))
	if err != nil {
		t.Fatal(err)
	}
	task, err := document.ParseTask(known(t, "task"))
	if err != nil {
		t.Fatal(err)
	}
	const run = "sha256:07030908ceb35c49c7fdf122f0e6e4241af681e99549dfac543c91a4b0db6153"
	for name, pair := range map[string][2]string{
		"profile":   {profile.Digest, "sha256:1ff0611ab4cc3bd0c0500256c4aa669d798761cc29fe4312ce9bf734358cf9ae"},
		"task":      {task.Digest, "sha256:4c2066ab8982ea5d9a121d8eec29d769662ab7ae2d5d8ffac030267c4423b19f"},
		"run":       {wire.RunID(profile.Digest, task.Digest, task.Nonce), run},
		"trace":     {wire.Digest(wire.DomainTrace, known(t, "trace")), "sha256:e9660046d86a3ec409b4d58843db2b34ade0125e67bb1d4b6e192b9140587c38"},
		"evidence":  {wire.Digest(wire.DomainEvidence, known(t, "evidence")), "sha256:17af6073806bf8a71e160c060b9ac6b6f43154a1c0583d441c90508b959d23e4"},
		"action":    {wire.Digest(wire.DomainAction, known(t, "tool_action")), "sha256:26c574c3262e68ff5a4e8f6c8cafd51cea753dffc22c0800ed654f3c150112dd"},
		"response":  {wire.Digest(wire.DomainProviderResponse, known(t, "tool_action")), "sha256:2accc776aa9283a224ed68beb9611e2dfdfc0e772b4bb9988a39ba483742fbc9"},
		"request 1": {wire.Digest(wire.DomainProviderRequest, known(t, "provider_request_turn1")), "sha256:399cc3df0aff5d8121790e92a61f40cc46f0de161591f3131ee6e27460cff193"},
		"request 2": {wire.Digest(wire.DomainProviderRequest, known(t, "provider_request_turn2")), "sha256:a852b2674e1db240443b2523016a9f07b44bc057324b76cae58e8dce88144c6a"},
		"result":    {wire.Digest(wire.DomainToolResult, known(t, "tool_result")), "sha256:a374a80284cef7b2396ecec5e287f47cc9815ebd60e0be557fc8cfa54e2a4bf4"},
		"message":   {wire.Digest(wire.DomainFinalMessage, []byte("done")), "sha256:4a5f74633b831bee3d0abd7866d9a2fdf6d744ff7cd03550322b81e34866aa29"},
		"receipt":   {wire.Digest(wire.DomainReceipt, known(t, "accounting_receipt.derived")), "sha256:139b27c4573644ebf69c865f03b6bf00e4dde51e8f5eefe5df9c40867d3fd6a5"},
		"call": {
			wire.CallID(wire.Call{RunID: run, Turn: 1, ToolID: "fixture.read", Arguments: []byte(`{"query":"alpha"}`)}),
			"sha256:cfee5b43aa376bca087c4a0f234a5f92060483861017125be71d27865d4ca944",
		},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %s, want %s", name, pair[0], pair[1])
		}
	}
}

// TestKnownExchange renders what the provider is asked and what the model is told.
func TestKnownExchange(t *testing.T) {
	req.Covers(t, "BNAR-2.4", "BNAR-2.5")
	profile, err := document.ParseProfile(known(t, "profile"))
	if err != nil {
		t.Fatal(err)
	}
	task, err := document.ParseTask(known(t, "task"))
	if err != nil {
		t.Fatal(err)
	}
	run := wire.RunID(profile.Digest, task.Digest, task.Nonce)
	result := wire.NewWriter(wire.StyleInput)
	(&document.Result{
		CallID: wire.CallID(wire.Call{RunID: run, Turn: 1, ToolID: "fixture.read", Arguments: []byte(`{"query":"alpha"}`)}),
		ToolID: "fixture.read", Value: []byte(`{"value":"alpha"}`),
	}).Write(result)
	if !result.Same(known(t, "tool_result")) {
		t.Errorf("result: %s", result.Bytes())
	}
	request := document.Request{RunID: run, Turn: 1, Model: &profile.Models[0], MaxOutputTokens: 3163, Task: task, Tools: profile.Tools}
	for name, more := range map[string]func(){
		"provider_request_turn1": func() {},
		"provider_request_turn2": func() {
			request.Turn, request.MaxOutputTokens = 2, 2677
			request.History = []document.Turn{{Action: known(t, "tool_action"), Result: result.Bytes()}}
		},
	} {
		before := request
		more()
		w := wire.NewWriter(wire.StyleInput)
		request.Write(w)
		if !w.Same(known(t, name)) {
			t.Errorf("%s: %s", name, w.Bytes())
		}
		request = before
	}
}
