package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/bundle"
)

// handler returns what the process serves: the gateway where that is among its
// targets, else probes.
func (a *App) handler() (http.Handler, error) {
	health := api.Health{Live: func() bool { return a.ctx.Err() == nil }, Ready: a.isReady, Start: a.o.Clock()}
	if !slices.Contains(a.o.Targets, TargetGateway) {
		return api.NewHealth(health)
	}
	callers, err := a.o.callers()
	if err != nil {
		return nil, err
	}
	fallback, err := a.o.fallbackPolicy()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(a.o.HTTPListen)
	if err != nil {
		return nil, fmt.Errorf("HTTP address %q: %w", a.o.HTTPListen, err)
	}
	return api.New(api.Options{
		Intake: a.intake, Views: a.projector, Registries: a.registries, Streams: a.journal, Parking: a.journal, Opener: a.sealer,
		Bundle: func(ctx context.Context, tenant, run string, content bool) ([]byte, error) {
			source := a.BundleSource()
			if !content {
				source.Keys = nil
			}
			return bundle.Collect(ctx, source, tenant, run, events.At(a.o.Clock()))
		},
		Health: health, Callers: callers, Fallback: fallback, LoopbackOnly: a.o.TokenFile == "" && isLoopback(host),
		Clock: a.o.Clock, Logger: a.logger,
	})
}

// isLoopback reports whether an address is of this machine only.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// callers says who may use the gateway.
func (o *Options) callers() (api.Callers, error) {
	if o.TokenFile == "" {
		callers := api.Callers{Anonymous: o.Principal}
		// Whoever is on this machine owns it; whoever comes over a network does not.
		if host, _, err := net.SplitHostPort(o.HTTPListen); err == nil && isLoopback(host) {
			callers.AnonymousRoles = []string{api.RoleOwner}
		}
		return callers, nil
	}
	data, err := os.ReadFile(o.TokenFile)
	if err != nil {
		return api.Callers{}, fmt.Errorf("token file: %w", err)
	}
	callers, err := api.ParseTokens(data)
	if err != nil {
		return api.Callers{}, fmt.Errorf("token file %s: %w", o.TokenFile, err)
	}
	return callers, nil
}

// Check reports what would make a start with o fail, as far as it can be seen
// without starting.
func (o *Options) Check() error {
	_, err := o.callers()
	return errors.Join(o.Validate(), err)
}

// isReady reports whether the process does what it is for.
func (a *App) isReady() bool {
	select {
	case <-a.ready:
	default:
		return false
	}
	if a.projector != nil {
		select {
		case <-a.projector.Ready():
		default:
			return false
		}
	}
	return a.ctx.Err() == nil && a.conn.IsConnected() && !a.broken.Load()
}

// AwaitReady waits until the process does what it is for.
func (a *App) AwaitReady(ctx context.Context) error {
	if a.projector == nil {
		return nil
	}
	select {
	case <-a.projector.Ready():
		return nil
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
