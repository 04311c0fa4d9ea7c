package events

// FactPublished publishes a fact with its lineage (IK-3.2).
type FactPublished struct {
	Fact     FactType      `json:"fact"`
	Value    Body          `json:"value"`
	Producer CapabilityRef `json:"producer"`
	Evidence []string      `json:"evidence"`
	Depends  []FactType    `json:"depends,omitzero"`
	Visible  string        `json:"visible"` // full, presence or hidden
	Extra    Extra         `json:"-"`
}

// EventType implements [Payload].
func (*FactPublished) EventType() string { return "mandate.evaluator.fact-published.v1" }

// FactsInvalidated removes facts and what was derived from them.
type FactsInvalidated struct {
	Roots       []FactType `json:"roots"`
	Descendants []FactType `json:"descendants,omitzero"`
	Extra       Extra      `json:"-"`
}

// EventType implements [Payload].
func (*FactsInvalidated) EventType() string { return "mandate.evaluator.facts-invalidated.v1" }

// AgendaChanged records what is pending in a thread.
type AgendaChanged struct {
	Item   string `json:"item"`
	Status string `json:"status"`
	Extra  Extra  `json:"-"`
}

// EventType implements [Payload].
func (*AgendaChanged) EventType() string { return "mandate.evaluator.agenda-changed.v1" }

// RequirementEvaluated records one verdict.
type RequirementEvaluated struct {
	Evaluation Evaluation `json:"evaluation"`
	Extra      Extra      `json:"-"`
}

// EventType implements [Payload].
func (*RequirementEvaluated) EventType() string { return "mandate.evaluator.requirement-evaluated.v1" }

// RecoveryRequested asks for another revision within the budget.
type RecoveryRequested struct {
	Unmet      []string `json:"unmet"`
	Suggestion string   `json:"suggestion"`
	Reason     string   `json:"reason"`
	Extra      Extra    `json:"-"`
}

// EventType implements [Payload].
func (*RecoveryRequested) EventType() string { return "mandate.evaluator.recovery-requested.v1" }

// RunConcluded is the one terminal event of every run. Output is present only
// with the tag completed (C3-RUN-001.c).
type RunConcluded struct {
	Tag          Tag                  `json:"tag"`
	Completion   Completion           `json:"completion"`
	Deliverables []DeliverableVerdict `json:"deliverables,omitzero"`
	OutputType   string               `json:"output_type,omitzero"`
	Output       Body                 `json:"output,omitzero"`
	Receipt      Receipt              `json:"receipt"`
	Request      Body                 `json:"request,omitzero"`
	Spec         Body                 `json:"spec,omitzero"`
	Actions      []ActionSummary      `json:"actions,omitzero"`
	Results      []ResultRecord       `json:"results,omitzero"`
	Evidence     []EvidenceRecord     `json:"evidence,omitzero"`
	Evaluations  []Evaluation         `json:"evaluations,omitzero"`
	Decision     DecisionRecord       `json:"decision"`
	Extra        Extra                `json:"-"`
}

// EventType implements [Payload].
func (*RunConcluded) EventType() string { return "mandate.evaluator.run-concluded.v1" }
