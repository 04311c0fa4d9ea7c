package events

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
)

// Owner is the one writer of a stream.
type Owner string

// The owners, one stream each.
const (
	OwnerRequest     Owner = "request"
	OwnerRegistry    Owner = "registry"
	OwnerAdmission   Owner = "admission"
	OwnerInterpreter Owner = "interpreter"
	OwnerExecutor    Owner = "executor"
	OwnerEvaluator   Owner = "evaluator"
	OwnerPresenter   Owner = "presenter"
)

// Owners lists every owner in the order in which a run usually meets them.
func Owners() []Owner {
	return []Owner{
		OwnerRegistry, OwnerRequest, OwnerAdmission, OwnerInterpreter,
		OwnerExecutor, OwnerEvaluator, OwnerPresenter,
	}
}

// Stream returns the name of the owner's stream, such as MANDATE_ADMISSION.
func (o Owner) Stream() string { return "MANDATE_" + strings.ToUpper(string(o)) }

// Valid reports whether o is one of [Owners].
func (o Owner) Valid() bool {
	switch o {
	case OwnerRequest, OwnerRegistry, OwnerAdmission, OwnerInterpreter, OwnerExecutor, OwnerEvaluator, OwnerPresenter:
		return true
	}
	return false
}

// Partitions is how many partitions the runs of a deployment are spread over.
// It is fixed: every writer computes it and every reader checks it.
const Partitions = 32

// RegistryRun is the run token under which a tenant's registry is kept: the
// registry is one chain per tenant.
const RegistryRun = "registry"

// MaxTokenBytes bounds a tenant or run token.
const MaxTokenBytes = 64

// ErrSubject is returned for a subject outside the layout.
var ErrSubject = errors.New("events: not a commit subject")

// Subject names the chain of one owner about one run of one tenant.
type Subject struct {
	Owner  Owner
	Tenant string
	Run    string
}

// Partition returns fnv32a(tenant "/" run) mod [Partitions].
func (s Subject) Partition() int { return PartitionOf(s.Tenant, s.Run) }

// PartitionOf returns the partition of a run.
func PartitionOf(tenant, run string) int {
	h := fnv.New32a()
	h.Write([]byte(tenant))
	h.Write([]byte{'/'})
	h.Write([]byte(run))
	return int(h.Sum32() % Partitions)
}

// String returns mandate.v1.<owner>.<partition>.<tenant>.<run>.
func (s Subject) String() string {
	return fmt.Sprintf("mandate.v1.%s.%02d.%s.%s", s.Owner, s.Partition(), s.Tenant, s.Run)
}

// With returns the subject of another owner about the same run.
func (s Subject) With(owner Owner) Subject { s.Owner = owner; return s }

// Validate checks that s can be written as a subject.
func (s Subject) Validate() error {
	if !s.Owner.Valid() {
		return fmt.Errorf("%w: owner %.80q", ErrSubject, s.Owner)
	}
	if !ValidToken(s.Tenant) || !ValidToken(s.Run) {
		return fmt.Errorf("%w: tenant %.80q, run %.80q", ErrSubject, s.Tenant, s.Run)
	}
	return nil
}

// ValidToken reports whether s can stand as a tenant or a run in a subject:
// 1 to [MaxTokenBytes] of A–Z, a–z, 0–9, "-" and "_".
func ValidToken(s string) bool {
	if s == "" || len(s) > MaxTokenBytes {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// ParseSubject is the inverse of [Subject.String]. A partition that does not
// follow from tenant and run is an error.
func ParseSubject(text string) (Subject, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 6 || parts[0] != "mandate" || parts[1] != "v1" {
		return Subject{}, fmt.Errorf("%w: %.120q", ErrSubject, text)
	}
	s := Subject{Owner: Owner(parts[2]), Tenant: parts[4], Run: parts[5]}
	if err := s.Validate(); err != nil {
		return Subject{}, err
	}
	if s.String() != text {
		return Subject{}, fmt.Errorf("%w: partition of %.120q", ErrSubject, text)
	}
	return s, nil
}

// Filter returns the subject filter of one partition of an owner.
func Filter(owner Owner, partition int) string {
	return fmt.Sprintf("mandate.v1.%s.%02d.>", owner, partition)
}
