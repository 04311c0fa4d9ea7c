package api

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/projector"
	"example.org/mandate/projections/runs"
)

// Submission answers POST /v1/runs.
type Submission struct {
	Run    string `json:"run"`
	Joined bool   `json:"joined"` // the request was recorded before; this is that run
}

// RunList is a page of runs, the newest first.
type RunList struct {
	Runs []RunRow `json:"runs"`
	// Cursor gives the next page, "" on the last.
	Cursor string `json:"cursor,omitzero"`
}

// RunRow is a run in a list.
type RunRow struct {
	Run        string            `json:"run"`
	Agent      string            `json:"agent"`
	Principal  string            `json:"principal"`
	Phase      events.Phase      `json:"phase"`
	Outcome    events.Tag        `json:"outcome,omitzero"`
	Completion events.Completion `json:"completion,omitzero"`
	Submitted  events.Time       `json:"submitted"`
	Concluded  events.Time       `json:"concluded,omitzero"`
	Waiting    int               `json:"waiting"`  // interactions that wait for a person
	Document   bool              `json:"document"` // the final document was presented
}

// Accepted answers a request that was recorded and is acted on later.
type Accepted struct {
	Run string `json:"run"`
}

// Reason is the body of a cancellation or a revocation.
type Reason struct {
	Reason string `json:"reason,omitzero"`
}

// maxReasonBytes bounds the words of a person that events carry.
const maxReasonBytes = 1000

func (r *Reason) check() error {
	if len(r.Reason) > maxReasonBytes {
		return fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Message: "the reason is longer than " + strconv.Itoa(maxReasonBytes) + " bytes", Action: "make it shorter",
		})
	}
	return nil
}

func (s *server) submit(c *call) error {
	data, err := c.body()
	if err != nil {
		return err
	}
	request, err := intake.Decode(data)
	if err != nil {
		return err
	}
	submitted, err := s.o.Intake.SubmitAs(c.Context(), intake.Submitting{
		Tenant: c.tenant, Nonce: c.Request.Header.Get("Idempotency-Key"), Principal: c.principal, Roles: c.roles, Request: request,
	})
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if submitted.Joined {
		status = http.StatusOK
	}
	c.Header().Set("Location", "/v1/runs/"+submitted.Run)
	return c.reply(status, Submission{Run: submitted.Run, Joined: submitted.Joined})
}

// Pages of lists.
const (
	defaultLimit = 50
	maxLimit     = 500
)

func (s *server) listRuns(c *call) error {
	query := c.URL.Query()
	limit := defaultLimit
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLimit {
			return fail(http.StatusBadRequest, events.Diagnostic{
				Code: events.CodeRequestMalformed, Path: "limit", Message: "not a number from 1 to " + strconv.Itoa(maxLimit), Action: "use another limit",
			})
		}
		limit = n
	}
	cursor := query.Get("cursor")
	if cursor != "" && !events.ValidToken(cursor) {
		return fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Path: "cursor", Message: "not a cursor of this list", Action: "use the cursor of the page before",
		})
	}
	list, err := s.runs(c, projector.Query{
		Phase: events.Phase(query.Get("phase")), Outcome: events.Tag(query.Get("outcome")), Before: cursor, Limit: limit,
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, list)
}

func (s *server) runs(c *call, q projector.Query) (RunList, error) {
	if q.Phase != "" && !knownPhase(q.Phase) {
		return RunList{}, fail(http.StatusBadRequest, events.Diagnostic{Code: events.CodeRequestMalformed, Path: "phase", Message: "there is no such phase", Action: "use one of the phases, such as executing"})
	}
	if q.Outcome != "" && !events.Phase(q.Outcome).Terminal() {
		return RunList{}, fail(http.StatusBadRequest, events.Diagnostic{Code: events.CodeRequestMalformed, Path: "outcome", Message: "there is no such outcome", Action: "use one of the outcomes, such as completed"})
	}
	q.Tenant = c.tenant
	rows, more := s.o.Views.Rows(q)
	list := RunList{Runs: make([]RunRow, 0, len(rows))}
	for _, r := range rows {
		list.Runs = append(list.Runs, RunRow{
			Run: r.Run, Agent: r.Agent, Principal: r.Principal, Phase: r.Phase, Outcome: r.Outcome, Completion: r.Completion,
			Submitted: r.Submitted, Concluded: r.Concluded, Waiting: len(r.Waiting), Document: r.Document,
		})
	}
	if more {
		list.Cursor = rows[len(rows)-1].Run
	}
	return list, nil
}

func knownPhase(p events.Phase) bool {
	return p.Terminal() || slices.Contains(events.ActivePhases(), p)
}

// viewPatience is how long a run that was recorded may take to be seen in the
// views.
const viewPatience = 10 * time.Second

// view returns the view of the run that a request names. Whoever submitted a
// run sees it, even if the views are a little behind.
func (s *server) view(c *call) (projector.Key, runs.View, error) {
	key := projector.Key{Tenant: c.tenant, Run: c.PathValue("run")}
	subject := events.Subject{Owner: events.OwnerRequest, Tenant: key.Tenant, Run: key.Run}
	if subject.Validate() != nil {
		return key, runs.View{}, unknownRun()
	}
	var patience <-chan time.Time
	for {
		changed := s.o.Views.Changed()
		v, err := s.o.Views.View(c.Context(), key)
		if err == nil || !errors.Is(err, projector.ErrUnknownRun) {
			return key, v, err
		}
		if patience == nil {
			records, loadErr := s.o.Streams.Load(c.Context(), subject, 0)
			if loadErr != nil || len(records) == 0 {
				return key, v, errors.Join(loadErr, err)
			}
			timer := time.NewTimer(viewPatience)
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-changed:
		case <-patience:
			return key, v, fail(http.StatusServiceUnavailable, events.Diagnostic{
				Code: events.CodeUnavailable, Message: "the run is recorded, but the views are behind", Action: "try again",
			})
		case <-c.Context().Done():
			return key, v, c.Context().Err()
		}
	}
}

func (s *server) getRun(c *call) error {
	_, v, err := s.view(c)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, v)
}

func (s *server) getTimeline(c *call) error {
	key, _, err := s.view(c)
	if err != nil {
		return err
	}
	t, err := s.o.Views.Timeline(c.Context(), key)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, t)
}

func (s *server) cancelRun(c *call) error {
	var body Reason
	if err := c.decode(&body); err != nil {
		return err
	}
	if err := body.check(); err != nil {
		return err
	}
	key, v, err := s.view(c)
	if err != nil {
		return err
	}
	if err := s.mayOperate(c, operated{action: "cancel", kind: "Run", name: key.Run, run: runOf(key, v)}); err != nil {
		return err
	}
	if v.Outcome != "" {
		return fail(http.StatusConflict, events.Diagnostic{
			Code: events.CodeRunConcluded, Message: "the run has ended: " + string(v.Outcome), Action: "nothing is left to cancel",
		})
	}
	requested := events.CancelRequested{Principal: c.principal, Roles: c.roles, Reason: body.Reason}
	if err := s.o.Intake.RequestCancel(c.Context(), key.Tenant, key.Run, requested); err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, Accepted{Run: key.Run})
}

func (s *server) getBundle(c *call) error {
	key := projector.Key{Tenant: c.tenant, Run: c.PathValue("run")}
	// Who may not read content gets it sealed, and can still verify it.
	content, err := s.contentAllowed(c, key)
	if err != nil {
		return err
	}
	data, err := s.o.Bundle(c.Context(), key.Tenant, key.Run, content)
	if err != nil {
		return err
	}
	c.Header().Set("Content-Disposition", `attachment; filename="`+key.Run+`.bundle"`)
	c.send("application/json", data)
	return nil
}
