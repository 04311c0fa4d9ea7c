// Package intake records what people ask: requests, decisions on approvals,
// cancellations, and resources for the registry. It is the only writer of the
// request and registry streams and decides nothing about a run.
package intake

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/oklog/ulid/v2"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/jsonvalue"
	"example.org/mandate/internal/reactor"
	"example.org/mandate/internal/sealing"
)

// Streams is what intake needs of the journal.
type Streams interface {
	journal.Appender
	journal.Loader
}

// Options of an intake.
type Options struct {
	Streams    Streams
	Sealer     reactor.Sealer
	Registries reactor.Registries
	Writer     string
	Clock      func() time.Time
}

// Intake records requests.
type Intake struct{ o Options }

// New returns an intake.
func New(o Options) *Intake { return &Intake{o: o} }

// Error is a refusal with its diagnostics. Nothing was recorded.
type Error struct {
	Diagnostics []events.Diagnostic
}

// Error implements the error interface.
func (e *Error) Error() string {
	if len(e.Diagnostics) == 0 {
		return "refused"
	}
	return e.Diagnostics[0].String()
}

func refuse(code events.Code, message, action string) error {
	return &Error{Diagnostics: []events.Diagnostic{{Code: code, Message: message, Action: action}}}
}

// Submission is the outcome of Submit.
type Submission struct {
	Run    string
	Joined bool // the request was recorded before; this is that run
}

// maxConflicts bounds how often an append is tried again because somebody else
// appended first.
const maxConflicts = 16

// Decode reads a request document strictly within limits. Nonce and authority
// are the host's: a document that sets them is refused.
func Decode(document []byte) (*events.IntentRequest, error) {
	if err := jsonvalue.Scan(document, jsonvalue.DefaultLimits); err != nil {
		code := events.CodeRequestMalformed
		switch {
		case errors.Is(err, jsonvalue.ErrTooLarge):
			code = events.CodeRequestTooLarge
		case errors.Is(err, jsonvalue.ErrTooDeep):
			code = events.CodeRequestTooDeep
		}
		return nil, refuse(code, err.Error(), "correct the document")
	}
	if names := budget.MissingIn(document); len(names) > 0 {
		return nil, refuse(events.CodeLimitMissing, "limits leaves out "+strings.Join(names, ", "), "give every limit; zero means none")
	}
	var request events.IntentRequest
	if err := json.Unmarshal(document, &request, json.RejectUnknownMembers(true)); err != nil {
		return nil, refuse(events.CodeRequestMalformed, err.Error(), "correct the field")
	}
	if request.Nonce != "" || request.Authority != (events.Principal{}) {
		return nil, refuse(events.CodeNonceInvalid, "nonce and authority are set by the host", "leave them out; give the nonce as Idempotency-Key")
	}
	if request.Thread != "" && (!events.ValidToken(request.Thread) || len(request.Thread) > 48) {
		return nil, refuse(events.CodeRequestMalformed, "the thread is not a token of up to 48 letters, digits, hyphens and underscores", "choose another thread")
	}
	if request.Parent != "" && !events.ValidToken(request.Parent) {
		return nil, refuse(events.CodeRequestMalformed, "the parent is not a run", "name a run")
	}
	return &request, nil
}

// Submit records a request under a nonce, of a principal without roles. See
// [Intake.SubmitAs].
func (in *Intake) Submit(ctx context.Context, tenant, nonce string, principal events.Principal, request *events.IntentRequest) (Submission, error) {
	return in.SubmitAs(ctx, Submitting{Tenant: tenant, Nonce: nonce, Principal: principal, Request: request})
}

// Submitting is a request with who asks.
type Submitting struct {
	Tenant    string
	Nonce     string // "" lets the host assign one
	Principal events.Principal
	Roles     []string
	Request   *events.IntentRequest
}

// SubmitAs records a request under a nonce. The nonce is the identity: of any
// number of submissions one is recorded and the others join it, if they ask
// for the same.
func (in *Intake) SubmitAs(ctx context.Context, s Submitting) (Submission, error) {
	now := in.o.Clock()
	tenant, nonce := s.Tenant, s.Nonce
	if nonce == "" {
		nonce = ulid.MustNew(ulid.Timestamp(now), ulid.DefaultEntropy()).String()
	}
	if id, err := ulid.ParseStrict(nonce); err != nil || id.String() != nonce {
		return Submission{}, refuse(events.CodeNonceInvalid, "the nonce is not a ULID in its canonical form", "use 26 upper-case characters, or none")
	}
	r := *s.Request
	r.Nonce, r.Authority = nonce, s.Principal
	body, err := events.NewDocument(events.ClassRequest, &r)
	if err != nil {
		return Submission{}, fmt.Errorf("submit: %w", err)
	}
	view, err := in.o.Registries.View(ctx, tenant, 0)
	if err != nil {
		return Submission{}, fmt.Errorf("submit: %w", err)
	}
	submitted := &events.Submitted{
		Epoch:   view.Epoch,
		Request: body, Nonce: nonce, Principal: s.Principal, Roles: s.Roles, Agent: r.Intent.Agent, Thread: r.Thread, Parent: r.Parent,
		HasSpec: r.Outcome != nil, HasPlan: r.Plan != nil,
	}
	subject := events.Subject{Owner: events.OwnerRequest, Tenant: tenant, Run: nonce}
	if err := subject.Validate(); err != nil {
		return Submission{}, refuse(events.CodeRequestMalformed, err.Error(), "use another tenant")
	}
	c := reactor.Assemble(reactor.Draft{
		Subject: subject, Cause: events.Cause{Event: "submitted"}, Writer: in.o.Writer, At: events.At(now), Payloads: []events.Payload{submitted},
	})
	for range maxConflicts {
		err = in.append(ctx, &c, sealing.Scope(tenant, nonce, r.Thread), journal.Position{})
		if err == nil {
			return Submission{Run: nonce}, nil
		}
		if !errors.Is(err, journal.ErrConflict) {
			return Submission{}, err
		}
		joined, recorded, err := in.join(ctx, subject, body)
		if err != nil || recorded {
			return joined, err
		}
	}
	return Submission{}, refuse(events.CodeOwnershipUnresolved, "it cannot be found out whether the request was recorded before", "try again with the same nonce")
}

func (in *Intake) append(ctx context.Context, c *events.Commit, scope string, after journal.Position) error {
	if err := in.o.Sealer.Seal(ctx, c, scope); err != nil {
		return fmt.Errorf("record %s: %w", c.Subject, err)
	}
	data, err := events.Encode(c)
	if errors.Is(err, events.ErrTooLarge) {
		return refuse(events.CodeRequestTooLarge, err.Error(), "make the request smaller")
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", c.Subject, err)
	}
	if _, err := in.o.Streams.Append(ctx, c, data, after); err != nil {
		return fmt.Errorf("record %s: %w", c.Subject, err)
	}
	return nil
}

// join returns the recorded run, if there is one and it asks for the same. Who
// cannot find out is refused: nothing runs twice.
func (in *Intake) join(ctx context.Context, subject events.Subject, body events.Body) (s Submission, recorded bool, err error) {
	chain, _, err := in.load(ctx, subject)
	if err == nil && len(chain) == 0 {
		return Submission{}, false, nil
	}
	if err != nil {
		return Submission{}, false, &Error{Diagnostics: []events.Diagnostic{{
			Code: events.CodeOwnershipUnresolved, Message: "it cannot be found out whether the request was recorded before", Action: "try again with the same nonce",
		}}}
	}
	first, ok := chain[0].Events[0].Data.(*events.Submitted)
	if !ok {
		return Submission{}, false, fmt.Errorf("join %s: %w: first event is %s", subject, journal.ErrCorrupt, chain[0].Events[0].Type())
	}
	content, open := first.Request.Content()
	mine, _ := body.Content()
	if !open || !bytes.Equal(content, mine) {
		return Submission{}, false, refuse(events.CodeNonceConflict, "the nonce was used for another request", "use a new nonce for a new request")
	}
	return Submission{Run: subject.Run, Joined: true}, true, nil
}

// load reads a chain of the request or registry stream whole.
func (in *Intake) load(ctx context.Context, subject events.Subject) ([]events.Commit, journal.Position, error) {
	return reactor.LoadChain(ctx, in.o.Streams, in.o.Sealer, subject)
}

// record appends one event about a run that was submitted.
func (in *Intake) record(ctx context.Context, tenant, run, cause string, payload events.Payload) error {
	subject := events.Subject{Owner: events.OwnerRequest, Tenant: tenant, Run: run}
	if err := subject.Validate(); err != nil {
		return refuse(events.CodeRunUnknown, "there is no such run", "see mandate runs")
	}
	for range maxConflicts {
		chain, position, err := in.load(ctx, subject)
		if err != nil {
			return err
		}
		if len(chain) == 0 {
			return refuse(events.CodeRunUnknown, "there is no such run", "see mandate runs")
		}
		first, ok := chain[0].Events[0].Data.(*events.Submitted)
		if !ok {
			return fmt.Errorf("record %s: %w", subject, journal.ErrCorrupt)
		}
		c := reactor.Assemble(reactor.Draft{
			Subject: subject, After: position.Head, Cause: events.Cause{Event: cause}, Correlation: chain[0].Correlation,
			Writer: in.o.Writer, At: events.At(in.o.Clock()), Payloads: []events.Payload{payload},
		})
		err = in.append(ctx, &c, sealing.Scope(tenant, run, first.Thread), position)
		if !errors.Is(err, journal.ErrConflict) {
			return err
		}
	}
	return refuse(events.CodeConflict, "others keep recording at the same time", "try again")
}

// Cancel records the wish to stop a run.
func (in *Intake) Cancel(ctx context.Context, tenant, run string, principal events.Principal, reason string) error {
	return in.RequestCancel(ctx, tenant, run, events.CancelRequested{Principal: principal, Reason: reason})
}

// RequestCancel records the wish to stop a run, with the roles of who wishes.
func (in *Intake) RequestCancel(ctx context.Context, tenant, run string, requested events.CancelRequested) error {
	return in.record(ctx, tenant, run, "cancel", &requested)
}

// DecideApproval records what a person decided. digest is the digest of
// exactly what the person saw.
func (in *Intake) DecideApproval(ctx context.Context, tenant, run string, decided events.ApprovalDecided) error {
	return in.record(ctx, tenant, run, "approval", &decided)
}
