package events

// Applied is what every applied resource carries.
type Applied struct {
	Name       string    `json:"name"`
	Version    int       `json:"version"`
	Digest     Digest    `json:"digest"`     // over Definition
	Definition JSON      `json:"definition"` // canonical JSON of the resource's specification
	Principal  Principal `json:"principal"`
	Extra      Extra     `json:"-"`
}

// AgentApplied registers an agent.
type AgentApplied struct{ Applied }

// EventType implements [Payload].
func (*AgentApplied) EventType() string { return "mandate.registry.agent-applied.v1" }

// PolicyApplied registers a policy.
type PolicyApplied struct{ Applied }

// EventType implements [Payload].
func (*PolicyApplied) EventType() string { return "mandate.registry.policy-applied.v1" }

// CapabilityRegistered registers a capability.
type CapabilityRegistered struct{ Applied }

// EventType implements [Payload].
func (*CapabilityRegistered) EventType() string { return "mandate.registry.capability-registered.v1" }

// PackageApplied registers an extension package.
type PackageApplied struct{ Applied }

// EventType implements [Payload].
func (*PackageApplied) EventType() string { return "mandate.registry.package-applied.v1" }

// RoutesApplied registers a ladder of model routes.
type RoutesApplied struct{ Applied }

// EventType implements [Payload].
func (*RoutesApplied) EventType() string { return "mandate.registry.routes-applied.v1" }

// CapabilityRevoked withdraws a capability, at once and for every run.
type CapabilityRevoked struct {
	Name      string    `json:"name"`
	Reason    string    `json:"reason"`
	Principal Principal `json:"principal"`
	Extra     Extra     `json:"-"`
}

// EventType implements [Payload].
func (*CapabilityRevoked) EventType() string { return "mandate.registry.capability-revoked.v1" }
