package app

import (
	"example.org/mandate/internal/bundle"
	"example.org/mandate/services/admission"
	"example.org/mandate/services/evaluator"
	"example.org/mandate/services/executor"
	"example.org/mandate/services/interpreter"
	"example.org/mandate/services/presenter"
)

// Replay folds a bundle through the five services as they are built here: no
// model, no capability, no clock.
func Replay(data []byte) (*bundle.Replayed, error) {
	return bundle.Replay(data,
		bundle.Core(admission.Core()), bundle.Core(interpreter.Core()), bundle.Core(executor.Core()),
		bundle.Core(evaluator.Core()), bundle.Core(presenter.Core()),
	)
}

// BundleSource is what bundles are collected from in this process.
func (a *App) BundleSource() bundle.Source {
	return bundle.Source{Chains: a.journal, Blobs: a.journal, Keys: a.keys}
}
