package events

import "github.com/go-json-experiment/json/jsontext"

// APIVersion is the version of resource and request documents.
const APIVersion = "mandate/v1"

// JSON is one JSON value in canonical form, kept as it is.
type JSON = jsontext.Value

// Kind is the kind of a resource in the registry.
type Kind string

// The kinds of resources.
const (
	KindAgent      Kind = "Agent"
	KindCapability Kind = "Capability"
	KindPolicy     Kind = "Policy"
	KindPackage    Kind = "Package"
	KindRoutes     Kind = "Routes"
)

// Effect is what a capability does to the world.
type Effect string

// The effects, from least to most. EffectIntent is the effect of resolving an
// intent itself; no capability declares it.
const (
	EffectIntent Effect = "intent"
	EffectNone   Effect = "none"
	EffectRead   Effect = "read"
	EffectWrite  Effect = "write"
)

// Valid reports whether e is an effect that a capability can declare.
func (e Effect) Valid() bool { return e == EffectNone || e == EffectRead || e == EffectWrite }

// Confirmation is who must confirm a use of a capability.
type Confirmation string

// The confirmation modes. A write has one of the last two.
const (
	// ConfirmationNone needs no confirmation; not for writes.
	ConfirmationNone Confirmation = "none"
	// ConfirmationExplicit is given by the submitting principal's own request
	// when it names the exact arguments.
	ConfirmationExplicit Confirmation = "explicit"
	// ConfirmationRequired is given by a person who decides on the exact
	// content.
	ConfirmationRequired Confirmation = "required"
)

// FactType names a kind of fact at a version.
type FactType struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// Guidance helps a model choose a capability. It is never enforced.
type Guidance struct {
	WhenToUse    string   `json:"when_to_use,omitzero"`
	WhenNotToUse string   `json:"when_not_to_use,omitzero"`
	Examples     []string `json:"examples,omitzero"`
}

// Capability defines one registered operation (IK-1.9 to IK-1.16).
type Capability struct {
	Version     int    `json:"version"`
	Description string `json:"description"`
	Effect      Effect `json:"effect"`
	// Confirmation is required for every capability; "none" only without write.
	Confirmation Confirmation `json:"confirmation"`
	// Input and Output are JSON Schemas (2020-12) of the arguments object and
	// of the result value.
	Input  JSON `json:"input"`
	Output JSON `json:"output"`
	// ResultType is the semantic type of the result, such as "test.report".
	ResultType string `json:"result_type"`

	Requires    []FactType `json:"requires,omitzero"`
	Provides    []FactType `json:"provides,omitzero"`
	Invalidates []FactType `json:"invalidates,omitzero"`
	Guidance    Guidance   `json:"guidance,omitzero"`

	// AuthorityArguments name the arguments that decide what an effect
	// touches: recipients, amounts, paths.
	// Every argument of a write does if the member is not there at all.
	AuthorityArguments []string `json:"authority_arguments,omitzero"`
	// AuthoritySources list, by authority argument, what its value may come
	// from beside the principal's own words, without asking a person:
	// "model", "output" or "output:NAME", the output of a capability.
	AuthoritySources map[string][]string `json:"authority_sources,omitzero"`
	// Interferes names the shared things that a write changes ("ledger"). Two
	// writes without an order between them may not share one; a write that
	// names none interferes with every other write.
	Interferes []string `json:"interferes,omitzero"`

	// TimeoutMillis bounds one invocation; OutputBytes bounds what it may
	// return.
	TimeoutMillis int64 `json:"timeout_millis"`
	OutputBytes   int64 `json:"output_bytes"`

	Provider ProviderBinding `json:"provider"`
}

// ProviderBinding says how the executor reaches a capability. Exactly one
// member is set.
type ProviderBinding struct {
	Process *ProcessBinding `json:"process,omitzero"`
	MCP     *MCPBinding     `json:"mcp,omitzero"`
	Builtin *BuiltinBinding `json:"builtin,omitzero"`
}

// ProcessBinding runs a program, never through a shell.
type ProcessBinding struct {
	// Command is the argument vector. "{name}" inside an element is replaced
	// by the scalar argument name; an element is never split. A replaced
	// element may not begin with "-" by the value alone.
	Command []string `json:"command"`
	// Directory is relative to the executor's workspace and cannot leave it.
	Directory string `json:"directory,omitzero"`
	// Environment lists the names of variables that are passed on; nothing
	// else is. Set holds fixed values.
	Environment []string          `json:"environment,omitzero"`
	Set         map[string]string `json:"set,omitzero"`
	// Output says how standard output becomes the result value: "json",
	// "text" or the name of an adapter such as "go-test-json".
	Output string `json:"output"`
	// SuccessExitCodes mean that the program did its work; default [0].
	SuccessExitCodes []int `json:"success_exit_codes,omitzero"`
	// NotAppliedExitCodes mean that the program certainly changed nothing.
	NotAppliedExitCodes []int `json:"not_applied_exit_codes,omitzero"`
	// Observes lists files, by glob under Directory, whose newest
	// modification time and digest are recorded as what the result is about.
	Observes []string `json:"observes,omitzero"`
}

// MCPBinding calls a tool of a Model Context Protocol server.
type MCPBinding struct {
	// Command starts the server, which speaks over standard input and output.
	Command     []string          `json:"command"`
	Directory   string            `json:"directory,omitzero"`
	Environment []string          `json:"environment,omitzero"`
	Set         map[string]string `json:"set,omitzero"`
	Tool        string            `json:"tool"`
	// Arguments maps names of the tool's arguments to names of the
	// capability's, where they differ.
	Arguments map[string]string `json:"arguments,omitzero"`
	// Output is "text" (the joined text content as {"text": …}) or
	// "structured" (the structured content).
	Output string `json:"output"`
}

// BuiltinBinding calls a Go function registered with the engine.
type BuiltinBinding struct {
	Function string `json:"function"`
}

// Agent defines a compiled agent: which capabilities it may use, under which
// policy, within which limits.
type Agent struct {
	Version      int             `json:"version"`
	Description  string          `json:"description"`
	Capabilities []CapabilityRef `json:"capabilities"`
	Policy       string          `json:"policy"`
	Routes       string          `json:"routes,omitzero"`
	// EffectBound is the set of effects that a run of this agent can have
	// beside intent (C3-RUN-001.g).
	EffectBound []Effect `json:"effect_bound"`
	// Input and Output are JSON Schemas of a request's input value and of the
	// run's typed output.
	Input  JSON `json:"input"`
	Output JSON `json:"output"`
	// Limits is the ceiling of every run.
	Limits Limits `json:"limits"`
}

// CapabilityRef names a capability at a version.
type CapabilityRef struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
}

// TenantPolicy is the name of the policy that says who may operate a tenant
// and read its content. Every other policy is for runs of the agents that name
// it.
const TenantPolicy = "tenant"

// PolicyOperation is what a rule of a policy speaks of.
type PolicyOperation string

// The operations.
const (
	OperationSubmit      PolicyOperation = "submit"
	OperationApprove     PolicyOperation = "approve"
	OperationExecute     PolicyOperation = "execute"
	OperationOperate     PolicyOperation = "operate"
	OperationReadContent PolicyOperation = "read-content"
)

// PolicyVerdict is what a rule decides where its condition holds.
type PolicyVerdict string

// The verdicts. Only execute knows confirm (a person decides on exactly this
// use) and clarify (the request has to say more), which hold only for what
// another rule or a list allows.
const (
	PolicyAllow   PolicyVerdict = "allow"
	PolicyDeny    PolicyVerdict = "deny"
	PolicyConfirm PolicyVerdict = "confirm"
	PolicyClarify PolicyVerdict = "clarify"
)

// PolicyRule is one rule of a policy.
type PolicyRule struct {
	ID        string          `json:"id"`
	Operation PolicyOperation `json:"operation"`
	// When is a condition in CEL over the variables of the operation.
	When     string        `json:"when"`
	Decision PolicyVerdict `json:"decision"`
	// Reason is what whoever is refused reads.
	Reason string `json:"reason,omitzero"`
}

// Policy says what a tenant's runs may do without asking, and who decides. What
// nothing allows is refused.
type Policy struct {
	Version     int    `json:"version"`
	Description string `json:"description"`
	// StandingApproval allows specifications whose effects are within it, and
	// that are unambiguous, without a person. It never contains write.
	StandingApproval []Effect `json:"standing_approval,omitzero"`
	// Operations is the allowlist of capability names: short for a rule that
	// lets them execute, before all rules.
	Operations []string `json:"operations"`
	// Submitters and Approvers list principals; "*" is any authenticated one.
	// They are short for rules that let them submit and approve.
	Submitters []string `json:"submitters"`
	Approvers  []string `json:"approvers"`
	// Rules are tried in order; the first that does not allow wins.
	Rules []PolicyRule `json:"rules,omitzero"`
	// FourEyes wants another principal to approve than who submitted.
	FourEyes bool `json:"four_eyes,omitzero"`
	// ApprovalSeconds is how long a request for approval stays open.
	ApprovalSeconds int64 `json:"approval_seconds"`
	// LeaseSeconds is how long an admitted revision may start actions.
	LeaseSeconds int64 `json:"lease_seconds"`
}

// Routes is a ladder of model routes. An empty ladder means that no model is
// ever called.
type Routes struct {
	Version int      `json:"version"`
	Ladder  []string `json:"ladder"`
}

// Package is a digest-bound extension manifest.
type Package struct {
	Version     int    `json:"version"`
	Description string `json:"description"`
	Manifest    JSON   `json:"manifest"`
}
