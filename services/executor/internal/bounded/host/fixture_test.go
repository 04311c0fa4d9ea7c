package host_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"example.org/mandate/internal/req"
	"example.org/mandate/services/executor/internal/bounded"
	"example.org/mandate/services/executor/internal/bounded/host"
)

// known returns a known answer.
func known(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestKnownAnswers runs the fixture and compares what comes out, byte for byte.
func TestKnownAnswers(t *testing.T) {
	agent, err := bounded.New(known(t, "profile"), host.NewFixture(), bounded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := agent.Run(known(t, "task"))
	if err != nil {
		t.Fatal(err)
	}
	if message, ok := run.UntrustedFinalMessage(); message != "done" || !ok || run.Status() != "completed" {
		t.Errorf("%s: %q %t", run.Status(), message, ok)
	}
	for name, test := range map[string]struct {
		got    []byte
		raw    string
		digest string
		want   string
		ids    []string
	}{
		"trace": {
			run.Trace(), "b418408ff16de76251e0b40eb2c7b68dd408bbae66b96e734138ad64f6f70eab",
			run.TraceDigest(), "sha256:e9660046d86a3ec409b4d58843db2b34ade0125e67bb1d4b6e192b9140587c38",
			[]string{"BNAR-2.6", "BNAR-6.5", "BNAR-8.5"},
		},
		"evidence": {
			run.Evidence(), "45da26349aa89514ca3066a0f14076d4220cb03560589b9f959f97e9564bd6ad",
			run.EvidenceDigest(), "sha256:17af6073806bf8a71e160c060b9ac6b6f43154a1c0583d441c90508b959d23e4",
			[]string{"BNAR-2.7", "BNAR-6.6", "BNAR-8.6"},
		},
		"accounting_receipt.derived": {
			run.Receipt(), "dfe72270800a5d00e18603a052f7cbdee24437f9f0e0a01c96d8b11c01e06d1a",
			run.ReceiptDigest(), "sha256:139b27c4573644ebf69c865f03b6bf00e4dde51e8f5eefe5df9c40867d3fd6a5",
			[]string{"BNAR-2.8", "BNAR-3.2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			req.Covers(t, test.ids...)
			sum := sha256.Sum256(test.got)
			if raw := hex.EncodeToString(sum[:]); raw != test.raw || test.digest != test.want {
				t.Errorf("raw %s, digest %s", raw, test.digest)
			}
			if want := known(t, name); !bytes.Equal(test.got, want) {
				t.Errorf("wrote\n%s\nwant\n%s", test.got, want)
			}
		})
	}
}
