package presenter

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.org/mandate/events"
	"example.org/mandate/internal/decider"
)

// presentApproval shows exactly what an approval binds: every capability with
// every argument and where its value is from, and how to answer.
func presentApproval(in decider.Input, a *events.ApprovalRequested) ([]events.Payload, error) {
	p := &approval{composer: newComposer(in.Run.Run, "Approval needed: "+nodes(a)), a: a}
	p.left, p.reserved = p.left-answerBytes, answerBlocks
	p.opening()
	for i := range a.Items {
		p.item(&a.Items[i])
	}
	p.left, p.reserved = p.left+answerBytes, 0
	if p.document.OmittedBlocks > 0 {
		p.add(p.inexact("Not every action is shown."))
	}
	p.answer()
	body, err := seal(&p.document)
	if err != nil {
		return nil, err
	}
	return []events.Payload{&events.InteractionPresented{
		Interaction: a.Approval, Kind: events.InteractionApproval, Digest: a.Digest, Document: body, Approvers: a.Approvers, Expires: a.Expires,
	}}, nil
}

// What is kept free for how to answer, and for the warning that not everything
// is shown.
const (
	answerBytes  = 32 << 10
	answerBlocks = 4
)

// approval composes the document of one approval.
type approval struct {
	*composer
	a *events.ApprovalRequested
}

func nodes(a *events.ApprovalRequested) string {
	names := make([]string, 0, len(a.Items))
	for i := range a.Items {
		names = append(names, a.Items[i].Node)
	}
	return strings.Join(names, ", ")
}

func (p *approval) opening() {
	spans := []events.Span{
		{Text: count(len(p.a.Items), "action waits", "actions wait") + " for a person and did not run yet."},
	}
	if p.a.Reason != "" {
		spans = append(spans, events.Span{Text: sentence(line(p.a.Reason, wordBytes))})
	}
	p.add(events.Block{Callout: &events.CalloutBlock{Kind: events.CalloutWarning, Title: "Approval needed", Spans: spans}})
}

func (p *approval) item(item *events.ApprovalItem) {
	what := &events.KeyValuesBlock{Caption: "Action", Entries: []events.KeyValue{
		{Key: "node", Value: line(item.Node, wordBytes)},
		{Key: "capability", Value: reference(item.Capability)},
		{Key: "definition", Value: line(string(item.Definition), wordBytes)},
		{Key: "effect", Value: line(string(item.Effect), wordBytes)},
	}}
	if by := item.Authorization; by != nil && by.Verdict == events.PolicyConfirm && by.Rule != "" {
		what.Entries = append(what.Entries, events.KeyValue{Key: "asked by the rule", Value: line(by.Rule, wordBytes)})
	}
	what.Total = len(what.Entries)
	title := heading(1, line(item.Node+": "+reference(item.Capability), titleBytes))
	exact := p.arguments(item)
	if !p.fits(append([]events.Block{title, {KeyValues: what}}, exact...)) {
		p.add(title, events.Block{KeyValues: what}, p.inexact("The arguments are too large to be shown here."))
	}
}

// inexact warns that what would be approved cannot be seen whole.
func (p *approval) inexact(why string) events.Block {
	return events.Block{Callout: &events.CalloutBlock{
		Kind: events.CalloutError, Title: "Do not approve on this view",
		Spans: []events.Span{{Text: why + " Whoever approves has to see the exact arguments elsewhere first."}},
	}}
}

// arguments shows the exact arguments: one row per argument, and the canonical
// JSON that the digest binds.
func (p *approval) arguments(item *events.ApprovalItem) []events.Block {
	content, open := item.Arguments.Content()
	if !open {
		return []events.Block{p.inexact("The arguments cannot be opened.")}
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(content, &members) != nil {
		return []events.Block{p.inexact("The arguments cannot be read.")}
	}
	var blocks []events.Block
	if found := lookalikes(members); len(found) > 0 {
		blocks = append(blocks, lookClosely(found))
	}
	g := newGrid("Arguments", "argument", "exact value", "where it is from")
	for _, name := range slices.Sorted(maps.Keys(members)) {
		from, known := item.Sources[name]
		if !known || from == "" {
			from = "unknown"
		}
		g.row(name, string(members[name]), line(from, wordBytes))
	}
	text := prefix(string(content), argumentBytes)
	blocks = append(blocks, g.block(), events.Block{Code: &events.CodeBlock{Language: "json", Text: text, TotalBytes: int64(len(content))}})
	if len(text) < len(content) {
		blocks = append(blocks, p.inexact("The arguments are not shown whole."))
	}
	return blocks
}

// answer says until when, by whom and how the approval is given.
func (p *approval) answer() {
	id := line(p.a.Approval, wordBytes)
	entries := []events.KeyValue{
		{Key: "interaction", Value: id},
		{Key: "digest", Value: line(string(p.a.Digest), wordBytes)},
		{Key: "until", Value: p.a.Expires.String()},
		{Key: "policy", Value: line(p.a.Policy.Name, wordBytes)},
		{Key: "approvers", Value: line(strings.Join(p.a.Approvers, ", "), events.MaxCellBytes)},
		{Key: "to approve", Value: "mandate approve " + id},
		{Key: "to refuse", Value: "mandate deny " + id + " --reason …"},
	}
	p.add(heading(1, "How to answer"),
		events.Block{KeyValues: &events.KeyValuesBlock{Caption: "Answer", Entries: entries, Total: len(entries)}},
		events.Block{Paragraph: &events.ParagraphBlock{Spans: []events.Span{
			{Text: "An approval counts for exactly these actions with exactly these arguments, and for nothing else."},
			{Text: "Without an answer in time nothing runs."},
		}}})
}
