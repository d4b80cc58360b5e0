package planner

import (
	"slices"

	"github.com/kubewright/kubewright/config/diag"
	"github.com/kubewright/kubewright/state"
)

// A plan is not changed after it was assembled. The functions of this file return another plan that
// differs in one field.

// WithSteps returns the plan with each step as change returns it.
func (p *Plan) WithSteps(change func(Step) Step) *Plan {
	out := *p
	out.Steps = each(p.Steps, change)
	return &out
}

// WithChanges returns the plan with each change as change returns it.
func (p *Plan) WithChanges(change func(Change) Change) *Plan {
	out := *p
	out.Changes = each(p.Changes, change)
	return &out
}

// WithResources returns the plan with each resource as change returns it.
func (p *Plan) WithResources(change func(ResourceChange) ResourceChange) *Plan {
	out := *p
	out.Resources = each(p.Resources, change)
	return &out
}

// WithCertificates returns the plan with the certificates of its clusters.
func (p *Plan) WithCertificates(certificates []CertificateEnd) *Plan {
	out := *p
	out.Certificates = certificates
	return &out
}

// WithOutputs returns the plan with the values of the outputs.
func (p *Plan) WithOutputs(outputs map[string]state.Value) *Plan {
	out := *p
	out.Outputs = outputs
	return &out
}

// WithDiagnostics returns the plan with findings.
func (p *Plan) WithDiagnostics(found []diag.JSON) *Plan {
	out := *p
	out.Diagnostics = found
	return &out
}

// each returns the elements as change returns them.
func each[T any](list []T, change func(T) T) []T {
	out := slices.Clone(list)
	for i, x := range out {
		out[i] = change(x)
	}
	return out
}
