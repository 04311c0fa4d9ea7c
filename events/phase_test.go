package events_test

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/req"
)

// A row is one row of the table of C3-RUN-002, written here a second time so
// that a change of the code alone is found.
type row struct {
	from, step, to string
	covers         string // the requirement that the row is, if it has its own
}

var phaseRows = []row{
	{"", "seal", "sealed", ""},
	{"", "invalid-input", "rejected", ""},
	{"", "unsupported-profile", "unsupported", ""},
	{"", "exhaust", "inconclusive", ""},

	{"sealed", "formalize", "formalizing", "C3-RUN-002.b1"},
	{"sealed", "invalid-input", "rejected", "C3-RUN-002.b2"},
	{"sealed", "unsupported-profile", "unsupported", "C3-RUN-002.b3"},

	{"formalizing", "propose", "awaiting-approval", "C3-RUN-002.c1"},
	{"formalizing", "unresolved-ambiguity", "unresolved", "C3-RUN-002.c2"},
	{"formalizing", "generator-failure", "unresolved", "C3-RUN-002.c3"},

	{"awaiting-approval", "approve", "resolving", "C3-RUN-002.d1"},
	{"awaiting-approval", "denied", "rejected", "C3-RUN-002.d2"},
	{"awaiting-approval", "missing-approval", "unresolved", "C3-RUN-002.d2"},
	{"awaiting-approval", "reformalize", "formalizing", ""},

	{"resolving", "candidate", "validating", "C3-RUN-002.e1"},
	{"resolving", "candidate-retry", "resolving", ""},
	{"resolving", "generation-failure", "unresolved", "C3-RUN-002.e3"},

	{"validating", "admit", "admitted", "C3-RUN-002.f1"},
	{"validating", "validation-retry", "resolving", ""},
	{"validating", "rejected-evidence", "rejected", "C3-RUN-002.f3"},
	{"validating", "unsupported-evidence", "unsupported", "C3-RUN-002.f3"},
	{"validating", "attempts-exhausted", "unresolved", ""},

	{"admitted", "execute", "executing", "C3-RUN-002.g1"},
	{"admitted", "expired-capability", "failed", "C3-RUN-002.g2"},
	{"admitted", "changed-dependency", "failed", "C3-RUN-002.g3"},

	{"executing", "complete", "completed", "C3-RUN-002.h1"},
	{"executing", "runtime-failure", "failed", "C3-RUN-002.h2"},
	{"executing", "replan", "resolving", "C3-RUN-002.h3"},
	{"executing", "indeterminate-effect", "indeterminate", "C3-RUN-002.h4"},

	{"sealed", "cancel", "cancelled", ""},
	{"formalizing", "cancel", "cancelled", ""},
	{"awaiting-approval", "cancel", "cancelled", ""},
	{"resolving", "cancel", "cancelled", ""},
	{"validating", "cancel", "cancelled", ""},
	{"admitted", "cancel", "cancelled", ""},
	{"executing", "cancel", "cancelled", ""},

	{"sealed", "exhaust", "inconclusive", ""},
	{"formalizing", "exhaust", "inconclusive", ""},
	{"awaiting-approval", "exhaust", "inconclusive", ""},
	{"resolving", "exhaust", "inconclusive", ""},
	{"validating", "exhaust", "inconclusive", ""},
	{"admitted", "exhaust", "inconclusive", ""},
	{"executing", "exhaust", "inconclusive", ""},
}

var (
	activePhases = []string{
		"sealed", "formalizing", "awaiting-approval", "resolving", "validating", "admitted", "executing",
	}
	terminalPhases = []string{
		"completed", "rejected", "unresolved", "unsupported", "inconclusive", "failed", "cancelled", "indeterminate",
	}
)

func TestPhases(t *testing.T) {
	var active, terminal []string
	for _, p := range events.ActivePhases() {
		active = append(active, string(p))
		if p.Terminal() {
			t.Errorf("%s is active and terminal", p)
		}
	}
	for _, tag := range events.Tags() {
		terminal = append(terminal, string(tag))
		if !events.Phase(tag).Terminal() {
			t.Errorf("%s does not end a run", tag)
		}
	}
	if !slices.Equal(active, activePhases) {
		t.Errorf("active phases %q", active)
	}
	if !slices.Equal(terminal, terminalPhases) {
		t.Errorf("terminal phases %q", terminal)
	}
	named := constants(t, "phase.go", "Phase")
	if len(named) != 1+len(activePhases) || events.PhaseNew.Terminal() {
		t.Errorf("there are other phases: %v", named)
	}
	req.Covers(t, "C3-RUN-002.a", "C3-RUN-005.g")
}

func TestPhaseTableIsExactlyTheRequired(t *testing.T) {
	type pair struct{ phase, step string }
	want := map[pair]string{}
	for _, r := range phaseRows {
		want[pair{r.from, r.step}] = r.to
	}
	steps := []events.Step{"", "no-such-step"}
	steps = append(steps, events.Steps()...)
	if named := constants(t, "phase.go", "Step"); len(named) != len(steps)-2 {
		t.Fatalf("%d constants and %d steps", len(named), len(steps)-2)
	}
	permitted := 0
	for _, phase := range slices.Concat([]string{""}, activePhases, terminalPhases) {
		for _, step := range steps {
			next, ok := events.Phase(phase).Next(step)
			to, permits := want[pair{phase, string(step)}]
			switch {
			case ok != permits:
				t.Errorf("%q %s: permitted %v, want %v", phase, step, ok, permits)
			case ok && string(next) != to:
				t.Errorf("%q %s: leads to %s, want %s", phase, step, next, to)
			case !ok && next != events.Phase(phase):
				t.Errorf("%q %s: a refused step moved the phase to %s", phase, step, next)
			}
			if ok {
				permitted++
			}
		}
	}
	if permitted != len(phaseRows) {
		t.Errorf("%d permitted pairs, want %d", permitted, len(phaseRows))
	}
	req.Covers(t, "C3-RUN-002.i")
}

func TestPhaseRows(t *testing.T) {
	for _, r := range phaseRows {
		t.Run(r.from+"_"+r.step, func(t *testing.T) {
			next, ok := events.Phase(r.from).Next(events.Step(r.step))
			if !ok || string(next) != r.to {
				t.Fatalf("leads to %q (%v), want %q", next, ok, r.to)
			}
			if r.covers != "" {
				req.Covers(t, r.covers)
			}
		})
	}
}

func TestEveryActivePhaseCanBeCancelledOrExhausted(t *testing.T) {
	for _, p := range activePhases {
		if next, ok := events.Phase(p).Next(events.StepCancel); !ok || next != events.PhaseCancelled {
			t.Errorf("%s cannot be cancelled", p)
		}
		if next, ok := events.Phase(p).Next(events.StepExhaust); !ok || next != events.PhaseInconclusive {
			t.Errorf("%s cannot be exhausted", p)
		}
	}
	req.Covers(t, "C3-RUN-002.j", "C3-RUN-002.k")
}

func TestTerminalPhaseAcceptsNothing(t *testing.T) {
	for _, p := range terminalPhases {
		for _, step := range events.Steps() {
			if next, ok := events.Phase(p).Next(step); ok {
				t.Errorf("%s accepts %s and becomes %s", p, step, next)
			}
		}
		for _, tag := range events.Tags() {
			if events.CanConclude(events.Phase(p), tag) {
				t.Errorf("%s can end again as %s", p, tag)
			}
		}
		for _, name := range events.Types() {
			payload, err := events.New(name)
			if err != nil {
				t.Fatal(err)
			}
			at := events.Phase(p)
			for _, step := range at.StepsOf(payload) {
				if next, ok := at.Next(step); ok {
					t.Errorf("%s moves %s to %s", name, p, next)
				}
			}
		}
	}
	req.Covers(t, "C3-RUN-002.l")
}

func TestCanConclude(t *testing.T) {
	want := map[[2]string]bool{}
	for _, r := range phaseRows {
		if slices.Contains(terminalPhases, r.to) {
			want[[2]string{r.from, r.to}] = true
		}
	}
	for _, phase := range slices.Concat([]string{""}, activePhases, terminalPhases) {
		for _, tag := range terminalPhases {
			if got := events.CanConclude(events.Phase(phase), events.Tag(tag)); got != want[[2]string{phase, tag}] {
				t.Errorf("from %q as %s: %v", phase, tag, got)
			}
		}
		for _, tag := range slices.Concat([]string{"", "no-such-tag"}, activePhases) {
			if events.CanConclude(events.Phase(phase), events.Tag(tag)) {
				t.Errorf("from %q as %q, which is no outcome", phase, tag)
			}
		}
	}
}

func TestStepsOf(t *testing.T) {
	moving := map[string][]events.Step{
		"mandate.admission.run-sealed.v1":           {events.StepSeal},
		"mandate.interpreter.spec-proposed.v1":      {events.StepFormalize, events.StepPropose},
		"mandate.admission.spec-approved.v1":        {events.StepApprove},
		"mandate.admission.plan-rejected.v1":        {events.StepCandidate, events.StepValidationRetry},
		"mandate.admission.revision-admitted.v1":    {events.StepCandidate, events.StepAdmit},
		"mandate.executor.revision-accepted.v1":     {events.StepExecute},
		"mandate.evaluator.recovery-requested.v1":   {events.StepReplan},
		"mandate.evaluator.no-such-event-at-all.v1": nil,
	}
	for _, name := range append(events.Types(), "mandate.evaluator.no-such-event-at-all.v1") {
		payload, err := events.New(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, phase := range events.ActivePhases() {
			if got := phase.StepsOf(payload); !slices.Equal(got, moving[name]) {
				t.Errorf("%s from %s: %v, want %v", name, phase, got, moving[name])
			}
		}
	}
	if got := events.PhaseValidating.StepsOf(&events.PlanRejected{Final: true}); got != nil {
		t.Errorf("a final rejection takes %v; the conclusion ends the run", got)
	}
	if got := events.PhaseCancelled.StepsOf(new(events.SpecProposed)); got != nil {
		t.Errorf("a proposal after the end takes %v", got)
	}
}

// The successful way through all phases, by the events that take it.
func TestEventsFoldThroughEveryPhase(t *testing.T) {
	phase := events.PhaseNew
	for _, next := range []struct {
		payload events.Payload
		want    events.Phase
	}{
		{new(events.RunSealed), events.PhaseSealed},
		{new(events.SpecProposed), events.PhaseAwaitingApproval},
		{new(events.SpecApproved), events.PhaseResolving},
		{new(events.PlanProposed), events.PhaseResolving},
		{new(events.PlanRejected), events.PhaseResolving},
		{new(events.RevisionAdmitted), events.PhaseAdmitted},
		{new(events.RevisionAccepted), events.PhaseExecuting},
		{new(events.RecoveryRequested), events.PhaseResolving},
	} {
		for _, step := range phase.StepsOf(next.payload) {
			to, ok := phase.Next(step)
			if !ok {
				t.Fatalf("%s does not permit %s of %s", phase, step, next.payload.EventType())
			}
			phase = to
		}
		if phase != next.want {
			t.Fatalf("after %s: %s, want %s", next.payload.EventType(), phase, next.want)
		}
	}
}
