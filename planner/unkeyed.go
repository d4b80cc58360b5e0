package planner

import (
	"maps"
	"slices"

	"github.com/kubewright/kubewright/state"
)

// Unkeyed returns the plan without the fingerprints of secrets: only their references remain.
func (p *Plan) Unkeyed() *Plan {
	same := *p
	changes := func(list []Change) []Change {
		out := slices.Clone(list)
		for i := range out {
			out[i].Attributes = slices.Clone(out[i].Attributes)
			for j := range out[i].Attributes {
				a := &out[i].Attributes[j]
				a.Before, a.After = state.Unkeyed(a.Before), state.Unkeyed(a.After)
			}
		}
		return out
	}
	same.Changes, same.Drift = changes(p.Changes), changes(p.Drift)
	same.WithheldSteps = slices.Clone(p.WithheldSteps)
	for i := range same.WithheldSteps {
		same.WithheldSteps[i].Changes = changes(p.WithheldSteps[i].Changes)
	}
	same.Steps, same.Outputs = slices.Clone(p.Steps), maps.Clone(p.Outputs)
	for i := range same.Steps {
		same.Steps[i].Operations = slices.Clone(same.Steps[i].Operations)
		for j, op := range same.Steps[i].Operations {
			same.Steps[i].Operations[j] = unkeyed(op)
		}
	}
	for name, v := range same.Outputs {
		same.Outputs[name] = state.Unkeyed(v)
	}
	return &same
}

// unkeyed returns an operation without the fingerprints of the secrets that it refers to.
func unkeyed(op Operation) Operation {
	switch op := op.(type) {
	case WriteFile:
		op.Content = op.Content.unkeyed()
		return op
	case RenderEtcdManifest:
		op.Manifest = op.Manifest.unkeyed()
		return op
	case ApplyObject:
		op.Object = state.Unkeyed(op.Object)
		return op
	case PatchNode:
		op.Sealed = maps.Clone(op.Sealed)
		for path, s := range op.Sealed {
			op.Sealed[path] = s.Unkeyed()
		}
		return op
	case CreateToken:
		op.Token = op.Token.Unkeyed()
		return op
	case UploadCerts:
		op.Key = op.Key.Unkeyed()
		return op
	}
	return op
}

func (c Content) unkeyed() Content {
	c.Fingerprint = ""
	return c
}
