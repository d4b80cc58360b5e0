package planner

import (
	"slices"

	"github.com/kubewright/kubewright/state"
)

// A plan is not changed after it was assembled. The functions of this file return another plan that
// differs in one field.

// WithSteps returns the plan with each step as change returns it.
func (p *Plan) WithSteps(change func(Step) Step) *Plan {
	out := *p
	out.Steps = slices.Clone(p.Steps)
	for i, s := range out.Steps {
		out.Steps[i] = change(s)
	}
	return &out
}

// WithChanges returns the plan with each change as change returns it.
func (p *Plan) WithChanges(change func(Change) Change) *Plan {
	out := *p
	out.Changes = slices.Clone(p.Changes)
	for i, c := range out.Changes {
		out.Changes[i] = change(c)
	}
	return &out
}

// WithResources returns the plan with each resource as change returns it.
func (p *Plan) WithResources(change func(ResourceChange) ResourceChange) *Plan {
	out := *p
	out.Resources = slices.Clone(p.Resources)
	for i, r := range out.Resources {
		out.Resources[i] = change(r)
	}
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
