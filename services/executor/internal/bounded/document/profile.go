package document

import (
	"slices"

	"example.org/mandate/services/executor/internal/bounded/diagnostic"
	"example.org/mandate/services/executor/internal/bounded/wire"
)

// Profile is an admitted profile.
type Profile struct {
	Read
	AgentID   string
	Models    []Model
	Tools     []Tool
	Policy    Policy
	Limits    Limits
	nonclaims []string
}

// Model is a model of the catalog.
type Model struct {
	ProviderID       string
	ModelID          string
	Locality         string
	QualityTier      string
	TokenizerID      string
	MaxContextTokens uint64
	// InputPrice and OutputPrice are in USD microunits per million tokens.
	InputPrice   uint64
	OutputPrice  uint64
	Capabilities []string
}

// Tool is a tool of the catalog.
type Tool struct {
	ToolID               string
	Description          string
	Arguments, Result    Schema
	effects              []string
	RequiredCapabilities []string
}

// Policy says what of the catalog may be used, and what is granted.
type Policy struct {
	AllowedProviders          []string
	AllowedModels             []string
	RequiredLocality          string
	MinimumQualityTier        string
	RequiredModelCapabilities []string
	GrantedCapabilities       []string
	AllowedTools              []string
}

// The values of localities and of the locality that a policy requires.
const (
	LocalityLocal         = "local"
	LocalityRemote        = "remote"
	LocalityOnlyLocal     = "local_only"
	LocalityRemoteAllowed = "remote_allowed"
)

// qualityTiers are the quality tiers from the lowest to the highest.
var qualityTiers = []string{"basic", "standard", "advanced", "frontier"}

// ParseProfile reads a profile.
func ParseProfile(data []byte) (*Profile, error) {
	k := kind{"profile", SchemaProfile, FieldProfileBytes, MaxProfileBytes, wire.DomainProfile}
	if err := k.scanned(data); err != nil {
		return nil, err
	}
	d := wire.NewDecoder(data)
	var p Profile
	p.decode(d)
	if d.Failed() {
		return nil, diagnostic.Grammar(k.name, k.schema)
	}
	// A list that is too long was not kept whole, so it is refused before the bytes are compared.
	if field := p.overlong(); field != "" {
		return nil, diagnostic.Invariant(field)
	}
	read, err := k.finish(data, d, p.write)
	if err != nil {
		return nil, err
	}
	p.Read = read
	if err := p.check(); err != nil {
		return nil, err
	}
	return &p, nil
}

func (p *Profile) decode(d *wire.Decoder) {
	d.Expect(`{"schema":"` + SchemaProfile + `","agent_id":`)
	p.AgentID = d.Text()
	d.Expect(`,"models":`)
	d.Each(func() {
		if m := decodeModel(d); len(p.Models) <= MaxModels {
			p.Models = append(p.Models, m)
		}
	})
	d.Expect(`,"tools":`)
	d.Each(func() {
		if t := decodeTool(d); len(p.Tools) <= MaxTools {
			p.Tools = append(p.Tools, t)
		}
	})
	d.Expect(`,"policy":`)
	p.Policy.decode(d)
	d.Expect(`,"limits":`)
	p.Limits.decode(d)
	d.Expect(`,"nonclaims":`)
	p.nonclaims = d.Texts(len(nonclaims))
	d.Expect("}")
}

func decodeModel(d *wire.Decoder) Model {
	var m Model
	d.Expect(`{"provider_id":`)
	m.ProviderID = d.Text()
	d.Expect(`,"model_id":`)
	m.ModelID = d.Text()
	d.Expect(`,"locality":`)
	m.Locality = oneOf(d, LocalityLocal, LocalityRemote)
	d.Expect(`,"quality_tier":`)
	m.QualityTier = oneOf(d, qualityTiers...)
	d.Expect(`,"tokenizer_id":`)
	m.TokenizerID = d.Text()
	d.Expect(`,"max_context_tokens":`)
	m.MaxContextTokens = d.Uint()
	d.Expect(`,"input_usd_microunits_per_million_tokens":`)
	m.InputPrice = d.Uint()
	d.Expect(`,"output_usd_microunits_per_million_tokens":`)
	m.OutputPrice = d.Uint()
	d.Expect(`,"capabilities":`)
	m.Capabilities = d.Texts(MaxCapabilities)
	d.Expect("}")
	return m
}

func decodeTool(d *wire.Decoder) Tool {
	var t Tool
	d.Expect(`{"tool_id":`)
	t.ToolID = d.Text()
	d.Expect(`,"description":`)
	t.Description = d.Text()
	d.Expect(`,"arguments_schema":`)
	t.Arguments.decode(d)
	d.Expect(`,"result_schema":`)
	t.Result.decode(d)
	d.Expect(`,"effects":`)
	t.effects = d.Texts(1)
	d.Expect(`,"required_capabilities":`)
	t.RequiredCapabilities = d.Texts(MaxCapabilities)
	d.Expect("}")
	return t
}

func (p *Policy) decode(d *wire.Decoder) {
	d.Expect(`{"allowed_provider_ids":`)
	p.AllowedProviders = d.Texts(MaxCapabilities)
	d.Expect(`,"allowed_model_ids":`)
	p.AllowedModels = d.Texts(MaxCapabilities)
	d.Expect(`,"required_locality":`)
	p.RequiredLocality = oneOf(d, LocalityOnlyLocal, LocalityRemoteAllowed)
	d.Expect(`,"minimum_quality_tier":`)
	p.MinimumQualityTier = oneOf(d, qualityTiers...)
	d.Expect(`,"required_model_capabilities":`)
	p.RequiredModelCapabilities = d.Texts(MaxCapabilities)
	d.Expect(`,"granted_capabilities":`)
	p.GrantedCapabilities = d.Texts(MaxCapabilities)
	d.Expect(`,"allowed_tool_ids":`)
	p.AllowedTools = d.Texts(MaxCapabilities)
	d.Expect("}")
}

// oneOf reads a string of a closed set.
func oneOf(d *wire.Decoder, set ...string) string {
	value := d.Text()
	if !slices.Contains(set, value) {
		d.Fail()
	}
	return value
}

// write writes the profile.
func (p *Profile) write(w *wire.Writer) {
	w.Raw(`{"schema":"` + SchemaProfile + `","agent_id":`)
	w.Text(p.AgentID)
	w.Raw(`,"models":[`)
	for i := range p.Models {
		if i > 0 {
			w.Raw(",")
		}
		p.Models[i].write(w)
	}
	w.Raw(`],"tools":[`)
	for i := range p.Tools {
		if i > 0 {
			w.Raw(",")
		}
		p.Tools[i].write(w)
	}
	w.Raw(`],"policy":{"allowed_provider_ids":`)
	w.Texts(p.Policy.AllowedProviders)
	w.Raw(`,"allowed_model_ids":`)
	w.Texts(p.Policy.AllowedModels)
	w.Raw(`,"required_locality":`)
	w.Text(p.Policy.RequiredLocality)
	w.Raw(`,"minimum_quality_tier":`)
	w.Text(p.Policy.MinimumQualityTier)
	w.Raw(`,"required_model_capabilities":`)
	w.Texts(p.Policy.RequiredModelCapabilities)
	w.Raw(`,"granted_capabilities":`)
	w.Texts(p.Policy.GrantedCapabilities)
	w.Raw(`,"allowed_tool_ids":`)
	w.Texts(p.Policy.AllowedTools)
	w.Raw(`},"limits":`)
	p.Limits.write(w)
	w.Raw(`,"nonclaims":`)
	w.Texts(p.nonclaims)
	w.Raw("}\n")
}

func (m *Model) write(w *wire.Writer) {
	w.Raw(`{"provider_id":`)
	w.Text(m.ProviderID)
	w.Raw(`,"model_id":`)
	w.Text(m.ModelID)
	w.Raw(`,"locality":`)
	w.Text(m.Locality)
	w.Raw(`,"quality_tier":`)
	w.Text(m.QualityTier)
	w.Raw(`,"tokenizer_id":`)
	w.Text(m.TokenizerID)
	w.Raw(`,"max_context_tokens":`)
	w.Uint(m.MaxContextTokens)
	w.Raw(`,"input_usd_microunits_per_million_tokens":`)
	w.Uint(m.InputPrice)
	w.Raw(`,"output_usd_microunits_per_million_tokens":`)
	w.Uint(m.OutputPrice)
	w.Raw(`,"capabilities":`)
	w.Texts(m.Capabilities)
	w.Raw("}")
}

func (t *Tool) write(w *wire.Writer) {
	w.Raw(`{"tool_id":`)
	w.Text(t.ToolID)
	w.Raw(`,"description":`)
	w.Text(t.Description)
	w.Raw(`,"arguments_schema":`)
	t.Arguments.write(w)
	w.Raw(`,"result_schema":`)
	t.Result.write(w)
	w.Raw(`,"effects":`)
	w.Constants(t.effects)
	w.Raw(`,"required_capabilities":`)
	w.Texts(t.RequiredCapabilities)
	w.Raw("}")
}
