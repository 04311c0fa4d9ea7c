package events

// IntentRequest is what a host asks for (C3-RUN-001.a). It is data only: it
// names capabilities and policies, and holds no connection, token or handle.
// It is sealed in a request body; its commitment is the request digest.
type IntentRequest struct {
	// Intent names the agent whose interface is called, and says in the
	// person's own words what is wanted.
	Intent IntentRef `json:"intent"`
	// Authority is the principal in whose name the run acts. The host sets it.
	Authority Principal `json:"authority"`
	// Input is the exact typed input value.
	Input Value `json:"input"`
	// Context is closed: nothing outside it is context. It may be empty.
	Context []ContextItem `json:"context"`
	// Policy names the policy that must be the agent's own.
	Policy string `json:"policy"`
	// Generator configures who may propose. Mode "explicit" calls no model.
	Generator Generator `json:"generator"`
	// Nonce is the identity of the request, a ULID that the host assigned; it
	// is also the run's identity.
	Nonce string `json:"nonce"`
	// Limits are the finite budgets of the run.
	Limits *Limits `json:"limits"`

	// Thread is the conversation that the run belongs to, if any.
	Thread string `json:"thread,omitzero"`
	// Parent is the run that asked for this one, if any.
	Parent string `json:"parent,omitzero"`

	// Outcome and Plan are explicit structured input: with both no model is
	// needed.
	Outcome *OutcomeSpec `json:"outcome,omitzero"`
	Plan    *Plan        `json:"plan,omitzero"`
}

// IntentRef names an intent: the agent's interface and the words of the
// person.
type IntentRef struct {
	Agent string `json:"agent"`
	Text  string `json:"text"`
}

// PrincipalKind is person or service.
type PrincipalKind string

// The kinds of principals.
const (
	PrincipalPerson  PrincipalKind = "person"
	PrincipalService PrincipalKind = "service"
)

// Principal is who acts.
type Principal struct {
	ID   string        `json:"id"`
	Kind PrincipalKind `json:"kind"`
}

// Value is a typed JSON value.
type Value struct {
	Type  string `json:"type"`
	Value JSON   `json:"value"`
}

// ContextItem is one piece of closed context.
type ContextItem struct {
	Label      string `json:"label"`
	Provenance string `json:"provenance"` // "caller" or "retrieved": always data
	Content    string `json:"content"`
}

// Generator says who may propose specifications and plans.
type Generator struct {
	// Mode is "explicit" (only what the request carries) or "model".
	Mode string `json:"mode"`
	// Routes names a registered ladder of model routes for mode "model".
	Routes string `json:"routes,omitzero"`
}

// The generator modes.
const (
	GeneratorExplicit = "explicit"
	GeneratorModel    = "model"
)

// Origin says where something came from.
type Origin string

// The origins.
const (
	OriginExplicit  Origin = "explicit"
	OriginInherited Origin = "inherited"
	OriginInferred  Origin = "inferred"
)

// Importance is must or prefer. It is independent of [Origin] and never an
// authorization.
type Importance string

// The importances.
const (
	Must   Importance = "must"
	Prefer Importance = "prefer"
)

// OutcomeSpec states what is wanted and what counts as completion (OD-3.1).
type OutcomeSpec struct {
	SchemaVersion int    `json:"schema_version"`
	ID            string `json:"id"`
	Revision      int    `json:"revision"`
	Parent        int    `json:"parent_revision,omitzero"`

	Objective    string        `json:"objective"`
	Deliverables []Deliverable `json:"deliverables"`
	Requirements []Requirement `json:"requirements"`
	// Assumptions and open alternatives, with what depends on them.
	Assumptions  []Assumption  `json:"assumptions,omitzero"`
	Alternatives []Alternative `json:"alternatives,omitzero"`
	Provenance   Provenance    `json:"provenance"`
	// Partial lists the deliverables whose observations may be shown when the
	// run does not succeed (C3-RUN-005.n).
	Partial []string `json:"partial,omitzero"`
}

// Deliverable is one thing wanted.
type Deliverable struct {
	ID          string   `json:"id"`
	Description string   `json:"description"`
	Type        string   `json:"type,omitzero"` // semantic type, if known
	DependsOn   []string `json:"depends_on,omitzero"`
	// Result is the plan node whose result is this deliverable.
	Result string `json:"result"`
}

// Requirement is one condition of completion.
type Requirement struct {
	ID          string     `json:"id"`
	Deliverable string     `json:"deliverable"`
	Description string     `json:"description"`
	Origin      Origin     `json:"origin"`
	Importance  Importance `json:"importance"`
	Predicate   Predicate  `json:"predicate"`
	// Strength is the least satisfaction strength that counts.
	Strength Strength `json:"strength"`
	// Before names the plan nodes before whose dispatch the requirement must
	// be met: a pre-effect obligation.
	Before []string `json:"before,omitzero"`
}

// Strength is how well a satisfaction is established: the one such scale.
type Strength string

// The strengths, weakest first.
const (
	StrengthAsserted Strength = "asserted"
	StrengthObserved Strength = "observed"
	StrengthAttested Strength = "attested"
)

// Rank orders strengths; an unknown strength ranks 0, below all.
func (s Strength) Rank() int {
	switch s {
	case StrengthAsserted:
		return 1
	case StrengthObserved:
		return 2
	case StrengthAttested:
		return 3
	}
	return 0
}

// Predicate is one check out of a small closed vocabulary (OD-7.1.24). Exactly
// one member is set.
type Predicate struct {
	Field    *FieldPredicate    `json:"field,omitzero"`
	Contains *ContainsPredicate `json:"contains,omitzero"`
	Newer    *NewerPredicate    `json:"newer,omitzero"`
	Producer *ProducerPredicate `json:"producer,omitzero"`
	Exists   *ExistsPredicate   `json:"exists,omitzero"`
	Unit     *UnitPredicate     `json:"unit,omitzero"`
}

// FieldPredicate compares a scalar in a result with a bound.
type FieldPredicate struct {
	Result string `json:"result"` // plan node
	Path   string `json:"path"`   // JSON Pointer (RFC 6901)
	Op     string `json:"op"`     // eq ne lt le gt ge
	Value  JSON   `json:"value"`
}

// ContainsPredicate asks whether a text in a result contains a text, as whole
// words.
type ContainsPredicate struct {
	Result string  `json:"result"`
	Path   string  `json:"path"`
	Text   Operand `json:"text"`
}

// Operand is a literal, or a value taken from the request's input.
type Operand struct {
	Literal JSON   `json:"literal,omitzero"`
	Input   string `json:"input,omitzero"` // JSON Pointer into the input value
}

// NewerPredicate asks whether one time is not before another. A time that is
// not known makes it unknown.
type NewerPredicate struct {
	Left  TimeRef `json:"left"`
	Right TimeRef `json:"right"`
}

// TimeRef names a time in the evidence for a result.
type TimeRef struct {
	Result string `json:"result"`
	// Time is "observed", "source_modified" or
	// "published".
	Time string `json:"time"`
}

// ProducerPredicate asks which capability produced a result.
type ProducerPredicate struct {
	Result     string        `json:"result"`
	Capability CapabilityRef `json:"capability"`
}

// ExistsPredicate asks whether a result is complete and has the field.
type ExistsPredicate struct {
	Result string `json:"result"`
	Path   string `json:"path,omitzero"`
}

// UnitPredicate asks for the unit of a quantity: {"value": …, "unit": …}.
type UnitPredicate struct {
	Result string `json:"result"`
	Path   string `json:"path"`
	Unit   string `json:"unit"`
}

// Assumption is a cheap choice made visible.
type Assumption struct {
	Statement   string `json:"statement"`
	Consequence string `json:"consequence"`
}

// Alternative is a reading that was not chosen and stays open.
type Alternative struct {
	Statement   string `json:"statement"`
	Consequence string `json:"consequence"`
	// Material means that the readings differ in an external effect, a
	// recipient, a target or a commitment.
	Material bool `json:"material"`
}

// Provenance says who wrote a document and from what.
type Provenance struct {
	Origin      Origin   `json:"origin"`
	Interpreter string   `json:"interpreter,omitzero"`
	Spans       []string `json:"spans,omitzero"`
	Packages    []Digest `json:"packages,omitzero"`
}

// Plan is a finite acyclic graph of calls to registered capabilities
// (C3-RUN-003). It has no branch, loop or retry construct.
type Plan struct {
	SchemaVersion int `json:"schema_version"`
	// Candidate is the kind of product: "plan". Others are unsupported.
	Candidate string     `json:"candidate"`
	Nodes     []PlanNode `json:"nodes"`
	// Output selects the typed result of the run from a node's output.
	Output OutputBinding `json:"output"`
}

// CandidatePlan is the only candidate kind that is built in.
const CandidatePlan = "plan"

// PlanNode is one call.
type PlanNode struct {
	ID         string              `json:"id"`
	Capability CapabilityRef       `json:"capability"`
	Arguments  map[string]Argument `json:"arguments"`
	After      []string            `json:"after"` // explicit predecessors
	// Effects declares what the call may do; it equals the capability's.
	Effect Effect `json:"effect"`
}

// Argument is a literal, a value of the request's input, or an output of an
// earlier node. Exactly one of these is set.
type Argument struct {
	Literal JSON       `json:"literal,omitzero"`
	Input   *string    `json:"input,omitzero"` // JSON Pointer; "" is the whole input
	Output  *OutputRef `json:"output,omitzero"`

	// Words say where the scalars of a literal stand in the words of the
	// principal. It is a claim: admission looks.
	Words []WordSpan `json:"words,omitzero"`
}

// WordSpan says that a scalar of a literal stands in the text of the request's
// intent.
type WordSpan struct {
	Path  string `json:"path,omitzero"` // JSON Pointer into the literal; "" is the whole literal
	Start int    `json:"start"`         // bytes into intent.text
	End   int    `json:"end"`           // of the first byte after it
}

// OutputRef names a place in the output of a node.
type OutputRef struct {
	Node string `json:"node"`
	Path string `json:"path"` // JSON Pointer; "" is the whole output
}

// OutputBinding selects the run's typed output.
type OutputBinding struct {
	Node string `json:"node"`
	Path string `json:"path,omitzero"`
	Type string `json:"type"`
}
