package events

// ContextBuilt records the bounded context packet and why each part is in it.
type ContextBuilt struct {
	Packet     Body     `json:"packet,omitzero"`
	Inclusions []string `json:"inclusions"` // label: reason
	Bytes      int64    `json:"bytes"`
	Extra      Extra    `json:"-"`
}

// EventType implements [Payload].
func (*ContextBuilt) EventType() string { return "mandate.interpreter.context-built.v1" }

// CapabilitiesSelected records which capabilities a proposal may use.
type CapabilitiesSelected struct {
	Selected []CapabilityRef `json:"selected"`
	Rejected []Rejected      `json:"rejected,omitzero"`
	Mode     string          `json:"mode"` // "explicit" or "model"
	Extra    Extra           `json:"-"`
}

// EventType implements [Payload].
func (*CapabilitiesSelected) EventType() string {
	return "mandate.interpreter.capabilities-selected.v1"
}

// GenerationReserved records the upper bound of a model call before it is made.
type GenerationReserved struct {
	Generation string `json:"generation"`
	Purpose    string `json:"purpose"`
	Provider   string `json:"provider"`
	Model      string `json:"model"` // as declared
	Bound      Limits `json:"bound"`
	Request    Body   `json:"request"`
	Extra      Extra  `json:"-"`
}

// EventType implements [Payload].
func (*GenerationReserved) EventType() string { return "mandate.interpreter.generation-reserved.v1" }

// GenerationSettled records how a model call ended.
type GenerationSettled struct {
	Generation string `json:"generation"`
	Status     string `json:"status"` // "succeeded", "not_started", "uncertain", "rejected"
	Reported   bool   `json:"reported"`
	Usage      Limits `json:"usage"`
	Response   Body   `json:"response,omitzero"`
	Extra      Extra  `json:"-"`
}

// EventType implements [Payload].
func (*GenerationSettled) EventType() string { return "mandate.interpreter.generation-settled.v1" }

// SpecProposed proposes an interpretation. It is data.
type SpecProposed struct {
	Formalization string         `json:"formalization"` // identity of this interpretation
	Spec          Body           `json:"spec"`          // OutcomeSpec
	Request       Digest         `json:"request"`       // commitment of the request interpreted
	Origin        Origin         `json:"origin"`
	Heads         Heads          `json:"heads"`
	Decision      DecisionRecord `json:"decision"`
	Extra         Extra          `json:"-"`
}

// EventType implements [Payload].
func (*SpecProposed) EventType() string { return "mandate.interpreter.spec-proposed.v1" }

// PlanProposed proposes a plan. It is data.
type PlanProposed struct {
	Formalization string `json:"formalization"`
	Plan          Body   `json:"plan"` // Plan
	Attempt       int    `json:"attempt"`
	Origin        Origin `json:"origin"`
	// Sources says for every node and argument where its value comes from:
	// "node.argument": "request input /path", "literal in request", "output of x".
	Sources map[string]string `json:"sources"`
	Extra   Extra             `json:"-"`
}

// EventType implements [Payload].
func (*PlanProposed) EventType() string { return "mandate.interpreter.plan-proposed.v1" }

// ChoiceNeeded asks a person which reading is meant.
type ChoiceNeeded struct {
	Interaction string `json:"interaction"`
	Question    Body   `json:"question"`
	Options     int    `json:"options"`
	Expires     Time   `json:"expires"`
	Extra       Extra  `json:"-"`
}

// EventType implements [Payload].
func (*ChoiceNeeded) EventType() string { return "mandate.interpreter.choice-needed.v1" }

// InterpretationFailed ends interpretation without a proposal.
type InterpretationFailed struct {
	Tag         Tag          `json:"tag"`
	Phase       Phase        `json:"phase"`
	Diagnostics []Diagnostic `json:"diagnostics"`
	Request     Body         `json:"request,omitzero"`
	Consumed    Limits       `json:"consumed"`
	Heads       Heads        `json:"heads"`
	Extra       Extra        `json:"-"`
}

// EventType implements [Payload].
func (*InterpretationFailed) EventType() string {
	return "mandate.interpreter.interpretation-failed.v1"
}
