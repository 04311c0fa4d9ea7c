package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.org/mandate/events"
	"example.org/mandate/internal/cli/manifest"
	"example.org/mandate/internal/wording"
)

// The exit codes. They are part of the contract.
const (
	exitOK            = 0
	exitOther         = 1
	exitRejected      = 10
	exitUnresolved    = 11
	exitUnsupported   = 12
	exitInconclusive  = 13
	exitFailed        = 14
	exitCancelled     = 15
	exitIndeterminate = 16
	exitWaiting       = 20
	exitTimeout       = 21
)

// exitOf is the exit code of an outcome.
func exitOf(tag events.Tag) int {
	switch tag {
	case events.TagCompleted:
		return exitOK
	case events.TagRejected:
		return exitRejected
	case events.TagUnresolved:
		return exitUnresolved
	case events.TagUnsupported:
		return exitUnsupported
	case events.TagInconclusive:
		return exitInconclusive
	case events.TagFailed:
		return exitFailed
	case events.TagCancelled:
		return exitCancelled
	case events.TagIndeterminate:
		return exitIndeterminate
	}
	return exitOther
}

// exitError ends the command with a code; nothing went wrong with the command
// itself.
type exitError struct {
	code    int
	message string
}

// Error implements the error interface.
func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

func exitWith(code int, message string) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code, message}
}

// refusal is an error with its diagnostics.
type refusal struct {
	diagnostics []events.Diagnostic
}

// Error implements the error interface.
func (r *refusal) Error() string { return r.diagnostics[0].String() }

func refuse(code events.Code, message, action string) error {
	return &refusal{[]events.Diagnostic{{Code: code, Message: message, Action: action}}}
}

func configuration(message, action string) error {
	return refuse(events.CodeConfiguration, message, action)
}

// usageError is a mistake in how a command was called.
type usageError struct{ message, action string }

// Error implements the error interface.
func (u *usageError) Error() string { return u.message }

func usage(message, action string) error { return &usageError{message, action} }

// explain prints an error: one line with the code, what happened and what to
// do, for every diagnostic.
func (c *cli) explain(command *cobra.Command, err error) {
	for _, d := range diagnostics(command, err) {
		c.note("error: " + wording.Line(strings.Join(strings.Fields(d.String()), " ")))
	}
}

func diagnostics(command *cobra.Command, err error) []events.Diagnostic {
	one := func(code events.Code, message, action string) []events.Diagnostic {
		return []events.Diagnostic{{Code: code, Message: message, Action: action}}
	}
	var refused *refusal
	var wrong *usageError
	var mistake *manifest.Error
	switch {
	case errors.As(err, &refused):
		return refused.diagnostics
	case errors.As(err, &wrong):
		return one(events.CodeConfiguration, wrong.message, wrong.action)
	case errors.As(err, &mistake):
		return one(events.CodeRequestMalformed, mistake.Error(), "")
	case errors.Is(err, context.Canceled):
		return one(events.CodeCancelled, "interrupted", "")
	}
	// What is left is a mistake that the flags' own parser found, or a failure
	// of a process that was started here.
	return one(events.CodeConfiguration, err.Error(), "see "+command.CommandPath()+" --help")
}
