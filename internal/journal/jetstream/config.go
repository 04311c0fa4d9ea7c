package jetstream

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.org/mandate/events"
	"example.org/mandate/internal/journal"
)

// Names of the streams beside those of the owners.
const (
	StreamTimers = "MANDATE_TIMERS"
	StreamBlobs  = "MANDATE_BLOBS"
	StreamParked = "MANDATE_PARKED"
)

// Weaknesses that a production deployment may be told to accept.
const (
	WeakReplicas = "replicas" // fewer than three copies
	WeakSync     = "sync"     // acknowledged before it is on disk
)

// Reader is a service that consumes a source: it has one durable consumer per
// group of partitions.
type Reader struct {
	Name   string
	Source journal.Source
}

// Config describes the streams and how they are used. The same Config goes to
// [Provision] and to [Open].
type Config struct {
	Replicas        int   // copies of each stream: 1 or 3; default 1
	PartitionGroups int   // durables per reader and source, a divisor of 32; default 1
	MaxBytes        int64 // per owner's stream; default 1 GiB
	// MaxAckPending is how many deliveries of one partition may be in flight;
	// a group has the sum, but at most 1024. Default 128.
	MaxAckPending int
	AckWait       time.Duration // until a silent delivery comes again; default 10 s
	PinnedTTL     time.Duration // until a silent consumer loses its durable; default 4 s
	Readers       []Reader      // whose durables are made

	// Try is the wait for one answer of the broker; the call as a whole ends
	// with its context. Default 500 ms.
	Try time.Duration
	// SyncAlways says that the server syncs each message to disk before it
	// acknowledges. On one replica commits that wait together are then
	// grouped.
	SyncAlways bool
	// Production refuses fewer than three replicas and lazy sync, unless
	// Accept names the weakness.
	Production bool
	Accept     []string

	// More are further connections of the same identity. With some, publishes,
	// acknowledgments and reads do not wait behind one another.
	More []*nats.Conn

	// Logger gets alarms; default is the default logger.
	Logger *slog.Logger
	// Fatal is told what makes going on pointless: a permission violation, or
	// a closed connection. The process should end.
	Fatal func(error)
	// Alarm is told of a gap or a broken chain that stopped the consumption
	// of a group of partitions. It is logged in any case.
	Alarm func(error)
}

// maxGroupPending bounds what one durable has in flight.
const maxGroupPending = 1024

// withDefaults returns c with every zero field that has a default set.
func (c Config) withDefaults() Config {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	wait := func(field *time.Duration, value time.Duration) {
		if *field == 0 {
			*field = value
		}
	}
	set(&c.Replicas, 1)
	set(&c.PartitionGroups, 1)
	set(&c.MaxAckPending, 128)
	wait(&c.AckWait, 10*time.Second)
	wait(&c.PinnedTTL, 4*time.Second)
	wait(&c.Try, 500*time.Millisecond)
	if c.MaxBytes == 0 {
		c.MaxBytes = 1 << 30
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Fatal == nil {
		logger := c.Logger
		c.Fatal = func(err error) { logger.Error("journal cannot go on", "err", err) }
	}
	if c.Alarm == nil {
		c.Alarm = func(error) {}
	}
	return c
}

// validate reports everything that is wrong with a config after defaults.
func (c *Config) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5 {
		bad("replicas %d: want 1, 3 or 5", c.Replicas)
	}
	if c.PartitionGroups < 1 || events.Partitions%c.PartitionGroups != 0 {
		bad("partition groups %d: want a divisor of %d", c.PartitionGroups, events.Partitions)
	}
	if c.MaxAckPending < 1 || c.MaxBytes < 1<<20 {
		bad("max ack pending %d, max bytes %d: too small", c.MaxAckPending, c.MaxBytes)
	}
	if c.AckWait < time.Second || c.PinnedTTL < time.Second || c.Try < 10*time.Millisecond {
		bad("ack wait %v, pinned TTL %v, try %v: too short", c.AckWait, c.PinnedTTL, c.Try)
	}
	for _, r := range c.Readers {
		if !events.ValidToken(r.Name) || !r.Source.Owner.Valid() {
			bad("reader %.80q of owner %.80q", r.Name, r.Source.Owner)
		}
	}
	for _, weak := range c.Accept {
		if weak != WeakReplicas && weak != WeakSync {
			bad("accept %.80q: want %s or %s", weak, WeakReplicas, WeakSync)
		}
	}
	if c.Production {
		if c.Replicas < 3 && !slices.Contains(c.Accept, WeakReplicas) {
			errs = append(errs, &WeakError{Stream: "every stream", Field: "replicas", Got: c.Replicas, Want: 3})
		}
		if !c.SyncAlways && !slices.Contains(c.Accept, WeakSync) {
			errs = append(errs, &WeakError{Stream: "every stream", Field: "sync_always", Got: false, Want: true})
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("jetstream config: %w", errors.Join(errs...))
	}
	return nil
}

// duplicatesWindow is how long a stream remembers commit IDs.
const duplicatesWindow = 10 * time.Minute

// streams returns every stream as it must be, buckets included.
func (c *Config) streams() []jetstream.StreamConfig {
	var list []jetstream.StreamConfig
	for _, owner := range events.Owners() {
		list = append(list, c.ownerStream(owner))
	}
	list = append(list, c.timerStream(), c.blobStream(), c.parkedStream())
	for _, bucket := range []journal.Bucket{journal.BucketKeys, journal.BucketSnapshots, journal.BucketViews} {
		list = append(list, c.bucketStream(bucket))
	}
	return list
}

func (c *Config) ownerStream(owner events.Owner) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: owner.Stream(), Subjects: []string{"mandate.v1." + string(owner) + ".>"},
		Description: "Commits of " + string(owner),
		Storage:     jetstream.FileStorage, Replicas: c.Replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxBytes: c.MaxBytes, MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxConsumers: -1,
		MaxMsgSize: events.MaxCommitBytes + journal.MaxHeaderBytes,
		Duplicates: duplicatesWindow,
		DenyDelete: true, DenyPurge: true, AllowDirect: true, AllowAtomicPublish: true,
		Metadata: map[string]string{"mandate_partitions": strconv.Itoa(events.Partitions)},
	}
}

func (c *Config) timerStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: StreamTimers, Subjects: []string{"timer.sched.>", "timer.fired.>", "timer.cancelled.>"},
		Description: "Wake-ups that wait and that fired",
		Storage:     jetstream.FileStorage, Replicas: c.Replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		MaxBytes: -1, MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxConsumers: -1, MaxMsgSize: -1,
		Duplicates: duplicatesWindow, AllowRollup: true, AllowDirect: true,
		AllowMsgSchedules: true, AllowMsgTTL: true,
	}
}

func (c *Config) blobStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: StreamBlobs, Subjects: []string{"blob.*"},
		Description: "Sealed bodies by digest",
		Storage:     jetstream.FileStorage, Replicas: c.Replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
		MaxBytes: c.MaxBytes, MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxConsumers: -1,
		MaxMsgSize: journal.MaxBlobBytes + journal.MaxHeaderBytes,
		Duplicates: duplicatesWindow, DenyDelete: true, DenyPurge: true, AllowDirect: true,
	}
}

func (c *Config) parkedStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: StreamParked, Subjects: []string{"parked.>"},
		Description: "Deliveries that a reader could not handle",
		Storage:     jetstream.FileStorage, Replicas: c.Replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
		MaxBytes: c.MaxBytes, MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxConsumers: -1, MaxMsgSize: 64 << 10,
		Duplicates: duplicatesWindow, DenyDelete: true, DenyPurge: true, AllowDirect: true,
	}
}

// bucketStream is laid out as key-value buckets are, so that ordinary clients
// can read it.
func (c *Config) bucketStream(bucket journal.Bucket) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: "KV_" + string(bucket), Subjects: []string{"$KV." + string(bucket) + ".>"},
		Storage: jetstream.FileStorage, Replicas: c.Replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxBytes: -1, MaxMsgs: -1, MaxMsgsPerSubject: 1, MaxConsumers: -1, MaxMsgSize: -1,
		Duplicates: 2 * time.Minute, DenyDelete: true, AllowRollup: true, AllowDirect: true,
	}
}

// group is a range of partitions that one durable covers.
type group struct{ first, last int }

func (c *Config) groups() []group {
	size := events.Partitions / c.PartitionGroups
	groups := make([]group, c.PartitionGroups)
	for i := range groups {
		groups[i] = group{first: i * size, last: (i+1)*size - 1}
	}
	return groups
}

// durable returns the name of a reader's consumer of a group.
func durable(r Reader, g group) string {
	parts := []string{r.Name}
	if r.Source.Timers {
		parts = append(parts, string(r.Source.Owner))
	}
	if g.first == g.last {
		parts = append(parts, fmt.Sprintf("p%02d", g.first))
	} else {
		parts = append(parts, fmt.Sprintf("p%02d-%02d", g.first, g.last))
	}
	return strings.Join(parts, "-")
}

// streamOf returns the stream that a source is in.
func streamOf(source journal.Source) string {
	if source.Timers {
		return StreamTimers
	}
	return source.Owner.Stream()
}

// pinGroup is the one priority group of every durable.
const pinGroup = "owner"

// consumer returns the durable of a reader for a group.
func (c *Config) consumer(r Reader, g group) jetstream.ConsumerConfig {
	prefix := "mandate.v1."
	if r.Source.Timers {
		prefix = firedPrefix
	}
	config := jetstream.ConsumerConfig{
		Durable: durable(r, g), AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverAllPolicy,
		AckWait: c.AckWait, MaxDeliver: -1, MaxAckPending: c.groupPending(g),
		PriorityPolicy: jetstream.PriorityPolicyPinned, PriorityGroups: []string{pinGroup}, PinnedTTL: c.PinnedTTL,
	}
	switch {
	case g.last-g.first+1 == events.Partitions:
		config.FilterSubject = prefix + string(r.Source.Owner) + ".>"
	case g.first == g.last:
		config.FilterSubject = fmt.Sprintf("%s%s.%02d.>", prefix, r.Source.Owner, g.first)
	default:
		for p := g.first; p <= g.last; p++ {
			config.FilterSubjects = append(config.FilterSubjects, fmt.Sprintf("%s%s.%02d.>", prefix, r.Source.Owner, p))
		}
	}
	return config
}

func (c *Config) groupPending(g group) int {
	return min(c.MaxAckPending*(g.last-g.first+1), maxGroupPending)
}
