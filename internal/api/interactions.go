package api

import (
	"errors"
	"net/http"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/projector"
	"example.org/mandate/projections/runs"
)

// InteractionList lists what waits for a person.
type InteractionList struct {
	Interactions []Interaction `json:"interactions"`
}

// Interaction is something that waits for a person.
type Interaction struct {
	ID        string `json:"id"`
	Run       string `json:"run"`
	Kind      string `json:"kind"`
	Agent     string `json:"agent"`
	Principal string `json:"principal"` // who asked for the run
	// Digest is what a decision must name.
	Digest    events.Digest `json:"digest"`
	Items     []string      `json:"items"` // capability@version of each use
	Approvers []string      `json:"approvers"`
	Expires   events.Time   `json:"expires"`
	// Document shows exactly what is decided on. Lists leave it out.
	Document *events.Document `json:"document,omitzero"`
}

// Decision is the body of a decision on an interaction.
type Decision struct {
	Decision events.Decision `json:"decision"` // approve or deny
	Digest   events.Digest   `json:"digest"`   // of exactly what the person saw
	Reason   string          `json:"reason,omitzero"`
}

// Decided answers a decision.
type Decided struct {
	Run         string          `json:"run"`
	Interaction string          `json:"interaction"`
	Decision    events.Decision `json:"decision"`
}

func newInteraction(row projector.Row, w runs.Waiting) Interaction {
	return Interaction{
		ID: w.Interaction, Run: row.Run, Kind: w.Kind, Agent: row.Agent, Principal: row.Principal,
		Digest: w.Digest, Items: w.Items, Approvers: w.Approvers, Expires: w.Expires,
	}
}

func (s *server) listInteractions(c *call) error {
	rows, _ := s.o.Views.Rows(projector.Query{Tenant: c.tenant, Waiting: true, Limit: maxLimit})
	list := InteractionList{Interactions: []Interaction{}}
	for _, row := range rows {
		for _, w := range row.Waiting {
			list.Interactions = append(list.Interactions, newInteraction(row, w))
		}
	}
	return c.reply(http.StatusOK, list)
}

func (s *server) waiting(c *call) (projector.Row, runs.Waiting, error) {
	row, w, ok := s.o.Views.Waiting(c.tenant, c.PathValue("id"))
	if !ok {
		return row, w, notFound(events.CodeInteractionUnknown, "nothing waits under this name", "see mandate interactions; it may have been decided or expired")
	}
	return row, w, nil
}

func (s *server) getInteraction(c *call) error {
	row, w, err := s.waiting(c)
	if err != nil {
		return err
	}
	if err := s.mayRead(c, policy.Run{ID: row.Run, Submitter: row.Principal}); err != nil {
		return err
	}
	d, err := s.awaitInteraction(c, row.Key, w.Interaction)
	if err != nil {
		return err
	}
	if c.URL.Query().Get("surface") != "" {
		return c.show(d)
	}
	interaction := newInteraction(row, w)
	interaction.Document = d
	return c.reply(http.StatusOK, interaction)
}

// presenterPatience is how long something that waits may take to be shown.
const presenterPatience = 5 * time.Second

// awaitInteraction opens the document of an interaction. It waits from the
// moment that admission asks, which is a little before the presenter shows
// what is asked.
func (s *server) awaitInteraction(c *call, key projector.Key, id string) (*events.Document, error) {
	patience := time.NewTimer(presenterPatience)
	defer patience.Stop()
	for {
		changed := s.o.Views.Changed()
		d, err := s.document(c, key, interactionDocument(id))
		var p *Problem
		if err == nil || !errors.As(err, &p) || p.Status != http.StatusNotFound {
			return d, err
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, err
		case <-c.Context().Done():
			return nil, c.Context().Err()
		}
	}
}

func (s *server) decide(c *call) error {
	var body Decision
	if err := c.decode(&body); err != nil {
		return err
	}
	if err := (&Reason{body.Reason}).check(); err != nil {
		return err
	}
	if body.Decision != events.DecisionApprove && body.Decision != events.DecisionDeny {
		return fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Path: "decision", Message: "neither approve nor deny", Action: "write one of these",
		})
	}
	row, w, err := s.waiting(c)
	if err != nil {
		return err
	}
	refuse := func(status int, code events.Code, message, action string) error {
		return fail(status, events.Diagnostic{Code: code, Message: message, Action: action})
	}
	switch {
	case w.Kind != string(events.InteractionApproval):
		return refuse(http.StatusConflict, events.CodeInteractionUnknown, "it does not wait for an approval", "answer it as what it is")
	case body.Digest != w.Digest:
		return refuse(http.StatusConflict, events.CodeApprovalMismatch, "the digest is not of what waits now", "read it again and decide on that")
	case events.At(s.o.Clock()) >= w.Expires:
		return refuse(http.StatusConflict, events.CodeApprovalExpired, "the time for a decision is over", "submit the request again")
	}
	if err := s.mayApprove(c, row, w, body.Decision); err != nil {
		return err
	}
	decided := events.ApprovalDecided{
		Principal: c.principal, Roles: c.roles, Approval: w.Interaction, Decision: body.Decision, Digest: body.Digest, Reason: body.Reason,
	}
	if err := s.o.Intake.DecideApproval(c.Context(), c.tenant, row.Run, decided); err != nil {
		return err
	}
	return c.reply(http.StatusAccepted, Decided{Run: row.Run, Interaction: w.Interaction, Decision: body.Decision})
}
