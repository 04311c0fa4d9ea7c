package events

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrVersion is returned for an event type in a version that this build
// cannot read. It is never skipped.
var ErrVersion = errors.New("events: unsupported version")

// entry is one event type in one version.
type entry struct {
	make func() Payload
	// upcast turns the payload into the next version's; nil for the newest.
	upcast func(Payload) Payload
}

// catalogue holds event types by full name.
type catalogue map[string]entry

func newCatalogue(payloads ...func() Payload) catalogue {
	c := make(catalogue, len(payloads))
	for _, make := range payloads {
		c[make().EventType()] = entry{make: make}
	}
	return c
}

// types is the catalogue, version 1. Types are only ever added.
var types = newCatalogue(
	func() Payload { return new(Submitted) },
	func() Payload { return new(CancelRequested) },
	func() Payload { return new(Steered) },
	func() Payload { return new(ChoiceAnswered) },
	func() Payload { return new(ApprovalDecided) },
	func() Payload { return new(ReconciliationRequested) },

	func() Payload { return new(AgentApplied) },
	func() Payload { return new(PolicyApplied) },
	func() Payload { return new(CapabilityRegistered) },
	func() Payload { return new(CapabilityRevoked) },
	func() Payload { return new(PackageApplied) },
	func() Payload { return new(RoutesApplied) },

	func() Payload { return new(RunSealed) },
	func() Payload { return new(RunRejected) },
	func() Payload { return new(ApprovalRequested) },
	func() Payload { return new(SpecApproved) },
	func() Payload { return new(SpecDenied) },
	func() Payload { return new(PlanRejected) },
	func() Payload { return new(RevisionAdmitted) },
	func() Payload { return new(RunCancelled) },
	func() Payload { return new(RunExpired) },
	func() Payload { return new(LeaseRevoked) },
	func() Payload { return new(AllotmentGranted) },
	func() Payload { return new(EpochAdvanced) },
	func() Payload { return new(UseApproved) },
	func() Payload { return new(UseDenied) },

	func() Payload { return new(ContextBuilt) },
	func() Payload { return new(CapabilitiesSelected) },
	func() Payload { return new(GenerationReserved) },
	func() Payload { return new(GenerationSettled) },
	func() Payload { return new(SpecProposed) },
	func() Payload { return new(PlanProposed) },
	func() Payload { return new(ChoiceNeeded) },
	func() Payload { return new(InterpretationFailed) },

	func() Payload { return new(RevisionAccepted) },
	func() Payload { return new(ExecutionHalting) },
	func() Payload { return new(ConfirmationNeeded) },
	func() Payload { return new(ConfirmationReceived) },
	func() Payload { return new(ActionDispatched) },
	func() Payload { return new(ActionCompleted) },
	func() Payload { return new(ActionFailed) },
	func() Payload { return new(ActionUncertain) },
	func() Payload { return new(ActionReconciled) },
	func() Payload { return new(ResultRecorded) },
	func() Payload { return new(EvidenceRecorded) },
	func() Payload { return new(ExecutionCompleted) },
	func() Payload { return new(ExecutionHalted) },

	func() Payload { return new(FactPublished) },
	func() Payload { return new(FactsInvalidated) },
	func() Payload { return new(AgendaChanged) },
	func() Payload { return new(RequirementEvaluated) },
	func() Payload { return new(RecoveryRequested) },
	func() Payload { return new(RunConcluded) },

	func() Payload { return new(InteractionPresented) },
	func() Payload { return new(DocumentPresented) },
	func() Payload { return new(ResponseGrounded) },
	func() Payload { return new(DeliveryRecorded) },
)

// Types lists the full names of every event type and version that this build
// reads, sorted.
func Types() []string {
	names := make([]string, 0, len(types))
	for name := range types {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// New returns an empty payload of a type, or an error for one that this build
// does not know.
func New(eventType string) (Payload, error) { return types.new(eventType) }

func (c catalogue) new(eventType string) (Payload, error) {
	if e, ok := c[eventType]; ok {
		return e.make(), nil
	}
	if name, version, ok := splitType(eventType); ok {
		for v := min(version-1, maxVersion); v >= 1; v-- {
			if _, older := c[name+".v"+strconv.Itoa(v)]; older {
				return nil, fmt.Errorf("%w: %s is newer than v%d", ErrVersion, eventType, v)
			}
		}
	}
	return &Unknown{Type: eventType}, nil
}

// maxVersion bounds the versions of one type that this build can know.
const maxVersion = 99

// current applies upcasters until p is of the newest version.
func (c catalogue) current(p Payload) Payload {
	for {
		e, ok := c[p.EventType()]
		if !ok || e.upcast == nil {
			return p
		}
		p = e.upcast(p)
	}
}

func splitType(eventType string) (name string, version int, ok bool) {
	i := strings.LastIndex(eventType, ".v")
	if i < 0 {
		return "", 0, false
	}
	version, err := strconv.Atoi(eventType[i+2:])
	if errors.Is(err, strconv.ErrRange) {
		return eventType[:i], version, version > 0 // the largest number: newer than any
	}
	return eventType[:i], version, err == nil && version > 0
}

// TypeName returns a type name without its version.
func TypeName(eventType string) string {
	if i := strings.LastIndex(eventType, ".v"); i >= 0 {
		return eventType[:i]
	}
	return eventType
}

// ShortType returns the part of a type name that people read:
// "revision-admitted" for "mandate.admission.revision-admitted.v1".
func ShortType(eventType string) string {
	name, _, ok := splitType(eventType)
	if !ok {
		return eventType
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// TypeOwner returns the owner named in a type name.
func TypeOwner(eventType string) Owner {
	parts := strings.SplitN(eventType, ".", 3)
	if len(parts) < 3 {
		return ""
	}
	return Owner(parts[1])
}
