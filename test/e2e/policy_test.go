package e2e

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/bundle"
)

// A history that says of a policy what no policy decided does not verify.
func TestFalseAuthorizationsAreFound(t *testing.T) {
	data := finished(t)
	for name, test := range map[string]struct {
		change func(events.Payload)
		code   events.Code
	}{
		"as it is": {func(events.Payload) {}, 0},
		"no such policy": {func(p events.Payload) {
			if e, ok := p.(*events.RunSealed); ok {
				e.Authorization.Digest = "sha256:other"
			}
		}, events.CodePolicyMissing},
		"denied": {func(p events.Payload) {
			if e, ok := p.(*events.RunSealed); ok {
				e.Authorization.Verdict = events.PolicyDeny
			}
		}, events.CodePolicyDenied},
		"no rule": {func(p events.Payload) {
			if e, ok := p.(*events.RevisionAdmitted); ok {
				e.Nodes[0].Authorization.Rule = ""
			}
		}, events.CodePolicyDenied},
		"another operation": {func(p events.Payload) {
			if e, ok := p.(*events.SpecApproved); ok {
				e.Authorization.Operation = events.OperationSubmit
			}
		}, events.CodePolicyDenied},
		"unconfirmed": {func(p events.Payload) {
			if e, ok := p.(*events.RevisionAdmitted); ok {
				e.Nodes[0].Authorization.Verdict = events.PolicyConfirm
			}
		}, events.CodePolicyDenied},
		"another way": {func(p events.Payload) {
			if e, ok := p.(*events.SpecApproved); ok {
				e.Way = events.ApprovalStanding
			}
		}, events.CodeApprovalMismatch},
		"two eyes": {func(p events.Payload) {
			if e, ok := p.(*events.ApprovalRequested); ok {
				e.Terms.FourEyes = true
			}
		}, events.CodePrincipalDenied},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := bundle.Verify(rewritten(t, data, test.change))
			if err != nil {
				t.Fatal(err)
			}
			found := slices.ContainsFunc(report.Findings, func(f bundle.Finding) bool { return f.Code == test.code })
			if found != (test.code != 0) || test.code == 0 && !report.Holds() {
				t.Errorf("found %v", report.Findings)
			}
		})
	}
}

// rewritten is a bundle whose events were changed by somebody who can write
// commits, but did not make the chain right again.
func rewritten(t *testing.T, data []byte, change func(events.Payload)) []byte {
	t.Helper()
	b, err := bundle.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range b.Records {
		c, err := events.Decode(events.Record{Stream: r.Stream, Sequence: r.Sequence, Stored: r.Stored, Subject: r.Subject, Header: r.Header, Data: r.Data})
		if err != nil {
			t.Fatal(err)
		}
		for j := range c.Events {
			change(c.Events[j].Data)
		}
		if b.Records[i].Data, err = events.Encode(&c); err != nil {
			t.Fatal(err)
		}
		b.Records[i].Header = c.Header()
	}
	if data, err = bundle.Encode(b); err != nil {
		t.Fatal(err)
	}
	return data
}
