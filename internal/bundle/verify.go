package bundle

import (
	"fmt"
	"slices"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/sealing"
)

// Finding is one thing that does not hold, and where.
type Finding struct {
	Code    events.Code `json:"code"`
	Place   string      `json:"place"`
	Message string      `json:"message"`
}

// String returns the finding as one line.
func (f Finding) String() string { return f.Code.String() + " " + f.Place + ": " + f.Message }

// Report is the outcome of a verification.
type Report struct {
	Run      string    `json:"run"`
	Commits  int       `json:"commits"`
	Events   int       `json:"events"`
	Bodies   int       `json:"bodies"`
	Opened   int       `json:"opened"` // bodies whose content was checked
	Outcome  string    `json:"outcome,omitzero"`
	Complete bool      `json:"complete"` // concluded and presented
	Findings []Finding `json:"findings"`
}

// Holds reports whether everything that was checked holds.
func (r *Report) Holds() bool { return len(r.Findings) == 0 }

// verification is a bundle taken apart.
type verification struct {
	bundle  *Bundle
	report  *Report
	chains  map[events.Owner][]*events.Commit
	byID    map[string]*events.Commit
	digests map[events.Owner][]events.Digest // by number-1
}

// Verify checks a bundle by itself: chains, digests, causes, transitions,
// budgets, bodies, approvals, policies, the exactly-one rules and the terminal
// receipt. An error means that the bytes are no bundle.
func Verify(data []byte) (*Report, error) {
	b, err := Parse(data)
	if err != nil {
		return nil, err
	}
	v := &verification{
		bundle: b, report: &Report{Run: b.Run, Findings: []Finding{}}, chains: map[events.Owner][]*events.Commit{},
		byID: map[string]*events.Commit{}, digests: map[events.Owner][]events.Digest{},
	}
	if !b.whole() {
		v.find(events.CodeDigestMismatch, "bundle", "the digest of the bundle is not that of its content")
	}
	v.decode(b.Records, b.Run)
	v.decode(b.Registry, events.RegistryRun)
	v.heads()
	v.causes()
	v.bodies()
	v.exactlyOne()
	v.transitions()
	v.budgets()
	v.approvals()
	v.uses()
	v.authorizations()
	v.receipt()
	return v.report, nil
}

func (v *verification) find(code events.Code, place, format string, args ...any) {
	v.report.Findings = append(v.report.Findings, Finding{Code: code, Place: place, Message: fmt.Sprintf(format, args...)})
}

// decode reads the records of chains and checks each chain.
func (v *verification) decode(records []Record, run string) {
	heads := map[events.Owner]events.Head{}
	seen := map[string]bool{}
	for i, r := range records {
		place := fmt.Sprintf("%s sequence %d", r.Stream, r.Sequence)
		c, err := events.Decode(r.record())
		if err != nil {
			v.find(events.CodeCommitMalformed, place, "record %d cannot be read: %v", i, err)
			continue
		}
		place = fmt.Sprintf("%s commit %d (%s)", c.Subject.Owner, c.Number, c.ID)
		if c.Subject.Tenant != v.bundle.Tenant || c.Subject.Run != run || r.Stream != c.Subject.Owner.Stream() {
			v.find(events.CodeSubjectMismatch, place, "the commit is about %s in %s", c.Subject, r.Stream)
		}
		if err := events.CheckNext(heads[c.Subject.Owner], &c); err != nil {
			v.find(events.CodeChainBroken, place, "%v", err)
		}
		heads[c.Subject.Owner] = c.Head()
		if v.byID[c.ID] != nil {
			v.find(events.CodeExactlyOne, place, "the commit is there twice")
		}
		if names := r.Header[events.HeaderTypes]; names != c.Header()[events.HeaderTypes] {
			v.find(events.CodeDigestMismatch, place, "the header names other event types than the commit holds")
		}
		for _, e := range c.Events {
			if seen[e.ID] {
				v.find(events.CodeExactlyOne, place, "the event %s is there twice", e.ID)
			}
			seen[e.ID] = true
			if e.Subject != run || e.Source != "/mandate/"+string(c.Subject.Owner) || events.TypeOwner(e.Type()) != c.Subject.Owner {
				v.find(events.CodeSubjectMismatch, place, "the event %s is of another source", e.ID)
			}
		}
		v.byID[c.ID] = &c
		v.chains[c.Subject.Owner] = append(v.chains[c.Subject.Owner], &c)
		v.digests[c.Subject.Owner] = append(v.digests[c.Subject.Owner], c.Digest)
		v.report.Commits++
		v.report.Events += len(c.Events)
	}
}

// heads compares what is there with what was there at the export.
func (v *verification) heads() {
	for _, owner := range events.Owners() {
		want, chain := v.bundle.Heads[owner], v.chains[owner]
		var have events.Head
		if len(chain) > 0 {
			have = chain[len(chain)-1].Head()
		}
		if have != want {
			v.find(events.CodeChainBroken, string(owner), "the chain ends at commit %d; the bundle says %d", have.Number, want.Number)
		}
	}
}

// causes checks that every reaction has its cause, and comes after it.
func (v *verification) causes() {
	for _, owner := range v.bundle.owners() {
		for i, c := range v.chains[owner] {
			place := fmt.Sprintf("%s commit %d (%s)", owner, c.Number, c.ID)
			if first := v.first(); owner != events.OwnerRegistry && first != nil && c.Correlation != first.ID {
				v.find(events.CodeCauseMissing, place, "the commit belongs to another run's correlation")
			}
			switch {
			case strings.HasPrefix(c.Cause.Commit, "commit-"):
				cause := v.byID[c.Cause.Commit]
				if cause == nil {
					v.find(events.CodeCauseMissing, place, "the commit %s that it reacts to is missing", c.Cause.Commit)
				} else if n := len(cause.Events); n == 0 || cause.Events[n-1].ID != c.Cause.Event {
					v.find(events.CodeCauseMissing, place, "it reacts to an event that its cause does not have")
				}
			case strings.HasPrefix(c.Cause.Commit, "sha256:"):
				if !slices.Contains(v.digests[owner][:i], events.Digest(c.Cause.Commit)) {
					v.find(events.CodeCauseMissing, place, "the dispatch that it observed is missing")
				}
			}
		}
	}
}

func (v *verification) first() *events.Commit {
	if chain := v.chains[events.OwnerRequest]; len(chain) > 0 {
		return chain[0]
	}
	return nil
}

// bodies checks that every body that is named is there, and what it says where
// the key is.
func (v *verification) bodies() {
	for _, owner := range v.bundle.owners() {
		for _, c := range v.chains[owner] {
			place := fmt.Sprintf("%s commit %d (%s)", owner, c.Number, c.ID)
			sealed := map[events.Digest]events.SealedBody{}
			for _, s := range c.Sealed {
				sealed[s.Commitment] = s
			}
			for i := range c.Events {
				for _, body := range events.Bodies(c.Events[i].Data) {
					v.report.Bodies++
					s, ok := sealed[body.Commitment]
					if !ok {
						v.find(events.CodeContentUnavailable, place, "the body %s is named and not there", body.Commitment)
						continue
					}
					v.open(place, s, body)
				}
			}
		}
	}
}

func (v *verification) open(place string, s events.SealedBody, body *events.Body) {
	key, ok := v.bundle.Keys[s.Scope]
	if !ok {
		return
	}
	ciphertext := s.Ciphertext
	for _, digest := range s.Chunks {
		chunk, ok := v.bundle.Blobs[digest]
		if !ok {
			v.find(events.CodeContentUnavailable, place, "the blob %s is missing", digest)
			return
		}
		ciphertext = append(slices.Clip(ciphertext), chunk...)
	}
	salt, content, err := sealing.OpenBody(key, s, ciphertext)
	if err != nil {
		v.find(events.CodeDigestMismatch, place, "the body %s does not open: %v", body.Commitment, err)
		return
	}
	open, ok := body.WithContent(salt, content)
	if !ok {
		v.find(events.CodeDigestMismatch, place, "the body %s is not what was committed to", body.Commitment)
		return
	}
	*body = open
	v.report.Opened++
}

// payloads lists the data of every event of an owner.
func (v *verification) payloads(owner events.Owner) []events.Payload {
	var all []events.Payload
	for _, c := range v.chains[owner] {
		for i := range c.Events {
			all = append(all, c.Events[i].Data)
		}
	}
	return all
}

// all returns every event of a type of an owner.
func all[T events.Payload](v *verification, owner events.Owner) []T {
	var found []T
	for _, p := range v.payloads(owner) {
		if e, ok := p.(T); ok {
			found = append(found, e)
		}
	}
	return found
}
