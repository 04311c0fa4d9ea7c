package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/bundle"
)

// client talks to a gateway.
type client struct {
	server string
	tenant string
	token  string
	http   *http.Client
}

// maxTokenBytes bounds a token file of a caller.
const maxTokenBytes = 4096

func (c *cli) client() (*client, error) {
	address, err := url.Parse(c.server)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, configuration("--server "+c.server+" is not an HTTP address", "write one such as "+defaultServer)
	}
	cl := &client{server: strings.TrimRight(c.server, "/"), tenant: c.tenant, http: &http.Client{
		// A redirect would take the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, ResponseHeaderTimeout: 60 * time.Second, IdleConnTimeout: 30 * time.Second},
	}}
	if c.tokenFile != "" {
		data, err := c.readFile(c.tokenFile, maxTokenBytes)
		if err != nil {
			return nil, err
		}
		// The line of a gateway's own token file will do.
		if fields := strings.Fields(string(data)); len(fields) > 0 {
			cl.token = fields[0]
		} else {
			return nil, configuration("the token file is empty", "write the token into it")
		}
	}
	return cl, nil
}

// call is one request to the gateway.
type call struct {
	method string
	path   string
	query  url.Values
	header map[string]string
	body   any // JSON, or nil
}

// path joins the parts of a path, each of them escaped.
func path(parts ...string) string {
	var out strings.Builder
	for _, part := range parts {
		out.WriteString("/" + url.PathEscape(part))
	}
	return out.String()
}

// open sends a request and returns the answer if it is a success.
func (cl *client) open(ctx context.Context, in call) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if in.body != nil {
		data, ok := in.body.([]byte)
		if !ok {
			var err error
			if data, err = json.Marshal(in.body, json.Deterministic(true)); err != nil {
				return nil, fmt.Errorf("write request: %w", err)
			}
		}
		body = bytes.NewReader(data)
	}
	address := cl.server + in.path
	if len(in.query) > 0 {
		address += "?" + in.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, in.method, address, body)
	if err != nil {
		return nil, configuration("the request cannot be made: "+err.Error(), "check --server and the arguments")
	}
	request.Header.Set(api.HeaderTenant, cl.tenant)
	if in.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if cl.token != "" {
		request.Header.Set("Authorization", "Bearer "+cl.token)
	}
	for name, value := range in.header {
		request.Header.Set(name, value)
	}
	response, err := cl.http.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &unreachable{refuse(events.CodeUnavailable, "no gateway answers at "+cl.server+": "+rootCause(err).Error(), "start one with mandate up, or give --server")}
	}
	if response.StatusCode >= 300 {
		defer response.Body.Close() //nolint:errcheck // it was only read
		return nil, problem(response)
	}
	return response, nil
}

// unreachable is an error that may pass.
type unreachable struct{ error }

// Unwrap gives the refusal that it is told as.
func (u *unreachable) Unwrap() error { return u.error }

func rootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// problem reads what a gateway says about a failure.
func problem(response *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	var p api.Problem
	if err != nil || json.Unmarshal(data, &p) != nil || len(p.Diagnostics) == 0 {
		return refuse(events.CodeUnavailable, "the server answered "+response.Status+" and no explanation", "check that --server is a gateway of mandate")
	}
	refused := &refusal{p.Diagnostics}
	if response.StatusCode == http.StatusServiceUnavailable {
		return &unreachable{refused}
	}
	return refused
}

// do sends a request and reads the JSON of the answer.
func (cl *client) do(ctx context.Context, in call, into any) error {
	data, err := cl.bytes(ctx, in, bundle.MaxBytes)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return refuse(events.CodeUnavailable, "the answer of the server cannot be read: "+err.Error(), "check that --server is a gateway of this version")
	}
	return nil
}

// bytes sends a request and reads the answer within a bound.
func (cl *client) bytes(ctx context.Context, in call, most int64) ([]byte, error) {
	response, err := cl.open(ctx, in)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(response.Body, most+1))
	if err != nil {
		return nil, &unreachable{refuse(events.CodeUnavailable, "the answer of the server broke off: "+err.Error(), "try again")}
	}
	if int64(len(data)) > most {
		return nil, refuse(events.CodeUnavailable, "the answer of the server is too large", "ask for less")
	}
	return data, nil
}

func (cl *client) get(ctx context.Context, into any, query url.Values, parts ...string) error {
	return cl.do(ctx, call{method: http.MethodGet, path: path(parts...), query: query}, into)
}
