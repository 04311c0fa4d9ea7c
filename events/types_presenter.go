package events

// InteractionKind is what an interaction asks for.
type InteractionKind string

// The interaction kinds.
const (
	InteractionApproval InteractionKind = "approval"
	InteractionChoice   InteractionKind = "choice"
)

// InteractionPresented shows something that waits for a person.
type InteractionPresented struct {
	Interaction string          `json:"interaction"`
	Kind        InteractionKind `json:"kind"`
	// Digest is what an approval must name.
	Digest    Digest   `json:"digest,omitzero"`
	Document  Body     `json:"document"` // Document
	Approvers []string `json:"approvers,omitzero"`
	Expires   Time     `json:"expires"`
	Extra     Extra    `json:"-"`
}

// EventType implements [Payload].
func (*InteractionPresented) EventType() string { return "mandate.presenter.interaction-presented.v1" }

// Coverage says how a result was shown.
type Coverage struct {
	Result string `json:"result"`
	Recipe string `json:"recipe"` // name@version
	// Native means shown as its own type, else by exact fallback.
	Native bool   `json:"native"`
	Reason string `json:"reason,omitzero"`
	Extra  Extra  `json:"-"`
}

// DocumentPresented is the one final document of a run.
type DocumentPresented struct {
	Document  Body             `json:"document"` // Document
	Tag       Tag              `json:"tag"`
	Coverage  []Coverage       `json:"coverage"`
	Decisions []DecisionRecord `json:"decisions"`
	Extra     Extra            `json:"-"`
}

// EventType implements [Payload].
func (*DocumentPresented) EventType() string { return "mandate.presenter.document-presented.v1" }

// ResponseGrounded records which claims a text makes and what they rest on.
type ResponseGrounded struct {
	Source string  `json:"source"` // "deterministic", "canonical" or "model"
	Claims []Claim `json:"claims"`
	Extra  Extra   `json:"-"`
}

// EventType implements [Payload].
func (*ResponseGrounded) EventType() string { return "mandate.presenter.response-grounded.v1" }

// Claim is one sentence of a response and its citations.
type Claim struct {
	Index     int      `json:"index"`
	Citations []string `json:"citations"` // evaluation, result or evidence IDs
	Extra     Extra    `json:"-"`
}

// DeliveryRecorded records that a channel took the document.
type DeliveryRecorded struct {
	Channel string `json:"channel"`
	Receipt string `json:"receipt"`
	Extra   Extra  `json:"-"`
}

// EventType implements [Payload].
func (*DeliveryRecorded) EventType() string { return "mandate.presenter.delivery-recorded.v1" }
