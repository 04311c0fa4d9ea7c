package app

import (
	"context"
	"slices"

	"github.com/oklog/ulid/v2"

	"example.org/mandate/internal/decider"
	"example.org/mandate/internal/projector"
	"example.org/mandate/internal/provider"
	"example.org/mandate/internal/provider/mcp"
	"example.org/mandate/internal/provider/process"
	"example.org/mandate/internal/reactor"
	"example.org/mandate/services/admission"
	"example.org/mandate/services/evaluator"
	"example.org/mandate/services/executor"
	"example.org/mandate/services/interpreter"
	"example.org/mandate/services/presenter"
)

// startServices starts the targets of the process. They meet only in the
// streams, so their order does not matter.
func (a *App) startServices(ctx context.Context) error {
	if slices.Contains(a.o.Targets, TargetGateway) {
		a.projector = projector.New(projector.Options{Streams: a.journal, Process: ulid.Make().String(), Clock: a.o.Clock, Logger: a.logger})
		a.background("projector", a.projector.Run)
	}
	router, err := reactor.NewRouter(reactor.RouterOptions{
		Journal: a.journal, Sealer: a.sealer, Clock: a.o.Clock, Logger: a.logger, DrainTimeout: a.o.DrainTimeout,
	})
	if err != nil {
		return err
	}
	listening := false
	for _, t := range a.o.Targets {
		if t == TargetGateway {
			continue
		}
		handler, err := a.service(t)
		if err != nil {
			return err
		}
		for _, l := range listensTo(t) {
			router.Listen(handler, l.source, l.types...)
		}
		listening = true
	}
	if !listening {
		return nil
	}
	a.background("router", router.Run)
	a.onStop("router", func(context.Context) error { return router.Close() })
	select {
	case <-router.Running():
		return nil
	case <-a.ctx.Done():
		return context.Cause(a.ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *App) service(t Target) (reactor.Handler, error) {
	switch t {
	case TargetAdmission:
		return service(a, admission.Core(), nil)
	case TargetInterpreter:
		return service(a, interpreter.Core(), nil)
	case TargetExecutor:
		caller, err := a.capabilities()
		if err != nil {
			return nil, err
		}
		return service(a, executor.Core(), caller)
	case TargetEvaluator:
		return service(a, evaluator.Core(), nil)
	case TargetPresenter:
		return service(a, presenter.Core(), nil)
	case TargetGateway:
	}
	return nil, nil
}

func service[S any](a *App, core decider.Core[S], caller reactor.Caller) (reactor.Handler, error) {
	s, err := reactor.New(core, reactor.Options{
		Streams: a.journal, Sealer: a.sealer, Registries: a.registries, Caller: caller,
		Writer: a.writer, Clock: a.o.Clock, Logger: a.logger,
	})
	if err != nil {
		return nil, err
	}
	if caller != nil {
		a.background("revocations", func(ctx context.Context) error {
			a.reconsider(ctx, s.Reconsider)
			return nil
		})
	}
	a.onStop(string(core.Owner), func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, a.o.DrainTimeout)
		defer cancel()
		return s.Close(ctx)
	})
	return s, nil
}

// reconsider calls f after every change of a registry, until ctx ends: a
// revocation also stops what is under way.
func (a *App) reconsider(ctx context.Context, f func(context.Context)) {
	_, seen := a.registries.Changed()
	for {
		changed, at := a.registries.Changed()
		if at != seen {
			seen = at
			f(ctx)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// capabilities returns the providers that the executor calls. Without a
// workspace nothing can be run on this machine.
func (a *App) capabilities() (reactor.Caller, error) {
	options := provider.Options{Builtin: provider.Slot{Provider: a.o.Builtin, Concurrency: 4096}, Now: a.o.Clock}
	if a.o.Workspace != "" {
		programs, err := process.New(process.Options{Workspace: a.o.Workspace, Now: a.o.Clock})
		if err != nil {
			return nil, err
		}

		tools, err := mcp.New(mcp.Options{Workspace: a.o.Workspace, Now: a.o.Clock})
		if err != nil {
			return nil, err
		}

		options.Process, options.MCP = provider.Slot{Provider: programs}, provider.Slot{Provider: tools}
	}
	set, err := provider.NewSet(options)
	if err != nil {
		return nil, err
	}
	a.onStop("providers", func(context.Context) error { return set.Close() })
	return set, nil
}
