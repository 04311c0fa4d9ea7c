package api

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"example.org/mandate/events"
)

func TestParseTokens(t *testing.T) {
	a, b, c := strings.Repeat("a", 16), strings.Repeat("b", 40), strings.Repeat("c", 16)
	callers, err := ParseTokens([]byte("# comment\n\n" + a + " ann\n\t" + b + "   bob  tenants=acme,globex roles=operator,reader kind=service\n" + c + " carol roles=owner tenants=*\n"))
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		"Bearer " + a: "ann", "Bearer " + b: "bob", "Bearer " + a + " ": "", "bearer " + a: "", "": "", "Bearer": "", "Bearer ann": "",
		"Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+b)): "bob", "Basic " + base64.StdEncoding.EncodeToString([]byte(b+":")): "",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		r.Header.Set("Authorization", header)
		if from, ok := callers.caller(r); from.principal.ID != want || ok != (want != "") {
			t.Errorf("%q is %q", header, from.principal.ID)
		}
	}
	ann, bob, carol := callers.tokens[0].caller, callers.tokens[1].caller, callers.tokens[2].caller
	if ann.principal.Kind != events.PrincipalPerson || len(ann.roles) > 0 || !ann.may(DefaultTenant) || ann.may("acme") || ann.home() != DefaultTenant {
		t.Errorf("a token that says nothing else: %+v", ann)
	}
	if bob.principal.Kind != events.PrincipalService || !slices.Equal(bob.roles, []string{"operator", "reader"}) || !bob.may("acme") || !bob.may("globex") || bob.may(DefaultTenant) || bob.may("") || bob.may("*") {
		t.Errorf("a token of two tenants: %+v", bob)
	}
	if !carol.may("acme") || !carol.may(DefaultTenant) || !slices.Equal(carol.roles, []string{RoleOwner}) {
		t.Errorf("a token of every tenant: %+v", carol)
	}
	for name, file := range map[string]string{
		"empty": "", "comments": "# x\n", "no principal": a + "\n", "a third word": a + " ann x\n", "short": "secret ann\n",
		"everybody": a + " *\n", "long principal": a + " " + strings.Repeat("p", 65) + "\n", "too many": numbered(maxTokens + 1),
		"long line": strings.Repeat("x", 1<<17), "twice": a + " ann\n" + a + " bob\n", "no name": a + " tenants=acme\n",
		"no tenant": a + " ann tenants=\n", "an empty tenant": a + " ann tenants=acme,\n", "a tenant twice": a + " ann tenants=x,x\n",
		"a tenant that is none": a + " ann tenants=a.b\n", "everything and more": a + " ann tenants=*,x\n", "no role": a + " ann roles=\n",
		"a role of everything": a + " ann roles=*\n", "roles twice": a + " ann roles=x roles=y\n", "another field": a + " ann group=x\n",
		"another kind": a + " ann kind=root\n", "too many roles": a + " ann roles=" + strings.Repeat("x,", 40) + "x\n",
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

func numbered(n int) string {
	var file strings.Builder
	for i := range n {
		fmt.Fprintf(&file, "%016d ann\n", i)
	}
	return file.String()
}

func FuzzParseTokens(f *testing.F) {
	f.Add([]byte("0123456789abcdef ann\n"))
	f.Add([]byte("# x\n\n0123456789abcdef  bob"))
	f.Add([]byte("0123456789abcdef ann tenants=a,b roles=c kind=service\n0123456789abcdeg bob tenants=*"))
	f.Fuzz(func(t *testing.T, file []byte) {
		callers, err := ParseTokens(file)
		if (err == nil) != (callers.validate() == nil) {
			t.Errorf("error %v, callers %v", err, callers)
		}
		for _, token := range callers.tokens {
			if token.may("") && !token.allTenants || token.principal.ID == "" || !token.allTenants && len(token.tenants) == 0 {
				t.Errorf("a token that is bound to nothing: %+v", token.caller)
			}
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
