package api

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"example.org/mandate/events"
	"example.org/mandate/internal/policy"
	"example.org/mandate/internal/projector"
	"example.org/mandate/projections/runs"
)

// operated is what an operator does, and to what.
type operated struct {
	action, kind, name string
	run                policy.Run
}

func runOf(key projector.Key, v runs.View) policy.Run {
	return policy.Run{ID: key.Run, Submitter: v.Principal.ID}
}

func (c *call) input() policy.Input {
	return policy.Input{Principal: c.principal, Roles: c.roles, Tenant: c.tenant}
}

// decideTenant decides by the policy of the tenant: the one that is registered,
// and where none is, the one that the process was started with.
func (s *server) decideTenant(c *call, operation events.PolicyOperation, in *policy.Input) (policy.Decision, error) {
	view, err := s.o.Registries.View(c.Context(), c.tenant, 0)
	if err != nil {
		return policy.Decision{}, err
	}
	governing := view.Policy(events.TenantPolicy)
	if !slices.Contains(view.Names(events.KindPolicy), events.TenantPolicy) {
		governing = s.o.Fallback
	}
	return governing.Decide(operation, in), nil
}

// refusedBy answers a decision that does not allow.
func refusedBy(d policy.Decision) error {
	if d.Allowed() {
		return nil
	}
	diagnostic := d.Diagnostic("")
	if d.Code == events.CodePolicyMissing {
		diagnostic.Message = "the tenant has no policy, so nothing is allowed"
		diagnostic.Action = "let a principal with the role " + RoleOwner + " apply a Policy with the name " + events.TenantPolicy
	}
	return fail(http.StatusForbidden, diagnostic)
}

// mayOperate refuses what the policy of the tenant does not let the caller do.
func (s *server) mayOperate(c *call, o operated) error {
	if o.action == "apply" && o.kind == string(events.KindPolicy) && o.name == events.TenantPolicy && slices.Contains(c.roles, RoleOwner) {
		return nil
	}
	in := c.input()
	in.Action, in.Kind, in.Name, in.Run = o.action, o.kind, o.name, o.run
	d, err := s.decideTenant(c, events.OperationOperate, &in)
	if err != nil {
		return err
	}
	return refusedBy(d)
}

// mayRead refuses the content of a run that the policy of the tenant does not
// let the caller read.
func (s *server) mayRead(c *call, run policy.Run) error {
	in := c.input()
	in.Run = run
	d, err := s.decideTenant(c, events.OperationReadContent, &in)
	if err != nil {
		return err
	}
	return refusedBy(d)
}

// contentAllowed reports whether the caller may read the content of a run that
// may be too new for the views.
func (s *server) contentAllowed(c *call, key projector.Key) (bool, error) {
	v, err := s.o.Views.View(c.Context(), key)
	if err != nil && !errors.Is(err, projector.ErrUnknownRun) {
		return false, err
	}
	err = s.mayRead(c, runOf(key, v))
	if _, refused := errors.AsType[*Problem](err); refused {
		return false, nil
	}
	return err == nil, err
}

// mayApprove tells whoever may not decide so at once; admission decides it
// again, under the policy that the run is pinned to as well.
func (s *server) mayApprove(c *call, row projector.Row, w runs.Waiting, decision events.Decision) error {
	view, err := s.o.Registries.View(c.Context(), c.tenant, 0)
	if err != nil {
		return err
	}
	agent, ok := view.Agent(row.Agent)
	if !ok {
		return nil
	}
	in := c.input()
	in.Agent, in.Run = agent.Name, policy.Run{ID: row.Run, Submitter: row.Principal}
	for _, item := range w.Items {
		name, _, _ := strings.Cut(item, "@")
		in.Capabilities = append(in.Capabilities, name)
	}
	if err := refusedBy(agent.Rules.Decide(events.OperationApprove, &in)); err != nil {
		return err
	}
	if agent.Policy.FourEyes && decision == events.DecisionApprove && row.Principal == c.principal.ID {
		return fail(http.StatusForbidden, events.Diagnostic{
			Code: events.CodePrincipalDenied, Message: "the policy wants another person to approve than who submitted", Action: "ask one of the other approvers",
		})
	}
	return nil
}
