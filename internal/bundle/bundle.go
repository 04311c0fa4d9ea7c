// Package bundle takes everything recorded about a run out of the streams, so
// that it can be checked and replayed without them.
//
// This package reads the journal only in [Collect]; verification and replay
// are functions of the bundle's bytes.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/jsonvalue"
)

// Format is the name and version of the format.
const Format = "mandate.bundle.v1"

// MaxBytes bounds a bundle that is read.
const MaxBytes = 256 << 20

// Bundle is what was recorded about one run, and the registry it ran under.
type Bundle struct {
	Format   string       `json:"format"`
	Tenant   string       `json:"tenant"`
	Run      string       `json:"run"`
	Exported events.Time  `json:"exported"`
	Heads    events.Heads `json:"heads"` // of every chain when it was exported
	Records  []Record     `json:"records"`
	Registry []Record     `json:"registry"`
	// Blobs are large sealed bodies by digest.
	Blobs map[events.Digest][]byte `json:"blobs,omitzero"`
	// Keys are the data keys by scope, if whoever exported may read content.
	Keys map[string][]byte `json:"keys,omitzero"`
	// Digest is over the canonical JSON of everything else.
	Digest events.Digest `json:"digest,omitzero"`
}

// Record is a stored commit.
type Record struct {
	Stream   string            `json:"stream"`
	Sequence uint64            `json:"sequence"`
	Stored   events.Time       `json:"stored"`
	Subject  string            `json:"subject"`
	Header   map[string]string `json:"header"`
	Data     []byte            `json:"data"`
}

func (r Record) record() events.Record {
	return events.Record{Stream: r.Stream, Sequence: r.Sequence, Stored: r.Stored, Subject: r.Subject, Header: r.Header, Data: r.Data}
}

// Keys finds data keys.
type Keys interface {
	Key(ctx context.Context, scope string) ([]byte, error)
}

// Source is what a bundle is collected from. Keys may be nil: then the content
// stays sealed.
type Source struct {
	Chains journal.Loader
	Blobs  journal.Blobs
	Keys   Keys
}

// ErrUnknownRun is returned for a run that nothing is recorded about.
var ErrUnknownRun = errors.New("bundle: no such run")

// Collect returns the bundle of a run as JSON.
func Collect(ctx context.Context, from Source, tenant, run string, now events.Time) ([]byte, error) {
	b := &Bundle{Format: Format, Tenant: tenant, Run: run, Exported: now, Heads: events.Heads{}}
	for _, owner := range events.Owners() {
		subject := events.Subject{Owner: owner, Tenant: tenant, Run: run}
		if owner == events.OwnerRegistry {
			subject.Run = events.RegistryRun
		}
		if err := subject.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnknownRun, err)
		}
		records, err := from.Chains.Load(ctx, subject, 0)
		if err != nil {
			return nil, fmt.Errorf("collect %s: %w", subject, err)
		}
		for _, r := range records {
			c, err := events.Decode(r)
			if err != nil {
				return nil, fmt.Errorf("collect %s: %w", subject, err)
			}
			out := Record{Stream: r.Stream, Sequence: r.Sequence, Stored: r.Stored, Subject: r.Subject, Header: commitHeader(&c), Data: r.Data}
			b.Heads[owner] = c.Head()
			if owner == events.OwnerRegistry {
				b.Registry = append(b.Registry, out)
				continue
			}
			b.Records = append(b.Records, out)
			if err := b.attach(ctx, from, &c); err != nil {
				return nil, err
			}
		}
	}
	if len(b.Records) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrUnknownRun, run)
	}
	return Encode(b)
}

// commitHeader keeps what belongs to the commit, not what the broker added.
func commitHeader(c *events.Commit) map[string]string { return c.Header() }

func (b *Bundle) attach(ctx context.Context, from Source, c *events.Commit) error {
	for _, sealed := range c.Sealed {
		for _, digest := range sealed.Chunks {
			data, err := from.Blobs.Blob(ctx, digest)
			if errors.Is(err, journal.ErrNotFound) {
				continue // verification says so
			}
			if err != nil {
				return fmt.Errorf("collect blob %s: %w", digest, err)
			}
			if b.Blobs == nil {
				b.Blobs = map[events.Digest][]byte{}
			}
			b.Blobs[digest] = data
		}
		if _, have := b.Keys[sealed.Scope]; have || from.Keys == nil {
			continue
		}
		key, err := from.Keys.Key(ctx, sealed.Scope)
		if err != nil {
			continue // erased, or never there: the content stays sealed
		}
		if b.Keys == nil {
			b.Keys = map[string][]byte{}
		}
		b.Keys[sealed.Scope] = key
	}
	return nil
}

// Encode returns the bytes of b, with its digest made right.
func Encode(b *Bundle) ([]byte, error) {
	b.Digest = ""
	data, err := canon.JSON(b)
	if err != nil {
		return nil, fmt.Errorf("encode bundle: %w", err)
	}
	b.Digest = canon.Sum("bundle", data)
	return canon.JSON(b)
}

// Parse reads a bundle strictly.
func Parse(data []byte) (*Bundle, error) {
	limits := jsonvalue.Limits{Bytes: MaxBytes, Depth: 8, Tokens: 4_000_000}
	if err := jsonvalue.Scan(data, limits); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	var b Bundle
	if err := json.Unmarshal(data, &b, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	if b.Format != Format {
		return nil, fmt.Errorf("bundle: format %.40q, this build reads %s", b.Format, Format)
	}
	return &b, nil
}

// whole reports whether the digest of the bundle is right.
func (b *Bundle) whole() bool {
	c := *b
	c.Digest = ""
	data, err := canon.JSON(&c)
	return err == nil && canon.Sum("bundle", data) == b.Digest
}

// owners lists the owners that have a chain in the bundle, in their order.
func (b *Bundle) owners() []events.Owner {
	have := slices.Collect(maps.Keys(b.Heads))
	return slices.DeleteFunc(events.Owners(), func(o events.Owner) bool { return !slices.Contains(have, o) })
}
