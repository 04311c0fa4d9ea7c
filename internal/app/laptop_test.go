package app

import (
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/internal/api"
	"example.org/mandate/internal/policy"
)

// Whoever is on this machine owns the tenants; whoever comes over a network
// does not.
func TestAnonymousIsTheOwnerOnlyHere(t *testing.T) {
	for address, owns := range map[string]bool{
		"127.0.0.1:0": true, "localhost:7420": true, "[::1]:7420": true, "0.0.0.0:7420": false, ":7420": false, "192.0.2.1:7420": false, "": false,
	} {
		o := DefaultOptions()
		o.HTTPListen = address
		callers, err := o.callers()
		if err != nil || callers.Anonymous != "local" || slices.Contains(callers.AnonymousRoles, api.RoleOwner) != owns {
			t.Errorf("%q: %+v, %v", address, callers.AnonymousRoles, err)
		}
	}
}

// The laptop policy lets the owner do everything at the gateway and others
// nothing, and nobody submit, approve or execute.
func TestLaptopPolicy(t *testing.T) {
	o := DefaultOptions()
	p, err := o.fallbackPolicy()
	if err != nil || p == nil || p.Digest == "" {
		t.Fatal(p, err)
	}
	for _, operation := range []events.PolicyOperation{
		events.OperationOperate, events.OperationReadContent, events.OperationSubmit, events.OperationApprove, events.OperationExecute,
	} {
		atTheGateway := operation == events.OperationOperate || operation == events.OperationReadContent
		for role, owns := range map[string]bool{api.RoleOwner: true, "reader": false} {
			in := &policy.Input{Principal: events.Principal{ID: "local"}, Roles: []string{role}, Tenant: "default"}
			if d := p.Decide(operation, in); d.Allowed() != (owns && atTheGateway) {
				t.Errorf("%s as %s: %+v", operation, role, d)
			}
		}
	}
	o.LaptopPolicy = false
	if p, err := o.fallbackPolicy(); p != nil || err != nil {
		t.Errorf("without it: %+v, %v", p, err)
	}
}
