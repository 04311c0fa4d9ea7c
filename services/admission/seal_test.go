package admission_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/req"
	"example.org/mandate/internal/testkit/cases"
)

func TestSealRecordsWhatARunIsBoundTo(t *testing.T) {
	req.Covers(t, "C3-RUN-002.b1", "C3-RUN-001.h", "C3-RUN-001.g")
	w := cases.NewWorld()
	w.Epoch = 7
	r := cases.Request(readPlan(), func(r *events.IntentRequest) { r.Limits.Actions, r.Limits.Attempts, r.Thread = 1000, 1, "thread" })
	d := newDesk(w.View())
	in := d.submitted(r)
	decision := d.Do(t, in)
	s := cases.Want[*events.RunSealed](t, decision.Events)
	if len(decision.Events) != 1 || len(decision.Work) != 0 {
		t.Fatalf("decided %v", cases.Types(decision.Events))
	}
	agent, _ := d.view.Agent(cases.Agent)
	if s.Agent != (events.AgentBinding{Name: cases.Agent, Digest: agent.Digest}) || s.Policy.Digest != agent.PolicyDigest || s.Epoch != 7 {
		t.Errorf("bound to %+v, %+v, epoch %d", s.Agent, s.Policy, s.Epoch)
	}
	// The effect set is known before the content of the request was judged: it
	// is intent and the interface's own bound.
	if want := []events.Effect{events.EffectIntent, events.EffectNone, events.EffectRead, events.EffectWrite}; !slices.Equal(s.EffectBound, want) {
		t.Errorf("effect bound %v, want %v", s.EffectBound, want)
	}
	want := cases.Limits()
	want.Attempts = 1 // the smaller of request and agent, in each resource
	if diff := cmp.Diff(want, s.Ceiling); diff != "" {
		t.Error(diff)
	}
	if s.SealedAt != cases.Start || s.Deadline != cases.Start+600*cases.Second || s.Thread != "thread" || s.Nonce != cases.Run || s.Principal != cases.Person() {
		t.Errorf("sealed %+v", s)
	}
	if s.Heads[events.OwnerRequest] != in.Commit.Head() {
		t.Errorf("heads %v", s.Heads)
	}
	if s.Request.Commitment != cases.Data[*events.Submitted](t, in.Commit, 0).Request.Commitment || d.State.Phase != events.PhaseSealed {
		t.Errorf("request %v, phase %s", s.Request, d.State.Phase)
	}
}

// One thing is wrong with a request at a time. Nothing is sealed, so nothing
// is generated.
func TestSealRejects(t *testing.T) {
	missing := []string{"C3-RUN-001.a", "C3-RUN-002.b2", "C3-RUN-001.w", "C3-RUN-005.h1"}
	mode := func(mode string) func(*events.IntentRequest) {
		return func(r *events.IntentRequest) { r.Generator.Mode = mode }
	}
	for name, test := range map[string]struct {
		world  func(*cases.World)
		change func(*events.IntentRequest)
		submit func(*events.Submitted)
		tag    events.Tag
		code   events.Code
		path   string
		covers []string
	}{
		"no agent":     {change: func(r *events.IntentRequest) { r.Intent.Agent = "" }, code: events.CodeRequestIncomplete, path: "intent.agent", covers: missing},
		"no authority": {change: func(r *events.IntentRequest) { r.Authority.ID = "" }, code: events.CodeRequestIncomplete, path: "authority", covers: missing},
		"no type":      {change: func(r *events.IntentRequest) { r.Input.Type = "" }, code: events.CodeRequestIncomplete, path: "input.type", covers: missing},
		"no policy":    {change: func(r *events.IntentRequest) { r.Policy = "" }, code: events.CodeRequestIncomplete, path: "policy", covers: missing},
		"no generator": {change: mode(""), code: events.CodeRequestIncomplete, path: "generator.mode", covers: missing},
		"no nonce":     {change: func(r *events.IntentRequest) { r.Nonce = "" }, code: events.CodeRequestIncomplete, path: "nonce", covers: missing},
		"no limits":    {change: func(r *events.IntentRequest) { r.Limits = nil }, code: events.CodeRequestIncomplete, path: "limits", covers: append(missing, "C3-RUN-004.a")},

		"no billing unit":  {change: func(r *events.IntentRequest) { r.Limits.CostUnit = "" }, code: events.CodeLimitMissing, path: "limits", covers: []string{"C3-RUN-004.a"}},
		"a negative limit": {change: func(r *events.IntentRequest) { r.Limits.Actions = -1 }, code: events.CodeLimitMissing, path: "limits"},
		"nonce of a model": {
			change: func(r *events.IntentRequest) { r.Nonce = "01JZZZZZZZZZZZZZZZZZZZZZZY" }, submit: func(s *events.Submitted) { s.Nonce = cases.Run },
			code: events.CodeNonceInvalid, path: "nonce", covers: []string{"C3-RUN-001.m"},
		},
		"nonce of another run": {change: func(r *events.IntentRequest) { r.Nonce = "01JZZZZZZZZZZZZZZZZZZZZZZY" }, code: events.CodeNonceInvalid, path: "nonce", covers: []string{"C3-RUN-001.m"}},
		"another principal":    {submit: func(s *events.Submitted) { s.Principal.ID = "mallory" }, code: events.CodeNonceInvalid, path: "nonce"},
		"another thread":       {submit: func(s *events.Submitted) { s.Thread = "other" }, code: events.CodeNonceInvalid, path: "nonce"},
		"another agent":        {submit: func(s *events.Submitted) { s.Agent = "other" }, code: events.CodeNonceInvalid, path: "nonce"},
		"unknown agent":        {change: func(r *events.IntentRequest) { r.Intent.Agent = "ghost" }, code: events.CodeAgentUnknown, path: "intent.agent"},
		"another policy":       {change: func(r *events.IntentRequest) { r.Policy = "lax" }, code: events.CodePolicyMissing, path: "policy", covers: []string{"IK-5.4.3"}},
		"principal may not submit": {
			change: func(r *events.IntentRequest) { r.Authority.ID = "mallory" }, code: events.CodePrincipalDenied, path: "authority",
			covers: []string{"OD-4.2.21"},
		},
		"input against the schema": {
			world:  func(w *cases.World) { w.Agent.Input = events.JSON(`{"type":"object","required":["version"]}`) },
			change: func(*events.IntentRequest) {}, code: events.CodeInputInvalid, path: "input.value", covers: []string{"C3-RUN-001.w"},
		},
		"input of another type": {change: func(r *events.IntentRequest) { r.Input.Value = events.JSON(`[1]`) }, code: events.CodeInputInvalid, path: "input.value", covers: []string{"C3-RUN-001.w"}},
		"an agent without an effect bound": {
			world:  func(w *cases.World) { w.Agent.EffectBound, w.Agent.Capabilities = nil, nil },
			change: func(*events.IntentRequest) {}, code: events.CodeAgentUnknown, path: "intent.agent", covers: []string{"C3-RUN-001.l"},
		},
		"an agent with an unknown effect": {
			world: func(w *cases.World) { w.Agent.EffectBound = append(w.Agent.EffectBound, "anything") },
			code:  events.CodeAgentUnknown, path: "intent.agent", covers: []string{"C3-RUN-001.l"},
		},
		"an agent whose output cannot be described": {
			world: func(w *cases.World) { w.Agent.Output = events.JSON(`{"type":"handle"}`) },
			code:  events.CodeAgentUnknown, path: "intent.agent", covers: []string{"C3-RUN-001.x"},
		},
		"no plan": {
			change: func(r *events.IntentRequest) { r.Plan = nil }, tag: events.TagUnsupported, code: events.CodeModelRequired, path: "generator.mode",
			covers: []string{"C3-RUN-002.b3", "C3-RUN-005.h5"},
		},
		"no specification": {change: func(r *events.IntentRequest) { r.Outcome = nil }, tag: events.TagUnsupported, code: events.CodeModelRequired, path: "generator.mode"},
		"a model without a route": {
			change: mode(events.GeneratorModel), tag: events.TagUnsupported, code: events.CodeModelRequired, path: "generator.routes",
			covers: []string{"C3-RUN-005.h5"},
		},
		"an unknown mode": {change: mode("guess"), tag: events.TagUnsupported, code: events.CodeRequestIncomplete, path: "generator.mode"},
		"a code candidate": {
			change: func(r *events.IntentRequest) { r.Plan.Candidate = "code" }, tag: events.TagUnsupported, code: events.CodeCandidateKind, path: "plan.candidate",
			covers: []string{"C3-RUN-001.x", "C3-RUN-002.b3", "C3-RUN-005.h5"},
		},
		"no time at all": {
			change: func(r *events.IntentRequest) { r.Limits.ElapsedMillis = 0 }, tag: events.TagInconclusive, code: events.CodeBudgetExhausted,
			path: "limits.elapsed_millis",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			w := cases.NewWorld()
			if test.world != nil {
				test.world(w)
			}
			r := cases.Request(readPlan())
			if test.change != nil {
				test.change(r)
			}
			d := newDesk(w.View())
			var submit []func(*events.Submitted)
			if test.submit != nil {
				submit = append(submit, test.submit)
			}
			decision := d.Do(t, d.submitted(r, submit...))
			rejected := cases.Want[*events.RunRejected](t, decision.Events)
			if test.tag == "" {
				test.tag = events.TagRejected
			}
			if len(decision.Events) != 1 || len(decision.Work) != 0 || rejected.Tag != test.tag {
				t.Fatalf("decided %v with tag %s, want %s", cases.Types(decision.Events), rejected.Tag, test.tag)
			}
			if !slices.ContainsFunc(rejected.Diagnostics, func(d events.Diagnostic) bool { return d.Code == test.code && d.Path == test.path }) {
				t.Fatalf("rejected for %v, want %s at %s", rejected.Diagnostics, test.code, test.path)
			}
			// It is the end: nothing that comes later starts anything.
			if !d.State.Over || d.State.Sealed != nil {
				t.Error("the run is not over")
			}
			d.Refuse(t, events.CodeRunUnknown, d.proposed(cases.Request(readPlan()), proposal{}))
			d.Refuse(t, events.CodeRunConcluded, d.submitted(cases.Request(readPlan())))
		})
	}
}

// A document from outside is refused as a whole, with one clear line.
func TestSealRejectsDocuments(t *testing.T) {
	sound := string(cases.JSON(cases.Request(readPlan())))
	without := func(member string) string {
		document := strings.Replace(sound, member, "", 1)
		if document == sound {
			t.Fatalf("the document has no %s", member)
		}
		return document
	}
	for name, test := range map[string]struct {
		document string
		code     events.Code
		path     string
		covers   []string
	}{
		"not JSON":         {"intent: clerk", events.CodeRequestMalformed, "", []string{"C3-RUN-001.w"}},
		"empty":            {"", events.CodeRequestMalformed, "", nil},
		"two values":       {sound + sound, events.CodeRequestMalformed, "", nil},
		"a value before":   {`1 ` + sound, events.CodeRequestMalformed, "", nil},
		"cut off":          {sound[:len(sound)-1], events.CodeRequestMalformed, "", nil},
		"a list":           {"[" + sound + "]", events.CodeRequestMalformed, "", nil},
		"duplicate member": {strings.Replace(sound, `{`, `{"policy":"careful",`, 1), events.CodeRequestMalformed, "", nil},
		"unknown member":   {strings.Replace(sound, `{`, `{"connection":"nats://x",`, 1), events.CodeRequestMalformed, "", []string{"C3-RUN-001.a"}},
		"wrong type":       {strings.Replace(sound, `"nonce":"`+cases.Run+`"`, `"nonce":7`, 1), events.CodeRequestMalformed, "", nil},
		"too deep":         {strings.Replace(sound, `"value":{`, `"value":{"x":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+",", 1), events.CodeRequestMalformed, "", nil},
		"too large":        {strings.Replace(sound, `"value":{`, `"value":{"x":"`+strings.Repeat("x", 1<<20)+`",`, 1), events.CodeRequestMalformed, "", nil},
		"context missing":  {without(`"context":[],`), events.CodeRequestIncomplete, "context", []string{"C3-RUN-001.a"}},
		"value missing":    {without(`,"value":{"count":2,"path":"a.txt"}`), events.CodeRequestIncomplete, "input.value", []string{"C3-RUN-001.a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.covers != nil {
				req.Covers(t, test.covers...)
			}
			d := newDesk(cases.NewWorld().View())
			decision := d.Do(t, d.submitted(cases.Request(readPlan()), func(s *events.Submitted) { s.Request = cases.Text(events.ClassRequest, test.document) }))
			rejected := cases.Want[*events.RunRejected](t, decision.Events)
			if len(rejected.Diagnostics) != 1 || rejected.Diagnostics[0].Code != test.code || rejected.Diagnostics[0].Path != test.path {
				t.Fatalf("rejected for %v, want %s at %q", rejected.Diagnostics, test.code, test.path)
			}
		})
	}
	t.Run("content not at hand", func(t *testing.T) {
		d := newDesk(cases.NewWorld().View())
		decision := d.Do(t, d.submitted(cases.Request(readPlan()), func(s *events.Submitted) { s.Request = cases.Closed(s.Request) }))
		if r := cases.Want[*events.RunRejected](t, decision.Events); r.Diagnostics[0].Code != events.CodeContentUnavailable {
			t.Fatal(r.Diagnostics)
		}
	})
}

// A limit that is left out is not zero and not endless: the request is refused.
func TestSealNeedsEveryLimit(t *testing.T) {
	req.Covers(t, "C3-RUN-004.a")
	sound := cases.JSON(cases.Request(readPlan()))
	for _, r := range budget.Resources() {
		t.Run(r.Name, func(t *testing.T) {
			document := regexp.MustCompile(`,?"`+r.Name+`":\d+`).ReplaceAll(sound, nil)
			document = bytes.Replace(document, []byte(`{,`), []byte(`{`), 1)
			if len(document) == len(sound) || !bytes.Contains(document, []byte(`"limits":{"`)) {
				t.Fatalf("the case is not the one meant: %s", document)
			}
			d := newDesk(cases.NewWorld().View())
			decision := d.Do(t, d.submitted(cases.Request(readPlan()), func(s *events.Submitted) { s.Request = cases.Text(events.ClassRequest, string(document)) }))
			rejected := cases.Want[*events.RunRejected](t, decision.Events)
			if rejected.Diagnostics[0].Code != events.CodeLimitMissing || rejected.Diagnostics[0].Path != "limits."+r.Name {
				t.Fatal(rejected.Diagnostics)
			}
		})
	}
}

// More than what fits is counted, not lost.
func TestSealBoundsDiagnostics(t *testing.T) {
	w := cases.NewWorld()
	w.Agent.Input = events.JSON(`{"type":"object","required":["a"],"properties":{"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"},"e":{"type":"string"},"f":{"type":"string"}}}`)
	d := newDesk(w.View())
	decision := d.Do(t, d.submitted(&events.IntentRequest{
		Intent: events.IntentRef{Agent: cases.Agent}, Input: events.Value{Value: events.JSON(`{"b":1,"c":1,"d":1,"e":1,"f":1}`)}, Nonce: "x",
		Plan: readPlan(),
	}))
	rejected := cases.Want[*events.RunRejected](t, decision.Events)
	if n := len(rejected.Diagnostics); n > 16 || n+rejected.Omitted < 10 {
		t.Fatalf("%d diagnostics and %d omitted", n, rejected.Omitted)
	}
}
