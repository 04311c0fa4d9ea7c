package bundle

import (
	"slices"

	"example.org/mandate/events"
)

// authorizations checks that what is said to be allowed was allowed by a policy
// that was registered, and that an approval came about as it says. A bundle
// without a registry leaves open what was registered.
func (v *verification) authorizations() {
	registered := map[string][]events.Digest{}
	for _, e := range all[*events.PolicyApplied](v, events.OwnerRegistry) {
		registered[e.Name] = append(registered[e.Name], e.Digest)
	}
	check := func(place string, operation events.PolicyOperation, a *events.PolicyDecision, verdicts ...events.PolicyVerdict) {
		switch {
		case a == nil: // recorded before decisions were
		case a.Operation != operation || !slices.Contains(verdicts, a.Verdict) || a.Rule == "":
			v.find(events.CodePolicyDenied, place, "the policy decided %s on %s by %q", a.Verdict, a.Operation, a.Rule)
		case len(v.chains[events.OwnerRegistry]) > 0 && !slices.Contains(registered[a.Policy], a.Digest):
			v.find(events.CodePolicyMissing, place, "no policy %s with this digest was ever registered", a.Policy)
		}
	}
	for _, sealed := range all[*events.RunSealed](v, events.OwnerAdmission) {
		check("run-sealed", events.OperationSubmit, sealed.Authorization, events.PolicyAllow)
	}
	for _, admitted := range all[*events.RevisionAdmitted](v, events.OwnerAdmission) {
		for _, n := range admitted.Nodes {
			verdicts := []events.PolicyVerdict{events.PolicyAllow}
			if n.Confirmation != "" || n.Confirm == events.ConfirmAtDispatch {
				verdicts = append(verdicts, events.PolicyConfirm)
			}
			check("revision-admitted", events.OperationExecute, n.Authorization, verdicts...)
		}
	}
	for _, approved := range all[*events.SpecApproved](v, events.OwnerAdmission) {
		v.way(approved)
		operation := events.OperationApprove
		if approved.Way == events.ApprovalExplicit {
			operation = events.OperationSubmit
		}
		check("spec-approved", operation, approved.Authorization, events.PolicyAllow)
		v.fourEyes("spec-approved", approved.Approval, approved.Approver.Principal)
	}
	for _, use := range all[*events.UseApproved](v, events.OwnerAdmission) {
		check("use-approved", events.OperationApprove, use.Authorization, events.PolicyAllow)
		v.fourEyes("use-approved", use.Approval, &use.Principal)
	}
}

// way checks that an approval came about as it says.
func (v *verification) way(approved *events.SpecApproved) {
	person := approved.Approver.Principal
	ok := true
	switch approved.Way {
	case "": // recorded before ways were
	case events.ApprovalStanding:
		ok = person == nil && approved.Approval == ""
	case events.ApprovalExplicit:
		ok = person != nil && approved.Approval == ""
	case events.ApprovalPerson:
		ok = person != nil && approved.Approval != ""
	default:
		ok = false
	}
	if !ok {
		v.find(events.CodeApprovalMismatch, "spec-approved", "it did not come about as it says: %.40q", approved.Way)
	}
}

// fourEyes checks that an approval is by another person than who submitted,
// where that was a condition.
func (v *verification) fourEyes(place, approval string, person *events.Principal) {
	for _, requested := range all[*events.ApprovalRequested](v, events.OwnerAdmission) {
		if requested.Approval != approval || requested.Terms == nil || !requested.Terms.FourEyes || person == nil {
			continue
		}
		for _, sealed := range all[*events.RunSealed](v, events.OwnerAdmission) {
			if sealed.Principal.ID == person.ID {
				v.find(events.CodePrincipalDenied, place, "%s approved what they submitted, and another person was wanted", person.ID)
			}
		}
	}
}
