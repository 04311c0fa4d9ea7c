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
	"strings"

	"example.org/mandate/events"
)

// Callers says which principal a request is from. Without tokens everybody who
// reaches the gateway is Anonymous.
type Callers struct {
	Anonymous string
	tokens    []token
}

type token struct {
	digest    [sha256.Size]byte
	principal string
}

func (c *Callers) validate() error {
	if len(c.tokens) == 0 && c.Anonymous == "" {
		return errors.New("api: without tokens an anonymous principal is needed")
	}
	return nil
}

// Limits of a token file.
const (
	maxTokens     = 10_000
	minTokenBytes = 16
)

// ParseTokens reads a token file: a token and a principal a line, separated by
// spaces. Empty lines and lines that begin with # are left out. An error never
// shows a token.
func ParseTokens(file []byte) (Callers, error) {
	var c Callers
	lines := bufio.NewScanner(bytes.NewReader(file))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		switch {
		case len(fields) != 2:
			return Callers{}, fmt.Errorf("line %d: not a token and a principal", number)
		case len(fields[0]) < minTokenBytes:
			return Callers{}, fmt.Errorf("line %d: the token has fewer than %d characters", number, minTokenBytes)
		case len(fields[1]) > events.MaxTokenBytes || fields[1] == "*":
			return Callers{}, fmt.Errorf("line %d: the principal is not a name of up to %d characters", number, events.MaxTokenBytes)
		case len(c.tokens) == maxTokens:
			return Callers{}, fmt.Errorf("more than %d tokens", maxTokens)
		}
		c.tokens = append(c.tokens, token{sha256.Sum256([]byte(fields[0])), fields[1]})
	}
	if err := lines.Err(); err != nil {
		return Callers{}, err
	}
	if len(c.tokens) == 0 {
		return Callers{}, errors.New("no tokens")
	}
	return c, nil
}

// principal returns who a request is from. The time it takes does not depend
// on which token is right or how much of it.
func (c *Callers) principal(r *http.Request) (events.Principal, bool) {
	if len(c.tokens) == 0 {
		return events.Principal{ID: c.Anonymous, Kind: events.PrincipalPerson}, true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		// A browser asks for a password: the token is the password.
		if _, given, ok = r.BasicAuth(); !ok {
			return events.Principal{}, false
		}
	}
	digest := sha256.Sum256([]byte(given))
	found := ""
	for i := range c.tokens {
		if subtle.ConstantTimeCompare(digest[:], c.tokens[i].digest[:]) == 1 {
			found = c.tokens[i].principal
		}
	}
	return events.Principal{ID: found, Kind: events.PrincipalPerson}, found != ""
}

// isLoopback reports whether a request names this machine.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
