package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// Domain separates the digests of different things.
type Domain string

// The domains of digests. They are part of the contract.
const (
	DomainProfile          Domain = "profile-digest"
	DomainTask             Domain = "task-digest"
	DomainAction           Domain = "action-digest"
	DomainTrace            Domain = "trace-digest"
	DomainEvidence         Domain = "evidence-digest"
	DomainProviderRequest  Domain = "provider-request-digest"
	DomainProviderResponse Domain = "provider-response-digest"
	DomainToolResult       Domain = "tool-result-digest"
	DomainFinalMessage     Domain = "final-message-digest"
	DomainReceipt          Domain = "accounting-receipt-digest"
	domainRun              Domain = "run-id"
	domainCall             Domain = "call-id"
)

// digestStart begins every digest that is written down.
const digestStart = "sha256:"

// Digest returns the digest of data in a domain, as it is written down.
func Digest(domain Domain, data []byte) string { return digest(domain, data) }

// digest hashes the parts one after the other.
func digest(domain Domain, parts ...[]byte) string {
	hash := sha256.New()
	hash.Write([]byte("semaprax.agent-runtime." + string(domain) + ".v1\x00"))
	for _, part := range parts {
		hash.Write(part)
	}
	return digestStart + hex.EncodeToString(hash.Sum(nil))
}

// RunID identifies the run of a task under a profile.
func RunID(profileDigest, taskDigest string, nonce [32]byte) string {
	return digest(domainRun, []byte(profileDigest), []byte(taskDigest), nonce[:])
}

// Call is what identifies one invocation of a tool.
type Call struct {
	RunID     string
	Turn      uint64
	ToolID    string
	Arguments []byte
}

// CallID identifies an invocation of a tool.
func CallID(call Call) string {
	return digest(domainCall, []byte(call.RunID), binary.BigEndian.AppendUint64(nil, call.Turn), []byte(call.ToolID), call.Arguments)
}

// IsDigest reports whether text is written like a digest.
func IsDigest(text string) bool {
	return len(text) == len(digestStart)+2*sha256.Size && text[:len(digestStart)] == digestStart && IsHex(text[len(digestStart):])
}

// IsHex reports whether text has lowercase hexadecimal digits only.
func IsHex(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
