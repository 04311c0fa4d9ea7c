package events

// AgentBinding names the compiled agent that a run is pinned to.
type AgentBinding struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
}

// PolicyDecision says which rule of which policy decided something. A rule is
// named by its ID; "submitters", "approvers" and "operations" are the lists of
// the policy, and no rule means that nothing allowed it.
type PolicyDecision struct {
	Operation PolicyOperation `json:"operation"`
	Policy    string          `json:"policy"`
	Digest    Digest          `json:"digest"` // of the policy
	Rule      string          `json:"rule,omitzero"`
	Verdict   PolicyVerdict   `json:"verdict"`
	Extra     Extra           `json:"-"`
}

// RunSealed says that a request was accepted as it is, for good.
type RunSealed struct {
	Request     Body             `json:"request"` // IntentRequest
	Nonce       string           `json:"nonce"`
	Principal   Principal        `json:"principal"`
	Agent       AgentBinding     `json:"agent"`
	Policy      AgentBinding     `json:"policy"`
	Epoch       uint64           `json:"epoch"`        // of the registry
	EffectBound []Effect         `json:"effect_bound"` // with intent
	Routes      []string         `json:"routes"`       // the frozen ladder
	Ceiling     Limits           `json:"ceiling"`
	Allotments  map[Owner]Limits `json:"allotments"`
	SealedAt    Time             `json:"sealed_at"`
	Deadline    Time             `json:"deadline"`
	Thread      string           `json:"thread,omitzero"`
	Parent      string           `json:"parent,omitzero"`
	Heads       Heads            `json:"heads"`
	Decision    DecisionRecord   `json:"decision"`
	// Roles are those that the principal had when it submitted.
	Roles []string `json:"roles,omitzero"`
	// Authorization is the decision of the policy that let it submit.
	Authorization *PolicyDecision `json:"authorization,omitzero"`
	Extra         Extra           `json:"-"`
}

// EventType implements [Payload].
func (*RunSealed) EventType() string { return "mandate.admission.run-sealed.v1" }

// RunRejected ends a run before it was admitted.
type RunRejected struct {
	Tag         Tag          `json:"tag"`
	Phase       Phase        `json:"phase"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Omitted     int          `json:"omitted,omitzero"` // diagnostics left out
	Request     Body         `json:"request,omitzero"`
	Spec        Body         `json:"spec,omitzero"`
	Consumed    Limits       `json:"consumed"`
	Heads       Heads        `json:"heads"`
	// Authorization is the decision of the policy that refused it, if one did.
	Authorization *PolicyDecision `json:"authorization,omitzero"`
	Extra         Extra           `json:"-"`
}

// EventType implements [Payload].
func (*RunRejected) EventType() string { return "mandate.admission.run-rejected.v1" }

// ApprovalItem is one use of a capability that needs a person.
type ApprovalItem struct {
	Node       string        `json:"node"`
	Capability CapabilityRef `json:"capability"`
	Definition Digest        `json:"definition"` // of the capability
	Effect     Effect        `json:"effect"`
	Arguments  Body          `json:"arguments"` // the exact arguments, canonical JSON
	// Sources says for every argument where its value comes from.
	Sources map[string]string `json:"sources"`
	// Authorization is the decision of the policy on this use.
	Authorization *PolicyDecision `json:"authorization,omitzero"`
	Extra         Extra           `json:"-"`
}

// ApprovalRequested says what waits for a person. Digest binds exactly it.
type ApprovalRequested struct {
	Approval      string         `json:"approval"`
	Digest        Digest         `json:"digest"`
	Formalization string         `json:"formalization"`
	Revision      int            `json:"revision"`
	Items         []ApprovalItem `json:"items"`
	Reason        string         `json:"reason"`
	Expires       Time           `json:"expires"`
	Request       Body           `json:"request"`
	Spec          Body           `json:"spec"`
	Plan          Body           `json:"plan"`
	Approvers     []string       `json:"approvers"`
	Policy        AgentBinding   `json:"policy"`
	Heads         Heads          `json:"heads"`
	// Terms are the conditions of a decision.
	Terms *ApprovalTerms `json:"terms,omitzero"`
	// Use is the node of the admitted revision that waits, if the arguments
	// were not known before the run.
	Use   string `json:"use,omitzero"`
	Extra Extra  `json:"-"`
}

// EventType implements [Payload].
func (*ApprovalRequested) EventType() string { return "mandate.admission.approval-requested.v1" }

// ApprovalTerms are what else was known when an approval was asked for.
type ApprovalTerms struct {
	// FourEyes wants another principal than who submitted.
	FourEyes bool `json:"four_eyes"`
	// Origin and Sources say where the plan and each "node.argument" of it come
	// from.
	Origin  Origin            `json:"origin"`
	Sources map[string]string `json:"sources"`
	Extra   Extra             `json:"-"`
}

// ApprovalWay is how an approval came about.
type ApprovalWay string

// The ways to an approval.
const (
	// ApprovalStanding: a standing policy, for unambiguous work whose effects
	// are within intent, none and read.
	ApprovalStanding ApprovalWay = "standing"
	// ApprovalExplicit: the submitting principal's own request, for
	// capabilities whose confirmation mode is explicit.
	ApprovalExplicit ApprovalWay = "explicit"
	// ApprovalPerson: a person who decided on the exact content digest.
	ApprovalPerson ApprovalWay = "person"
)

// Approver says on whose word an interpretation was approved: exactly one of a
// standing policy and a principal.
type Approver struct {
	Policy    string     `json:"policy,omitzero"`
	Principal *Principal `json:"principal,omitzero"`
}

// SpecApproved approves an interpretation.
type SpecApproved struct {
	Formalization string   `json:"formalization"`
	Spec          Digest   `json:"spec"` // commitment of the specification
	Approver      Approver `json:"approver"`
	Approval      string   `json:"approval,omitzero"`
	Digest        Digest   `json:"digest,omitzero"`
	// Way is how the approval came about.
	Way ApprovalWay `json:"way,omitzero"`
	// Authorization is the decision of the policy that let the approver
	// approve, or let the standing approval be enough.
	Authorization *PolicyDecision `json:"authorization,omitzero"`
	Extra         Extra           `json:"-"`
}

// EventType implements [Payload].
func (*SpecApproved) EventType() string { return "mandate.admission.spec-approved.v1" }

// SpecDenied ends a run because its interpretation was not approved.
type SpecDenied struct {
	Formalization string     `json:"formalization"`
	Approval      string     `json:"approval,omitzero"`
	Principal     *Principal `json:"principal,omitzero"`
	Tag           Tag        `json:"tag"`
	Diagnostic    Diagnostic `json:"diagnostic"`
	Request       Body       `json:"request,omitzero"`
	Spec          Body       `json:"spec,omitzero"`
	Consumed      Limits     `json:"consumed"`
	Heads         Heads      `json:"heads"`
	Extra         Extra      `json:"-"`
}

// EventType implements [Payload].
func (*SpecDenied) EventType() string { return "mandate.admission.spec-denied.v1" }

// PlanRejected refuses a candidate. If Final, the run ends with Tag.
type PlanRejected struct {
	Formalization string       `json:"formalization"`
	Plan          Digest       `json:"plan"` // commitment
	Attempt       int          `json:"attempt"`
	Diagnostics   []Diagnostic `json:"diagnostics"`
	Omitted       int          `json:"omitted,omitzero"`
	Final         bool         `json:"final"`
	Tag           Tag          `json:"tag,omitzero"`
	Request       Body         `json:"request,omitzero"`
	Spec          Body         `json:"spec,omitzero"`
	Consumed      Limits       `json:"consumed"`
	Heads         Heads        `json:"heads"`
	// Authorization is the decision of the policy that refused a use of a
	// capability, if one did.
	Authorization *PolicyDecision `json:"authorization,omitzero"`
	Extra         Extra           `json:"-"`
}

// EventType implements [Payload].
func (*PlanRejected) EventType() string { return "mandate.admission.plan-rejected.v1" }

// BoundStatus says whether a bound is kept by code (OD-3.2.6).
type BoundStatus string

// The bound statuses.
const (
	BoundEnforced      BoundStatus = "enforced"
	BoundAdvisory      BoundStatus = "advisory"
	BoundUnavailable   BoundStatus = "unavailable"
	BoundNotApplicable BoundStatus = "not_applicable"
)

// Bound is one limit of an admitted revision with the code that enforces it.
type Bound struct {
	Name     string      `json:"name"`
	Value    int64       `json:"value"`
	Status   BoundStatus `json:"status"`
	Consumer string      `json:"consumer,omitzero"`
	Reason   string      `json:"reason"`
	Extra    Extra       `json:"-"`
}

// Lease is the right to start actions, for a while.
type Lease struct {
	ID      string `json:"id"`
	Expires Time   `json:"expires"`
	Epoch   uint64 `json:"epoch"`
}

// SourceKind says where a value comes from.
type SourceKind string

// The kinds of sources. The first four are the principal's own.
const (
	// SourceRequest: a literal of the plan that the principal submitted.
	SourceRequest SourceKind = "request"
	// SourceInput: a value of the typed input of the request.
	SourceInput SourceKind = "input"
	// SourceWords: the value stands in the text of the request.
	SourceWords SourceKind = "words"
	// SourceChoice: a person chose it.
	SourceChoice SourceKind = "choice"
	// SourceModel: whoever made the plan made it up.
	SourceModel SourceKind = "model"
	// SourceOutput: the output of an earlier node.
	SourceOutput SourceKind = "output"
)

// Own reports whether a value of this kind is the principal's own.
func (k SourceKind) Own() bool {
	switch k {
	case SourceRequest, SourceInput, SourceWords, SourceChoice:
		return true
	case SourceModel, SourceOutput:
	}
	return false
}

// ArgumentSource says where one value of an argument comes from.
type ArgumentSource struct {
	Argument string     `json:"argument"`
	Path     string     `json:"path,omitzero"` // positions in the argument, such as "/2"; names may be private
	Kind     SourceKind `json:"kind"`
	// From is the place: a pointer into the input, "start-end" in the text, or
	// "node/path" of an output.
	From string `json:"from,omitzero"`
	// Producer is the capability of that output.
	Producer *CapabilityRef `json:"producer,omitzero"`
	// Authority says that the value decides what an effect touches, and
	// Accepted that it needs no person to decide on it.
	Authority bool  `json:"authority"`
	Accepted  bool  `json:"accepted"`
	Extra     Extra `json:"-"`
}

// AdmittedNode is one node of an admitted plan with what it is bound to.
type AdmittedNode struct {
	ID           string        `json:"id"`
	Capability   CapabilityRef `json:"capability"`
	Definition   Digest        `json:"definition"`
	Effect       Effect        `json:"effect"`
	After        []string      `json:"after"`
	Level        int           `json:"level"`
	Confirmation string        `json:"confirmation,omitzero"` // approval ID
	Arguments    Body          `json:"arguments,omitzero"`    // exactly what was confirmed
	Prechecks    []string      `json:"prechecks,omitzero"`    // requirement IDs
	// Authorization is the decision of the policy that lets it execute.
	Authorization *PolicyDecision `json:"authorization,omitzero"`
	// Sources say where every value of the arguments comes from.
	Sources []ArgumentSource `json:"sources,omitzero"`
	// Confirm says when a person decides on the exact arguments, if not before
	// the revision was admitted.
	Confirm ConfirmTime `json:"confirm,omitzero"`
	Extra   Extra       `json:"-"`
}

// PendingCheck is a question of types that admission could not answer from the
// schemas alone.
type PendingCheck struct {
	// Node is the node before whose dispatch its arguments are checked. Without
	// a node it is the run's output, which is checked before a run completes.
	Node string `json:"node,omitzero"`
	// Argument is the argument concerned; empty means that the arguments have to
	// fit together.
	Argument string `json:"argument,omitzero"`
	Reason   string `json:"reason"`
	Extra    Extra  `json:"-"`
}

// ConfirmTime is when a person decides on a use.
type ConfirmTime string

// ConfirmAtDispatch is once the arguments are known, immediately before the
// dispatch.
const ConfirmAtDispatch ConfirmTime = "at_dispatch"

// RevisionAdmitted says what may run, under which bounds (OD-3.2). Nodes are
// in the plan's stable order.
type RevisionAdmitted struct {
	Revision      int            `json:"revision"`
	ID            string         `json:"id"`
	Formalization string         `json:"formalization"`
	SpecRevision  int            `json:"spec_revision"`
	Request       Body           `json:"request"`
	Spec          Body           `json:"spec"`
	Plan          Body           `json:"plan"`
	Agent         AgentBinding   `json:"agent"`
	Policy        AgentBinding   `json:"policy"`
	Principal     Principal      `json:"principal"`
	Nodes         []AdmittedNode `json:"nodes"`
	Effects       []Effect       `json:"effects"`
	Bounds        []Bound        `json:"bounds"`
	Budget        Limits         `json:"budget"`   // the executor's allotment
	Checks        Limits         `json:"checks"`   // the evaluator's allotment
	Consumed      Limits         `json:"consumed"` // by admission and interpretation so far
	Lease         Lease          `json:"lease"`
	Deadline      Time           `json:"deadline"`
	SealedAt      Time           `json:"sealed_at"`
	Thread        string         `json:"thread,omitzero"`
	Heads         Heads          `json:"heads"`
	Decision      DecisionRecord `json:"decision"`
	// Pending lists what the schemas leave open. It is answered by the bytes of
	// the run, before what depends on it happens.
	Pending []PendingCheck `json:"pending,omitzero"`
	Extra   Extra          `json:"-"`
}

// EventType implements [Payload].
func (*RevisionAdmitted) EventType() string { return "mandate.admission.revision-admitted.v1" }

// RunCancelled stops a run. Revision is not zero if the executor may have
// started; then the executor ends it, else the evaluator does at once.
type RunCancelled struct {
	Principal Principal `json:"principal"`
	Reason    string    `json:"reason"`
	Phase     Phase     `json:"phase"`
	Revision  int       `json:"revision,omitzero"`
	Request   Body      `json:"request,omitzero"`
	Spec      Body      `json:"spec,omitzero"`
	Consumed  Limits    `json:"consumed"`
	Heads     Heads     `json:"heads"`
	Extra     Extra     `json:"-"`
}

// EventType implements [Payload].
func (*RunCancelled) EventType() string { return "mandate.admission.run-cancelled.v1" }

// RunExpired ends a run whose time is over before it was admitted.
type RunExpired struct {
	Phase      Phase      `json:"phase"`
	Tag        Tag        `json:"tag"`
	Diagnostic Diagnostic `json:"diagnostic"`
	Request    Body       `json:"request,omitzero"`
	Spec       Body       `json:"spec,omitzero"`
	Consumed   Limits     `json:"consumed"`
	Heads      Heads      `json:"heads"`
	Extra      Extra      `json:"-"`
}

// EventType implements [Payload].
func (*RunExpired) EventType() string { return "mandate.admission.run-expired.v1" }

// UseApproved lets one node of an admitted revision be dispatched once, with
// exactly the arguments that a person saw.
type UseApproved struct {
	Approval  string    `json:"approval"`
	Digest    Digest    `json:"digest"`
	Revision  int       `json:"revision"`
	Node      string    `json:"node"`
	Arguments Body      `json:"arguments"`
	Principal Principal `json:"principal"`
	Lease     Lease     `json:"lease"` // renewed, for this use
	// Authorization is the decision of the policy that let the principal
	// approve.
	Authorization *PolicyDecision `json:"authorization,omitzero"`
	Extra         Extra           `json:"-"`
}

// EventType implements [Payload].
func (*UseApproved) EventType() string { return "mandate.admission.use-approved.v1" }

// UseDenied says that a node of an admitted revision will not be dispatched: a
// person denied it, nobody decided in time, or what waits is not what was
// admitted.
type UseDenied struct {
	Approval   string     `json:"approval"`
	Revision   int        `json:"revision"`
	Node       string     `json:"node"`
	Principal  *Principal `json:"principal,omitzero"`
	Diagnostic Diagnostic `json:"diagnostic"`
	Extra      Extra      `json:"-"`
}

// EventType implements [Payload].
func (*UseDenied) EventType() string { return "mandate.admission.use-denied.v1" }

// LeaseRevoked withdraws the right to start actions.
type LeaseRevoked struct {
	Lease  string     `json:"lease"`
	Reason Diagnostic `json:"reason"`
	Extra  Extra      `json:"-"`
}

// EventType implements [Payload].
func (*LeaseRevoked) EventType() string { return "mandate.admission.lease-revoked.v1" }

// AllotmentGranted gives a service more of the budget.
type AllotmentGranted struct {
	Service Owner  `json:"service"`
	Limits  Limits `json:"limits"`
	Reason  string `json:"reason"`
	Extra   Extra  `json:"-"`
}

// EventType implements [Payload].
func (*AllotmentGranted) EventType() string { return "mandate.admission.allotment-granted.v1" }

// EpochAdvanced says from which registry epoch on a run is judged.
type EpochAdvanced struct {
	Epoch uint64 `json:"epoch"`
	Extra Extra  `json:"-"`
}

// EventType implements [Payload].
func (*EpochAdvanced) EventType() string { return "mandate.admission.epoch-advanced.v1" }
