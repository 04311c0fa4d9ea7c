package events

// Revalidation records what was checked immediately before a dispatch
// (C3-RUN-005.a).
type Revalidation struct {
	At        Time     `json:"at"`
	Epoch     uint64   `json:"epoch"` // live registry epoch
	Lease     string   `json:"lease"`
	Budget    Limits   `json:"budget"`             // left before the dispatch
	Prechecks []string `json:"prechecks,omitzero"` // requirement: verdict
	// Pending lists the questions of types, as "node.argument", that the exact
	// bytes of the arguments answered.
	Pending []string `json:"pending,omitzero"`
	Extra   Extra    `json:"-"`
}

// RevisionAccepted says that the executor took over an admitted revision. It
// holds the revision whole, so that the executor's own chain tells everything
// it acts on.
type RevisionAccepted struct {
	Admitted RevisionAdmitted `json:"admitted"`
	Extra    Extra            `json:"-"`
}

// EventType implements [Payload].
func (*RevisionAccepted) EventType() string { return "mandate.executor.revision-accepted.v1" }

// ExecutionHalting says that no further action will be dispatched, while
// actions are still in flight.
type ExecutionHalting struct {
	Cause      HaltCause  `json:"cause"`
	Diagnostic Diagnostic `json:"diagnostic"`
	Extra      Extra      `json:"-"`
}

// EventType implements [Payload].
func (*ExecutionHalting) EventType() string { return "mandate.executor.execution-halting.v1" }

// ConfirmationNeeded says that the arguments of a node are known now and that
// a person has to decide on them before it is dispatched.
type ConfirmationNeeded struct {
	Revision   int              `json:"revision"`
	Node       string           `json:"node"`
	Capability CapabilityRef    `json:"capability"`
	Definition Digest           `json:"definition"`
	Effect     Effect           `json:"effect"`
	Arguments  Body             `json:"arguments"` // exact, canonical JSON
	Sources    []ArgumentSource `json:"sources"`
	Deadline   Time             `json:"deadline"` // an answer after it is of no use
	Extra      Extra            `json:"-"`
}

// EventType implements [Payload].
func (*ConfirmationNeeded) EventType() string { return "mandate.executor.confirmation-needed.v1" }

// ConfirmationReceived says that the executor took over a decision on a node.
type ConfirmationReceived struct {
	Approval  string `json:"approval"`
	Digest    Digest `json:"digest"`
	Revision  int    `json:"revision"`
	Node      string `json:"node"`
	Arguments Body   `json:"arguments"`
	Lease     Lease  `json:"lease"`
	// Head is the head of admission's chain with the decision.
	Head  Head  `json:"head"`
	Extra Extra `json:"-"`
}

// EventType implements [Payload].
func (*ConfirmationReceived) EventType() string { return "mandate.executor.confirmation-received.v1" }

// ActionDispatched is appended before a capability is called.
type ActionDispatched struct {
	Action         string        `json:"action"`
	Node           string        `json:"node"`
	Revision       int           `json:"revision"`
	Capability     CapabilityRef `json:"capability"`
	Definition     Digest        `json:"definition"`
	Effect         Effect        `json:"effect"`
	Attempt        int           `json:"attempt"`
	Arguments      Body          `json:"arguments"`
	IdempotencyKey string        `json:"idempotency_key"`
	Deadline       Time          `json:"deadline"`
	Revalidation   Revalidation  `json:"revalidation"`
	// Approval is the approval that this dispatch spends.
	Approval string `json:"approval,omitzero"`
	Extra    Extra  `json:"-"`
}

// EventType implements [Payload].
func (*ActionDispatched) EventType() string { return "mandate.executor.action-dispatched.v1" }

// ActionCompleted is the receipt of an action that did its work.
type ActionCompleted struct {
	Action   string `json:"action"`
	Node     string `json:"node"`
	Receipt  string `json:"receipt,omitzero"` // what the provider told
	Started  Time   `json:"started"`
	Finished Time   `json:"finished"`
	Extra    Extra  `json:"-"`
}

// EventType implements [Payload].
func (*ActionCompleted) EventType() string { return "mandate.executor.action-completed.v1" }

// ActionFailed is the receipt of an action that certainly had no effect.
type ActionFailed struct {
	Action     string     `json:"action"`
	Node       string     `json:"node"`
	Status     string     `json:"status"` // failed, needs_input, needs_dependency, needs_confirmation, lost
	Diagnostic Diagnostic `json:"diagnostic"`
	Started    Time       `json:"started,omitzero"`
	Finished   Time       `json:"finished,omitzero"`
	Extra      Extra      `json:"-"`
}

// EventType implements [Payload].
func (*ActionFailed) EventType() string { return "mandate.executor.action-failed.v1" }

// ActionUncertain says that nobody knows whether the effect took place. It is
// never tried again.
type ActionUncertain struct {
	Action     string     `json:"action"`
	Node       string     `json:"node"`
	Diagnostic Diagnostic `json:"diagnostic"`
	Extra      Extra      `json:"-"`
}

// EventType implements [Payload].
func (*ActionUncertain) EventType() string { return "mandate.executor.action-uncertain.v1" }

// ActionReconciled records what was found out about an uncertain action.
type ActionReconciled struct {
	Action string `json:"action"`
	Node   string `json:"node"`
	Found  string `json:"found"` // "applied" or "not_applied"
	Extra  Extra  `json:"-"`
}

// EventType implements [Payload].
func (*ActionReconciled) EventType() string { return "mandate.executor.action-reconciled.v1" }

// ResultRecorded records a result.
type ResultRecorded struct {
	Result ResultRecord `json:"result"`
	Extra  Extra        `json:"-"`
}

// EventType implements [Payload].
func (*ResultRecorded) EventType() string { return "mandate.executor.result-recorded.v1" }

// EvidenceRecorded records evidence.
type EvidenceRecorded struct {
	Evidence EvidenceRecord `json:"evidence"`
	Extra    Extra          `json:"-"`
}

// EventType implements [Payload].
func (*EvidenceRecorded) EventType() string { return "mandate.executor.evidence-recorded.v1" }

// Execution is what is handed on when execution ends: enough to judge it
// without reading anything else.
type Execution struct {
	Revision int              `json:"revision"`
	Request  Body             `json:"request"`
	Spec     Body             `json:"spec"`
	Plan     Body             `json:"plan"`
	Agent    AgentBinding     `json:"agent"`
	Epoch    uint64           `json:"epoch"` // of the registry when it was admitted
	Actions  []ActionSummary  `json:"actions"`
	Results  []ResultRecord   `json:"results"`
	Evidence []EvidenceRecord `json:"evidence"`
	Consumed Limits           `json:"consumed"` // of the whole run so far
	Ceiling  Limits           `json:"ceiling"`  // the evaluator's allotment
	SealedAt Time             `json:"sealed_at"`
	Deadline Time             `json:"deadline"`
	Heads    Heads            `json:"heads"`
	Extra    Extra            `json:"-"`
}

// ExecutionCompleted says that every node of the plan did its work.
type ExecutionCompleted struct{ Execution }

// EventType implements [Payload].
func (*ExecutionCompleted) EventType() string { return "mandate.executor.execution-completed.v1" }

// ExecutionHalted says that execution ended before every node did its work.
type ExecutionHalted struct {
	Execution
	Cause HaltCause `json:"cause"`
	// Diagnostic explains the halt.
	Diagnostic Diagnostic `json:"diagnostic"`
}

// EventType implements [Payload].
func (*ExecutionHalted) EventType() string { return "mandate.executor.execution-halted.v1" }

// HaltCause says why execution ended early.
type HaltCause string

// The halt causes.
const (
	HaltFailed    HaltCause = "failed"    // an action failed
	HaltUncertain HaltCause = "uncertain" // an effect is unknown
	HaltCancelled HaltCause = "cancelled"
	HaltBudget    HaltCause = "budget" // a budget or the deadline is used up
	HaltRevoked   HaltCause = "revoked"
	HaltChanged   HaltCause = "changed"  // a dependency changed
	HaltPrecheck  HaltCause = "precheck" // an obligation before an effect is not met
	HaltDenied    HaltCause = "denied"   // nobody approved a use in time, or a person denied it
)
