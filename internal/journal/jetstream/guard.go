package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// WeakError says that a stream promises less than it must.
type WeakError struct {
	Stream string
	Field  string
	Got    any
	Want   any
}

// Error implements error.
func (e *WeakError) Error() string {
	return fmt.Sprintf("stream %s is weaker than configured: %s is %v, want %v", e.Stream, e.Field, e.Got, e.Want)
}

// weaknesses compares a stream as it is with what it must be.
func weaknesses(want, got *jetstream.StreamConfig) error {
	var errs []error
	must := func(ok bool, field string, got, wanted any) {
		if !ok {
			errs = append(errs, &WeakError{Stream: want.Name, Field: field, Got: got, Want: wanted})
		}
	}
	same := func(field string, got, want any) { must(got == want, field, got, want) }
	same("storage", got.Storage, want.Storage)
	must(got.Replicas >= want.Replicas, "replicas", got.Replicas, want.Replicas)
	same("retention", got.Retention, want.Retention)
	same("discard", got.Discard, want.Discard)
	same("discard new per subject", got.DiscardNewPerSubject, want.DiscardNewPerSubject)
	must(slices.Equal(got.Subjects, want.Subjects), "subjects", got.Subjects, want.Subjects)
	same("max age", got.MaxAge, want.MaxAge)
	same("max messages", got.MaxMsgs, want.MaxMsgs)
	same("max messages per subject", got.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	must(got.MaxMsgSize < 0 || want.MaxMsgSize >= 0 && got.MaxMsgSize >= want.MaxMsgSize, "max message size", got.MaxMsgSize, want.MaxMsgSize)
	must(want.MaxBytes < 0 && got.MaxBytes < 0 || want.MaxBytes > 0 && got.MaxBytes >= want.MaxBytes, "max bytes", got.MaxBytes, want.MaxBytes)
	must(got.Duplicates >= want.Duplicates, "duplicates window", got.Duplicates.Round(time.Second), want.Duplicates)
	must(got.DenyDelete || !want.DenyDelete, "deny delete", got.DenyDelete, want.DenyDelete)
	must(got.DenyPurge || !want.DenyPurge, "deny purge", got.DenyPurge, want.DenyPurge)
	must(got.AllowDirect || !want.AllowDirect, "allow direct", got.AllowDirect, want.AllowDirect)
	must(got.AllowAtomicPublish || !want.AllowAtomicPublish, "allow atomic publish", got.AllowAtomicPublish, want.AllowAtomicPublish)
	same("allow rollup", got.AllowRollup, want.AllowRollup)
	same("allow message TTL", got.AllowMsgTTL, want.AllowMsgTTL)
	same("allow schedules", got.AllowMsgSchedules, want.AllowMsgSchedules)
	same("allow counters", got.AllowMsgCounter, false)
	same("allow fast ingest", got.AllowBatchPublish, false)
	same("persist mode", got.PersistMode, want.PersistMode)
	same("no ack", got.NoAck, false)
	same("sealed", got.Sealed, false)
	must(got.Mirror == nil && len(got.Sources) == 0, "sources", "some", "none")
	must(got.SubjectTransform == nil, "subject transform", "some", "none")
	must(got.RePublish == nil, "republish", "some", "none")
	for key, value := range want.Metadata {
		same("metadata "+key, got.Metadata[key], value)
	}
	return errors.Join(errs...)
}

// guard refuses to work on streams that are missing or weaker than configured.
func guard(ctx context.Context, js jetstream.JetStream, config *Config) error {
	var errs []error
	for _, want := range config.streams() {
		var got jetstream.StreamConfig
		err := untilAnswered(ctx, func(ctx context.Context) error {
			stream, err := js.Stream(ctx, want.Name)
			if err == nil {
				got = stream.CachedInfo().Config
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("look at stream %s: %w", want.Name, err)
		}
		errs = append(errs, weaknesses(&want, &got))
	}
	return errors.Join(errs...)
}
