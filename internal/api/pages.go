package api

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/render/html"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

// contentSecurityPolicy lets a page load our own style and script and connect
// to us, and nothing else.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

//go:embed web
var web embed.FS

type pages struct {
	list, run, failure *template.Template
	static             fs.FS
}

func newPages() (*pages, error) {
	functions := template.FuncMap{"moment": moment, "short": events.ShortType, "link": link}
	parse := func(name string) (*template.Template, error) {
		return template.New("layout.html").Funcs(functions).ParseFS(web, "web/templates/layout.html", "web/templates/"+name)
	}
	list, listErr := parse("list.html")
	run, runErr := parse("run.html")
	failure, failureErr := parse("failure.html")
	static, staticErr := fs.Sub(web, "web/static")
	if err := errors.Join(listErr, runErr, failureErr, staticErr); err != nil {
		return nil, fmt.Errorf("pages: %w", err)
	}
	return &pages{list: list, run: run, failure: failure, static: static}, nil
}

// moment shows a time to the second.
func moment(t events.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(time.DateTime) + " UTC"
}

// link is an address of the gateway for the tenant of a page.
func link(tenant, path string, query ...string) string {
	values := url.Values{}
	if tenant != DefaultTenant {
		values.Set("tenant", tenant)
	}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			values.Set(query[i], query[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}

func (s *server) addPages(mux *http.ServeMux) {
	page := func(pattern string, handle func(*call) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer := &recorder{ResponseWriter: w}
			c, err := s.identify(answer, r)
			if err == nil {
				err = handle(c)
			}
			if err != nil {
				s.failurePage(answer, r, err)
			}
			s.counts.request(pattern, answer.status)
		})
	}
	page("GET /{$}", s.listPage)
	page("GET /runs/{run}", s.runPage)
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServerFS(s.pages.static)))
}

// frame is what every page has.
type frame struct {
	Title  string
	Tenant string
	Live   string // address of the event stream that says when the page changed
}

func execute(w http.ResponseWriter, status int, t *template.Template, data any) error {
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(out.Bytes()) // whoever asked may be gone
	return nil
}

func (s *server) listPage(c *call) error {
	query := c.URL.Query()
	cursor := query.Get("cursor")
	if !events.ValidToken(cursor) {
		cursor = ""
	}
	list, err := s.runs(c, projector.Query{
		Phase: events.Phase(query.Get("phase")), Outcome: events.Tag(query.Get("outcome")), Before: cursor, Limit: defaultLimit,
	})
	if err != nil {
		return err
	}
	data := struct {
		frame
		RunList
		Phase   string
		Outcome string
		Tags    []events.Tag
	}{
		frame{"Runs", c.tenant, link(c.tenant, "/v1/events")}, list, query.Get("phase"), query.Get("outcome"), events.Tags(),
	}
	return execute(c.ResponseWriter, http.StatusOK, s.pages.list, data)
}

func (s *server) runPage(c *call) error {
	key, v, err := s.view(c)
	if err != nil {
		return err
	}
	t, err := s.o.Views.Timeline(c.Context(), key)
	if err != nil {
		return err
	}
	data := struct {
		frame
		Run          runs.View
		Timeline     timeline.View
		Hidden       int
		Document     template.HTML
		Missing      string
		Interactions []shownInteraction
	}{
		frame: frame{"Run " + key.Run, c.tenant, link(c.tenant, "/v1/runs/"+key.Run+"/events")},
		Run:   v, Timeline: t, Hidden: t.Total - len(t.Entries),
	}
	if data.Document, data.Missing, err = s.shown(c, key, runOf(key, v), finalDocument); err != nil {
		return err
	}
	for _, w := range v.Waiting {
		shown := shownInteraction{Waiting: w}
		if shown.Document, shown.Missing, err = s.shown(c, key, runOf(key, v), interactionDocument(w.Interaction)); err != nil {
			return err
		}
		data.Interactions = append(data.Interactions, shown)
	}
	return execute(c.ResponseWriter, http.StatusOK, s.pages.run, data)
}

type shownInteraction struct {
	runs.Waiting
	Document template.HTML
	Missing  string
}

// shown returns a document as HTML, or why there is none. The renderer escapes
// everything that it writes, so its output is HTML and not text.
func (s *server) shown(c *call, key projector.Key, run policy.Run, pick func(events.Payload) (events.Body, bool)) (template.HTML, string, error) {
	var d *events.Document
	err := s.mayRead(c, run)
	if err == nil {
		d, err = s.document(c, key, pick)
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return "", p.Detail, nil
	}
	if err != nil {
		return "", "", err
	}
	return template.HTML(html.Render(*d)), "", nil
}

func (s *server) failurePage(w *recorder, r *http.Request, err error) {
	p, expected := asProblem(err)
	if !expected && r.Context().Err() == nil {
		s.o.Logger.ErrorContext(r.Context(), "page failed", "path", r.URL.Path, "err", err)
	}
	if w.status != 0 {
		return
	}
	data := struct {
		frame
		*Problem
	}{frame{strconv.Itoa(p.Status) + " " + p.Title, DefaultTenant, ""}, p}
	if err := execute(w, p.Status, s.pages.failure, data); err != nil {
		s.problem(w, r, err)
	}
}
