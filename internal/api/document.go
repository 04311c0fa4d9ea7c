package api

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/render/html"
	"example.org/mandate/internal/render/markdown"
	"example.org/mandate/internal/render/text"
)

// document opens a document of a run: pick returns the body that holds it from
// an event of the presenter, or false.
func (s *server) document(c *call, key projector.Key, pick func(events.Payload) (events.Body, bool)) (*events.Document, error) {
	subject := events.Subject{Owner: events.OwnerPresenter, Tenant: key.Tenant, Run: key.Run}
	records, err := s.o.Streams.Load(c.Context(), subject, 0)
	if err != nil {
		return nil, fmt.Errorf("load documents of %s: %w", key.Run, err)
	}
	for _, record := range slices.Backward(records) {
		commit, err := events.Decode(record)
		if err != nil {
			return nil, fmt.Errorf("load documents of %s: %w", key.Run, err)
		}
		for j := range commit.Events {
			if _, ok := pick(commit.Events[j].Data); !ok {
				continue
			}
			if err := s.o.Opener.Open(c.Context(), &commit); err != nil {
				return nil, fmt.Errorf("open document of %s: %w", key.Run, err)
			}
			body, _ := pick(commit.Events[j].Data)
			return read(body)
		}
	}
	return nil, notFound(events.CodeContentUnavailable, "there is no document yet", "wait until the run has ended; see mandate run get")
}

func read(body events.Body) (*events.Document, error) {
	content, open := body.Content()
	if !open {
		return nil, fail(http.StatusGone, events.Diagnostic{
			Code: events.CodeContentUnavailable, Message: "the content was erased or cannot be opened here", Action: "nothing brings it back if it was erased",
		})
	}
	var d events.Document
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return &d, nil
}

func finalDocument(p events.Payload) (events.Body, bool) {
	if e, ok := p.(*events.DocumentPresented); ok {
		return e.Document, true
	}
	return events.Body{}, false
}

func interactionDocument(id string) func(events.Payload) (events.Body, bool) {
	return func(p events.Payload) (events.Body, bool) {
		if e, ok := p.(*events.InteractionPresented); ok && e.Interaction == id {
			return e.Document, true
		}
		return events.Body{}, false
	}
}

func (s *server) getDocument(c *call) error {
	key, v, err := s.view(c)
	if err != nil {
		return err
	}
	if err := s.mayRead(c, runOf(key, v)); err != nil {
		return err
	}
	d, err := s.document(c, key, finalDocument)
	if err != nil {
		return err
	}
	return c.show(d)
}

// show answers with a document as the surface that was asked for.
func (c *call) show(d *events.Document) error {
	var media string
	var data []byte
	switch c.URL.Query().Get("surface") {
	case "", "json":
		return c.reply(http.StatusOK, d)
	case "html":
		media, data = "text/html; charset=utf-8", html.Render(*d)
	case "markdown":
		media, data = "text/markdown; charset=utf-8", markdown.Render(*d)
	case "text":
		media, data = "text/plain; charset=utf-8", text.Render(*d)
	default:
		return fail(http.StatusBadRequest, events.Diagnostic{
			Code: events.CodeRequestMalformed, Path: "surface", Message: "there is no such surface", Action: "use html, markdown, text or json",
		})
	}
	c.send(media, data)
	return nil
}
