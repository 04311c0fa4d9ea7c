package events

// Submitted says that a principal asked for a run.
type Submitted struct {
	Request   Body      `json:"request"` // IntentRequest
	Nonce     string    `json:"nonce"`
	Principal Principal `json:"principal"`
	Agent     string    `json:"agent"`
	Thread    string    `json:"thread,omitzero"`
	Parent    string    `json:"parent,omitzero"`
	// Epoch is the registry epoch that the host saw: admission decides under
	// that epoch or a later one.
	Epoch   uint64 `json:"epoch"`
	HasSpec bool   `json:"has_spec"`
	HasPlan bool   `json:"has_plan"`
	// Roles are those that the principal's token gave it.
	Roles []string `json:"roles,omitzero"`
	// Granted is what the parent run set aside for this one. No request can
	// state it: it is written with the reservation in the parent's own chain.
	Granted *Limits `json:"granted,omitzero"`
	Extra   Extra   `json:"-"`
}

// EventType implements [Payload].
func (*Submitted) EventType() string { return "mandate.request.submitted.v1" }

// CancelRequested asks to stop a run.
type CancelRequested struct {
	Principal Principal `json:"principal"`
	Reason    string    `json:"reason"`
	// Roles are those that the principal's token gave it.
	Roles []string `json:"roles,omitzero"`
	Extra Extra    `json:"-"`
}

// EventType implements [Payload].
func (*CancelRequested) EventType() string { return "mandate.request.cancel-requested.v1" }

// Steered gives a run new words against the revision the person saw.
type Steered struct {
	Principal    Principal `json:"principal"`
	BaseRevision int       `json:"base_revision"`
	Instruction  Body      `json:"instruction"`
	Extra        Extra     `json:"-"`
}

// EventType implements [Payload].
func (*Steered) EventType() string { return "mandate.request.steered.v1" }

// ChoiceAnswered answers an interaction.
type ChoiceAnswered struct {
	Principal   Principal `json:"principal"`
	Interaction string    `json:"interaction"`
	Answer      Body      `json:"answer"`
	Extra       Extra     `json:"-"`
}

// EventType implements [Payload].
func (*ChoiceAnswered) EventType() string { return "mandate.request.choice-answered.v1" }

// Decision is what a person decided on an approval.
type Decision string

// The decisions.
const (
	DecisionApprove Decision = "approve"
	DecisionDeny    Decision = "deny"
)

// ApprovalDecided answers a request for approval. Digest is the digest of
// exactly what the person saw.
type ApprovalDecided struct {
	Principal Principal `json:"principal"`
	Approval  string    `json:"approval"`
	Decision  Decision  `json:"decision"`
	Digest    Digest    `json:"digest"`
	Reason    string    `json:"reason,omitzero"`
	// Roles are those that the principal's token gave it.
	Roles []string `json:"roles,omitzero"`
	Extra Extra    `json:"-"`
}

// EventType implements [Payload].
func (*ApprovalDecided) EventType() string { return "mandate.request.approval-decided.v1" }

// ReconciliationRequested asks to find out what became of an uncertain action.
type ReconciliationRequested struct {
	Principal Principal `json:"principal"`
	Action    string    `json:"action"`
	Extra     Extra     `json:"-"`
}

// EventType implements [Payload].
func (*ReconciliationRequested) EventType() string {
	return "mandate.request.reconciliation-requested.v1"
}
