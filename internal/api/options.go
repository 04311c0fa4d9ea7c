package api

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/internal/intake"
	"example.org/mandate/internal/journal"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/registry"
	"example.org/mandate/projections/runs"
	"example.org/mandate/projections/timeline"
)

// Intake records what people ask.
type Intake interface {
	SubmitAs(ctx context.Context, s intake.Submitting) (intake.Submission, error)
	RequestCancel(ctx context.Context, tenant, run string, requested events.CancelRequested) error
	DecideApproval(ctx context.Context, tenant, run string, decided events.ApprovalDecided) error
	Apply(ctx context.Context, tenant string, principal events.Principal, resources []intake.Resource, dryRun bool) ([]intake.Applied, error)
	Revoke(ctx context.Context, tenant string, principal events.Principal, name, reason string) error
}

// Views are the projections that the gateway reads.
type Views interface {
	View(ctx context.Context, key projector.Key) (runs.View, error)
	Timeline(ctx context.Context, key projector.Key) (timeline.View, error)
	Rows(q projector.Query) (rows []projector.Row, more bool)
	Waiting(tenant, interaction string) (projector.Row, runs.Waiting, bool)
	// Ready is closed when the views are what was recorded before the start.
	Ready() <-chan struct{}
	Changed() <-chan struct{}
	Rebuild(ctx context.Context) ([]projector.Rebuilt, error)
}

// Registries give the registry of a tenant.
type Registries interface {
	View(ctx context.Context, tenant string, epoch uint64) (registry.View, error)
}

// Streams are where recorded events are read.
type Streams interface {
	journal.Loader
	journal.Reader
}

// Opener opens the sealed bodies of a commit.
type Opener interface {
	Open(ctx context.Context, c *events.Commit) error
}

// Options of the gateway.
type Options struct {
	Intake     Intake
	Views      Views
	Registries Registries
	Streams    Streams
	Parking    journal.Parking
	Opener     Opener
	// Bundle returns everything recorded about a run, with the keys to its
	// content if content is set. bundle.ErrUnknownRun means that nothing is.
	Bundle func(ctx context.Context, tenant, run string, content bool) ([]byte, error)

	Health Health
	// Callers says who a request is from.
	Callers Callers
	// Fallback decides for tenants without a policy of their own, nil refuses.
	Fallback *policy.Policy
	// LoopbackOnly refuses requests that name another host than this machine:
	// a page elsewhere could make a browser send them.
	LoopbackOnly bool

	Clock  func() time.Time
	Logger *slog.Logger
}

func (o *Options) validate() error {
	if o.Intake == nil || o.Views == nil || o.Registries == nil || o.Streams == nil || o.Parking == nil || o.Opener == nil || o.Bundle == nil {
		return errors.New("api: intake, views, registries, streams, parking, opener and bundle are needed")
	}
	if o.Clock == nil || o.Logger == nil {
		return errors.New("api: clock and logger are needed")
	}
	return errors.Join(o.Health.validate(), o.Callers.validate())
}
