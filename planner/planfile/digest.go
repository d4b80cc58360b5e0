package planfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/kubewright/kubewright/planner"
	"github.com/kubewright/kubewright/state"
)

// ShortDigest is how many characters of a digest are shown; they are enough to approve a plan.
const ShortDigest = 16

// Digest returns the hex SHA-256 of what a plan would do. It does not depend on the time and the
// tool version of the plan, the serial of the state, the git commit and source locations in the configuration, the
// formatting of changed files (values are compared, never bytes), the control plane through which
// the API is reached, or information for display only, such as days left, database sizes of etcd,
// costs and the done conditions of operations. Two plans with the same digest do the same for the
// same reasons.
func Digest(p *planner.Plan) string {
	same := *p
	same.ToolVersion, same.Serial, same.ConfigDigest, same.Commit = "", 0, "", ""
	same.Changes, same.Drift = alone(p.Changes), alone(p.Drift)
	same.Steps, same.Withheld = slices.Clone(p.Steps), slices.Clone(p.Withheld)
	same.Resources = slices.Clone(p.Resources)
	for i := range same.Resources {
		same.Resources[i].Before, same.Resources[i].After, same.Resources[i].There = nil, nil, nil
		same.Resources[i].Loses = nil
	}
	same.Unpermitted = nil
	same.WithheldSteps = slices.Clone(p.WithheldSteps)
	for i := range same.WithheldSteps {
		same.WithheldSteps[i].Changes = alone(p.WithheldSteps[i].Changes)
		if same.WithheldSteps[i].Changes == nil { // an observed value, such as the size of a database, makes no other plan
			same.WithheldSteps[i].Operations = nil
		}
	}
	same.Policies = nil // they depend on the time and the approvals
	same.Certificates = nil
	// A warning is about the plan. It contains source locations, how often an API was queried and
	// remaining days, none of which makes another plan. What needs approval is in the plan itself:
	// the pods that end and the budgets that block evictions are in the impact of the step.
	same.Diagnostics = nil
	for i := range same.Withheld {
		same.Withheld[i].Reason, same.Withheld[i].Remedy = "", "" // error texts vary
	}
	for i := range same.Steps {
		same.Steps[i].Expect, same.Steps[i].Via, same.Steps[i].Pods = nil, state.Target{}, nil
		if slices.ContainsFunc(same.Steps[i].Operations, measures) {
			same.Steps[i].Impact = ""
		}
		same.Steps[i].Operations = bare(p.Steps[i].Operations)
	}
	b, err := json.Marshal(same)
	if err != nil {
		panic("internal error: a plan cannot be written as JSON: " + err.Error()) // each of its types can
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// measures reports whether the impact of the operation's step contains a current size.
func measures(op planner.Operation) bool {
	_, is := op.(planner.DefragmentEtcd)
	return is
}

// bareOperation is an operation without its done condition.
type bareOperation struct{ planner.Operation }

func (bareOperation) DoneWhen() string { return "" }

// MarshalJSON encodes the operation itself.
func (o bareOperation) MarshalJSON() ([]byte, error) { return json.Marshal(o.Operation) }

// bare removes the done conditions, whose wording may differ in the next version.
func bare(ops planner.Operations) planner.Operations {
	out := slices.Clone(ops)
	for i, op := range out {
		out[i] = bareOperation{op}
	}
	return out
}

// alone reduces changes to what they change: without source locations and derived values.
func alone(changes []planner.Change) []planner.Change {
	out := slices.Clone(changes)
	for i, c := range out {
		out[i].Attributes, out[i].Shown, out[i].Cost = slices.Clone(c.Attributes), nil, ""
		for j := range out[i].Attributes {
			a := &out[i].Attributes[j]
			a.Origin, a.Origins, a.Outside = state.Source{}, nil, false
		}
	}
	return out
}
