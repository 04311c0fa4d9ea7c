package api

import (
	"net/http"
	"slices"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

// route is one operation: what is served, and what the OpenAPI document says
// of it.
type route struct {
	method  string
	path    string
	name    string // operation ID
	summary string
	query   []parameter
	header  []parameter
	body    any         // a value of the type of the JSON body, nil for none
	answers map[int]any // a value of the type of each JSON answer, a media type, or nil for none
	handle  func(*call) error
}

// parameter is a parameter of the query or a header.
type parameter struct {
	name    string
	summary string
	values  []string // the values it can have, if they are few
}

// media is an answer that is not JSON.
type media []string

// checkQuery refuses a parameter with a value that it cannot have.
func (r *route) checkQuery(c *call) error {
	for _, p := range r.query {
		value := c.URL.Query().Get(p.name)
		if value != "" && len(p.values) > 0 && !slices.Contains(p.values, value) {
			return fail(http.StatusBadRequest, events.Diagnostic{
				Code: events.CodeRequestMalformed, Path: p.name, Message: "it cannot have this value", Action: "use " + strings.Join(p.values, " or "),
			})
		}
	}
	return nil
}

func (r *route) pattern() string { return r.method + " " + r.path }

var surfaces = parameter{name: "surface", summary: "how the document is rendered", values: []string{"html", "markdown", "text", "json"}}

func (s *server) routes() []route {
	return append(append(s.runRoutes(), s.otherRoutes()...), route{
		method: http.MethodGet, path: "/openapi.json", name: "describe", summary: "This document",
		answers: map[int]any{http.StatusOK: media{"application/json"}},
		handle: func(c *call) error {
			c.send("application/json", s.openapi)
			return nil
		},
	})
}

func (s *server) runRoutes() []route {
	eventID := parameter{name: "Last-Event-ID", summary: "the ID of the last event received; the stream goes on after it"}
	return []route{
		{
			method: http.MethodPost, path: "/v1/runs", name: "submit", summary: "Submit a request; the same nonce joins the same run",
			header: []parameter{{name: "Idempotency-Key", summary: "the nonce: a ULID that is the identity of the request and of its run; without it one is assigned"}},
			body:   events.IntentRequest{}, answers: map[int]any{http.StatusCreated: Submission{}, http.StatusOK: Submission{}}, handle: s.submit,
		},
		{
			method: http.MethodGet, path: "/v1/runs", name: "listRuns", summary: "List runs, the newest first",
			query: []parameter{
				{name: "phase", summary: "only runs in this phase"},
				{name: "outcome", summary: "only runs with this outcome"},
				{name: "limit", summary: "how many at most"},
				{name: "cursor", summary: "the cursor of the page before"},
			},
			answers: map[int]any{http.StatusOK: RunList{}}, handle: s.listRuns,
		},
		{method: http.MethodGet, path: "/v1/runs/{run}", name: "getRun", summary: "One run", answers: map[int]any{http.StatusOK: runs.View{}}, handle: s.getRun},
		{method: http.MethodGet, path: "/v1/runs/{run}/timeline", name: "getTimeline", summary: "What happened in a run, in order", answers: map[int]any{http.StatusOK: timeline.View{}}, handle: s.getTimeline},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/document", name: "getDocument", summary: "The final document of a run",
			query: []parameter{surfaces}, handle: s.getDocument,
			answers: map[int]any{http.StatusOK: events.Document{}},
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/events", name: "runEvents", summary: "The commits of a run as batches of CloudEvents",
			query:  []parameter{{name: "follow", summary: "whether to wait for more; true if it is not given", values: []string{"true", "false"}}},
			header: []parameter{eventID}, answers: map[int]any{http.StatusOK: media{"text/event-stream"}}, handle: s.runEvents,
		},
		{
			method: http.MethodGet, path: "/v1/runs/{run}/bundle", name: "exportRun", summary: "Everything recorded about a run, for verification and replay",
			answers: map[int]any{http.StatusOK: media{"application/json"}}, handle: s.getBundle,
		},
		{
			method: http.MethodPost, path: "/v1/runs/{run}/cancel", name: "cancelRun", summary: "Ask to stop a run",
			body: Reason{}, answers: map[int]any{http.StatusAccepted: Accepted{}}, handle: s.cancelRun,
		},
	}
}

func (s *server) otherRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/v1/interactions", name: "listInteractions", summary: "What waits for a person", answers: map[int]any{http.StatusOK: InteractionList{}}, handle: s.listInteractions},
		{
			method: http.MethodGet, path: "/v1/interactions/{id}", name: "getInteraction", summary: "One thing that waits, with exactly what is decided on",
			query: []parameter{surfaces}, answers: map[int]any{http.StatusOK: Interaction{}}, handle: s.getInteraction,
		},
		{
			method: http.MethodPost, path: "/v1/interactions/{id}/decision", name: "decide", summary: "Approve or deny; the digest must be of exactly what waits",
			body: Decision{}, answers: map[int]any{http.StatusAccepted: Decided{}}, handle: s.decide,
		},
		{method: http.MethodGet, path: "/v1/registry/{kind}", name: "listResources", summary: "List the resources of a kind", answers: map[int]any{http.StatusOK: ResourceList{}}, handle: s.listResources},
		{method: http.MethodGet, path: "/v1/registry/{kind}/{name}", name: "getResource", summary: "One resource", answers: map[int]any{http.StatusOK: Registered{}}, handle: s.getResource},
		{
			method: http.MethodPut, path: "/v1/registry", name: "apply", summary: "Register resources, all or none, in the order given",
			query: []parameter{{name: "dry_run", summary: "only say what would change", values: []string{"true", "false"}}},
			body:  []Resource{}, answers: map[int]any{http.StatusOK: AppliedList{}}, handle: s.apply,
		},
		{
			method: http.MethodPost, path: "/v1/registry/capabilities/{name}/revoke", name: "revoke", summary: "Withdraw a capability at once, for every run",
			body: Reason{}, answers: map[int]any{http.StatusOK: Revoked{}}, handle: s.revoke,
		},
		{method: http.MethodPost, path: "/v1/views/rebuild", name: "rebuild", summary: "Rebuild the views from the streams and compare", answers: map[int]any{http.StatusOK: RebuiltList{}}, handle: s.rebuild},
		{method: http.MethodGet, path: "/v1/parked", name: "listParked", summary: "List what no service could handle, with the reasons", answers: map[int]any{http.StatusOK: ParkedList{}}, handle: s.listParked},
		{
			method: http.MethodPost, path: "/v1/parked/{id}/redeliver", name: "redeliver",
			summary: "Give a parked message to its service again, and what came after it; doing so twice changes nothing",
			answers: map[int]any{http.StatusAccepted: journal.Parked{}}, handle: s.redeliver,
		},
		{
			method: http.MethodGet, path: "/v1/events", name: "allEvents", summary: "The commits of every run as batches of CloudEvents",
			query:   []parameter{{name: "from", summary: "where to begin without a Last-Event-ID; now if it is not given", values: []string{"now", "start"}}},
			header:  []parameter{{name: "Last-Event-ID", summary: "the ID of the last event received; the stream goes on after it"}},
			answers: map[int]any{http.StatusOK: media{"text/event-stream"}}, handle: s.allEvents,
		},
	}
}
