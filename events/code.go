package events

import (
	"fmt"
	"strconv"
	"strings"
)

// Code is a stable diagnostic code. Zero means none. Codes are only ever
// appended; a number never changes its meaning.
type Code uint16

// The codes. The numbers are part of the contract.
const (
	// Requests: 1000–1099.
	CodeRequestMalformed    Code = 1001
	CodeRequestTooLarge     Code = 1002
	CodeRequestTooDeep      Code = 1003
	CodeRequestIncomplete   Code = 1004
	CodeNonceConflict       Code = 1005
	CodeInputInvalid        Code = 1006
	CodeOwnershipUnresolved Code = 1007
	CodeRunUnknown          Code = 1008
	CodeRunConcluded        Code = 1009
	CodeNonceInvalid        Code = 1010
	CodeOutputUnsupported   Code = 1011
	CodeInteractionUnknown  Code = 1012
	CodeContentUnavailable  Code = 1013

	// Registry and authority: 1100–1199.
	CodeAgentUnknown          Code = 1101
	CodePolicyMissing         Code = 1102
	CodePrincipalDenied       Code = 1103
	CodeEffectBoundUnknown    Code = 1104
	CodeEffectOutsideBound    Code = 1105
	CodeOperationNotAllowed   Code = 1106
	CodeCapabilityUnknown     Code = 1107
	CodeCapabilityRevoked     Code = 1108
	CodeResourceInvalid       Code = 1109
	CodeConfirmationMissing   Code = 1110
	CodeApprovalDenied        Code = 1111
	CodeApprovalExpired       Code = 1112
	CodeApprovalMismatch      Code = 1113
	CodeLeaseExpired          Code = 1114
	CodeDependencyChanged     Code = 1115
	CodeResourceUnknown       Code = 1116
	CodeConfirmationUnbound   Code = 1117
	CodeWriteConfirmation     Code = 1118
	CodeFactProviderAmbiguous Code = 1119
	CodeFactProviderMissing   Code = 1120
	CodeFactCycle             Code = 1121
	CodePolicyDenied          Code = 1122
	CodePolicyFailed          Code = 1123
	CodePolicyClarification   Code = 1124
	CodePolicyInvalid         Code = 1125

	// Specifications and plans: 1200–1299.
	CodeSpecInvalid       Code = 1201
	CodePlanInvalid       Code = 1202
	CodePlanCycle         Code = 1203
	CodePlanReference     Code = 1204
	CodePlanType          Code = 1205
	CodePlanDuplicateNode Code = 1206
	CodePlanInterference  Code = 1207
	CodePlanOutput        Code = 1208
	CodePlanCoverage      Code = 1209
	CodePlanTooLarge      Code = 1210
	CodeCandidateKind     Code = 1211
	CodeSpecReference     Code = 1212
	CodeModelRequired     Code = 1213
	CodePlanUntyped       Code = 1214
	CodePlanPredecessor   Code = 1215

	// Budgets and bounds: 1300–1399.
	CodeLimitMissing    Code = 1301
	CodeBudgetExhausted Code = 1302
	CodeBudgetExceeded  Code = 1303
	CodeDeadline        Code = 1304
	CodeBoundUnenforced Code = 1305

	// Execution: 1400–1499.
	CodeActionFailed       Code = 1401
	CodeActionUncertain    Code = 1402
	CodeActionLost         Code = 1403
	CodeOutputTooLarge     Code = 1404
	CodeOutputInvalid      Code = 1405
	CodeTimeout            Code = 1406
	CodeProviderMissing    Code = 1407
	CodeProviderFailed     Code = 1408
	CodeArgumentsInvalid   Code = 1409
	CodePrecheckUnmet      Code = 1410
	CodeResultKind         Code = 1411
	CodePredecessorMissing Code = 1412
	CodePendingUnmet       Code = 1413

	// Evaluation and conclusion: 1500–1599.
	CodeRequirementUnmet   Code = 1501
	CodeRequirementUnknown Code = 1502
	CodeCancelled          Code = 1503
	CodeExpired            Code = 1504
	CodeIndeterminate      Code = 1505
	CodeOutputMissing      Code = 1506

	// Streams and verification: 1600–1699.
	CodeChainBroken      Code = 1601
	CodeDigestMismatch   Code = 1602
	CodeCommitMalformed  Code = 1603
	CodeVersionUnknown   Code = 1604
	CodeTransition       Code = 1605
	CodeExactlyOne       Code = 1606
	CodeCauseMissing     Code = 1607
	CodeReceiptHeads     Code = 1608
	CodeReplayDivergence Code = 1609
	CodeBundleMalformed  Code = 1610
	CodeSubjectMismatch  Code = 1611

	// The service itself: 1900–1999.
	CodeInternal      Code = 1901
	CodeUnavailable   Code = 1902
	CodeConfiguration Code = 1903
	CodeUnauthorized  Code = 1904
	CodeNotFound      Code = 1905
	CodeConflict      Code = 1906
)

// String returns the printed form, such as "MD-1001".
func (c Code) String() string { return fmt.Sprintf("MD-%04d", uint16(c)) }

// MarshalText implements encoding.TextMarshaler.
func (c Code) MarshalText() ([]byte, error) {
	if c == 0 {
		return nil, nil
	}
	return []byte(c.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Code) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*c = 0
		return nil
	}
	digits, ok := strings.CutPrefix(string(text), "MD-")
	n, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil || n == 0 || Code(n).String() != string(text) {
		return fmt.Errorf("events: code %.20q", text)
	}
	*c = Code(n)
	return nil
}

// Diagnostic explains a refusal or a failure to a person: what happened, where,
// and what to do. It never contains private content or a model's words.
type Diagnostic struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Path points into the document concerned: "plan.nodes[2].arguments.path".
	Path string `json:"path,omitzero"`
	// Action says what the reader can do about it.
	Action string `json:"action,omitzero"`
}

// String returns the diagnostic as one line.
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.Code.String())
	b.WriteByte(' ')
	if d.Path != "" {
		b.WriteString(d.Path)
		b.WriteString(": ")
	}
	b.WriteString(d.Message)
	if d.Action != "" {
		b.WriteString("; ")
		b.WriteString(d.Action)
	}
	return b.String()
}
