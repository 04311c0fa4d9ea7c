package api

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParseTokens(t *testing.T) {
	a, b := strings.Repeat("a", 16), strings.Repeat("b", 40)
	callers, err := ParseTokens([]byte("# comment\n\n" + a + " ann\n\t" + b + "   bob  \n"))
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		"Bearer " + a: "ann", "Bearer " + b: "bob", "Bearer " + a + " ": "", "bearer " + a: "", "": "", "Bearer": "", "Bearer ann": "",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+b)): "bob", "Basic " + base64.StdEncoding.EncodeToString([]byte(b+":")): "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Authorization", header)
		if principal, ok := callers.principal(r); principal.ID != want || ok != (want != "") {
			t.Errorf("%q is %q", header, principal.ID)
		}
	}
	for name, file := range map[string]string{
		"empty": "", "comments": "# x\n", "no principal": a + "\n", "three fields": a + " ann x\n", "short": "secret ann\n",
		"everybody": a + " *\n", "long principal": a + " " + strings.Repeat("p", 65) + "\n", "too many": strings.Repeat(a+" ann\n", maxTokens+1),
		"long line": strings.Repeat("x", 1<<17),
	} {
		callers, err := ParseTokens([]byte(file))
		if err == nil || callers.validate() == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		if strings.Contains(err.Error(), a) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows a token: %v", name, err)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("0123456789abcdef ann\n"))
	f.Add([]byte("# x\n\n0123456789abcdef  bob"))
	f.Fuzz(func(t *testing.T, file []byte) {
		callers, err := ParseTokens(file)
		if (err == nil) != (callers.validate() == nil) {
			t.Errorf("error %v, callers %v", err, callers)
		}
	})
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:7420": true, "[::1]:80": true, "[::1]": true, "localhost": true, "LOCALHOST:1": true, "127.9.9.9:1": true,
		"": false, "example.org": false, "127.0.0.1.example.org": false, "localhost.example.org:1": false, "10.0.0.1:1": false, "0.0.0.0:1": false,
	} {
		if isLoopback(host) != want {
			t.Errorf("%q: %t", host, !want)
		}
	}
}

func FuzzCursor(f *testing.F) {
	for _, text := range []string{"", "admission.3-request.1", "request.9223372036854775807", "x.1", "request.1-request.2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parseCursor(text)
		if err != nil {
			return
		}
		again, err := parseCursor(c.String())
		if err != nil || again.String() != c.String() {
			t.Errorf("%q became %q and then %q, %v", text, c, again, err)
		}
		for owner, n := range c {
			if n > 0 && again[owner] != n {
				t.Errorf("%q: %s is %d and then %d", text, owner, n, again[owner])
			}
		}
	})
}

// TestRoutesAreWhole checks what the OpenAPI document is made from.
func TestRoutesAreWhole(t *testing.T) {
	s := &server{}
	names := map[string]bool{}
	for _, r := range s.routes() {
		if r.handle == nil || r.summary == "" || len(r.answers) == 0 || names[r.name] {
			t.Errorf("route %s is not whole, or its name is used twice", r.pattern())
		}
		names[r.name] = true
		if (r.body != nil) != (r.method == http.MethodPut || r.method == http.MethodPost && r.name != "rebuild" && r.name != "redeliver") {
			t.Errorf("route %s: body %T", r.pattern(), r.body)
		}
	}
}
