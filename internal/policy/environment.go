package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/cost"

	"example.org/mandate/events"
	"example.org/mandate/internal/budget"
)

// Bounds of conditions. Costs are CEL's own units, about one per operation or
// per ten bytes looked at.
const (
	// MaxExpressionBytes bounds the text of a condition.
	MaxExpressionBytes = 2048
	// MaxRuleCost bounds a condition: its estimated worst case when it is
	// compiled, and what one evaluation of it may spend.
	MaxRuleCost = 100_000
	// MaxDecisionCost bounds all conditions of one decision together.
	MaxDecisionCost = 1_000_000

	maxRecursion   = 32
	maxNesting     = 2
	maxRegexpSize  = 256
	maxProblemText = 300
)

var errTotalCost = errors.New("the conditions of the policy cost too much together")

// variables are what conditions see, by operation.
func variables(operation events.PolicyOperation) map[string]*cel.Type {
	text, texts := cel.StringType, cel.ListType(cel.StringType)
	all := map[string]*cel.Type{
		"principal.id": text, "principal.kind": text, "principal.roles": texts, "tenant": text, "agent": text,
	}
	run := map[string]*cel.Type{"run.id": text, "run.submitter": text}
	limits := map[string]*cel.Type{}
	for _, r := range budget.Resources() {
		limits["budget."+r.Name] = cel.IntType
	}
	switch operation {
	case events.OperationSubmit:
		maps.Copy(all, limits)
	case events.OperationExecute:
		maps.Copy(all, limits)
		maps.Copy(all, map[string]*cel.Type{
			"capability.name": text, "capability.version": cel.IntType, "capability.effect": text, "capability.confirmation": text,
			"arguments": cel.MapType(text, cel.DynType), "sources": cel.MapType(text, text),
			"plan.effects": texts, "plan.ambiguous": cel.BoolType, "plan.origin": text,
		})
	case events.OperationApprove:
		maps.Copy(all, run)
		all["approval.capabilities"] = texts
	case events.OperationOperate:
		maps.Copy(all, run)
		maps.Copy(all, map[string]*cel.Type{"action": text, "resource.kind": text, "resource.name": text})
	case events.OperationReadContent:
		maps.Copy(all, run)
	}
	return all
}

// Variables lists the variables of an operation with their types, sorted.
func Variables(operation events.PolicyOperation) []string {
	all := variables(operation)
	out := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+": "+all[name].String())
	}
	return out
}

func newEnvironment(operation events.PolicyOperation) (*cel.Env, error) {
	options := []cel.EnvOption{
		cel.ParserRecursionLimit(maxRecursion), cel.ParserExpressionSizeLimit(MaxExpressionBytes),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(),
			cel.ValidateComprehensionNestingLimit(maxNesting), cel.ValidateRegexProgramSizeLimit(maxRegexpSize)),
	}
	all := variables(operation)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		options = append(options, cel.Variable(name, all[name]))
	}
	return cel.NewEnv(options...)
}

// compile compiles a condition. A problem names the line and column where it
// is known.
func compile(environment *cel.Env, text string) (cel.Program, []string) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, []string{"there is no condition; write true for one that always holds"}
	case len(text) > MaxExpressionBytes:
		return nil, []string{fmt.Sprintf("the condition has %d bytes, at most %d are possible", len(text), MaxExpressionBytes)}
	}
	ast, issues := environment.Compile(text)
	if issues.Err() != nil {
		return nil, problems(issues)
	}
	if !ast.OutputType().IsExactType(cel.BoolType) {
		return nil, []string{"line 1, column 1: the condition is of type " + bounded(ast.OutputType().String()) + ", not bool"}
	}
	estimate, err := environment.EstimateCost(ast, estimator{})
	if err != nil {
		return nil, []string{"the cost cannot be estimated: " + bounded(err.Error())}
	}
	if estimate.Max > MaxRuleCost {
		return nil, []string{fmt.Sprintf("the condition could cost %d, at most %d are possible; look at less", estimate.Max, uint64(MaxRuleCost))}
	}
	program, err := environment.Program(ast, cel.CostLimit(MaxRuleCost), cel.EvalOptions(cel.OptTrackCost))
	if err != nil {
		return nil, []string{bounded(err.Error())}
	}
	return program, nil
}

func problems(issues *cel.Issues) []string {
	var out []string
	for _, e := range issues.Errors() {
		out = append(out, fmt.Sprintf("line %d, column %d: %s", e.Location.Line(), e.Location.Column()+1, bounded(e.Message)))
		if len(out) == 8 {
			break
		}
	}
	return out
}

// bounded keeps a text of the library short and on one line.
func bounded(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "�")
	if len(text) > maxProblemText {
		return strings.ToValidUTF8(text[:maxProblemText], "") + "…"
	}
	return text
}

// evaluate returns whether a condition holds, and what that cost.
func evaluate(program cel.Program, variables cel.Activation) (holds bool, spent uint64, err error) {
	value, details, err := program.Eval(variables)
	if actual := details.ActualCost(); actual != nil {
		spent = *actual
	}
	if err != nil {
		return false, spent, err
	}
	holds, isBool := value.Value().(bool)
	if !isBool {
		return false, spent, errors.New("the condition gave no bool")
	}
	return holds, spent, nil
}

// estimator gives the sizes of what is looked at: the largest that an input
// may have.
type estimator struct{}

// EstimateCallCost implements [cost.Estimator].
func (estimator) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}

// EstimateSize implements [cost.Estimator].
func (estimator) EstimateSize(element cost.AstNode) *cost.SizeEstimate {
	path := element.Path()
	most := uint64(MaxTextBytes)
	switch element.Type().Kind() { //nolint:exhaustive // the rest has the size of a text at most
	case cel.ListKind, cel.MapKind:
		most = MaxListLength
	}
	if len(path) == 0 {
		return &cost.SizeEstimate{Min: 0, Max: most}
	}
	switch {
	case strings.HasSuffix(strings.Join(path, "."), "principal.roles"):
		most = MaxRoles
	case path[0] == "plan" && len(path) > 1 && path[1] == "effects":
		most = 4
	}
	return &cost.SizeEstimate{Min: 0, Max: most}
}
