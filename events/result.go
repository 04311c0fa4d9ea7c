package events

// ResultStatus is the state of one result record.
type ResultStatus string

// The result statuses (OD-3.3.2).
const (
	ResultPartial     ResultStatus = "partial"
	ResultComplete    ResultStatus = "complete"
	ResultFailed      ResultStatus = "failed"
	ResultCancelled   ResultStatus = "cancelled"
	ResultUnavailable ResultStatus = "unavailable"
)

// ResultRecord is one result with its producer (OD-3.3). Whether it is valid
// (it follows its schema) and whether it is true (evaluations say) are
// separate.
type ResultRecord struct {
	ID            string        `json:"id"`
	Run           string        `json:"run"`
	Node          string        `json:"node"`
	Action        string        `json:"action"`
	Producer      CapabilityRef `json:"producer"`
	Type          string        `json:"type"`
	SchemaVersion int           `json:"schema_version"`
	Status        ResultStatus  `json:"status"`
	// Valid says that the value follows the capability's output schema.
	Valid bool `json:"valid"`
	// Value is the result as JSON; Raw is exactly what was returned.
	Value Body `json:"value,omitzero"`
	Raw   Body `json:"raw,omitzero"`
	// Inputs and Evidence are the IDs of what it rests on.
	Inputs   []string `json:"inputs,omitzero"`
	Evidence []string `json:"evidence,omitzero"`
	Extra    Extra    `json:"-"`
}

// EvidenceRecord is something observed (OD-3.4). Times that are not known are
// zero, never guessed.
type EvidenceRecord struct {
	ID       string        `json:"id"`
	Run      string        `json:"run"`
	Action   string        `json:"action"`
	Node     string        `json:"node"`
	Kind     string        `json:"kind"`
	Method   string        `json:"method"` // how it was acquired
	Producer CapabilityRef `json:"producer"`
	// Strength follows from the method; nobody else sets it.
	Strength Strength `json:"strength"`
	Scope    string   `json:"scope"` // the run it may be used in

	Observed       Time   `json:"observed,omitzero"`
	SourceModified Time   `json:"source_modified,omitzero"`
	Published      Time   `json:"published,omitzero"`
	Subject        Digest `json:"subject,omitzero"` // what it is about, digested
	Content        Body   `json:"content,omitzero"`
	Extra          Extra  `json:"-"`
}

// Verdict is the outcome of one evaluation.
type Verdict string

// The verdicts (OD-3.4.6).
const (
	VerdictMet           Verdict = "met"
	VerdictUnmet         Verdict = "unmet"
	VerdictUnknown       Verdict = "unknown"
	VerdictNotApplicable Verdict = "not_applicable"
)

// Evaluation is the verdict on one requirement over exact results and
// evidence, and the bounded method that gave it.
type Evaluation struct {
	ID          string     `json:"id"`
	Requirement string     `json:"requirement"`
	Deliverable string     `json:"deliverable"`
	Importance  Importance `json:"importance"`
	Verdict     Verdict    `json:"verdict"`
	Strength    Strength   `json:"strength,omitzero"` // achieved, for met
	Evaluator   string     `json:"evaluator"`         // identity@version
	Method      string     `json:"method"`
	Reason      string     `json:"reason"` // fixed words, no content
	Results     []string   `json:"results,omitzero"`
	Evidence    []string   `json:"evidence,omitzero"`
	At          Time       `json:"at"`
	Extra       Extra      `json:"-"`
}

// Tag is the outcome of a run.
type Tag string

// The outcome tags (C3-RUN-005.g).
const (
	TagCompleted     Tag = "completed"
	TagRejected      Tag = "rejected"
	TagUnresolved    Tag = "unresolved"
	TagUnsupported   Tag = "unsupported"
	TagInconclusive  Tag = "inconclusive"
	TagFailed        Tag = "failed"
	TagCancelled     Tag = "cancelled"
	TagIndeterminate Tag = "indeterminate"
)

// Tags lists every outcome tag.
func Tags() []Tag {
	return []Tag{
		TagCompleted, TagRejected, TagUnresolved, TagUnsupported,
		TagInconclusive, TagFailed, TagCancelled, TagIndeterminate,
	}
}

// Completion is the verdict on a deliverable, and on all of them.
type Completion string

// The completion verdicts (OD-5.1.12).
const (
	CompletionComplete  Completion = "complete"
	CompletionPartial   Completion = "partial"
	CompletionBlocked   Completion = "blocked"
	CompletionFailed    Completion = "failed"
	CompletionCancelled Completion = "cancelled"
)

// DeliverableVerdict is the completion of one deliverable, with what limits it.
type DeliverableVerdict struct {
	Deliverable string     `json:"deliverable"`
	Completion  Completion `json:"completion"`
	Limitations []string   `json:"limitations,omitzero"`
	Extra       Extra      `json:"-"`
}

// EffectSummary names an effect that took place, or may have.
type EffectSummary struct {
	Action     string        `json:"action"`
	Node       string        `json:"node"`
	Capability CapabilityRef `json:"capability"`
	Effect     Effect        `json:"effect"`
	Receipt    string        `json:"receipt,omitzero"`
	Reason     string        `json:"reason,omitzero"`
	Extra      Extra         `json:"-"`
}

// ActionStatus is where an action stands when execution ends.
type ActionStatus string

// The action statuses.
const (
	ActionStatusCompleted       ActionStatus = "completed"
	ActionStatusFailed          ActionStatus = "failed"
	ActionStatusUncertain       ActionStatus = "uncertain"
	ActionStatusNeverDispatched ActionStatus = "never_dispatched"
)

// ActionSummary says how one plan node ended.
type ActionSummary struct {
	Node       string        `json:"node"`
	Action     string        `json:"action,omitzero"`
	Capability CapabilityRef `json:"capability"`
	Effect     Effect        `json:"effect"`
	Status     ActionStatus  `json:"status"`
	Attempts   int           `json:"attempts,omitzero"`
	Receipt    string        `json:"receipt,omitzero"`
	Diagnostic *Diagnostic   `json:"diagnostic,omitzero"`
	Extra      Extra         `json:"-"`
}

// Receipt is the terminal receipt of a run (C3-RUN-005.m).
type Receipt struct {
	Phase            Phase           `json:"phase"` // in which it ended
	Diagnostic       *Diagnostic     `json:"diagnostic,omitzero"`
	Revision         int             `json:"revision,omitzero"`
	Consumed         Limits          `json:"consumed"`
	CompletedEffects []EffectSummary `json:"completed_effects,omitzero"`
	UncertainEffects []EffectSummary `json:"uncertain_effects,omitzero"`
	// Partial are observations that the contract authorizes although there is
	// no success. They are not the run's output.
	Partial []ResultRecord `json:"partial,omitzero"`
	// Heads are the chain heads of every service that the conclusion rests on.
	Heads Heads `json:"heads"`
	Extra Extra `json:"-"`
}

// DecisionRecord says how a decision came about (OD-3.5). Explanations are
// projections of it.
type DecisionRecord struct {
	Inputs       []string   `json:"inputs,omitzero"`
	Selected     string     `json:"selected"`
	Alternatives []Rejected `json:"alternatives,omitzero"`
	Omitted      int        `json:"omitted,omitzero"` // alternatives left out
	Algorithm    string     `json:"algorithm"`        // name@version
	Disposition  string     `json:"disposition"`
	Extra        Extra      `json:"-"`
}

// Rejected is an alternative and why it was not taken.
type Rejected struct {
	Option string `json:"option"`
	Reason string `json:"reason"`
	Extra  Extra  `json:"-"`
}
