package events

// Phase is how far a run has come (C3-RUN-002.a).
type Phase string

// The active phases in their order, and the phase before any event.
const (
	PhaseNew              Phase = ""
	PhaseSealed           Phase = "sealed"
	PhaseFormalizing      Phase = "formalizing"
	PhaseAwaitingApproval Phase = "awaiting-approval"
	PhaseResolving        Phase = "resolving"
	PhaseValidating       Phase = "validating"
	PhaseAdmitted         Phase = "admitted"
	PhaseExecuting        Phase = "executing"
)

// The terminal phases are the outcome tags.
const (
	PhaseCompleted     = Phase(TagCompleted)
	PhaseRejected      = Phase(TagRejected)
	PhaseUnresolved    = Phase(TagUnresolved)
	PhaseUnsupported   = Phase(TagUnsupported)
	PhaseInconclusive  = Phase(TagInconclusive)
	PhaseFailed        = Phase(TagFailed)
	PhaseCancelled     = Phase(TagCancelled)
	PhaseIndeterminate = Phase(TagIndeterminate)
)

// ActivePhases lists the active phases in order.
func ActivePhases() []Phase {
	return []Phase{
		PhaseSealed, PhaseFormalizing, PhaseAwaitingApproval, PhaseResolving,
		PhaseValidating, PhaseAdmitted, PhaseExecuting,
	}
}

// Terminal reports whether p accepts no further step.
func (p Phase) Terminal() bool {
	switch p {
	case PhaseCompleted, PhaseRejected, PhaseUnresolved, PhaseUnsupported,
		PhaseInconclusive, PhaseFailed, PhaseCancelled, PhaseIndeterminate:
		return true
	case PhaseNew, PhaseSealed, PhaseFormalizing, PhaseAwaitingApproval, PhaseResolving,
		PhaseValidating, PhaseAdmitted, PhaseExecuting:
	}
	return false
}

// Step is what moves a run from one phase to another.
type Step string

// The steps: success, the permitted other results of C3-RUN-002, and the two
// that every active phase permits.
const (
	StepSeal                Step = "seal"
	StepFormalize           Step = "formalize"
	StepPropose             Step = "propose"
	StepApprove             Step = "approve"
	StepCandidate           Step = "candidate"
	StepAdmit               Step = "admit"
	StepExecute             Step = "execute"
	StepComplete            Step = "complete"
	StepInvalidInput        Step = "invalid-input"
	StepUnsupportedProfile  Step = "unsupported-profile"
	StepUnresolvedAmbiguity Step = "unresolved-ambiguity"
	StepGeneratorFailure    Step = "generator-failure"
	StepDenied              Step = "denied"
	StepMissingApproval     Step = "missing-approval"
	StepReformalize         Step = "reformalize"
	StepCandidateRetry      Step = "candidate-retry"
	StepGenerationFailure   Step = "generation-failure"
	StepValidationRetry     Step = "validation-retry"
	StepRejectedEvidence    Step = "rejected-evidence"
	StepUnsupportedEvidence Step = "unsupported-evidence"
	StepExpiredCapability   Step = "expired-capability"
	StepChangedDependency   Step = "changed-dependency"
	StepRuntimeFailure      Step = "runtime-failure"
	StepReplan              Step = "replan"
	StepIndeterminateEffect Step = "indeterminate-effect"
	StepCancel              Step = "cancel"
	StepExhaust             Step = "exhaust"
	StepAttemptsExhausted   Step = "attempts-exhausted"
)

type transition struct {
	from Phase
	step Step
}

// transitions is the whole table of C3-RUN-002. What is not in it is refused.
var transitions = map[transition]Phase{
	{PhaseNew, StepSeal}:               PhaseSealed,
	{PhaseNew, StepInvalidInput}:       PhaseRejected,
	{PhaseNew, StepUnsupportedProfile}: PhaseUnsupported,
	{PhaseNew, StepExhaust}:            PhaseInconclusive,

	{PhaseSealed, StepFormalize}:          PhaseFormalizing,
	{PhaseSealed, StepInvalidInput}:       PhaseRejected,
	{PhaseSealed, StepUnsupportedProfile}: PhaseUnsupported,

	{PhaseFormalizing, StepPropose}:             PhaseAwaitingApproval,
	{PhaseFormalizing, StepUnresolvedAmbiguity}: PhaseUnresolved,
	{PhaseFormalizing, StepGeneratorFailure}:    PhaseUnresolved,

	{PhaseAwaitingApproval, StepApprove}:         PhaseResolving,
	{PhaseAwaitingApproval, StepDenied}:          PhaseRejected,
	{PhaseAwaitingApproval, StepMissingApproval}: PhaseUnresolved,
	{PhaseAwaitingApproval, StepReformalize}:     PhaseFormalizing,

	{PhaseResolving, StepCandidate}:         PhaseValidating,
	{PhaseResolving, StepCandidateRetry}:    PhaseResolving,
	{PhaseResolving, StepGenerationFailure}: PhaseUnresolved,

	{PhaseValidating, StepAdmit}:               PhaseAdmitted,
	{PhaseValidating, StepValidationRetry}:     PhaseResolving,
	{PhaseValidating, StepRejectedEvidence}:    PhaseRejected,
	{PhaseValidating, StepUnsupportedEvidence}: PhaseUnsupported,
	{PhaseValidating, StepAttemptsExhausted}:   PhaseUnresolved,

	{PhaseAdmitted, StepExecute}:           PhaseExecuting,
	{PhaseAdmitted, StepExpiredCapability}: PhaseFailed,
	{PhaseAdmitted, StepChangedDependency}: PhaseFailed,

	{PhaseExecuting, StepComplete}:            PhaseCompleted,
	{PhaseExecuting, StepRuntimeFailure}:      PhaseFailed,
	{PhaseExecuting, StepReplan}:              PhaseResolving,
	{PhaseExecuting, StepIndeterminateEffect}: PhaseIndeterminate,
}

// Next returns the phase that step leads to from p, and whether the table
// permits it. Cancellation and exhaustion are permitted from every active
// phase.
func (p Phase) Next(step Step) (Phase, bool) {
	if next, ok := transitions[transition{p, step}]; ok {
		return next, true
	}
	if p == PhaseNew || p.Terminal() {
		return p, false
	}
	if step == StepCancel {
		return PhaseCancelled, true
	}
	if step == StepExhaust {
		return PhaseInconclusive, true
	}
	return p, false
}

// Steps lists every step, for tests and documentation.
func Steps() []Step {
	return []Step{
		StepSeal, StepFormalize, StepPropose, StepApprove, StepCandidate, StepAdmit,
		StepExecute, StepComplete, StepInvalidInput, StepUnsupportedProfile,
		StepUnresolvedAmbiguity, StepGeneratorFailure, StepDenied, StepMissingApproval, StepReformalize,
		StepCandidateRetry, StepGenerationFailure, StepValidationRetry,
		StepRejectedEvidence, StepUnsupportedEvidence, StepExpiredCapability,
		StepChangedDependency, StepRuntimeFailure, StepReplan,
		StepIndeterminateEffect, StepCancel, StepExhaust, StepAttemptsExhausted,
	}
}

// StepsOf returns the steps that an event takes from a phase, in order, nil if
// it takes none. A proposal is data: one that comes after the end takes none,
// and a plan is taken up by admission's decision on it. The conclusion is
// checked by [CanConclude] instead.
func (p Phase) StepsOf(payload Payload) []Step {
	switch e := payload.(type) {
	case *RunSealed:
		return []Step{StepSeal}
	case *SpecProposed:
		if p.Terminal() {
			return nil
		}
		return []Step{StepFormalize, StepPropose}
	case *SpecApproved:
		return []Step{StepApprove}
	case *PlanRejected:
		if !e.Final {
			return []Step{StepCandidate, StepValidationRetry}
		}
	case *RevisionAdmitted:
		return []Step{StepCandidate, StepAdmit}
	case *RevisionAccepted:
		return []Step{StepExecute}
	case *RecoveryRequested:
		return []Step{StepReplan}
	}
	return nil
}

// CanConclude reports whether the table lets a run end with tag from phase.
func CanConclude(phase Phase, tag Tag) bool {
	if !Phase(tag).Terminal() {
		return false
	}
	for _, step := range Steps() {
		if next, ok := phase.Next(step); ok && next == Phase(tag) {
			return true
		}
	}
	return false
}
