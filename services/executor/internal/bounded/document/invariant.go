package document

import (
	"maps"
	"slices"
	"strings"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
)

// effectRead is the only effect that a tool may have.
const effectRead = "read"

// overlong names the first list that is longer than it may be.
func (p *Profile) overlong() string {
	switch {
	case len(p.Models) > MaxModels:
		return "models"
	case len(p.Tools) > MaxTools:
		return "tools"
	case len(p.nonclaims) > len(nonclaims):
		return "nonclaims"
	}
	for i := range p.Models {
		if len(p.Models[i].Capabilities) > MaxCapabilities {
			return "models.capabilities"
		}
	}
	for i := range p.Tools {
		if len(p.Tools[i].effects) > 1 {
			return "tools.effects"
		}
		if len(p.Tools[i].RequiredCapabilities) > MaxCapabilities {
			return "tools.required_capabilities"
		}
		if p.Tools[i].Arguments.beyond {
			return "tools.arguments_schema"
		}
		if p.Tools[i].Result.beyond {
			return "tools.result_schema"
		}
	}
	for _, list := range p.Policy.lists() {
		if len(list.values) > MaxCapabilities {
			return "policy." + list.name
		}
	}
	return ""
}

// check refuses a profile that breaks an invariant.
func (p *Profile) check() error {
	if !Identifier(p.AgentID) {
		return diagnostic.Invariant("agent_id")
	}
	for _, check := range []func() string{p.checkModels, p.checkTools, p.checkPolicy} {
		if field := check(); field != "" {
			return diagnostic.Invariant(field)
		}
	}
	if err := p.Limits.check(); err != nil {
		return err
	}
	if !slices.Equal(p.nonclaims, nonclaims[:]) {
		return diagnostic.Invariant("nonclaims")
	}
	return nil
}

// checkModels names the first invariant of the models that does not hold.
func (p *Profile) checkModels() string {
	if len(p.Models) == 0 {
		return "models"
	}
	for i := range p.Models {
		m := &p.Models[i]
		switch {
		case !Identifier(m.ProviderID), !Identifier(m.ModelID), !Identifier(m.TokenizerID):
			return "models.identifiers"
		case !identifiers(m.Capabilities):
			return "models.capabilities"
		case m.MaxContextTokens == 0:
			return "models.max_context_tokens"
		case i > 0 && !p.Models[i-1].before(m):
			return "models"
		}
	}
	return ""
}

// before reports whether m comes before other in a catalog.
func (m *Model) before(other *Model) bool {
	if c := strings.Compare(m.ProviderID, other.ProviderID); c != 0 {
		return c < 0
	}
	return m.ModelID < other.ModelID
}

// checkTools names the first invariant of the tools that does not hold.
func (p *Profile) checkTools() string {
	for i := range p.Tools {
		t := &p.Tools[i]
		switch {
		case !Identifier(t.ToolID), t.Description == "", len(t.Description) > MaxDescriptionBytes:
			return "tools.identifiers"
		case !t.Reads():
			return "tools.effects"
		case !identifiers(t.RequiredCapabilities):
			return "tools.required_capabilities"
		case !t.Arguments.valid():
			return "tools.arguments_schema"
		case !t.Result.valid():
			return "tools.result_schema"
		case i > 0 && t.ToolID <= p.Tools[i-1].ToolID:
			return "tools"
		}
	}
	return ""
}

// Reads reports whether reading is the only effect of the tool.
func (t *Tool) Reads() bool { return len(t.effects) == 1 && t.effects[0] == effectRead }

// policyList is a list of a policy with its name.
type policyList struct {
	name   string
	values []string
}

func (p *Policy) lists() []policyList {
	return []policyList{
		{"allowed_provider_ids", p.AllowedProviders},
		{"allowed_model_ids", p.AllowedModels},
		{"required_model_capabilities", p.RequiredModelCapabilities},
		{"granted_capabilities", p.GrantedCapabilities},
		{"allowed_tool_ids", p.AllowedTools},
	}
}

// checkPolicy names the first invariant of the policy that does not hold: what it allows is in the catalog.
func (p *Profile) checkPolicy() string {
	for _, list := range p.Policy.lists() {
		if !identifiers(list.values) {
			return "policy." + list.name
		}
	}
	for _, id := range p.Policy.AllowedProviders {
		if !slices.ContainsFunc(p.Models, func(m Model) bool { return m.ProviderID == id }) {
			return "policy"
		}
	}
	for _, id := range p.Policy.AllowedModels {
		if !slices.ContainsFunc(p.Models, func(m Model) bool { return m.ModelID == id }) {
			return "policy"
		}
	}
	for _, id := range p.Policy.AllowedTools {
		if p.Tool(id) == nil {
			return "policy"
		}
	}
	return ""
}

// Tool returns the tool of the catalog with an identifier, or nil.
func (p *Profile) Tool(id string) *Tool {
	for i := range p.Tools {
		if p.Tools[i].ToolID == id {
			return &p.Tools[i]
		}
	}
	return nil
}

// Eligible reports whether the policy lets a run use the model.
func (p *Profile) Eligible(m *Model) bool {
	return slices.Contains(p.Policy.AllowedProviders, m.ProviderID) &&
		slices.Contains(p.Policy.AllowedModels, m.ModelID) &&
		(p.Policy.RequiredLocality == LocalityRemoteAllowed || m.Locality == LocalityLocal) &&
		slices.Index(qualityTiers, m.QualityTier) >= slices.Index(qualityTiers, p.Policy.MinimumQualityTier) &&
		contains(m.Capabilities, p.Policy.RequiredModelCapabilities)
}

// Granted reports whether the policy grants what the tool requires.
func (p *Profile) Granted(t *Tool) bool {
	return contains(p.Policy.GrantedCapabilities, t.RequiredCapabilities)
}

func contains(all, wanted []string) bool {
	for _, want := range wanted {
		if !slices.Contains(all, want) {
			return false
		}
	}
	return true
}

// DistinctCapabilities counts the different capabilities that the profile names.
func (p *Profile) DistinctCapabilities() uint64 {
	seen := map[string]bool{}
	note := func(list []string) { maps.Insert(seen, maps.All(set(list))) }
	for i := range p.Models {
		note(p.Models[i].Capabilities)
	}
	for i := range p.Tools {
		note(p.Tools[i].RequiredCapabilities)
	}
	note(p.Policy.RequiredModelCapabilities)
	note(p.Policy.GrantedCapabilities)
	return uint64(len(seen))
}

func set(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, value := range list {
		set[value] = true
	}
	return set
}

// Allows reports whether the policy lets a run use the tool.
func (p *Profile) Allows(t *Tool) bool { return slices.Contains(p.Policy.AllowedTools, t.ToolID) }
