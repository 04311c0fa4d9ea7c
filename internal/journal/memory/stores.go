package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.org/mandate/events"
	"example.org/mandate/events/canon"
	"example.org/mandate/internal/journal"
)

// timersStream is the stream name in the records of fired timers.
const timersStream = "MANDATE_TIMERS"

type timerKey struct {
	run  events.Subject
	name string
}

// timers are the wake-ups that wait and those that fired.
type timers struct {
	waiting map[timerKey]journal.Timer
	fired   map[events.Owner][]fired
	count   uint64
	alarm   *time.Timer // for the earliest, on the real clock
}

type fired struct {
	timer  journal.Timer
	record events.Record
}

// Schedule implements [journal.Timers].
func (j *Journal) Schedule(_ context.Context, timer journal.Timer) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	if err := timer.Run.Validate(); err != nil {
		return fmt.Errorf("schedule %.80q: %w: %w", timer.Name, journal.ErrRefused, err)
	}
	if !events.ValidToken(timer.Name) || timer.At.IsZero() {
		return fmt.Errorf("schedule %.80q: %w: bad name or no time", timer.Name, journal.ErrRefused)
	}
	if j.timers.waiting == nil {
		j.timers.waiting = make(map[timerKey]journal.Timer)
	}
	j.timers.waiting[timerKey{timer.Run, timer.Name}] = timer
	j.arm()
	return nil
}

// CancelTimer implements [journal.Timers].
func (j *Journal) CancelTimer(_ context.Context, run events.Subject, name string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	delete(j.timers.waiting, timerKey{run, name})
	return nil
}

// NextTimer returns when the earliest timer is due, false if none waits.
func (j *Journal) NextTimer() (time.Time, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.nextTimer()
}

func (j *Journal) nextTimer() (at time.Time, ok bool) {
	for _, t := range j.timers.waiting {
		if !ok || t.At.Before(at) {
			at, ok = t.At, true
		}
	}
	return at, ok
}

// FireTimers fires every timer that is due at now, earliest first, and returns
// how many fired. They are then delivered to the consumers of timers.
func (j *Journal) FireTimers(now time.Time) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.usable() != nil {
		return 0
	}
	return j.fire(now)
}

func (j *Journal) fire(now time.Time) int {
	var due []journal.Timer
	for _, t := range j.timers.waiting {
		if !t.At.After(now) {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b journal.Timer) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Run.String(), b.Run.String()), cmp.Compare(a.Name, b.Name))
	})
	n := 0
	for _, t := range due {
		if j.chance(j.options.Faults.LateTimer) {
			continue
		}
		n++
		delete(j.timers.waiting, timerKey{t.Run, t.Name})
		j.addFired(t, now)
		if j.chance(j.options.Faults.DoubleTimer) {
			j.addFired(t, now)
		}
	}
	if n > 0 {
		j.changed()
	}
	return n
}

func (j *Journal) addFired(t journal.Timer, now time.Time) {
	if j.timers.fired == nil {
		j.timers.fired = make(map[events.Owner][]fired)
	}
	j.timers.count++
	j.timers.fired[t.Run.Owner] = append(j.timers.fired[t.Run.Owner], fired{timer: t, record: events.Record{
		Stream: timersStream, Sequence: j.timers.count, Stored: events.At(now), Subject: t.Run.String(),
	}})
}

// arm sets the real clock for the earliest timer.
func (j *Journal) arm() {
	if j.options.Simulated || j.closed {
		return
	}
	j.disarm()
	at, ok := j.nextTimer()
	if !ok {
		return
	}
	j.timers.alarm = time.AfterFunc(time.Until(at), func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if j.closed {
			return
		}
		j.fire(time.Now())
		j.arm()
	})
}

func (j *Journal) disarm() {
	if j.timers.alarm != nil {
		j.timers.alarm.Stop()
		j.timers.alarm = nil
	}
}

// PutBlob implements [journal.Blobs].
func (j *Journal) PutBlob(_ context.Context, digest events.Digest, data []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	if len(data) > journal.MaxBlobBytes || canon.Sum("blob", data) != digest {
		return fmt.Errorf("put blob %.80q of %d bytes: %w", digest, len(data), journal.ErrRefused)
	}
	if _, ok := j.blobs[digest]; !ok {
		j.blobs[digest] = bytes.Clone(data)
	}
	return nil
}

// Blob implements [journal.Blobs].
func (j *Journal) Blob(_ context.Context, digest events.Digest) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return nil, err
	}
	data, ok := j.blobs[digest]
	if !ok {
		return nil, fmt.Errorf("blob %.80q: %w", digest, journal.ErrNotFound)
	}
	return bytes.Clone(data), nil
}

// Value implements [journal.Values].
func (j *Journal) Value(_ context.Context, bucket journal.Bucket, key string) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return nil, err
	}
	value, ok := j.values[bucket][key]
	if !ok {
		return nil, fmt.Errorf("value %s %.200q: %w", bucket, key, journal.ErrNotFound)
	}
	return bytes.Clone(value), nil
}

// PutValue implements [journal.Values].
func (j *Journal) PutValue(_ context.Context, bucket journal.Bucket, key string, value []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	return j.put(bucket, key, value)
}

// CreateValue implements [journal.Values].
func (j *Journal) CreateValue(_ context.Context, bucket journal.Bucket, key string, value []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	if _, taken := j.values[bucket][key]; taken {
		return fmt.Errorf("create %s %.200q: %w", bucket, key, journal.ErrExists)
	}
	return j.put(bucket, key, value)
}

func (j *Journal) put(bucket journal.Bucket, key string, value []byte) error {
	if err := journal.CheckKey(bucket, key); err != nil {
		return err
	}
	if j.values[bucket] == nil {
		j.values[bucket] = make(map[string][]byte)
	}
	j.values[bucket][key] = bytes.Clone(value)
	return nil
}

// DeleteValue implements [journal.Values].
func (j *Journal) DeleteValue(_ context.Context, bucket journal.Bucket, key string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	delete(j.values[bucket], key)
	return nil
}

// ValueKeys implements [journal.Values].
func (j *Journal) ValueKeys(_ context.Context, bucket journal.Bucket) ([]string, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return nil, err
	}
	keys := make([]string, 0, len(j.values[bucket]))
	for key := range j.values[bucket] {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

// Park implements [journal.Parking]. Parking the same delivery of a reader
// again changes nothing.
func (j *Journal) Park(_ context.Context, parked journal.Parked) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return err
	}
	for _, p := range j.parked {
		if p.Reader == parked.Reader && p.Stream == parked.Stream && p.Sequence == parked.Sequence {
			return nil
		}
	}
	parked.ID = strconv.Itoa(len(j.parked) + 1)
	j.parked = append(j.parked, parked)
	return nil
}

// ParkedMessages implements [journal.Parking].
func (j *Journal) ParkedMessages(context.Context) ([]journal.Parked, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.step(); err != nil {
		return nil, err
	}
	return slices.Clone(j.parked), nil
}
