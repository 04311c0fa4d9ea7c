package api

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/policy"
)

// RoleOwner is the role that may always apply the policy of a tenant: so a
// tenant gets its first one, and is not locked out by a wrong one.
const RoleOwner = "owner"

// Callers says which principal a request is from. Without tokens everybody who
// reaches the gateway is Anonymous, for every tenant, with AnonymousRoles.
type Callers struct {
	Anonymous      string
	AnonymousRoles []string
	tokens         []token
}

// token is what a token stands for.
type token struct {
	digest [sha256.Size]byte
	caller
}

// caller is who a request is from.
type caller struct {
	principal  events.Principal
	roles      []string
	tenants    []string
	allTenants bool
}

// may reports whether the caller may act for a tenant.
func (c *caller) may(tenant string) bool { return c.allTenants || slices.Contains(c.tenants, tenant) }

// home is the tenant that is meant where none is named.
func (c *caller) home() string {
	if !c.may(DefaultTenant) && len(c.tenants) == 1 {
		return c.tenants[0]
	}
	return DefaultTenant
}

func (c *Callers) validate() error {
	if len(c.tokens) == 0 && c.Anonymous == "" {
		return errors.New("api: without tokens an anonymous principal is needed")
	}
	return nil
}

// Limits of a token file.
const (
	maxTokens       = 10_000
	minTokenBytes   = 16
	maxTokenTenants = 64
)

// ParseTokens reads a token file. A line is a token, a principal, and what the
// token is bound to, separated by spaces:
//
//	TOKEN PRINCIPAL tenants=acme,globex roles=operator,reader kind=service
//
// Without tenants it is bound to the tenant "default", and "*" is every tenant;
// without roles the principal has none; without kind it is a person. Empty
// lines and lines that begin with # are left out. An error never shows a token.
func ParseTokens(file []byte) (Callers, error) {
	var c Callers
	seen := map[[sha256.Size]byte]bool{}
	lines := bufio.NewScanner(bytes.NewReader(file))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if len(c.tokens) == maxTokens {
			return Callers{}, fmt.Errorf("more than %d tokens", maxTokens)
		}
		t, err := parseToken(strings.Fields(line))
		if err == nil && seen[t.digest] {
			err = errors.New("the token is there twice")
		}
		if err != nil {
			return Callers{}, fmt.Errorf("line %d: %w", number, err)
		}
		seen[t.digest] = true
		c.tokens = append(c.tokens, t)
	}
	if err := lines.Err(); err != nil {
		return Callers{}, err
	}
	if len(c.tokens) == 0 {
		return Callers{}, errors.New("no tokens")
	}
	return c, nil
}

func parseToken(fields []string) (token, error) {
	switch {
	case len(fields) < 2:
		return token{}, errors.New("not a token and a principal")
	case len(fields[0]) < minTokenBytes:
		return token{}, fmt.Errorf("the token has fewer than %d characters", minTokenBytes)
	case len(fields[1]) > events.MaxTokenBytes || fields[1] == "*" || strings.Contains(fields[1], "="):
		return token{}, fmt.Errorf("the principal is not a name of up to %d characters", events.MaxTokenBytes)
	}
	t := token{digest: sha256.Sum256([]byte(fields[0])), caller: caller{
		principal: events.Principal{ID: fields[1], Kind: events.PrincipalPerson}, tenants: []string{DefaultTenant},
	}}
	given := map[string]bool{}
	for i, field := range fields[2:] {
		name, value, ok := strings.Cut(field, "=")
		if !ok || given[name] {
			return token{}, fmt.Errorf("field %d is not NAME=VALUE, or its name is there twice", i+3)
		}
		given[name] = true
		if err := t.bind(name, value); err != nil {
			return token{}, fmt.Errorf("field %d: %w", i+3, err)
		}
	}
	return t, nil
}

// bind binds a token to what one field says.
func (t *token) bind(name, value string) error {
	values := strings.Split(value, ",")
	switch name {
	case "tenants":
		if value == "*" {
			t.tenants, t.allTenants = nil, true
			return nil
		}
		t.tenants = values
		return checkNames("tenant", values, maxTokenTenants)
	case "roles":
		t.roles = values
		return checkNames("role", values, policy.MaxRoles)
	case "kind":
		t.principal.Kind = events.PrincipalKind(value)
		if t.principal.Kind != events.PrincipalPerson && t.principal.Kind != events.PrincipalService {
			return errors.New("the kind is not person or service")
		}
		return nil
	}
	return errors.New("it is not tenants, roles or kind")
}

func checkNames(what string, names []string, most int) error {
	if len(names) > most {
		return fmt.Errorf("more than %d of them", most)
	}
	for i, name := range names {
		if !events.ValidToken(name) || slices.Contains(names[:i], name) {
			return fmt.Errorf("a %s is not a name of letters, digits, hyphens and underscores, or is there twice", what)
		}
	}
	return nil
}

// caller returns who a request is from. The time it takes does not depend on
// which token is right or how much of it.
func (c *Callers) caller(r *http.Request) (caller, bool) {
	if len(c.tokens) == 0 {
		return caller{
			principal: events.Principal{ID: c.Anonymous, Kind: events.PrincipalPerson}, roles: c.AnonymousRoles, allTenants: true,
		}, true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		// A browser asks for a password: the token is the password.
		if _, given, ok = r.BasicAuth(); !ok {
			return caller{}, false
		}
	}
	digest := sha256.Sum256([]byte(given))
	found := -1
	for i := range c.tokens {
		if subtle.ConstantTimeCompare(digest[:], c.tokens[i].digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return caller{}, false
	}
	return c.tokens[found].caller, true
}

// isLoopback reports whether a request names this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
