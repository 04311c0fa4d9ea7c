package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/jsonvalue"
)

// MaxBodyBytes bounds the body of a request.
const MaxBodyBytes = 1 << 20

// HeaderTenant names the tenant of a request, DefaultTenant if it is not set.
const (
	HeaderTenant  = "X-Mandate-Tenant"
	DefaultTenant = "default"
)

type server struct {
	o       Options
	counts  *counters
	streams chan struct{} // one token per open event stream
	pages   *pages
	openapi []byte
}

// maxStreams bounds the event streams that are open at the same time.
const maxStreams = 512

// New returns the handler of the gateway.
func New(o Options) (http.Handler, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	pages, err := newPages()
	if err != nil {
		return nil, err
	}
	s := &server{o: o, counts: newCounters(), streams: make(chan struct{}, maxStreams), pages: pages}
	table := s.routes()
	if s.openapi, err = describe(table); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, r := range table {
		mux.Handle(r.pattern(), s.handler(r))
	}
	s.addPages(mux)
	o.Health.register(mux, s.counts)
	return s.guard(s.explain(mux)), nil
}

// call is one request with who it is from.
type call struct {
	http.ResponseWriter
	*http.Request
	tenant    string
	principal events.Principal
	roles     []string
}

// guard refuses what no route may see, and sets the headers of every answer.
func (s *server) guard(next http.Handler) http.Handler {
	// A page of another site must not make a browser act here.
	same := http.NewCrossOriginProtection()
	same.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.problem(w, r, fail(http.StatusForbidden, events.Diagnostic{
			Code: events.CodeUnauthorized, Message: "the request comes from a page of another site", Action: "use the gateway's own pages or the command line",
		}))
	}))
	next = same.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", contentSecurityPolicy)
		if s.o.LoopbackOnly && !isLoopback(r.Host) {
			s.problem(w, r, fail(http.StatusMisdirectedRequest, events.Diagnostic{
				Code: events.CodeUnauthorized, Message: "the request names another host than this machine", Action: "use 127.0.0.1 or localhost",
			}))
			return
		}
		limitBodyTime(w, r, bodyTimeout)
		next.ServeHTTP(w, r)
	})
}

// bodyTimeout bounds how long the body of a request may take to arrive.
const bodyTimeout = 30 * time.Second

// limitBodyTime ends the reading of a body that takes longer than patience, so
// that whoever sends one byte at a time holds a connection for that long only.
// A request without a body is not limited: event streams stay open.
func limitBodyTime(w http.ResponseWriter, r *http.Request, patience time.Duration) {
	if r.ContentLength != 0 {
		// Not every connection can have a deadline; tests use some that cannot.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
	}
}

// explain answers what is for no route as a problem, as everything else is.
func (s *server) explain(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		found := &statusOnly{header: w.Header()}
		mux.ServeHTTP(found, r)
		w.Header().Del("Content-Type")
		d := events.Diagnostic{Code: events.CodeNotFound, Message: "there is nothing at this path", Action: "see /openapi.json"}
		switch found.status {
		case http.StatusMethodNotAllowed:
			d.Message = "the method is not one of this path: " + w.Header().Get("Allow")
		case http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			w.WriteHeader(found.status)
			return
		}
		s.problem(w, r, fail(found.status, d))
	})
}

// statusOnly keeps the status and the headers of an answer.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header { return s.header }

func (s *statusOnly) Write(data []byte) (int, error) { return len(data), nil }

func (s *statusOnly) WriteHeader(status int) { s.status = status }

// handler serves a route: it finds out who calls, and answers errors.
func (s *server) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		answer := &recorder{ResponseWriter: w}
		c, err := s.identify(answer, request)
		if err == nil {
			err = r.checkQuery(c)
		}
		if err == nil {
			err = r.handle(c)
		}
		if err != nil {
			s.problem(answer, request, err)
		}
		s.counts.request(r.pattern(), answer.status)
	})
}

func (s *server) identify(w http.ResponseWriter, r *http.Request) (*call, error) {
	from, ok := s.o.Callers.caller(r)
	if !ok {
		w.Header().Set("WWW-Authenticate", `Basic realm="mandate: the token is the password", charset="UTF-8"`)
		return nil, fail(http.StatusUnauthorized, events.Diagnostic{
			Code: events.CodeUnauthorized, Message: "the token is missing or not known", Action: "give --token-file, or Authorization: Bearer",
		})
	}
	tenant := r.Header.Get(HeaderTenant)
	if tenant == "" && r.Method == http.MethodGet {
		tenant = r.URL.Query().Get("tenant") // for links between pages
	}
	if tenant == "" {
		tenant = from.home()
	}
	if !events.ValidToken(tenant) {
		return nil, fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Message: "the tenant is not a token of letters, digits, hyphens and underscores", Action: "use another tenant",
		})
	}
	if !from.may(tenant) {
		return nil, fail(http.StatusForbidden, events.Diagnostic{
			Code: events.CodePrincipalDenied, Message: "the token is not bound to this tenant", Action: "act for a tenant that it is bound to, or use another token",
		})
	}
	return &call{ResponseWriter: w, Request: r, tenant: tenant, principal: from.principal, roles: from.roles}, s.ready(r)
}

// ready waits until the views are there: before that a list would be short and
// a run unknown.
func (s *server) ready(r *http.Request) error {
	select {
	case <-s.o.Views.Ready():
		return nil
	default:
	}
	patience := time.NewTimer(viewPatience)
	defer patience.Stop()
	select {
	case <-s.o.Views.Ready():
		return nil
	case <-patience.C:
		return fail(http.StatusServiceUnavailable, events.Diagnostic{
			Code: events.CodeUnavailable, Message: "the gateway is starting", Action: "try again",
		})
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

// problem answers an error, unless the answer has begun.
func (s *server) problem(w http.ResponseWriter, r *http.Request, err error) {
	p, expected := asProblem(err)
	if !expected && r.Context().Err() == nil {
		s.o.Logger.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if answer, ok := w.(*recorder); ok && answer.status != 0 {
		return
	}
	w.Header().Set("Content-Type", "application/problem+json")
	writeJSON(w, p.Status, p)
}

// reply answers with JSON.
func (c *call) reply(status int, value any) error {
	c.Header().Set("Content-Type", "application/json")
	writeJSON(c.ResponseWriter, status, value)
	return nil
}

// Header returns the header of the answer.
func (c *call) Header() http.Header { return c.ResponseWriter.Header() }

// send answers with what is not an object of ours. Whoever asked may be gone.
func (c *call) send(media string, data []byte) {
	c.Header().Set("Content-Type", media)
	_, _ = c.ResponseWriter.Write(data)
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	data, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"title":"Internal Server Error","status":500,"code":"MD-1901","detail":"the answer could not be written","diagnostics":[]}`)
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // whoever asked may be gone
}

// body reads the body of a request within its limit.
func (c *call) body() ([]byte, error) {
	if media, _, err := mime.ParseMediaType(c.Request.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, fail(http.StatusUnsupportedMediaType, events.Diagnostic{
			Code: events.CodeRequestMalformed, Message: "the body is not declared as JSON", Action: "send Content-Type: application/json",
		})
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.ResponseWriter, c.Body, MaxBodyBytes))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return nil, fail(http.StatusRequestEntityTooLarge, events.Diagnostic{
			Code: events.CodeRequestTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", MaxBodyBytes), Action: "make it smaller",
		})
	}
	if err != nil {
		return nil, fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Message: "the body could not be read", Action: "send it again",
		})
	}
	// It is here; the answer may take longer than it did.
	_ = http.NewResponseController(c.ResponseWriter).SetReadDeadline(time.Time{})
	return data, nil
}

// decode reads the body of a request strictly into value.
func (c *call) decode(value any) error {
	data, err := c.body()
	if err != nil {
		return err
	}
	err = jsonvalue.Scan(data, jsonvalue.DefaultLimits)
	if err == nil {
		err = json.Unmarshal(data, value, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return fail(http.StatusBadRequest, events.Diagnostic{Code: events.CodeRequestMalformed, Message: oneLine(err.Error()), Action: "correct the body"})
	}
	return nil
}

// oneLine keeps a message on one line and bounded.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	const most = 300
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (r *recorder) Write(data []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(data)
}

// Unwrap is for [http.ResponseController].
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
